//! The numbers, and how they are shown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use agtmux_core::state::{Confidence, State};
use serde::Serialize;

use super::Sources;
use super::recording::{PLAIN, Recording};
use super::replay::Measured;

/// Scores by set of sources.
type Sets = BTreeMap<&'static str, Score>;

/// How often agtmux was right, by set of sources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Accuracy {
    /// By agent.
    pub agents: BTreeMap<String, Sets>,
    /// By variant and agent.
    pub variants: BTreeMap<String, BTreeMap<String, Sets>>,
    /// By agent and version of it.
    pub versions: BTreeMap<String, BTreeMap<String, Sets>>,
}

/// How often the state was right.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// Recordings.
    pub n: usize,
    pub right: usize,
    /// Another state was shown than one that is right.
    pub wrong: usize,
    /// Of those, the ones that were shown as sure.
    pub confident_wrong: usize,
    /// No state was claimed.
    pub unknown: usize,
    /// What was not right.
    pub misses: Vec<Miss>,
    /// How often it was known what text and Enter would do.
    pub enter: EnterScore,
    /// How often each state was taken for which: wanted, got, count.
    #[serde(skip)]
    confusion: BTreeMap<(String, String), usize>,
}

/// How often it was known what text and Enter would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EnterScore {
    pub n: usize,
    pub right: usize,
    /// Called safe to type where it was not, or safe in another way than it was.
    pub wrong_safe: usize,
    pub misses: Vec<Miss>,
}

/// A recording that was not read right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Miss {
    pub variant: String,
    pub case: String,
    pub want: String,
    pub got: String,
    pub confidence: &'static str,
}

impl Accuracy {
    pub(super) fn add(&mut self, recording: &Recording, sources: Sources, measured: &Measured) {
        let agent = || recording.agent.clone();
        let of_variant = self.variants.entry(recording.variant.clone()).or_default().entry(agent()).or_default();
        let of_version = self.versions.entry(agent()).or_default().entry(recording.version.clone()).or_default();
        for sets in [self.agents.entry(agent()).or_default(), of_variant, of_version] {
            let score = sets.entry(sources.name()).or_default();
            score.add_state(recording, measured);
            score.add_enter(recording, measured);
        }
    }

    /// The sum over all agents.
    pub fn total(&self, sources: Sources) -> Score {
        Score::sum(self.agents.values(), sources)
    }

    /// The sum over all agents, for each variant.
    pub fn of_variants(&self, sources: Sources) -> Vec<(String, Score)> {
        self.variants.iter().map(|(name, agents)| (name.clone(), Score::sum(agents.values(), sources))).collect()
    }

    /// For people: the numbers, then every miss and what was taken for what.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{:<10} {:<7} {:>4} {:>6} {:>6} {:>15} {:>8} {:>7} {:>11}\n",
            "AGENT", "SOURCES", "N", "RIGHT", "WRONG", "CONFIDENT-WRONG", "UNKNOWN", "ENTER", "WRONG-SAFE"
        );
        for (agent, sources, score) in self.rows() {
            let (enter, wrong_safe) = score.enter.columns();
            let _ = writeln!(
                text,
                "{agent:<10} {sources:<7} {:>4} {:>6} {:>6} {:>15} {:>8} {enter:>7} {wrong_safe:>11}",
                score.n, score.right, score.wrong, score.confident_wrong, score.unknown,
            );
        }
        if self.variants.len() > 1 {
            let _ = writeln!(
                text,
                "\n{:<24} {:<7} {:>4} {:>6} {:>15} {:>8} {:>7} {:>11}",
                "VARIANT", "SOURCES", "N", "RIGHT", "CONFIDENT-WRONG", "UNKNOWN", "ENTER", "WRONG-SAFE"
            );
            for sources in Sources::EACH {
                for (variant, score) in self.of_variants(sources).iter().filter(|(_, score)| score.n > 0) {
                    let (enter, wrong_safe) = score.enter.columns();
                    let _ = writeln!(
                        text,
                        "{variant:<24} {:<7} {:>4} {:>6} {:>15} {:>8} {enter:>7} {wrong_safe:>11}",
                        sources.name(),
                        score.n,
                        score.right,
                        score.confident_wrong,
                        score.unknown,
                    );
                }
            }
        }
        for (agent, sources, score) in self.rows() {
            for ((want, got), count) in score.confusion.iter().filter(|((want, got), _)| want != got) {
                let _ = writeln!(text, "\n{agent}, {sources}: {want} taken for {got}, {count} times");
                let these = |miss: &&Miss| (&miss.want, &miss.got) == (want, got);
                for miss in score.misses.iter().filter(these) {
                    let _ = writeln!(text, "  {} ({})", miss.name(), miss.confidence);
                }
            }
            for miss in &score.enter.misses {
                let Miss { want, got, .. } = miss;
                let case = miss.name();
                let _ = writeln!(text, "\n{agent}, {sources}: Enter in {case} would {want}, was taken for {got}");
            }
        }
        text
    }

    /// The table of the documentation.
    pub fn markdown(&self) -> String {
        let mut text = String::from(
            "| agent | sources | recordings | right | wrong | confident wrong | unknown | Enter right | wrong safe |\n\
             |---|---|---:|---:|---:|---:|---:|---:|---:|\n",
        );
        let mut row = |agent: &str, sources: &str, score: &Score| {
            let (enter, wrong_safe) = score.enter.columns();
            let _ = writeln!(
                text,
                "| {agent} | {sources} | {} | {} ({:.1} %) | {} | {} | {} | {enter} | {wrong_safe} |",
                score.n,
                score.right,
                percent(score.right, score.n),
                score.wrong,
                score.confident_wrong,
                score.unknown,
            );
        };
        for sources in Sources::EACH {
            for (agent, _, score) in self.rows().filter(|(_, name, _)| *name == sources.name()) {
                row(agent, sources.name(), score);
            }
            row("**all agents**", sources.name(), &self.total(sources));
        }
        text
    }

    /// The tables of the documentation by variant and by version: all sources, and the screen alone.
    pub fn markdown_apart(&self) -> (String, String) {
        let groups = |outer: &BTreeMap<String, BTreeMap<String, Sets>>, heads: [&str; 2]| {
            let mut text = format!(
                "| {} | {} | recordings | right | confident wrong | by the screen alone | Enter right | wrong safe |\n\
                 |---|---|---:|---:|---:|---:|---:|---:|\n",
                heads[0], heads[1],
            );
            for (first, inner) in outer {
                for (second, sets) in inner {
                    let of = |sources: Sources| sets.get(sources.name()).cloned().unwrap_or_default();
                    let (all, screen) = (of(Sources::All), of(Sources::Screen));
                    let (enter, wrong_safe) = all.enter.columns();
                    let _ = writeln!(
                        text,
                        "| {first} | {second} | {} | {} ({:.1} %) | {} | {} | {enter} | {wrong_safe} |",
                        all.n,
                        all.right,
                        percent(all.right, all.n),
                        all.confident_wrong,
                        screen.right,
                    );
                }
            }
            text
        };
        (groups(&self.variants, ["variant", "agent"]), groups(&self.versions, ["agent", "version"]))
    }

    fn rows(&self) -> impl Iterator<Item = (&str, &'static str, &Score)> {
        self.agents.iter().flat_map(|(agent, sets)| {
            let set = |sources: Sources| sets.get(sources.name()).map(|score| (agent.as_str(), sources.name(), score));
            Sources::EACH.into_iter().filter_map(set)
        })
    }
}

