//! Documents that are made from the code are committed, and may not lag behind it. `AGTMUX_BLESS=1` writes them anew.

#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use agtmux::accuracy::Selection;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::{agent, daemon, error, event, explain, list, stream, target};
use schemars::schema_for;
use serde_json::Value;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Compares a document with the committed one, or writes it.
#[track_caller]
fn check(name: &str, text: &str) {
    let path = docs().join(name);
    if std::env::var_os("AGTMUX_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "docs/{name} lags behind the code; AGTMUX_BLESS=1 cargo test --test generated writes it"
    );
}

fn pretty(document: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(document).unwrap() + "\n"
}

#[test]
fn openapi() {
    check("api/openapi.json", &pretty(&agtmux::api::openapi::document()));
}

#[test]
fn schemas() {
    let schemas: [(&str, Value); 13] = [
        ("agent-list", schema_for!(agent::AgentList).into()),
        ("pane-list", schema_for!(list::PaneList).into()),
        ("window-list", schema_for!(list::WindowList).into()),
        ("session-list", schema_for!(list::SessionList).into()),
        ("target-list", schema_for!(target::TargetList).into()),
        ("add-target", schema_for!(target::AddTarget).into()),
        ("post-event", schema_for!(event::PostEvent).into()),
        ("posted-event", schema_for!(event::PostedEvent).into()),
        ("event-list", schema_for!(event::EventList).into()),
        ("explanation", schema_for!(explain::Explanation).into()),
        ("stream-frame", schema_for!(stream::Frame).into()),
        ("daemon-status", schema_for!(daemon::DaemonStatus).into()),
        ("error", schema_for!(error::ErrorBody).into()),
    ];
    for (name, schema) in schemas {
        check(&format!("api/schemas/{name}.json"), &pretty(&schema));
    }
}

#[test]
fn accuracy() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/fixtures");
    let directories = ["recordings", "variants"].map(|name| fixtures.join(name));
    let registry = agtmux_agents::Registry::builtin();
    let sets = agtmux::accuracy::Sources::EACH;
    let measured = agtmux::accuracy::run(&registry, &directories, &Selection::default(), &sets).unwrap();
    let (variants, versions) = measured.markdown_apart();
    let text = format!(
        "# Accuracy\n\n{}{}\n## By variant\n\n{}{variants}\n## By version\n\n{versions}",
        "How often agtmux is right about recorded states of the real agents, read by the code that the daemon uses. A\n\
         recording is a moment: an agent that starts, works, waits for an approval, was interrupted, failed, exited. Each set of\n\
         sources is measured alone; hooks of a moment are those of the step that led to it, so many moments have none.\n\n\
         *Confident wrong*: a wrong state with confidence `high`. *Enter right*: whether it was known what text and Enter would\n\
         do. *Wrong safe*: it was called safe to type where it was not; that must never happen.\n\n\
         `agtmux bench accuracy` measures it again, `--fixtures DIR` on other recordings.\n\n",
        measured.markdown(),
        "A variant is a setting that recordings were made in: a size, a theme, a mode, an older release. All sources count,\n\
         except in the column of the screen alone. `agtmux-lab record` makes such recordings (`lab/README.md`).\n\n",
    );
    check("accuracy.md", &text);
}

#[test]
fn error_reference() {
    let mut text = String::from(
        "# Errors\n\nEvery error has a stable code, a message for people and a hint that says what to do next. On the\n\
         command line they go to standard error, with `--json` as the document `{\"error\":{\"code\",\"message\",\"hint\"}}`.\n\n\
         | code | exit | HTTP | meaning |\n|---|---|---|---|\n",
    );
    for code in ErrorCode::ALL {
        writeln!(text, "| `{}` | {} | {} | {} |", code.name(), code.exit_code(), code.status(), code.meaning())
            .unwrap();
    }
    text.push_str("\nExit codes: 0 ok, 1 failed, 2 usage, 3 daemon unreachable, 4 refused by a guard, 5 timeout.\n");
    check("reference/errors.md", &text);
}

#[test]
fn command_reference() {
    let mut text = String::from("# Command line\n\nAs `--help` prints it.\n");
    let mut command = agtmux::cli::command().term_width(100);
    command.build();
    describe(&mut command, "agtmux", &mut text);
    check("reference/cli.md", &text);
}

fn describe(command: &mut clap::Command, path: &str, text: &mut String) {
    let help = command.render_long_help().to_string();
    let help: String = help.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    write!(text, "\n## {path}\n\n```text\n{}\n```\n", help.trim_end()).unwrap();
    for verb in command.get_subcommands_mut().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help") {
        let path = format!("{path} {}", verb.get_name());
        describe(verb, &path, text);
    }
}
