//! A manifest: what there is to know about one agent, as data.

use agtmux_core::policy::Lifetime;
use agtmux_core::signal::Source;
use agtmux_core::time::Span;
use serde::Deserialize;
use serde::de::{self, Deserializer};
use thiserror::Error;
use toml::Spanned;

use crate::approve::ApproveRules;
use crate::aside::AsideRules;
use crate::instructions::InstructionFiles;
use crate::interrupt::InterruptRules;
use crate::launch::LaunchRules;
use crate::screen::{ComposerRules, DialogRules, ScreenRules};
use crate::send::SendRules;
use crate::translate::SignRule;
use crate::ttl::TtlTable;

/// The manifest format this build understands. It grows when an old reader would misread a new file.
pub const CONTRACT: u32 = 1;

/// One agent, as described by its TOML file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The manifest format the file was written for; always [`CONTRACT`] once parsed.
    pub contract: u32,
    /// The agent's word in every list, filter and log, such as `claude`.
    #[serde(deserialize_with = "agent_id")]
    pub id: String,
    /// The name to show to people.
    pub name: String,
    /// The versions of the agent whose traces the manifest was checked against. Empty means untested.
    pub recorded: Vec<String>,
    /// The sources that tell every edge of its states. Where one of them decides, the screen is not looked at.
    #[serde(default)]
    pub complete: Vec<Source>,
    /// How the agent's process is recognised.
    pub process: ProcessRules,
    /// How its states are read from its screen.
    #[serde(default)]
    pub screen: ScreenRules,
    /// How its composer is found and read. Without it nothing is ever typed into it.
    #[serde(default)]
    pub composer: Option<ComposerRules>,
    /// How its dialogs are found.
    #[serde(default)]
    pub dialog: DialogRules,
    /// How its requests for permission are answered by keys.
    #[serde(default)]
    pub approve: ApproveRules,
    /// How text is typed at it.
    #[serde(default)]
    pub send: SendRules,
    /// How a person's text is put aside in its composer.
    #[serde(default)]
    pub aside: Option<AsideRules>,
    /// How a turn of it is interrupted.
    #[serde(default)]
    pub interrupt: InterruptRules,
    /// The files in a workspace from which the agent takes instructions.
    #[serde(default)]
    pub instructions: Option<InstructionFiles>,
    /// How it is started.
    #[serde(default)]
    pub launch: LaunchRules,
    /// What its titles say, in order; the first rule that fits decides.
    #[serde(default)]
    pub titles: Vec<SignRule>,
    /// What its notices for the desktop say, in order.
    #[serde(default)]
    pub notices: Vec<SignRule>,
    #[serde(default)]
    pub(crate) ttl: TtlTable,
}

/// How a process is recognised as the agent. A process matches if any of the naming rules does and none of
/// the `helper_*` rules does.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessRules {
    /// File names of the program: of the executable, or of the script that an interpreter runs.
    pub programs: Vec<String>,
    /// npm packages: any script inside `node_modules/<package>/`, and the package as an argument of npx.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Ends of paths of executables and scripts, segment by segment; `*` stands for one segment.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Python modules, as in `python -m aider`.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Kernel names of the process, used only where the arguments cannot be read.
    #[serde(default)]
    pub comm: Vec<String>,
    /// Whether a process that is named by a bare version, such as `2.1.325`, is this agent.
    #[serde(default)]
    pub version_named: bool,
    /// Subcommands that are not the interactive agent: servers, one-shot runs, maintenance.
    #[serde(default)]
    pub helper_subcommands: Vec<String>,
    /// Options that make a run something other than the interactive agent.
    #[serde(default)]
    pub helper_options: Vec<String>,
    /// Options followed by a value in the next word, so that the value is not taken for a subcommand.
    #[serde(default)]
    pub value_options: Vec<String>,
}

impl Manifest {
    /// Reads a manifest, refusing what this build does not understand rather than ignoring it: a misspelt
    /// rule that silently never matches is worse than a message.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        Self::check_contract(text)?;
        toml::from_str(text).map_err(|e| ManifestError::from_toml(text, &e))
    }

    /// The contract is read alone first: a file of a later contract should be refused as such and not for the first
    /// key that the later contract added.
    pub(crate) fn check_contract(text: &str) -> Result<(), ManifestError> {
        let contract = toml::from_str::<Contract>(text).map_err(|e| ManifestError::from_toml(text, &e))?.contract;
        if *contract.get_ref() != CONTRACT {
            return Err(ManifestError {
                line: Some(line_of(text, contract.span().start)),
                key: Some("contract".to_owned()),
                message: format!("contract {} is not supported, only {CONTRACT} is", contract.get_ref()),
            });
        }
        Ok(())
    }

    /// How long each fact may be believed, by fact and source, in a fixed order.
    pub fn lifetimes(&self) -> Vec<Lifetime> {
        let entries = self.ttl.iter().flat_map(|(fact, sources)| sources.iter().map(move |entry| (*fact, entry)));
        entries.map(|(fact, (source, ttl))| Lifetime { fact, source: *source, holds: Span(ttl.millis) }).collect()
    }

    /// Whether the manifest was checked against a real version of the agent.
    pub fn is_tested(&self) -> bool {
        !self.recorded.is_empty()
    }
}

/// Why a manifest was refused, with the place in the file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{message}", place(*.line, .key.as_deref()))]
pub struct ManifestError {
    /// The line, counted from 1, unless the file as a whole is at fault.
    pub line: Option<usize>,
    /// The key or table that starts that line.
    pub key: Option<String>,
    pub message: String,
}