impl Miss {
    /// The case as its directories name it.
    fn name(&self) -> String {
        if self.variant == PLAIN { self.case.clone() } else { format!("{}/{}", self.variant, self.case) }
    }
}

impl Score {
    fn sum<'a>(every: impl Iterator<Item = &'a Sets>, sources: Sources) -> Self {
        let mut total = Self::default();
        for score in every.filter_map(|sets| sets.get(sources.name())) {
            total.n += score.n;
            total.right += score.right;
            total.wrong += score.wrong;
            total.confident_wrong += score.confident_wrong;
            total.unknown += score.unknown;
            total.enter.n += score.enter.n;
            total.enter.right += score.enter.right;
            total.enter.wrong_safe += score.enter.wrong_safe;
        }
        total
    }

    fn add_state(&mut self, recording: &Recording, measured: &Measured) {
        let want = &recording.truth.states;
        let got = measured.state.map_or("no agent", State::name);
        let right = match measured.state {
            None => want.is_empty(),
            Some(state) => want.iter().any(|want| want == state.name()),
        };
        self.n += 1;
        self.right += usize::from(right);
        let unknown = !right && measured.state == Some(State::Unknown);
        self.unknown += usize::from(unknown);
        self.wrong += usize::from(!right && !unknown);
        self.confident_wrong += usize::from(!right && !unknown && measured.confidence == Confidence::High);
        let want = if want.is_empty() { "no agent".to_owned() } else { want.join("|") };
        let taken_for = if right { want.clone() } else { got.to_owned() };
        *self.confusion.entry((want.clone(), taken_for)).or_default() += 1;
        if !right {
            self.misses.push(Miss {
                variant: recording.variant.clone(),
                case: recording.case.clone(),
                want,
                got: got.to_owned(),
                confidence: measured.confidence.name(),
            });
        }
    }

    fn add_enter(&mut self, recording: &Recording, measured: &Measured) {
        let Some(enter) = measured.enter else {
            return;
        };
        let want = &recording.truth.enter;
        let right = enter.name() == want;
        self.enter.n += 1;
        self.enter.right += usize::from(right);
        self.enter.wrong_safe += usize::from(!right && enter.is_safe());
        if !right {
            self.enter.misses.push(Miss {
                variant: recording.variant.clone(),
                case: recording.case.clone(),
                want: want.clone(),
                got: enter.name().to_owned(),
                confidence: measured.confidence.name(),
            });
        }
    }
}

impl EnterScore {
    /// How many were right, and wrongly called safe; dashes where the screen was not looked at.
    fn columns(&self) -> (String, String) {
        if self.n == 0 {
            return ("–".to_owned(), "–".to_owned());
        }
        (format!("{}/{}", self.right, self.n), self.wrong_safe.to_string())
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "there are hundreds of recordings, not quadrillions")]
    let (part, whole) = (part as f64, whole.max(1) as f64);
    part * 100.0 / whole
}
