//! Programs that start other programs, and how each of them is told what to start.

use super::{Opened, Program, is_assignment, rest};

/// One way to start a program through another.
pub(super) struct Wrapper {
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

const fn wrapper(
    names: &'static [&'static str],
    subcommand: &'static [&'static str],
    value_options: &'static [&'static str],
    operands: usize,
    runs: Runs,
) -> Wrapper {
    Wrapper { names, subcommand, value_options, operands, runs }
}

const NODE_OPTIONS: &[&str] =
    &["-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--env-file"];
const NPX_OPTIONS: &[&str] = &["-p", "--package", "-w", "--workspace", "--prefix", "--registry", "--cache"];
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
const KUBECTL_OPTIONS: &[&str] =
    &["-n", "--namespace", "-c", "--container", "--context", "--cluster", "--kubeconfig", "-f", "--filename", "--user"];

/// Our own wrapper, and the command that becomes it.
pub(super) const SHIM: &str = "agtmux-shim";
pub(super) const AGTMUX: &str = "agtmux";

/// Tried in order; of several rows with one name, the first whose subcommand is there counts.
#[rustfmt::skip]
pub(super) const WRAPPERS: &[Wrapper] = &[
    wrapper(&["env"], &[], &["-u", "--unset", "-C", "--chdir"], 0, Runs::CommandAfterAssignments),
    wrapper(&["sudo"], &[], &["-u", "--user", "-g", "--group", "-h", "--host", "-p", "--prompt", "-C", "-D", "--chdir", "-r", "-t", "-T", "-R", "-U"], 0, Runs::CommandAfterAssignments),
    wrapper(&["doas"], &[], &["-u", "-C"], 0, Runs::Command),
    wrapper(&["nice"], &[], &["-n", "--adjustment"], 0, Runs::Command),
    wrapper(&["ionice"], &[], &["-c", "--class", "-n", "--classdata"], 0, Runs::Command),
    wrapper(&["nohup", "setsid", "time", "unbuffer"], &[], &[], 0, Runs::Command),
    wrapper(&["stdbuf"], &[], &["-i", "--input", "-o", "--output", "-e", "--error"], 0, Runs::Command),
    wrapper(&["caffeinate"], &[], &["-t", "-w"], 0, Runs::Command),
    wrapper(&["timeout", "gtimeout"], &[], &["-k", "--kill-after", "-s", "--signal"], 1, Runs::Command),

    wrapper(&[SHIM], &[], &[], 0, Runs::Command),
    wrapper(&[AGTMUX], &["wrap"], &["--name", "--tmux-socket", "--color"], 0, Runs::Command),

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
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// What this wrapper runs, or nothing if the words are not of its form.
    pub(super) fn open(&self, words: &[String]) -> Option<Opened> {
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
            return Some(Opened::Program(Program::Module(words.get(at + 1)?.clone()), rest(words, at + 2)));
        }
        if self.operands > 0 {
            at = self.skip_options(words, at + self.operands)?;
        }
        if self.runs == Runs::CommandAfterAssignments {
            at += words.get(at..)?.iter().take_while(|word| is_assignment(word)).count();
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
        !option.starts_with("--") && letters.starts_with(|c| !is_value_letter(c)) && letters.ends_with(is_value_letter)
    }
}

/// A package without its version: `@openai/codex@latest`, `opencode-ai@1.18`, `aider-chat==0.80`.
fn package(spec: &str) -> Program {
    let after_scope = usize::from(spec.starts_with('@'));
    let version_at =
        spec.char_indices().skip(after_scope).find(|(_, c)| matches!(c, '@' | '=' | '[')).map(|(at, _)| at);
    Program::Package(spec[..version_at.unwrap_or(spec.len())].to_owned())
}
