//! Reads the process table as `ps` prints it on macOS.
//!
//! `ps` joins arguments with blanks, so where one ends is lost; the name column, asked for alone so that it
//! may hold blanks, gives at least the first one back.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::Stat;
use super::table::Row;

/// The arguments of `ps` for the columns that [`parse_processes`] reads: the start takes five words, the
/// arguments the rest of the line. Each column is asked for apart, since a title spans the rest of its option.
#[rustfmt::skip]
pub(super) const COLUMNS: &[&str] = &[
    "-ww", "-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "tpgid=", "-o", "tty=", "-o", "stat=",
    "-o", "lstart=", "-o", "args=",
];

/// The arguments of `ps` for the columns that [`parse_names`] reads.
pub(super) const NAME_COLUMNS: &[&str] = &["-ww", "-o", "pid=", "-o", "comm="];

/// The program of each process: a path, or the first argument as the program was started.
pub(super) fn parse_names(text: &str) -> BTreeMap<u32, String> {
    text.lines()
        .filter_map(|line| {
            let (pid, name) = line.trim().split_once(char::is_whitespace)?;
            Some((pid.parse().ok()?, name.trim().to_owned()))
        })
        .collect()
}

/// Every process of a table; lines that make no sense are left out.
pub(super) fn parse_processes(text: &str, names: &BTreeMap<u32, String>) -> Vec<Row> {
    text.lines().filter_map(|line| parse_process(line, names)).collect()
}

/// A CPU time: `M:SS.cc`, `H:MM:SS` or `D-HH:MM:SS`, in nanoseconds.
pub(super) fn parse_cpu_time(text: &str) -> Option<u64> {
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (days.parse::<u64>().ok()?, clock),
        None => (0, text),
    };
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let seconds = whole.split(':').try_fold(0_u64, |total, part| Some(total * 60 + part.parse::<u64>().ok()?))?;
    let scale = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?).filter(|scale| *scale <= 1_000_000_000)?;
    let fraction_ns = fraction.parse::<u64>().ok()? * (1_000_000_000 / scale);
    Some((days * 86_400 + seconds) * 1_000_000_000 + fraction_ns)
}

