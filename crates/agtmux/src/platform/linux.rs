//! Processes and the boot clock on Linux, from `/proc`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::Stat;
pub(super) use super::sockets::{sockets_of, tcp_clients, unix_clients};
use super::table::Row;

pub(super) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

pub(super) fn boot_clock_ns() -> u64 {
    clock_ns(ClockId::Boottime)
}

pub(super) fn process_stat(pid: u32) -> Option<Stat> {
    with_stat_line(pid, parse_stat)
}

pub(super) fn process_argv(pid: u32) -> Vec<String> {
    for _ in 0..ARGV_ATTEMPTS {
        let argv = read_argv(pid).unwrap_or_default();
        // Between the moment a process takes its new name and the moment its new arguments are in place, it
        // has none. Judged then, `codex exec` would pass for `codex`.
        let is_mid_exec = argv.is_empty() && process_stat(pid).is_some_and(|stat| stat.state != 'Z');
        if !is_mid_exec {
            return argv;
        }
        thread::sleep(ARGV_PAUSE);
    }
    Vec::new()
}

pub(super) fn process_environment(pid: u32) -> BTreeMap<OsString, OsString> {
    let mut bytes = Vec::new();
    let read = File::open(format!("/proc/{pid}/environ")).and_then(|file| file.take(MAX_ENV).read_to_end(&mut bytes));
    if read.is_err() {
        return BTreeMap::new();
    }
    let pair = |entry: &[u8]| {
        let middle = entry.iter().position(|byte| *byte == b'=')?;
        let text = |bytes| OsStr::from_bytes(bytes).to_owned();
        Some((text(&entry[..middle]), text(&entry[middle + 1..])))
    };
    bytes.split(|byte| *byte == 0).filter_map(pair).collect()
}

pub(super) fn process_cwd(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

pub(super) fn open_files(pid: u32) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    // Sockets, pipes and the like have names that are no paths.
    let links = entries.take(MAX_FILES).filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    links.filter(|path| path.is_absolute()).collect()
}

pub(super) fn listeners(port: u16) -> Vec<u32> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
    let sockets: Vec<_> = tables.iter().flat_map(|table| listening(table, port)).collect();
    let holds = |pid: &u32| {
        let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            return false;
        };
        let mut links = entries.take(MAX_FILES).filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        links.any(|link| sockets.iter().any(|socket| link.as_os_str() == socket.as_str()))
    };
    if sockets.is_empty() {
        return Vec::new();
    }
    all_processes().into_iter().map(|row| row.stat.pid).filter(holds).collect()
}

/// The sockets of a table of the kernel's that listen on a port, as links to open files name them.
fn listening(table: &str, port: u16) -> Vec<String> {
    const LISTEN: &str = "0A";
    let socket = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (_, local) = fields.get(1)?.rsplit_once(':')?;
        let is_it = u16::from_str_radix(local, 16) == Ok(port) && fields.get(3) == Some(&LISTEN);
        is_it.then(|| format!("socket:[{}]", fields.get(9).copied().unwrap_or_default()))
    };
    table.lines().skip(1).filter_map(socket).collect()
}

/// The way to look up several processes.
pub(super) fn stats() -> impl Fn(u32) -> Option<Stat> {
    process_stat
}

/// Every process, without arguments: one pass over `/proc`.
pub(super) fn all_processes() -> Vec<Row> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(process_stat)
        .map(|stat| Row { stat, argv: None })
        .collect()
}

/// A process and everything below it, by the lists of children that the kernel keeps. `None` where it keeps none.
pub(super) fn subtree(root_pid: u32) -> Option<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    let mut pending = std::collections::VecDeque::from([root_pid]);
    while let Some(pid) = pending.pop_front() {
        // A pid that was reused in between may close a loop.
        let known = rows.iter().any(|row| row.stat.pid == pid);
        let Some(stat) = process_stat(pid).filter(|_| !known && rows.len() < SUBTREE_LIMIT) else {
            continue;
        };
        rows.push(Row { stat, argv: None });
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
            continue;
        };
        for thread in threads.flatten() {
            match fs::read_to_string(thread.path().join("children")) {
                Ok(children) => pending.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok())),
                // A thread that has just ended is missing as a whole; a kernel without the lists has the thread.
                Err(_) if thread.path().exists() => return None,
                Err(_) => {}
            }
        }
    }
    Some(rows)
}

pub(super) fn started_at_unix_ms(start: u64) -> u64 {
    // Starts count from boot on the boot clock, so the time of boot is the difference of the two clocks.
    let boot_ns = clock_ns(ClockId::Realtime).saturating_sub(boot_clock_ns());
    (boot_ns + start * NS_PER_TICK) / 1_000_000
}

pub(super) fn rss_bytes(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim().strip_suffix(" kB")?;
    Some(kilobytes.parse::<u64>().ok()? * 1024)
}

pub(super) fn cpu_time_ns(pid: u32) -> Option<u64> {
    with_stat_line(pid, |line| {
        let (_, _, fields) = split_stat(line)?;
        let mut ticks = fields.split(' ').skip(UTIME).take(2).map(|field| field.parse::<u64>().ok());
        Some((ticks.next()?? + ticks.next()??) * NS_PER_TICK)
    })
}

/// The kernel reports times in `USER_HZ`, which is 100 on every architecture that Rust has a Linux target for.
const NS_PER_TICK: u64 = 1_000_000_000 / 100;

/// A prompt may be an argument; what names a program comes long before this many bytes.
const MAX_ARGV: u64 = 64 * 1024;

