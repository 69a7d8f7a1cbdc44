//! `setup` on files as people have them: each case is a folder with the files before, after, and why if refused.
//! `AGTMUX_BLESS=1` writes what comes out; read the difference before committing it.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads its cases from files")]

use std::fs;
use std::path::{Path, PathBuf};

use agtmux_agents::setup::{Agent, Given, Installed, Plan, Refusal, Scope, Wish, plan};

const PROGRAM: &str = "/opt/agtmux/bin/agtmux";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/setup")
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders
}

/// The names of an agent's files, without their folders.
fn names(agent: Agent) -> Vec<&'static str> {
    agent.files(Scope::User).iter().map(|file| file.path.rsplit('/').next().unwrap()).collect()
}

type Files = Vec<Option<Vec<u8>>>;

fn read(agent: Agent, dir: &Path) -> Files {
    names(agent).iter().map(|name| fs::read(dir.join(name)).ok()).collect()
}

fn write(agent: Agent, dir: &Path, files: &Files) {
    fs::remove_dir_all(dir).ok();
    fs::create_dir_all(dir).unwrap();
    for (name, bytes) in names(agent).iter().zip(files) {
        if let Some(bytes) = bytes {
            fs::write(dir.join(name), bytes).unwrap();
        }
    }
    if files.iter().all(Option::is_none) {
        fs::write(dir.join(".gitkeep"), "").unwrap();
    }
}

fn planned(agent: Agent, wish: Wish<'_>, files: &Files) -> Result<Plan, (usize, Refusal)> {
    let given: Vec<_> = names(agent)
        .iter()
        .zip(files)
        .map(|(name, before)| Given { path: format!("/home/me/.{}/{name}", agent.id()), before: before.clone() })
        .collect();
    plan(agent, Scope::User, wish, &given)
}

fn outcome(plan: &Plan) -> Files {
    plan.files.iter().map(|file| file.after.clone()).collect()
}

fn shown(files: &Files) -> String {
    files
        .iter()
        .map(|file| file.as_ref().map_or("(no file)".into(), |bytes| String::from_utf8_lossy(bytes).into_owned()))
        .collect::<Vec<_>>()
        .join("\n~~~\n")
}

#[track_caller]
fn same(case: &Path, what: &str, found: &Files, expected: &Files) {
    assert!(
        found == expected,
        "{}: {what}\n--- expected\n{}\n--- found\n{}",
        case.display(),
        shown(expected),
        shown(found)
    );
}

/// A reader of plain JSON, which knows nothing of how the file was edited, sees what it saw before and our hooks.
fn readers_agree(case: &Path, before: &Files, after: &Files) {
    let parse = |files: &Files| -> Option<serde_json::Value> { serde_json::from_slice(files.first()?.as_ref()?).ok() };
    let (Some(before), Some(mut after)) = (parse(before), parse(after)) else {
        return;
    };
    let is_ours = |hook: &serde_json::Value| hook.to_string().contains("# agtmux");
    let lists = after["hooks"].as_object_mut().unwrap();
    for list in lists.values_mut().filter_map(serde_json::Value::as_array_mut) {
        assert!(list.iter().filter(|hook| is_ours(hook)).count() <= 1, "{}", case.display());
        list.retain(|hook| !is_ours(hook));
    }
    lists.retain(|event, list| list != &serde_json::json!([]) || before["hooks"].get(event) == Some(list));
    if lists.is_empty() && before.get("hooks").is_none() {
        after.as_object_mut().unwrap().remove("hooks");
    }
    if !before.to_string().contains("# agtmux") {
        assert_eq!(after, before, "{}", case.display());
    }
}

#[test]
fn golden_files() {
    let bless = std::env::var_os("AGTMUX_BLESS").is_some();
    let install = Wish::Install { program: PROGRAM };
    let mut cases = 0;
    for agent_dir in folders(&root()) {
        let agent = Agent::from_id(agent_dir.file_name().unwrap().to_str().unwrap()).unwrap();
        for case in folders(&agent_dir) {
            cases += 1;
            let before = read(agent, &case.join("before"));
            let refusal_file = case.join("refusal.txt");
            let plan = match planned(agent, install, &before) {
                Ok(plan) => plan,
                Err((file, refusal)) => {
                    let text = format!("{}: {refusal}\n", names(agent)[file]);
                    if bless {
                        fs::write(&refusal_file, &text).unwrap();
                    }
                    assert_eq!(fs::read_to_string(&refusal_file).unwrap_or_default(), text, "{}", case.display());
                    continue;
                }
            };
            let after = outcome(&plan);
            if bless {
                write(agent, &case.join("after"), &after);
            }
            assert!(!refusal_file.exists(), "{} was to be refused", case.display());
            same(&case, "installed", &after, &read(agent, &case.join("after")));

            readers_agree(&case, &before, &after);
            let again = planned(agent, install, &after).unwrap();
            same(&case, "installed twice", &outcome(&again), &after);
            assert_eq!(again.installed, Installed::Current, "{}", case.display());

            // Where something of ours was there before, removing cannot give that back; the case says what it gives.
            let expected = if plan.installed == Installed::Absent {
                before
            } else {
                let removed = case.join("removed");
                if bless {
                    write(agent, &removed, &outcome(&planned(agent, Wish::Remove, &after).unwrap()));
                }
                read(agent, &removed)
            };
            let removed = planned(agent, Wish::Remove, &after).unwrap();
            same(&case, "removed", &outcome(&removed), &expected);
            let nothing = planned(agent, Wish::Remove, &expected).unwrap();
            same(&case, "removed twice", &outcome(&nothing), &expected);
            assert_eq!(nothing.installed, Installed::Absent, "{}", case.display());
        }
    }
    assert!(cases >= 120, "only {cases} cases were found");
}
