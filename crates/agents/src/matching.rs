//! Whether one process is one agent, by the manifest's process rules.

use crate::command_line::{Program, file_name, resolve};
use crate::discover::Process;
use crate::manifest::{Manifest, ProcessRules};

/// What a process is to an agent that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The interactive agent, with the rule that says so.
    Agent(String),
    /// A shell that is about to become the agent, or has started it as a child; or the wrapper around it.
    Launcher,
    /// The agent's program doing something else: a server, a one-shot run. The text says what.
    Helper(String),
}

/// Judges a process, or gives nothing if it has nothing to do with the agent.
pub(crate) fn judge(manifest: &Manifest, process: &Process) -> Option<Verdict> {
    let rules = &manifest.process;
    if process.argv.is_empty() {
        return by_kernel_name(rules, &process.comm).map(Verdict::Agent);
    }
    let launch = resolve(&process.comm, &process.argv)?;
    let mut rule = naming_rule(rules, &launch.program)?;
    if !launch.through.is_empty() {
        rule = format!("{rule}, through {}", launch.through.join(" "));
    }
    Some(match helper_word(rules, &launch.args) {
        Some(word) => Verdict::Helper(format!("{rule}, but `{word}` is not the interactive agent")),
        None if launch.is_launcher => Verdict::Launcher,
        None => Verdict::Agent(rule),
    })
}

fn naming_rule(rules: &ProcessRules, program: &Program) -> Option<String> {
    match program {
        Program::Executable(path) => named_like_program(rules, path)
            .map(|name| format!("program `{name}`"))
            .or_else(|| on_path(rules, path))
            .or_else(|| {
                (rules.version_named && is_version(path)).then(|| format!("program named by a version, `{path}`"))
            }),
        Program::Script(path) => named_like_program(rules, path)
            .map(|name| format!("script named `{name}`"))
            .or_else(|| in_package(rules, path))
            .or_else(|| on_path(rules, path)),
        Program::Package(name) => {
            (rules.packages.contains(name) || rules.programs.contains(name)).then(|| format!("package `{name}`"))
        }
        Program::Module(module) => rules
            .modules
            .iter()
            .find(|known| {
                module.strip_prefix(known.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
            .map(|known| format!("module `{known}`")),
    }
}

/// Without arguments the kernel's name is all there is: another user's process on a hardened host.
fn by_kernel_name(rules: &ProcessRules, comm: &str) -> Option<String> {
    let known = rules.comm.iter().any(|name| name == comm) || (rules.version_named && is_version(comm));
    known.then(|| format!("process name `{comm}`, its arguments cannot be read"))
}

fn named_like_program<'a>(rules: &'a ProcessRules, path: &str) -> Option<&'a str> {
    rules.programs.iter().find(|name| *name == file_name(path)).map(String::as_str)
}

fn in_package(rules: &ProcessRules, path: &str) -> Option<String> {
    rules
        .packages
        .iter()
        .find(|package| path.contains(&format!("node_modules/{package}/")))
        .map(|package| format!("script of package `{package}`"))
}

fn on_path(rules: &ProcessRules, path: &str) -> Option<String> {
    let segments = || path.rsplit('/');
    rules
        .paths
        .iter()
        .find(|pattern| {
            let wanted = pattern.rsplit('/');
            wanted.clone().count() <= segments().count()
                && wanted.zip(segments()).all(|(wanted, segment)| wanted == "*" || wanted == segment)
        })
        .map(|pattern| format!("path `{pattern}`"))
}

/// The word that makes a command line of the agent's program something other than the agent. Only the first
/// word that is no option can be a subcommand; what follows it, or `--`, is the prompt of a person.
fn helper_word<'a>(rules: &ProcessRules, args: &'a [String]) -> Option<&'a str> {
    let is_one_of = |known: &[String], word: &str| known.iter().any(|one| one == word);
    let before_prompt = args.iter().map(String::as_str).take_while(|word| *word != "--");
    let mut words = before_prompt.peekable();
    let mut seen_subcommand = false;
    while let Some(word) = words.next() {
        let option = word.split('=').next().unwrap_or(word);
        if is_one_of(&rules.helper_options, option) {
            return Some(word);
        }
        if is_one_of(&rules.value_options, word) {
            // Some values may be left out, and then the next option is no value.
            words.next_if(|value| !value.starts_with('-'));
        } else if !word.starts_with('-') && !seen_subcommand {
            seen_subcommand = true;
            if is_one_of(&rules.helper_subcommands, word) {
                return Some(word);
            }
        }
    }
    None
}

/// Whether a name is three numbers with dots, as in `2.1.325`.
fn is_version(name: &str) -> bool {
    let mut parts = 0;
    let numbers = name.split('.').all(|part| {
        parts += 1;
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
    });
    numbers && parts == 3
}
