//! What a command line really runs.
//!
//! Agents are seldom the first word: `node …/bin/codex.js`, `npx @openai/codex`, `sudo -u me claude`,
//! `docker exec -it box sh -c gemini`. Each wrapper here has its own grammar, and reading it wrongly either
//! misses an agent or takes an argument (`grep codex`, `docker exec claude bash`) for a program. So only
//! wrappers in the table are looked through; every other first word is itself the program.

/// The program at the heart of a command line, and its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) program: Program,
    pub(crate) args: Vec<String>,
    /// The wrappers that were looked through, outermost first.
    pub(crate) through: Vec<String>,
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
        });
    }
    for _ in 0..MAX_LAYERS {
        let name = wrapper_name(words.first()?).to_owned();
        let opened = if SHELLS.contains(&name.as_str()) {
            open_shell(&words)?
        } else {
            let mut rows = WRAPPERS
                .iter()
                .filter(|wrapper| wrapper.is_named(&name))
                .peekable();
            if rows.peek().is_none() {
                let args = words.split_off(1);
                return Some(Launch {
                    program: Program::Executable(words.pop()?),
                    args,
                    through,
                });
            }
            rows.find_map(|wrapper| wrapper.open(&words))?
        };
        through.push(name);
        match opened {
            Opened::Command(inner) => words = inner,
            Opened::Program(program, args) => {
                return Some(Launch {
                    program,
                    args,
                    through,
                });
            }
        }
    }
    None
}

/// The last part of a path, as in `basename`.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Wrappers nest a few deep in practice; the bound keeps a hostile command line from costing time.
const MAX_LAYERS: usize = 8;

const SHELLS: &[&str] = &["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"];

/// One way to start a program through another.
struct Wrapper {
    names: &'static [&'static str],
    /// The words that must come first, such as `compose exec`.
    subcommand: &'static [&'static str],
    /// Options whose value is the next word.
    value_options: &'static [&'static str],
    /// Words between the options and the program: a container, an image, a duration.
    operands: usize,
    runs: Runs,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    Command,
    /// A command that `NAME=value` words may precede.
    CommandAfterAssignments,
    Script,
    /// A script, or a module after `-m`.
    ScriptOrModule,
    Package,
}

/// What was found behind one wrapper.
enum Opened {
    Command(Vec<String>),
    Program(Program, Vec<String>),
}

const fn wrapper(
    names: &'static [&'static str],
    subcommand: &'static [&'static str],
    value_options: &'static [&'static str],
    operands: usize,
    runs: Runs,
) -> Wrapper {
    Wrapper {
        names,
        subcommand,
        value_options,
        operands,
        runs,
    }
}

const NODE_OPTIONS: &[&str] = &[
    "-r",
    "--require",
    "--import",
    "--loader",
    "--experimental-loader",
    "-C",
    "--conditions",
    "--env-file",
];
const NPX_OPTIONS: &[&str] = &[
    "-p",
    "--package",
    "-w",
    "--workspace",
    "--prefix",
    "--registry",
    "--cache",
];
const UV_OPTIONS: &[&str] = &[
    "--from",
    "--with",
    "--with-requirements",
    "-p",
    "--python",
    "--index",
    "--directory",
    "--project",
    "--extra",
    "--group",
];
const CONTAINER_OPTIONS: &[&str] = &[
    "-e",
    "--env",
    "--env-file",
    "-u",
    "--user",
    "-w",
    "--workdir",
    "--detach-keys",
    "-H",
    "--host",
    "-c",
    "--context",
    "-v",
    "--volume",
    "--mount",
    "-p",
    "--publish",
    "--name",
    "--network",
    "--entrypoint",
    "--platform",
    "-h",
    "--hostname",
    "-m",
    "--memory",
    "--cpus",
    "--add-host",
    "-l",
    "--label",
    "-f",
    "--file",
    "--project-name",
    "--index",
];
const KUBECTL_OPTIONS: &[&str] = &[
    "-n",
    "--namespace",
    "-c",
    "--container",
    "--context",
    "--cluster",
    "--kubeconfig",
    "-f",
    "--filename",
    "--user",
];

