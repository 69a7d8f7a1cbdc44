//! What a command line really runs.
//!
//! Agents are seldom the first word: `node …/bin/codex.js`, `npx @openai/codex`, `sudo -u me claude`,
//! `docker exec -it box sh -c gemini`. Each wrapper here has its own grammar, and reading it wrongly either
//! misses an agent or takes an argument (`grep codex`, `docker exec claude bash`) for a program. So only
//! wrappers in the table are looked through; every other first word is itself the program.

mod shell;
mod wrapper;

use shell::open_shell;
use wrapper::WRAPPERS;

/// The program at the heart of a command line, and its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) program: Program,
    pub(crate) args: Vec<String>,
    /// The wrappers that were looked through, outermost first.
    pub(crate) through: Vec<String>,
    /// The process is a shell that was given the command as text, or our own wrapper. It becomes that program or starts it as a
    /// child, and is not it.
    pub(crate) is_launcher: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// A binary, by path or name.
    Executable(String),
    /// A file that an interpreter or shell runs.
    Script(String),
    /// A package that a package runner resolves, without its version.
    Package(String),
    /// A Python module.
    Module(String),
}

/// Looks through the wrappers of a command line. `comm` is the kernel's name of the process: it betrays an
/// interpreter that was started under another name. Nothing comes back for an empty command line, for code
/// given inline, or for a shell that has no single command to run.
pub(crate) fn resolve(comm: &str, argv: &[String]) -> Option<Launch> {
    let mut words = as_typed(argv);
    let mut through = Vec::new();
    if let Some(script_at) = script_of_renamed_interpreter(comm, &words) {
        let args = words.split_off(script_at + 1);
        return Some(Launch {
            program: Program::Script(words.pop()?),
            args,
            through: vec![comm.to_owned()],
            is_launcher: false,
        });
    }
    let mut is_launcher = false;
    for _ in 0..MAX_LAYERS {
        let name = wrapper_name(words.first()?).to_owned();
        let opened = if shell::is_shell(&name) {
            open_shell(&words)?
        } else {
            let mut rows = WRAPPERS.iter().filter(|wrapper| wrapper.is_named(&name)).peekable();
            if rows.peek().is_none() {
                let args = words.split_off(1);
                return Some(Launch { program: Program::Executable(words.pop()?), args, through, is_launcher });
            }
            rows.find_map(|wrapper| wrapper.open(&words))?
        };
        let launches = is_our_wrapper(&name) || through.is_empty() && shell::is_shell(&name);
        is_launcher |= launches && matches!(opened, Opened::Command(_));
        through.push(name);
        match opened {
            Opened::Command(inner) => words = inner,
            Opened::Program(program, args) => {
                return Some(Launch { program, args, through, is_launcher });
            }
        }
    }
    None
}

/// The last part of a path, as in `basename`.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What was found behind one wrapper.
enum Opened {
    Command(Vec<String>),
    Program(Program, Vec<String>),
}

/// Wrappers nest a few deep in practice; the bound keeps a hostile command line from costing time.
const MAX_LAYERS: usize = 8;

/// npm writes the command it runs over its own arguments, as one text.
fn as_typed(argv: &[String]) -> Vec<String> {
    match argv {
        [title] if title.starts_with("npm exec ") => title.split_whitespace().map(str::to_owned).collect(),
        _ => argv.to_vec(),
    }
}

/// Launch scripts start node under the agent's own name (`exec -a "$0" node index.js`), which hides the
/// interpreter from the arguments but not from the kernel's name of the process. Recent versions of node
/// name their first thread `MainThread`.
fn script_of_renamed_interpreter(comm: &str, words: &[String]) -> Option<usize> {
    let hidden = matches!(comm, "node" | "MainThread" | "bun") && !is_wrapper(wrapper_name(words.first()?));
    if !hidden {
        return None;
    }
    let at = words.iter().skip(1).position(|word| !word.starts_with('-'))? + 1;
    let is_script = [".js", ".mjs", ".cjs"].iter().any(|suffix| words[at].ends_with(suffix));
    (is_script && words[at].contains('/')).then_some(at)
}

/// Our own wrapper never becomes the agent. Whoever is about to become the wrapper, as `env` is, will not either.
fn is_our_wrapper(name: &str) -> bool {
    name == wrapper::SHIM || name == wrapper::AGTMUX
}

fn is_wrapper(name: &str) -> bool {
    shell::is_shell(name) || WRAPPERS.iter().any(|wrapper| wrapper.is_named(name))
}