/// The environment that `ps -E` shows after the arguments, joined with blanks as they are. A word that looks like a
/// variable begins the next one, so a value that holds such a word is cut there.
pub(super) fn parse_environment(with: &str, without: &str) -> BTreeMap<OsString, OsString> {
    let shown = with.trim().strip_prefix(without.trim()).unwrap_or_default();
    let mut variables: Vec<(&str, String)> = Vec::new();
    for word in shown.trim().split(' ') {
        let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match word.split_once('=').filter(|(name, _)| is_name(name)) {
            Some((name, value)) => variables.push((name, value.to_owned())),
            None => {
                if let Some((_, value)) = variables.last_mut() {
                    value.push(' ');
                    value.push_str(word);
                }
            }
        }
    }
    variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// The names in what `lsof -Fn` prints.
pub(super) fn parse_open_files(text: &str) -> Vec<PathBuf> {
    text.lines()
        .filter_map(|line| line.strip_prefix('n'))
        .filter(|name| name.starts_with('/'))
        .map(Into::into)
        .collect()
}

fn parse_process(line: &str, names: &BTreeMap<u32, String>) -> Option<Row> {
    let mut rest = line;
    let pid = next_word(&mut rest)?.parse().ok()?;
    let ppid = next_word(&mut rest)?.parse().ok()?;
    let pgid = next_word(&mut rest)?.parse().ok()?;
    let tpgid = next_word(&mut rest)?.parse().ok()?;
    let tty = next_word(&mut rest)?;
    let state = next_word(&mut rest)?.chars().next()?;
    let start = parse_start(&mut rest)?;
    let args = rest.trim();
    let program = names.get(&pid).map_or("", String::as_str);
    let stat = Stat {
        pid,
        ppid,
        pgid,
        tpgid,
        tty: (!tty.starts_with('?') && tty != "-").then(|| tty.to_owned()),
        state,
        comm: program.rsplit('/').next().unwrap_or_default().to_owned(),
        start,
    };
    let argv = if state == 'Z' { Vec::new() } else { split_args(args, program) };
    Some(Row { stat, argv: Some(argv) })
}

/// Splits arguments at blanks, except in the program's own path. In parentheses `ps` shows a name where it
/// could read no arguments.
fn split_args(args: &str, program: &str) -> Vec<String> {
    if args.starts_with('(') && args.ends_with(')') {
        return Vec::new();
    }
    let after_program = args.strip_prefix(program).filter(|rest| rest.is_empty() || rest.starts_with(' '));
    match after_program {
        Some(rest) if !program.is_empty() => {
            std::iter::once(program).chain(rest.split_whitespace()).map(str::to_owned).collect()
        }
        _ => args.split_whitespace().map(str::to_owned).collect(),
    }
}

/// A start such as `Sun Nov 15 10:27:46 2026`, as seconds since 1970.
fn parse_start(rest: &mut &str) -> Option<u64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let _weekday = next_word(rest)?;
    let month_name = next_word(rest)?;
    let month = MONTHS.iter().position(|name| *name == month_name)? + 1;
    let day: u64 = next_word(rest)?.parse().ok()?;
    let clock = next_word(rest)?;
    let year: u64 = next_word(rest)?.parse().ok()?;
    let mut parts = clock.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let days = days_since_1970(year, u64::try_from(month).ok()?, day)?;
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar. Years are counted from March, so that the leap
/// day is the last of its year.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    const DAYS_FROM_YEAR_0_TO_1970: u64 = 719_468;
    if !(1970..=9999).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let months_since_march = (month + 9) % 12;
    let day_of_year = (153 * months_since_march + 2) / 5 + day - 1;
    (year * 365 + year / 4 - year / 100 + year / 400 + day_of_year).checked_sub(DAYS_FROM_YEAR_0_TO_1970)
}