/// Tried in order; of several rows with one name, the first whose subcommand is there counts.
#[rustfmt::skip]
const WRAPPERS: &[Wrapper] = &[
    wrapper(&["env"], &[], &["-u", "--unset", "-C", "--chdir"], 0, Runs::CommandAfterAssignments),
    wrapper(&["sudo"], &[], &["-u", "--user", "-g", "--group", "-h", "--host", "-p", "--prompt", "-C", "-D", "--chdir", "-r", "-t", "-T", "-R", "-U"], 0, Runs::CommandAfterAssignments),
    wrapper(&["doas"], &[], &["-u", "-C"], 0, Runs::Command),
    wrapper(&["nice"], &[], &["-n", "--adjustment"], 0, Runs::Command),
    wrapper(&["ionice"], &[], &["-c", "--class", "-n", "--classdata"], 0, Runs::Command),
    wrapper(&["nohup", "setsid", "time", "unbuffer"], &[], &[], 0, Runs::Command),
    wrapper(&["stdbuf"], &[], &["-i", "--input", "-o", "--output", "-e", "--error"], 0, Runs::Command),
    wrapper(&["caffeinate"], &[], &["-t", "-w"], 0, Runs::Command),
    wrapper(&["timeout", "gtimeout"], &[], &["-k", "--kill-after", "-s", "--signal"], 1, Runs::Command),

    wrapper(&["docker", "podman", "nerdctl"], &["exec"], CONTAINER_OPTIONS, 1, Runs::Command),
    wrapper(&["docker", "podman", "nerdctl"], &["container", "exec"], CONTAINER_OPTIONS, 1, Runs::Command),
    wrapper(&["docker", "podman", "nerdctl"], &["compose", "exec"], CONTAINER_OPTIONS, 1, Runs::Command),
    wrapper(&["docker", "podman", "nerdctl"], &["run"], CONTAINER_OPTIONS, 1, Runs::Command),
    wrapper(&["docker", "podman", "nerdctl"], &["compose", "run"], CONTAINER_OPTIONS, 1, Runs::Command),
    wrapper(&["docker-compose"], &["exec"], CONTAINER_OPTIONS, 1, Runs::Command),
    wrapper(&["kubectl", "oc"], &["exec"], KUBECTL_OPTIONS, 1, Runs::Command),

    wrapper(&["npx", "bunx", "pnpx"], &[], NPX_OPTIONS, 0, Runs::Package),
    wrapper(&["npm"], &["exec"], NPX_OPTIONS, 0, Runs::Package),
    wrapper(&["npm"], &["x"], NPX_OPTIONS, 0, Runs::Package),
    wrapper(&["pnpm", "yarn"], &["dlx"], NPX_OPTIONS, 0, Runs::Package),
    wrapper(&["pnpm", "yarn"], &["exec"], NPX_OPTIONS, 0, Runs::Package),
    wrapper(&["uvx"], &[], UV_OPTIONS, 0, Runs::Package),
    wrapper(&["uv"], &["tool", "run"], UV_OPTIONS, 0, Runs::Package),
    wrapper(&["uv"], &["run"], UV_OPTIONS, 0, Runs::Command),
    wrapper(&["pipx"], &["run"], &["--spec", "--python", "--pip-args"], 0, Runs::Package),

    wrapper(&["node", "nodejs"], &[], NODE_OPTIONS, 0, Runs::Script),
    wrapper(&["bun"], &["x"], NPX_OPTIONS, 0, Runs::Package),
    wrapper(&["bun"], &["run"], NODE_OPTIONS, 0, Runs::Script),
    wrapper(&["bun"], &[], NODE_OPTIONS, 0, Runs::Script),
    wrapper(&["deno"], &["run"], &["-c", "--config", "--import-map", "--lock", "-L", "--log-level"], 0, Runs::Script),
    wrapper(&["python"], &[], &["-W", "-X", "--check-hash-based-pycs"], 0, Runs::ScriptOrModule),
];