/// The name under which the tables know a first word: without the path, the dash of a login shell, or the
/// version of `python3.12`.
fn wrapper_name(word: &str) -> &str {
    let name = file_name(word);
    let name = name.strip_prefix('-').unwrap_or(name);
    match name.strip_prefix("python") {
        Some(version) if version.chars().all(|c| c.is_ascii_digit() || c == '.') => "python",
        _ => name,
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn rest(words: &[String], from: usize) -> Vec<String> {
    words.get(from..).unwrap_or_default().to_vec()
}

#[cfg(test)]
mod tests {
    use super::{Program, resolve};

    /// Renders what a command line, split at `␣` where given and else at blanks, really runs.
    fn runs(command: &str) -> String {
        runs_as("", command)
    }

    fn runs_as(comm: &str, command: &str) -> String {
        let separator = if command.contains('␣') { '␣' } else { ' ' };
        let argv: Vec<String> = command.split(separator).map(str::to_owned).collect();
        let Some(launch) = resolve(comm, &argv) else {
            return "nothing".to_owned();
        };
        let program = match launch.program {
            Program::Executable(path) => format!("executable {path}"),
            Program::Script(path) => format!("script {path}"),
            Program::Package(name) => format!("package {name}"),
            Program::Module(name) => format!("module {name}"),
        };
        let args: String = launch.args.iter().map(|arg| format!(" [{arg}]")).collect();
        program + &args
    }

    #[test]
    fn wrappers_are_looked_through() {
        let cases = [
            ("claude --resume", "executable claude [--resume]"),
            ("node --max-old-space-size=12052 /x/.bin/gemini", "script /x/.bin/gemini"),
            ("node -r dotenv/config a.js", "script a.js"),
            ("/usr/bin/env -u FOO A=1 B=2 codex x", "executable codex [x]"),
            ("sudo -u me -E HOME=/h codex", "executable codex"),
            ("sudo -ume -- codex", "executable codex"),
            ("nice -n 5 timeout -k 5 1h claude", "executable claude"),
            ("nice -n5 claude", "executable claude"),
            ("docker exec -itu root -e A=b box claude -c", "executable claude [-c]"),
            ("docker exec -it claude bash", "nothing"),
            ("docker --context far compose -f c.yml exec web codex", "executable codex"),
            ("docker run --rm -it -v /a:/b image gemini", "executable gemini"),
            ("docker ps", "nothing"),
            ("kubectl -n ns exec -it pod -c main -- codex resume", "executable codex [resume]"),
            ("npx -y @openai/codex@latest exec", "package @openai/codex [exec]"),
            ("npx -p @openai/codex codex", "package codex"),
            ("npm exec --yes -- opencode-ai@1.18 .", "package opencode-ai [.]"),
            ("npm run claude", "nothing"),
            ("bun x opencode-ai", "package opencode-ai"),
            ("bun /x/cli.js -c", "script /x/cli.js [-c]"),
            ("deno run -A npm:@openai/codex@0.1 --model x", "package @openai/codex [--model] [x]"),
            ("uvx --from aider-chat aider --yes", "package aider [--yes]"),
            ("uv tool run aider", "package aider"),
            ("uv run --with x python3.12 -m aider --yes", "module aider [--yes]"),
            ("python3 -X dev claude.py", "script claude.py"),
            ("python3␣-c␣import claude", "nothing"),
            ("node -e code", "nothing"),
            ("agtmux wrap --name x -- claude --resume", "executable claude [--resume]"),
            ("agtmux-shim npx @openai/codex", "package @openai/codex"),
            ("agtmux watch claude", "nothing"),
            ("ssh host claude", "executable ssh [host] [claude]"),
        ];
        for (command, expected) in cases {
            assert_eq!(runs(command), expected, "{command}");
        }
    }

    #[test]
    fn a_shell_stands_for_its_script_or_its_only_command() {
        let cases = [
            ("bash", "nothing"),
            ("-zsh", "nothing"),
            ("bash --norc --noprofile", "nothing"),
            ("sh /home/me/bin/claude -c", "script /home/me/bin/claude [-c]"),
            ("sh␣-c␣claude", "executable claude"),
            ("bash␣-lc␣A=1 exec claude --resume 'my work'", "executable claude [--resume] [my work]"),
            ("zsh␣-o␣extendedglob␣-ic␣codex \"a; b\" > log", "executable codex [a; b] [>] [log]"),
            ("sh␣-c␣claude; exec sh", "nothing"),
            ("sh␣-c␣cd x && claude", "nothing"),
            ("sh␣-c␣claude | tee log", "nothing"),
            ("sh␣-c␣claude\necho done", "nothing"),
            ("sh␣-c␣", "nothing"),
            ("sh␣-c", "nothing"),
            ("sudo␣bash␣-c␣timeout 5 node /x/codex", "script /x/codex"),
        ];
        for (command, expected) in cases {
            assert_eq!(runs(command), expected, "{command}");
        }
    }

    #[test]
    fn our_wrapper_and_what_becomes_it_are_not_the_agent() {
        let is_launcher = |command: &str| {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            resolve("", &words).expect("a launch").is_launcher
        };
        for command in
            ["agtmux-shim claude", "/usr/bin/env -u CLAUDECODE /x/agtmux-shim claude", "agtmux wrap -- claude"]
        {
            assert!(is_launcher(command), "{command}");
        }
        for command in ["claude", "env -u CLAUDECODE claude", "sudo claude", "claude agtmux-shim"] {
            assert!(!is_launcher(command), "{command}");
        }
    }

    #[test]
    fn npm_shows_its_command_as_one_text() {
        let title = ["npm exec @openai/codex@latest resume".to_owned()];
        let launch = resolve("npm exec @opena", &title).expect("a launch");
        assert_eq!(
            (launch.program, launch.args),
            (Program::Package("@openai/codex".to_owned()), vec!["resume".to_owned()])
        );
    }

    #[test]
    fn a_renamed_interpreter_is_known_by_its_kernel_name() {
        let command = "/h/.local/bin/agent --use-system-ca /h/cursor-agent/versions/1/index.js mcp";
        assert_eq!(runs_as("node", command), "script /h/cursor-agent/versions/1/index.js [mcp]");
        assert_eq!(runs_as("MainThread", command), "script /h/cursor-agent/versions/1/index.js [mcp]");
        assert_eq!(runs_as("agent", command).split(' ').next(), Some("executable"));
        assert_eq!(runs_as("MainThread", "/x/copilot /home/me/dir"), "executable /x/copilot [/home/me/dir]");
    }

    #[test]
    fn a_tower_of_wrappers_ends() {
        let tower: Vec<String> = std::iter::repeat_n("sudo".to_owned(), 10_000).chain(["claude".to_owned()]).collect();
        assert_eq!(resolve("", &tower), None);
    }
}
