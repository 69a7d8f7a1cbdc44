//! Signs in the pane's stream that carry an agent's state: titles, notices and the program status.
//!
//! Which titles and notices mean what is data of the manifest (`[[titles]]`, `[[notices]]`), so that it can be corrected
//! without a release. The program status (OSC 7501) says the same for every program.

use agtmux_core::signal::{Blocking, Cause, InputKind, Outcome, Signal};
use serde::Deserialize;

use super::payload::{line, message};
use super::unsupported;
use crate::manifest::Manifest;
use crate::reading::Reading;

/// A rule for titles or notices: one that starts with any of these means that.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignRule {
    /// Beginnings, blanks before them apart.
    pub starts: Vec<String>,
    /// What it means.
    pub means: Sign,
}

/// What a sign can mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// At its composer.
    Idle,
    /// In a turn.
    Working,
    /// Something is to be allowed.
    Approval,
    /// Something is to be answered.
    Question,
    /// The turn is done.
    Done,
    /// The turn failed.
    Error,
}

/// Reads the signs of one runtime in the order in which they were seen.
#[derive(Clone, Debug, Default)]
pub struct Signs {
    /// What the last sign meant. The same sign again, as from a spinner, says nothing new.
    last: Option<Sign>,
    /// The program says its status itself. A title knows less then, and blinks.
    has_status: bool,
}

impl Signs {
    /// What a new title says. A title that no rule knows says nothing, unless the one before it carried a state: then
    /// the program is at rest again.
    pub fn title(&mut self, manifest: &Manifest, title: &str) -> Vec<Reading> {
        if self.has_status {
            return Vec::new();
        }
        match (meaning(&manifest.titles, title), self.last) {
            (Some(sign), _) => self.say(sign),
            (None, Some(_)) if title.trim().is_empty() => self.withdraw(),
            (None, Some(Sign::Working | Sign::Approval | Sign::Question)) => self.say(Sign::Idle),
            (None, _) => Vec::new(),
        }
    }

    /// What a notice for the desktop says (OSC 9, 99 or 777).
    pub fn notice(&mut self, manifest: &Manifest, text: &str) -> Vec<Reading> {
        let Some(sign) = meaning(&manifest.notices, text) else {
            return Vec::new();
        };
        // It repeats what the title has just said, in more words.
        self.last = None;
        self.say(sign).into_iter().map(|reading| reading.with_message(message(text))).collect()
    }

    /// What the program says of itself (OSC 7501).
    pub fn program_status(&mut self, state: &str, kind: Option<&str>) -> Vec<Reading> {
        self.has_status = true;
        let sign = match (state, kind) {
            // Sent at the start, upon an interruption, and when a person types after an end: then the end is old news.
            ("idle", _) if matches!(self.last, Some(Sign::Done | Sign::Error)) => {
                self.last = Some(Sign::Idle);
                return vec![Reading::new(Signal::TurnEnded { outcome: Outcome::Settled })];
            }
            ("idle", _) => Sign::Idle,
            ("working", _) => Sign::Working,
            ("blocked", Some("question")) => Sign::Question,
            ("blocked", Some("permission")) => Sign::Approval,
            ("blocked", other) => {
                self.last = Some(Sign::Question);
                let name = other.map(|kind| line(kind, 80));
                return vec![Reading::new(Signal::Blocked { on: Blocking::Dialog { name } })];
            }
            ("done", _) => Sign::Done,
            ("error", _) => Sign::Error,
            ("clear", _) => return self.withdraw(),
            (other, _) => return vec![unsupported(&format!("program status {other}"))],
        };
        self.say(sign)
    }

    fn say(&mut self, sign: Sign) -> Vec<Reading> {
        let before = self.last.replace(sign);
        if before == Some(sign) {
            return Vec::new();
        }
        vec![Reading::new(match sign {
            Sign::Idle => Signal::Idle,
            Sign::Working if matches!(before, Some(Sign::Approval | Sign::Question)) => Signal::Unblocked,
            Sign::Working => Signal::TurnStarted,
            Sign::Approval => Signal::Blocked { on: Blocking::Approval { subject: None, prompt_hash: None } },
            Sign::Question => Signal::Blocked { on: Blocking::Input { kind: InputKind::Question } },
            Sign::Done => Signal::TurnEnded { outcome: Outcome::Done },
            Sign::Error => Signal::TurnEnded { outcome: Outcome::Failed { cause: Cause::Reported } },
        })]
    }