impl ManifestError {
    pub(crate) fn from_toml(text: &str, error: &toml::de::Error) -> Self {
        // An error about the document as a whole, such as a missing key, spans nothing.
        let start = error.span().filter(|span| span.end > 0).map(|span| span.start);
        Self {
            line: start.map(|at| line_of(text, at)),
            key: start.and_then(|at| key_of_line_at(text, at)),
            message: error.message().to_owned(),
        }
    }
}

impl ManifestError {
    /// What is wrong with the value of a key at the top of a file.
    pub(crate) fn about_key(text: &str, key: &str, message: &str) -> Self {
        let names_key = |line: &str| line.split_once('=').is_some_and(|(name, _)| name.trim() == key);
        let line = text.lines().position(names_key).map(|line| line + 1);
        Self { line, key: Some(key.to_owned()), message: message.to_owned() }
    }
}

/// The one key that is read before the format of the rest is known.
#[derive(Deserialize)]
struct Contract {
    contract: Spanned<u32>,
}

fn agent_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let id = String::deserialize(deserializer)?;
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if id.starts_with(|c: char| c.is_ascii_lowercase()) && id.chars().all(is_word) {
        return Ok(id);
    }
    Err(de::Error::custom(format!("id {id:?} must be lowercase letters, digits and dashes, a letter first")))
}

fn place(line: Option<usize>, key: Option<&str>) -> String {
    match (line, key) {
        (Some(line), Some(key)) => format!("line {line} (`{key}`): "),
        (Some(line), None) => format!("line {line}: "),
        (None, _) => String::new(),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The key that is assigned, or the table that is opened, on the line that holds byte `at`.
fn key_of_line_at(text: &str, at: usize) -> Option<String> {
    let line = text.lines().nth(line_of(text, at) - 1)?.trim();
    let key = match line.strip_prefix('[') {
        Some(table) => table.trim_start_matches('[').split(']').next()?,
        None => line.split_once('=')?.0,
    };
    Some(key.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::Manifest;

    const SMALLEST: &str =
        "contract = 1\nid = \"aider\"\nname = \"Aider\"\nrecorded = []\n[process]\nprograms = [\"aider\"]\n";

    fn refusal(text: &str) -> String {
        Manifest::parse(text).expect_err("the manifest should be refused").to_string()
    }

    #[test]
    fn the_smallest_manifest_names_a_program() {
        let manifest = Manifest::parse(SMALLEST).expect("valid");
        assert_eq!((manifest.id.as_str(), manifest.is_tested()), ("aider", false));
        assert_eq!(manifest.lifetimes(), []);
    }

    #[test]
    fn ttls_are_listed_in_order_and_in_milliseconds() {
        let text =
            format!("{SMALLEST}[ttl]\nwork.screen = \"10s\"\nturn_active.hook = \"15m\"\nturn_active.osc = \"1h\"\n");
        let manifest = Manifest::parse(&text).expect("valid");
        let rendered: Vec<String> = manifest
            .lifetimes()
            .iter()
            .map(|lifetime| format!("{}.{}={}", lifetime.fact.name(), lifetime.source.name(), lifetime.holds.0))
            .collect();
        assert_eq!(rendered, ["turn_active.hook=900000", "turn_active.osc=3600000", "work.screen=10000"]);
    }

    #[test]
    fn refusals_name_the_line_and_the_key() {
        let with = |line: &str| format!("{SMALLEST}{line}\n");
        let cases = [
            (with("program = [\"x\"]"), "line 7 (`program`): unknown field `program`, expected one of"),
            (with("modules = \"x\""), "line 7 (`modules`): invalid type: string \"x\", expected a sequence"),
            (with("[screens]"), "line 7 (`screens`): unknown field `screens`, expected one of"),
            (
                with("[ttl]\nturn_active.hook = \"15\""),
                "line 8 (`turn_active.hook`): invalid value: string \"15\", expected a span of time",
            ),
            (
                with("[ttl]\nturn_active.hook = 15"),
                "line 8 (`turn_active.hook`): invalid type: integer `15`, expected a span of time",
            ),
            (
                with("[ttl]\nturn_active.hooks = \"15m\""),
                "line 8 (`turn_active.hooks`): unknown variant `hooks`, expected one of",
            ),
            (with("[ttl]\nmood.hook = \"15m\""), "line 8 (`mood.hook`): unknown variant `mood`, expected one of"),
            (SMALLEST.replace("programs = [\"aider\"]\n", ""), "line 5 (`process`): missing field `programs`"),
            (with("programs = []"), "line 7 (`programs`): duplicate key"),
            (
                SMALLEST.replace("contract = 1", "contract = 2\nnovelty = true"),
                "line 1 (`contract`): contract 2 is not supported, only 1 is",
            ),
            (SMALLEST.replace("contract = 1\n", ""), "missing field `contract`"),
            (SMALLEST.replace("\"aider\"\nname", "\"Ai der\"\nname"), "line 2 (`id`): id \"Ai der\" must be lowercase"),
            (SMALLEST.replace("id = \"aider\"", "id = "), "line 2 (`id`):"),
            (String::new(), "missing field `contract`"),
            ("\u{0}".to_owned(), "line 1:"),
        ];
        for (text, expected) in cases {
            let refusal = refusal(&text);
            assert!(refusal.starts_with(expected), "{text}\n expected: {expected}\n got:      {refusal}");
        }
    }
}