/// An environment larger than this is cut; what names an agent's files comes with the shell's own few kilobytes.
const MAX_ENV: u64 = 1024 * 1024;

/// More files than this no agent needs to have open for its record to be found among them.
const MAX_FILES: usize = 4_096;

/// More processes than this below one pane are not an agent but a storm.
const SUBTREE_LIMIT: usize = 4_096;

/// How often, and how far apart, the arguments of a process in the middle of its exec are asked for.
const ARGV_ATTEMPTS: u32 = 5;
const ARGV_PAUSE: Duration = Duration::from_millis(1);

/// The longest stat line: 50 numbers of at most 21 bytes, and a name of at most 64.
const MAX_STAT: usize = 2048;

// Indices of fields after the name; proc(5) counts the pid as 1 and the first of these as 3.
const TTY: usize = 4;
const UTIME: usize = 11;
const START: usize = 19;

fn read_argv(pid: u32) -> Option<Vec<String>> {
    let mut bytes = Vec::new();
    File::open(format!("/proc/{pid}/cmdline")).ok()?.take(MAX_ARGV).read_to_end(&mut bytes).ok()?;
    // A program that writes a title over its arguments leaves empty ones behind.
    let end = bytes.iter().rposition(|byte| *byte != 0)? + 1;
    Some(bytes[..end].split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect())
}

/// Reads a stat line with one open, read and close, into a buffer on the stack.
fn with_stat_line<T>(pid: u32, parse: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
    let mut line = [0; MAX_STAT];
    let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
    parse(&line[..length])
}

fn parse_stat(line: &[u8]) -> Option<Stat> {
    let (pid, comm, fields) = split_stat(line)?;
    let fields: Vec<&str> = fields.split(' ').take(START + 1).collect();
    let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
    Some(Stat {
        pid,
        ppid: u32::try_from(number(1)?).ok()?,
        pgid: u32::try_from(number(2)?).ok()?,
        tpgid: i32::try_from(number(TTY + 1)?).ok()?,
        tty: terminal(u64::try_from(number(TTY)?).ok()?),
        state: fields.first()?.chars().next()?,
        comm,
        start: fields.get(START)?.parse().ok()?,
    })
}

/// Splits a line into pid, name and fields. The name stands in parentheses and may hold anything, even
/// parentheses, blanks and newlines, so it ends at the last one of the line.
fn split_stat(line: &[u8]) -> Option<(u32, String, &str)> {
    let open = line.iter().position(|byte| *byte == b'(')?;
    let close = line.iter().rposition(|byte| *byte == b')')?;
    let pid = str::from_utf8(&line[..open]).ok()?.trim().parse().ok()?;
    let comm = String::from_utf8_lossy(line.get(open + 1..close)?).into_owned();
    let fields = str::from_utf8(line.get(close + 2..)?).ok()?;
    Some((pid, comm, fields))
}

/// The name of a terminal by its device number.
fn terminal(device: u64) -> Option<String> {
    const FIRST_PTS_MAJOR: u64 = 136;
    const LAST_PTS_MAJOR: u64 = 143;
    let major = (device >> 8) & 0xfff;
    let minor = (device & 0xff) | ((device >> 12) & 0xf_ff00);
    match (major, minor) {
        (0, 0) => None,
        (FIRST_PTS_MAJOR..=LAST_PTS_MAJOR, _) => Some(format!("pts/{}", (major - FIRST_PTS_MAJOR) * 256 + minor)),
        (4, 0..64) => Some(format!("tty{minor}")),
        _ => Some(format!("{major}:{minor}")),
    }
}

fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {

    use super::{parse_stat, terminal};
    use crate::platform::process_stat;
    use crate::platform::testing::Sleeper;

    #[test]
    fn a_line_is_read_field_by_field() {
        let line =
            b"10381 (cat) R 10377 10370 2388 34823 10370 4194304 100 0 0 0 7 5 0 0 20 0 1 0 129774 3133440 413\n";
        let stat = parse_stat(line).expect("a stat");
        assert_eq!((stat.pid, stat.ppid, stat.pgid, stat.tpgid), (10381, 10377, 10370, 10370));
        assert_eq!((stat.state, stat.comm.as_str(), stat.start), ('R', "cat", 129_774));
        assert_eq!(stat.tty.as_deref(), Some("pts/7"));
    }

    #[test]
    fn what_is_not_a_line_is_no_process() {
        let lines: [&[u8]; 7] =
            [b"", b"1", b"1 (a", b"1 a)", b"1 )a(", b"1 (a)", b"x (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 5"];
        for line in lines {
            assert_eq!(parse_stat(line), None, "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn a_name_may_hold_parentheses_blanks_and_newlines() {
        for name in ["(sleep)", "a) S 1 (b", "two words", "new\nline) ("] {
            let sleeper = Sleeper::named(name);
            let stat = process_stat(sleeper.pid()).expect("a living process");
            assert_eq!((stat.comm.as_str(), stat.ppid), (name, std::process::id()));
        }
    }

    #[test]
    fn terminals_have_names() {
        let cases =
            [(0, None), (34_816, Some("pts/0")), (34_823, Some("pts/7")), (1_025, Some("tty1")), (1_088, Some("4:64"))];
        for (device, name) in cases {
            assert_eq!(terminal(device).as_deref(), name, "{device}");
        }
        // A minor number above 255 has its high bits beyond the major.
        assert_eq!(terminal((136 << 8) | 3 | (1 << 20)).as_deref(), Some("pts/259"));
    }
}
