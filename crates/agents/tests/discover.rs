//! Discovery, case by case: a process table in, the agent and the explanation out.
//!
//! Each `fixtures/discover/<case>.txt` has a line that says what the case shows, the expected answer, the
//! pane's root, a table `pid ppid pgid tpgid tty state comm argv…`, and the explanation that a person would
//! read. In a word `␣` stands for a blank; a lone `-` stands for no terminal or no readable arguments.

use agtmux_agents::{Process, Registry, explain, identify, own_processes};

#[test]
fn every_case_gives_the_expected_agent_and_explanation() {
    let registry = Registry::builtin();
    let cases = cases();
    assert!(cases.len() >= 45, "only {} cases were found", cases.len());
    let mut failures = Vec::new();
    for case in &cases {
        let found = identify(&registry, &case.processes, case.pane).agent();
        let answer = found.map_or("none".to_owned(), |found| {
            let place = if found.foreground { "foreground" } else { "background" };
            format!("{} {} {} {place}", found.agent, found.pid, found.state)
        });
        if answer != case.expect {
            failures.push(format!("{}: expected {}, got {answer}", case.name, case.expect));
        }
        let explanation = explain(&registry, &case.processes, case.pane);
        if explanation != case.explanation {
            failures.push(format!("{}: explained as\n{explanation}", case.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_order_of_the_table_does_not_matter() {
    let registry = Registry::builtin();
    for mut case in cases() {
        let expected = identify(&registry, &case.processes, case.pane).agent();
        case.processes.reverse();
        assert_eq!(identify(&registry, &case.processes, case.pane).agent(), expected, "{}", case.name);
    }
}

#[test]
fn what_the_user_wrote_claims_a_process_first() {
    let manifest = "contract = 1\nid = \"zed\"\nname = \"Zed\"\nrecorded = []\n\
                    [process]\nprograms = [\"claude\", \"zed\"]\nmodules = [\"zed\"]\n";
    let (registry, problems) = Registry::with_user(vec![("zed.toml".to_owned(), manifest.to_owned())]);
    assert_eq!(problems, []);
    let agent = |row: &str| identify(&registry, &[process(row)], 20).agent().map(|found| found.agent);
    assert_eq!(agent("20 1 20 20 pts/1 S claude claude").as_deref(), Some("zed"));
    assert_eq!(agent("20 1 20 20 pts/1 S python3 python3.12 -m zed.main").as_deref(), Some("zed"));
    assert_eq!(agent("20 1 20 20 pts/1 S python3 python3 -m zedder").as_deref(), None);
    assert_eq!(agent("20 1 20 20 pts/1 S codex codex").as_deref(), Some("codex"));
}

/// F29, F33: a server that the first Codex started holds the conversations of all of them.
#[test]
fn what_an_agent_started_for_others_or_as_a_tool_is_not_its_own() {
    let registry = Registry::builtin();
    let rows = [
        "20 1 20 20 pts/1 S node node /n/bin/codex",
        "21 20 20 20 pts/1 S codex /n/@openai/codex/vendor/codex",
        "22 21 22 -1 - S codex /h/.codex/packages/codex app-server --listen unix://",
        "23 21 23 -1 - S codex /h/.codex/packages/codex app-server daemon pid-update-loop",
        "24 22 24 -1 - S sh sh -c hook",
        "25 21 25 -1 - S bash bash -c make",
        "26 25 26 26 pts/9 S codex codex",
        "27 26 26 26 pts/9 S sh sh",
    ];
    let own = own_processes(&registry, rows.iter().map(|row| process(row)).collect());
    assert_eq!(own.iter().map(|process| process.pid).collect::<Vec<_>>(), [20, 21, 25]);
    assert_eq!(own_processes(&registry, vec![process(rows[2])]).len(), 1, "the first one is what it is about");
}

struct Case {
    name: String,
    expect: String,
    pane: u32,
    processes: Vec<Process>,
    explanation: String,
}

fn cases() -> Vec<Case> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/discover");
    let mut cases: Vec<Case> = std::fs::read_dir(folder)
        .expect("the folder of cases")
        .map(|entry| {
            let path = entry.expect("a case").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            #[expect(clippy::disallowed_methods, reason = "the test reads its cases; the crate itself reads nothing")]
            let text = std::fs::read_to_string(&path).expect("a readable case");
            case(name, &text)
        })
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

fn case(name: String, text: &str) -> Case {
    let mut blocks = text.splitn(3, "\n\n");
    let header = blocks.next().expect("a header");
    let table = blocks.next().unwrap_or_else(|| panic!("{name} has no table"));
    let explanation = blocks.next().unwrap_or_default().trim_end().to_owned();
    let value = |key: &str| {
        let line = header.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap_or_else(|| panic!("{name} has no `{key}`")).trim().to_owned()
    };
    let expect = value("expect:");
    let pane = value("pane:").parse().expect("a pid");
    Case { name, expect, pane, processes: table.lines().map(process).collect(), explanation }
}

fn process(row: &str) -> Process {
    let words: Vec<String> = row.split_whitespace().map(|word| word.replace('␣', " ")).collect();
    let [pid, ppid, pgid, tpgid, tty, state, comm, argv @ ..] = words.as_slice() else {
        panic!("too few columns: {row}");
    };
    let pid = pid.parse().expect("a pid");
    Process {
        pid,
        ppid: ppid.parse().expect("a parent"),
        pgid: pgid.parse().expect("a group"),
        tpgid: tpgid.parse().expect("a foreground group"),
        tty: (tty != "-").then(|| tty.clone()),
        start: u64::from(pid),
        state: state.chars().next().expect("a state"),
        comm: comm.clone(),
        argv: if argv == ["-"] { Vec::new() } else { argv.to_vec() },
    }
}
