//! Which file of a workspace an agent takes instructions from.

use serde::Deserialize;
use serde::de::{self, Deserializer};

/// The instruction files of an agent, seen from the workspace.
///
/// Some agents read files of one kind only: where there is a `CLAUDE.md`, Claude Code reads no `AGENTS.md`. A new file of the
/// kind that comes first would hide the files of the other kind, which a person wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFiles {
    /// Kinds of files, in order of precedence: the agent reads those of the first kind of which there are any.
    kinds: Vec<Kind>,
    /// The file that is made where there are none; the first of a kind.
    create: String,
    /// How far up the agent looks for files that decide the kind.
    reach: Reach,
    /// Files that earlier releases wrote to, which the agent does not read.
    former: Vec<String>,
}

/// Files that are read together. The block goes into the first.
type Kind = Vec<String>;

/// The folders whose files decide which kind an agent reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// The workspace alone.
    #[default]
    Workspace,
    /// The folders above it too, up to the root of its git repository, or all of them where there is none.
    Repository,
    /// All folders above it too.
    Everything,
}

impl InstructionFiles {
    /// The file that the block belongs into, so that the agent reads it and everything that it reads now. `exists` looks as
    /// far as [`Self::reach`] says, for files that are not ours alone.
    pub fn choose(&self, exists: impl Fn(&str) -> bool) -> &str {
        let is_there = |kind: &&Kind| kind.iter().any(|file| exists(file));
        self.kinds.iter().find(is_there).and_then(|kind| kind.first()).unwrap_or(&self.create)
    }

    /// How far up the agent looks for files that decide the kind.
    pub const fn reach(&self) -> Reach {
        self.reach
    }

    /// Every file that may hold a block, of today or of an earlier release.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.kinds.iter().filter_map(|kind| kind.first()).chain(&self.former).map(String::as_str)
    }

    /// The file that is made where there are none.
    pub fn created(&self) -> &str {
        &self.create
    }

    /// Files that earlier releases wrote to, which the agent does not read.
    pub fn former(&self) -> impl Iterator<Item = &str> {
        self.former.iter().map(String::as_str)
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a path below the workspace, or a table with `read`")]
enum Written {
    One(String),
    Several(Several),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Several {
    read: Vec<Kind>,
    #[serde(default)]
    create: Option<String>,
    #[serde(default)]
    reach: Reach,
    #[serde(default)]
    former: Vec<String>,
}

impl<'de> Deserialize<'de> for InstructionFiles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Several { read: kinds, create, reach, former } = match Written::deserialize(deserializer)? {
            Written::One(file) => {
                Several { read: vec![vec![file]], create: None, reach: Reach::Workspace, former: Vec::new() }
            }
            Written::Several(several) => several,
        };
        if kinds.is_empty() || kinds.iter().any(Vec::is_empty) {
            return Err(de::Error::custom("`read` has to name kinds of files, each with at least one file"));
        }
        if let Some(odd) = kinds.iter().flatten().chain(&former).find(|path| !stays_below(path)) {
            return Err(de::Error::invalid_value(de::Unexpected::Str(odd), &"a path below the workspace"));
        }
        let mut firsts = kinds.iter().filter_map(|kind| kind.first());
        let create = create.or_else(|| kinds.first().and_then(|kind| kind.first()).cloned()).unwrap_or_default();
        if !firsts.any(|first| *first == create) {
            return Err(de::Error::custom(format!(
                "`create` names {create:?}, which is the first of no kind in `read`"
            )));
        }
        Ok(Self { kinds, create, reach, former })
    }
}

/// Whether a path stays below the folder it is joined to.
fn stays_below(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;

    fn files(value: &str) -> Result<InstructionFiles, String> {
        #[derive(Debug, Deserialize)]
        struct Document {
            instructions: InstructionFiles,
        }
        let read = toml::from_str::<Document>(&format!("instructions = {value}"));
        read.map(|document| document.instructions).map_err(|error| error.message().to_owned())
    }

    /// Measured with the recorded versions: of the files that exist, those the block must not hide.
    #[test]
    fn the_block_goes_where_the_agent_reads_and_hides_nothing() {
        let registry = Registry::builtin();
        let cases: [(&str, &[&str], &str); 16] = [
            ("claude", &[], ".claude/CLAUDE.md"),
            ("claude", &["CLAUDE.md"], ".claude/CLAUDE.md"),
            ("claude", &["CLAUDE.local.md", "AGENTS.md"], ".claude/CLAUDE.md"),
            ("claude", &["AGENTS.md"], "AGENTS.md"),
            ("codex", &[], "AGENTS.md"),
            ("codex", &["AGENTS.md", "CLAUDE.md"], "AGENTS.md"),
            ("codex", &["AGENTS.override.md"], "AGENTS.override.md"),
            ("codex", &["AGENTS.md", "AGENTS.override.md"], "AGENTS.override.md"),
            ("gemini", &["AGENTS.md", ".gemini/GEMINI.md"], "GEMINI.md"),
            ("opencode", &[], "AGENTS.md"),
            ("opencode", &["CLAUDE.md", "AGENTS.md"], "AGENTS.md"),
            ("opencode", &["CLAUDE.md"], "CLAUDE.md"),
            ("opencode", &[".claude/CLAUDE.md"], "AGENTS.md"),
            ("opencode", &["CONTEXT.md"], "CONTEXT.md"),
            ("copilot", &["CLAUDE.md"], "AGENTS.md"),
            ("cursor", &[], "AGENTS.md"),
        ];
        for (agent, there, expected) in cases {
            let manifest = registry.get(agent).expect("built in");
            let files = manifest.instructions.as_ref().expect("it reads instructions");
            assert_eq!(files.choose(|file| there.contains(&file)), expected, "{agent} with {there:?}");
        }
    }

    #[test]
    fn a_manifest_may_name_one_file_alone() {
        let one = files("\"NOTES.md\"").expect("valid");
        assert_eq!((one.choose(|_| false), one.all().collect::<Vec<_>>()), ("NOTES.md", vec!["NOTES.md"]));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |value: &str| files(value).expect_err("refused");
        for path in ["\"\"", "\"/etc/x\"", "\"../x\"", "\"a//b\"", "{ read = [[\"a\"]], former = [\"../b\"] }"] {
            assert!(refused(path).contains("a path below the workspace"), "{path}");
        }
        assert!(refused("{ read = [] }").contains("at least one file"));
        assert!(refused("{ read = [[]] }").contains("at least one file"));
        assert!(refused("{ read = [[\"a\", \"b\"]], create = \"b\" }").contains("the first of no kind"));
    }
}