fn next_word<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let text = rest.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, after) = text.split_at(end);
    *rest = after;
    (!word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use agtmux_agents::{Registry, explain};

    use super::{COLUMNS, NAME_COLUMNS, days_since_1970, parse_cpu_time, parse_names, parse_processes};
    use crate::platform::testing::Sleeper;
    use crate::platform::{ProcessTable, process_stat, started_at_unix_ms};

    const PROCESSES: &str = include_str!("samples/macos-processes.txt");
    const NAMES: &str = include_str!("samples/macos-names.txt");

    fn table() -> ProcessTable {
        ProcessTable::new(parse_processes(PROCESSES, &parse_names(NAMES)))
    }

    #[test]
    fn the_environment_is_what_follows_the_arguments() {
        let without = "/opt/claude --model a=b";
        let with = format!("{without} HOME=/Users/me DIR=/a b/c=d EMPTY= LAST=1\n");
        let parsed = super::parse_environment(&with, without);
        let shown: Vec<_> = parsed.iter().map(|(name, value)| format!("{name:?}={value:?}")).collect();
        assert_eq!(shown, [r#""DIR"="/a b/c=d""#, r#""EMPTY"="""#, r#""HOME"="/Users/me""#, r#""LAST"="1""#]);
        assert!(super::parse_environment("", "x").is_empty());
    }

    #[test]
    fn only_paths_are_open_files() {
        let listed = "p123\nfcwd\nn/Users/me/work\nf3\nn->0x1234\nf4\nn/Users/me/a b.jsonl\n";
        let paths = super::parse_open_files(listed);
        assert_eq!(paths, ["/Users/me/work", "/Users/me/a b.jsonl"].map(std::path::PathBuf::from));
    }

    #[test]
    fn every_line_of_a_table_is_read() {
        let table = table();
        assert_eq!(table.len(), PROCESSES.lines().count());
        let launchd = table.get(1).expect("launchd");
        assert_eq!((launchd.ppid, launchd.tty.as_deref(), launchd.start), (0, None, 1_794_700_803));
        let claude = table.get(4_310).expect("claude");
        assert_eq!((claude.pgid, claude.tpgid, claude.state), (4_310, 4_310, 'S'));
        assert_eq!((claude.tty.as_deref(), claude.comm.as_str()), (Some("ttys003"), "claude"));
    }

    #[test]
    fn agents_are_found_in_the_table() {
        let explained: Vec<String> = [4_200, 4_400, 4_500, 4_600]
            .iter()
            .map(|pane| explain(&Registry::builtin(), &table().under(*pane), *pane))
            .collect();
        assert_eq!(
            explained,
            [
                "claude is pid 4310: program `claude`",
                "codex is pid 4410 (suspended): script named `codex`, through node",
                "no agent at or below pid 4500; processes seen: 2",
                "claude is pid 4610: path `claude/versions/*`",
            ]
        );
    }

    #[test]
    fn a_path_with_blanks_is_one_argument() {
        let row = table().under(4_510).remove(0);
        assert_eq!(row.argv, ["/Applications/Visual Studio Code.app/Contents/MacOS/Electron", "claude", "notes.md"]);
    }

    /// The `ps` of Linux differs in widths and in what a name is, and must be understood all the same.
    #[test]
    fn the_ps_of_this_machine_is_read() {
        let sleeper = Sleeper::new();
        let ps = |columns: &[&str]| {
            let pid = sleeper.pid().to_string();
            let output =
                Command::new("ps").args(columns).args(["-p", &pid]).env("TZ", "UTC0").env("LC_ALL", "C").output();
            String::from_utf8(output.expect("ps runs").stdout).expect("plain text")
        };
        let rows = parse_processes(&ps(COLUMNS), &parse_names(&ps(NAME_COLUMNS)));
        let [row] = rows.as_slice() else { panic!("one process and not {rows:?}") };
        let stat = process_stat(sleeper.pid()).expect("a living process");
        assert_eq!((row.stat.pid, row.stat.ppid, row.stat.pgid), (stat.pid, stat.ppid, stat.pgid));
        assert_eq!((row.stat.tpgid, &row.stat.tty, &row.stat.comm), (stat.tpgid, &stat.tty, &stat.comm));
        assert_eq!(row.argv.as_deref(), Some(["sleep".to_owned(), "600".to_owned()].as_slice()));
        let difference = started_at_unix_ms(stat.start).abs_diff(row.stat.start * 1_000);
        assert!(difference <= 2_000, "starts differ by {difference} ms");
    }

    #[test]
    fn nonsense_is_left_out() {
        for line in ["", "1", "a b c d e f g", "1 0 1 0 ?? Ss Sun Foo 15 10:27:46 2026 /sbin/launchd"] {
            assert!(parse_processes(line, &parse_names("")).is_empty(), "{line}");
        }
    }

    #[test]
    fn cpu_times_are_read_in_every_form() {
        assert_eq!(parse_cpu_time("0:01.50"), Some(1_500_000_000));
        assert_eq!(parse_cpu_time("75:00.05"), Some(4_500_050_000_000));
        assert_eq!(parse_cpu_time("1:02:03"), Some(3_723_000_000_000));
        assert_eq!(parse_cpu_time("1-00:00:01"), Some(86_401_000_000_000));
        assert_eq!(parse_cpu_time(""), None);
        assert_eq!(parse_cpu_time("0:01.x"), None);
    }

    #[test]
    fn dates_are_days() {
        assert_eq!(days_since_1970(1970, 1, 1), Some(0));
        assert_eq!(days_since_1970(2000, 2, 29), Some(11_016));
        assert_eq!(days_since_1970(2000, 3, 1), Some(11_017));
        assert_eq!(days_since_1970(2026, 11, 15), Some(20_772));
        assert_eq!(days_since_1970(1969, 12, 31), None);
    }
}