impl Wrapper {
    fn is_named(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// What this wrapper runs, or nothing if the words are not of its form.
    fn open(&self, words: &[String]) -> Option<Opened> {
        let mut at = 1;
        for subcommand in self.subcommand {
            at = self.skip_options(words, at)?;
            if words.get(at)? != subcommand {
                return None;
            }
            at += 1;
        }
        at = self.skip_options(words, at)?;
        if self.runs == Runs::ScriptOrModule && words.get(at)? == "-m" {
            return Some(Opened::Program(
                Program::Module(words.get(at + 1)?.clone()),
                rest(words, at + 2),
            ));
        }
        if self.operands > 0 {
            at = self.skip_options(words, at + self.operands)?;
        }
        if self.runs == Runs::CommandAfterAssignments {
            at += words
                .get(at..)?
                .iter()
                .take_while(|word| is_assignment(word))
                .count();
        }
        let program = words.get(at)?;
        match self.runs {
            Runs::Command | Runs::CommandAfterAssignments => Some(Opened::Command(rest(words, at))),
            Runs::Package => Some(Opened::Program(package(program), rest(words, at + 1))),
            Runs::Script | Runs::ScriptOrModule => {
                let script = match program.strip_prefix("npm:") {
                    Some(spec) => package(spec),
                    None => Program::Script(program.clone()),
                };
                Some(Opened::Program(script, rest(words, at + 1)))
            }
        }
    }

    /// The index of the first word at or after `at` that is neither an option nor an option's value, or
    /// nothing if an option says that there is no program but inline code.
    fn skip_options(&self, words: &[String], mut at: usize) -> Option<usize> {
        while let Some(word) = words.get(at) {
            if word == "--" {
                return Some(at + 1);
            }
            if !word.starts_with('-') || word == "-" {
                return Some(at);
            }
            if self.takes_inline_code(word) {
                return None;
            }
            if self.runs == Runs::ScriptOrModule && word == "-m" {
                return Some(at);
            }
            at += if self.takes_next_word(word) { 2 } else { 1 };
        }
        Some(at)
    }

    fn takes_inline_code(&self, option: &str) -> bool {
        match self.runs {
            Runs::Script => matches!(option, "-e" | "--eval" | "-p" | "--print" | "-pe"),
            Runs::ScriptOrModule => option == "-c",
            Runs::Package => matches!(option, "-c" | "--call"),
            Runs::Command | Runs::CommandAfterAssignments => false,
        }
    }

    /// Whether an option's value is the next word. Short options may be joined: `-itu root` takes the next
    /// word for `u`, while `-uroot` has it attached.
    fn takes_next_word(&self, option: &str) -> bool {
        if self.value_options.contains(&option) {
            return true;
        }
        let is_value_letter = |c: char| self.value_options.contains(&format!("-{c}").as_str());
        let letters = option.trim_start_matches('-');
        !option.starts_with("--")
            && letters.starts_with(|c| !is_value_letter(c))
            && letters.ends_with(is_value_letter)
    }
}

/// A shell runs a script by name, or one simple command after `-c`. A list of commands is no match: the
/// shell outlives the agent in it, while the agent is a child that is found on its own.
fn open_shell(words: &[String]) -> Option<Opened> {
    const VALUE_OPTIONS: &[&str] = &["-o", "+o", "-O", "+O", "--rcfile", "--init-file"];
    let mut at = 1;
    while let Some(word) = words.get(at) {
        if word == "--" {
            at += 1;
            break;
        }
        if !(word.starts_with('-') || word.starts_with('+')) {
            break;
        }
        if word.starts_with('-') && !word.starts_with("--") && word.contains('c') {
            return simple_command(words.get(at + 1)?).map(Opened::Command);
        }
        at += if VALUE_OPTIONS.contains(&word.as_str()) {
            2
        } else {
            1
        };
    }
    Some(Opened::Program(
        Program::Script(words.get(at)?.clone()),
        rest(words, at + 1),
    ))
}

/// The words of a shell command if it is a single simple one.
fn simple_command(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.trim().chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().push(chars.next()?),
            (None, ';' | '&' | '|' | '(' | ')' | '`' | '\n') => return None,
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    let prefix = words
        .iter()
        .take_while(|word| is_assignment(word) || *word == "exec")
        .count();
    Some(words.split_off(prefix))
}

/// npm writes the command it runs over its own arguments, as one text.
fn as_typed(argv: &[String]) -> Vec<String> {
    match argv {
        [title] if title.starts_with("npm exec ") => {
            title.split_whitespace().map(str::to_owned).collect()
        }
        _ => argv.to_vec(),
    }
}

/// Launch scripts start node under the agent's own name (`exec -a "$0" node index.js`), which hides the
/// interpreter from the arguments but not from the kernel's name of the process. Recent versions of node
/// name their first thread `MainThread`.
fn script_of_renamed_interpreter(comm: &str, words: &[String]) -> Option<usize> {
    let hidden =
        matches!(comm, "node" | "MainThread" | "bun") && !is_wrapper(wrapper_name(words.first()?));
    if !hidden {
        return None;
    }
    let at = words
        .iter()
        .skip(1)
        .position(|word| !word.starts_with('-'))?
        + 1;
    let is_script = [".js", ".mjs", ".cjs"]
        .iter()
        .any(|suffix| words[at].ends_with(suffix));
    (is_script && words[at].contains('/')).then_some(at)
}

fn is_wrapper(name: &str) -> bool {
    SHELLS.contains(&name) || WRAPPERS.iter().any(|wrapper| wrapper.is_named(name))
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

/// A package without its version: `@openai/codex@latest`, `opencode-ai@1.18`, `aider-chat==0.80`.
fn package(spec: &str) -> Program {
    let after_scope = usize::from(spec.starts_with('@'));
    let version_at = spec
        .char_indices()
        .skip(after_scope)
        .find(|(_, c)| matches!(c, '@' | '=' | '['))
        .map(|(at, _)| at);
    Program::Package(spec[..version_at.unwrap_or(spec.len())].to_owned())
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
            (
                "node --max-old-space-size=12052 /x/.bin/gemini",
                "script /x/.bin/gemini",
            ),
            ("node -r dotenv/config a.js", "script a.js"),
            (
                "/usr/bin/env -u FOO A=1 B=2 codex x",
                "executable codex [x]",
            ),
            ("sudo -u me -E HOME=/h codex", "executable codex"),
            ("sudo -ume -- codex", "executable codex"),
            ("nice -n 5 timeout -k 5 1h claude", "executable claude"),
            ("nice -n5 claude", "executable claude"),
            (
                "docker exec -itu root -e A=b box claude -c",
                "executable claude [-c]",
            ),
            ("docker exec -it claude bash", "nothing"),
            (
                "docker --context far compose -f c.yml exec web codex",
                "executable codex",
            ),
            (
                "docker run --rm -it -v /a:/b image gemini",
                "executable gemini",
            ),
            ("docker ps", "nothing"),
            (
                "kubectl -n ns exec -it pod -c main -- codex resume",
                "executable codex [resume]",
            ),
            (
                "npx -y @openai/codex@latest exec",
                "package @openai/codex [exec]",
            ),
            ("npx -p @openai/codex codex", "package codex"),
            (
                "npm exec --yes -- opencode-ai@1.18 .",
                "package opencode-ai [.]",
            ),
            ("npm run claude", "nothing"),
            ("bun x opencode-ai", "package opencode-ai"),
            ("bun /x/cli.js -c", "script /x/cli.js [-c]"),
            (
                "deno run -A npm:@openai/codex@0.1 --model x",
                "package @openai/codex [--model] [x]",
            ),
            ("uvx --from aider-chat aider --yes", "package aider [--yes]"),
            ("uv tool run aider", "package aider"),
            (
                "uv run --with x python3.12 -m aider --yes",
                "module aider [--yes]",
            ),
            ("python3 -X dev claude.py", "script claude.py"),
            ("python3␣-c␣import claude", "nothing"),
            ("node -e code", "nothing"),
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
            (
                "sh /home/me/bin/claude -c",
                "script /home/me/bin/claude [-c]",
            ),
            ("sh␣-c␣claude", "executable claude"),
            (
                "bash␣-lc␣A=1 exec claude --resume 'my work'",
                "executable claude [--resume] [my work]",
            ),
            (
                "zsh␣-o␣extendedglob␣-ic␣codex \"a; b\" > log",
                "executable codex [a; b] [>] [log]",
            ),
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
    fn npm_shows_its_command_as_one_text() {
        let title = ["npm exec @openai/codex@latest resume".to_owned()];
        let launch = resolve("npm exec @opena", &title).expect("a launch");
        assert_eq!(
            (launch.program, launch.args),
            (
                Program::Package("@openai/codex".to_owned()),
                vec!["resume".to_owned()]
            )
        );
    }

    #[test]
    fn a_renamed_interpreter_is_known_by_its_kernel_name() {
        let command = "/h/.local/bin/agent --use-system-ca /h/cursor-agent/versions/1/index.js mcp";
        assert_eq!(
            runs_as("node", command),
            "script /h/cursor-agent/versions/1/index.js [mcp]"
        );
        assert_eq!(
            runs_as("MainThread", command),
            "script /h/cursor-agent/versions/1/index.js [mcp]"
        );
        assert_eq!(
            runs_as("agent", command).split(' ').next(),
            Some("executable")
        );
        assert_eq!(
            runs_as("MainThread", "/x/copilot /home/me/dir"),
            "executable /x/copilot [/home/me/dir]"
        );
    }

    #[test]
    fn a_tower_of_wrappers_ends() {
        let tower: Vec<String> = std::iter::repeat_n("sudo".to_owned(), 10_000)
            .chain(["claude".to_owned()])
            .collect();
        assert_eq!(resolve("", &tower), None);
    }
}
