//! What differs between any two runs of an agent, because of the time or because each run is its own. Each rule is as narrow as it can be,
//! and the report says which were needed.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

/// A rule: what is replaced, and by what.
#[derive(Clone, Debug)]
struct Rule {
    name: &'static str,
    pattern: Regex,
    with: &'static str,
}

/// The rules for one run.
#[derive(Clone, Debug)]
pub(super) struct Rules(Vec<Rule>);

/// Names, patterns, replacements.
pub(super) const RULES: [(&str, &str, &str); 9] = [
    ("how the agent was started, in the lines of the shell", r"(?:agtmux wrap --|env -u NOTHING) ", "..... ..... .. "),
    (
        "a session's id",
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "00000000-0000-0000-0000-000000000000",
    ),
    (
        "Claude's verb at the end of a turn, its seconds, its minute",
        r"✻ [A-Z]\p{L}+ for \d+s · done \d+:\d\d [AP]M",
        "✻ Worked for 0s · done 0:00 AM",
    ),
    ("Claude's dot that blinks while a command waits", r"\|(?:\\e\[38;5;246m● \\e\[m|  )Lab command", "|● Lab command"),
    (
        "Codex's title that blinks while it asks",
        r"(?m)^pane_title \[ [.!] \] Action Required",
        "pane_title [ ! ] Action Required",
    ),
    ("Codex's dot that blinks while a command waits", r"(?m)^\|(?:• |\\e\[2m◦ )\\e\[1mRunning ", r"|• \e[1mRunning "),
    ("Codex's colour of a conversation's title", r"\\e\[38;5;\d+mLab title", "Lab title"),
    ("Codex's seconds and minute at the end of a turn", r"Worked for <?\d+s • \d\d:\d\d", "Worked for 0s • 00:00"),
    // tmux fetches it from its history when the pane grows at the wrong moment, and keeps it.
    (
        "a line of Codex that stays on the screen of the shell",
        r"(?m)^\|  \\e\[2mWorked for 0s • 00:00\n\|\[1\]\+  Stopped",
        "|\n|[1]+  Stopped",
    ),
];

impl Rules {
    /// The rules for a run whose files are in this folder.
    ///
    /// # Errors
    /// Never: a test reads every pattern.
    pub(super) fn for_run(root: &Path) -> Result<Self, regex::Error> {
        // All such folders have names of the same length, so nothing is moved by it.
        let own = ("the folder of the run", &*regex::escape(&root.display().to_string()), "/tmp/alRRRRR");
        let rules = [own].into_iter().chain(RULES);
        rules
            .map(|(name, pattern, with)| Ok(Rule { name, pattern: Regex::new(pattern)?, with }))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The text without what differs anyway. Notes which rules were needed.
    pub(super) fn applied(&self, text: &str, needed: &mut BTreeSet<&'static str>) -> String {
        let mut text = text.to_owned();
        for rule in &self.0 {
            if rule.pattern.is_match(&text) {
                needed.insert(rule.name);
                text = rule.pattern.replace_all(&text, rule.with).into_owned();
            }
        }
        text
    }
}