    fn withdraw(&mut self) -> Vec<Reading> {
        self.last = None;
        vec![Reading::new(Signal::Withdrawn)]
    }
}

fn meaning(rules: &[SignRule], text: &str) -> Option<Sign> {
    let text = text.trim_start();
    let fits = |rule: &&SignRule| rule.starts.iter().any(|start| !start.is_empty() && text.starts_with(start.as_str()));
    rules.iter().find(fits).map(|rule| rule.means)
}

#[cfg(test)]
mod tests {
    use super::Signs;
    use crate::manifest::Manifest;
    use crate::reading::Reading;
    use crate::registry::Registry;
    use crate::translate::tests::render;

    fn manifest(agent: &str) -> Manifest {
        Registry::builtin().get(agent).expect("built in").clone()
    }

    fn lines(readings: impl IntoIterator<Item = Reading>) -> String {
        readings.into_iter().map(|reading| render(&reading)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn gemini_tells_its_state_in_the_title() {
        let (gemini, mut signs) = (manifest("gemini"), Signs::default());
        let titles = [
            "vm",
            "◇  Ready (w)",
            "✦  Working… (w)",
            "✦  Working… (w)",
            "✋  Action Required (w)",
            "✦  Working… (w)",
            "◇  Ready (w)",
            "",
        ];
        insta::assert_snapshot!(lines(titles.iter().flat_map(|title| signs.title(&gemini, title))), @r"
        Idle
        turn_started
        blocked on approval of something
        unblocked
        Idle
        Withdrawn
        ");
    }

    #[test]
    fn a_title_that_no_longer_spins_is_at_rest() {
        let (codex, mut signs) = (manifest("codex"), Signs::default());
        let titles = [
            "vm",
            "⠋ work",
            "⠙ work",
            "[ ! ] Action Required | work",
            "[ . ] Action Required | work",
            "work",
            "work 2",
        ];
        insta::assert_snapshot!(lines(titles.iter().flat_map(|title| signs.title(&codex, title))), @r"
        turn_started
        blocked on approval of something
        Idle
        ");
    }

    #[test]
    fn the_program_status_outranks_the_title() {
        let (codex, mut signs) = (manifest("codex"), Signs::default());
        let mut readings = signs.program_status("working", None);
        readings.extend(signs.program_status("blocked", Some("question")));
        readings.extend(signs.title(&codex, "[ ! ] Action Required | work"));
        readings.extend(signs.program_status("working", None));
        readings.extend(signs.program_status("error", None));
        readings.extend(signs.program_status("idle", None));
        readings.extend(signs.program_status("blocked", Some("novelty")));
        readings.extend(signs.program_status("novel", None));
        readings.extend(signs.program_status("clear", None));
        insta::assert_snapshot!(lines(readings), @r#"
        turn_started
        blocked on question
        unblocked
        turn_ended failed reported
        turn_ended settled
        Blocked { on: Dialog { name: Some("novelty") } }
        Unsupported { what: "program status novel" }
        Withdrawn
        "#);
    }

    #[test]
    fn notices_are_read_by_the_manifest() {
        let (gemini, mut signs) = (manifest("gemini"), Signs::default());
        let done = "Gemini CLI session complete | Run finished | Gemini CLI finished responding.";
        let texts = ["New mail", done, "Gemini CLI needs your attention | Approval required | Approve tool action: X"];
        insta::assert_snapshot!(lines(texts.iter().flat_map(|text| signs.notice(&gemini, text))), @r"
        turn_ended done: Gemini CLI session complete | Run finished | Gemini CLI finished responding.
        blocked on approval of something: Gemini CLI needs your attention | Approval required | Approve tool action: X
        ");
    }
}
