//! Everything that is promised of typing and sending at the same time, with short or full counts, and one table.

use std::path::Path;

use anyhow::Result;

use crate::body;
use crate::deaths::{self, Deaths};
use crate::inject::Way;
use crate::mischief::Mischief;
use crate::report;
use crate::run::{Outcome, Plan, run};

/// What came of all runs.
#[derive(Debug)]
pub struct Proof {
    runs: Vec<(Run, Plan, Outcome)>,
    deaths: Deaths,
}

/// One run of the proof.
#[derive(Clone, Copy, Debug)]
struct Run {
    name: &'static str,
    way: Way,
    /// How the agents behave, beside drawing late.
    manners: &'static [&'static str],
    mischief: Option<Mischief>,
    /// Messages, lines and mischief, in a short proof and in a long one.
    short: (usize, usize, usize),
    long: (usize, usize, usize),
    /// Whether everything has to be intact; if not, something has to fail, or the harness sees nothing.
    clean: bool,
}

/// Agents draw late; harsh ones also stop reading for half a second now and then, and take an Enter too soon after a paste for a part
/// of it.
const LATE: &[&str] = &["--lag", "500"];
const HARSH: &[&str] = &["--lag", "500", "--stall", "500", "--settle", "100"];

const RUNS: [Run; 7] = [
    Run {
        name: "nobody sends",
        way: Way::Naive,
        manners: LATE,
        mischief: None,
        short: (0, 0, 0),
        long: (0, 1_000, 0),
        clean: true,
    },
    Run {
        name: "look, then send keys",
        way: Way::Naive,
        manners: LATE,
        mischief: None,
        short: (100, 50, 0),
        long: (1_000, 500, 0),
        clean: false,
    },
    Run {
        name: "look and paste in one tmux command",
        way: Way::Atomic,
        manners: LATE,
        mischief: None,
        short: (0, 0, 0),
        long: (1_000, 500, 0),
        clean: false,
    },
    Run {
        name: "the wrapper",
        way: Way::Shim,
        manners: HARSH,
        mischief: None,
        short: (200, 100, 0),
        long: (10_000, 5_000, 0),
        clean: true,
    },
    Run {
        name: "the wrapper, Enter when the text is shown",
        way: Way::Seen,
        manners: HARSH,
        mischief: None,
        short: (0, 0, 0),
        long: (2_000, 1_000, 0),
        clean: true,
    },
    Run {
        name: "the wrapper, daemon killed meanwhile",
        way: Way::Shim,
        manners: LATE,
        mischief: Some(Mischief::Restarts),
        short: (20, 10, 4),
        long: (500, 250, 100),
        clean: true,
    },
    Run {
        name: "the wrapper, plagued meanwhile",
        way: Way::Shim,
        manners: LATE,
        mischief: Some(Mischief::Chaos),
        short: (20, 10, 40),
        long: (500, 250, 2_000),
        clean: true,
    },
];

/// How many panes there are at once, and servers that die.
const PANES: (usize, usize) = (12, 24);
const DEATHS: (usize, usize) = (2, 200);

/// How much faster than people the scripted ones type.
const HASTE: f64 = 3.0;

/// Runs everything. `say` is told what comes next, and what came of it.
pub fn prove(long: bool, agtmux: &Path, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<Proof> {
    let chosen = |(short, full): (usize, usize)| if long { full } else { short };
    let mut runs = Vec::new();
    for kind in RUNS {
        let (messages, lines, mischief) = if long { kind.long } else { kind.short };
        if messages + lines == 0 {
            continue;
        }
        let seed = fastrand::u64(..);
        say(&format!("{}: {messages} messages, {lines} lines, seed {seed}", kind.name))?;
        let plan = Plan {
            name: kind.name.to_owned(),
            way: kind.way,
            messages,
            lines,
            panes: chosen(PANES),
            haste: HASTE,
            largest: body::LARGEST,
            manners: kind.manners.iter().map(|word| (*word).to_owned()).collect(),
            seed,
            agtmux: agtmux.to_owned(),
            mischief: kind.mischief.map(|kind| (kind, mischief)),
        };
        let outcome = run(&plan)?;
        say(&format!("{}\n", report::table(&[(plan.clone(), outcome.clone())])))?;
        runs.push((kind, plan, outcome));
    }
    say(&format!("{} tmux servers die", chosen(DEATHS)))?;
    let deaths = deaths::die(chosen(DEATHS), 4, agtmux)?;
    Ok(Proof { runs, deaths })
}

impl Proof {
    /// The table, and what there is to say beside it.
    #[must_use]
    pub fn told(&self) -> String {
        let runs: Vec<_> = self.runs.iter().map(|(_, plan, outcome)| (plan.clone(), outcome.clone())).collect();
        format!("{}\n\n{}.", report::table(&runs), self.deaths.told())
    }

    /// What is not as it should be.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let wrong = self.runs.iter().filter(|(kind, _, outcome)| report::is_clean(outcome) != kind.clean);
        let mut failures: Vec<_> = wrong
            .map(|(kind, plan, outcome)| {
                let what = if kind.clean { "not everything is intact" } else { "nothing failed: the harness is blind" };
                let strays: Vec<_> = outcome.verdicts.iter().flat_map(|verdict| &verdict.strays).take(3).collect();
                format!("{} (seed {}): {what} {strays:?}", kind.name, plan.seed)
            })
            .collect();
        if !self.deaths.is_in_time() {
            failures.push("agents whose server was dead were shown for too long".to_owned());
        }
        failures
    }
}
