//! Does a real agent look the same in the wrapper as without it? The same is done in three panes: two without it, one with. After each
//! step, when all of them hold still, everything that can be told of them is compared. Two without it differ only by time and
//! chance, which is how the rules that leave such things out are kept honest.

mod picture;
mod report;
mod rules;
mod seat;
mod sight;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures_util::future::try_join_all;
use similar::TextDiff;

pub use self::report::report;
use self::seat::Seat;
use self::steps::{Step, steps};
use crate::agent::Agent;
use crate::install::Packages;

/// How long screens may take to hold still.
const ARRIVED: Duration = Duration::from_secs(30);

/// How long a screen does not change before it counts as still, and how long still screens that differ may take to become the same.
const STILL: Duration = Duration::from_millis(400);
const PATIENCE: Duration = Duration::from_secs(4);

/// Between two looks.
const LOOK: Duration = Duration::from_millis(40);

/// How panes are compared.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// Whether only the steps that say most are done.
    pub brief: bool,
    /// A folder for the pictures and for all that was written to the panes, if they are to be kept.
    pub keep: Option<PathBuf>,
}

/// What came of it for one agent.
#[derive(Clone, Debug)]
pub struct Alike {
    /// The agent.
    pub agent: Agent,
    /// Every step that was compared.
    pub rows: Vec<Row>,
    /// The rules that were needed.
    pub rules: BTreeSet<&'static str>,
    /// Why it did not come to its end, if so.
    pub broken_off: Option<String>,
    /// How long it took.
    pub took: Duration,
}

/// A step.
#[derive(Clone, Debug)]
pub struct Row {
    /// Which.
    pub step: &'static str,
    /// How the two without the wrapper differ, if they do.
    pub control: Option<String>,
    /// How the one with it differs from the first without.
    pub wrapped: Option<String>,
}

impl Alike {
    /// Whether all steps were compared and nothing differs.
    #[must_use]
    pub fn is_same(&self) -> bool {
        let differs = |row: &Row| row.control.is_some() || row.wrapped.is_some();
        self.broken_off.is_none() && !self.rows.is_empty() && !self.rows.iter().any(differs)
    }
}

/// Does the steps with an agent, and compares.
///
/// # Errors
/// Fails when the panes cannot be made or taken down, or when nobody has written steps for this agent.
pub async fn alike(agent: Agent, packages: &Packages, agtmux: &Path, manner: &Manner) -> Result<Alike> {
    let began = Instant::now();
    let kept = manner.keep.as_deref();
    let steps = steps(agent, manner.brief).with_context(|| format!("there are no steps for {agent}"))?;
    let seat = |name, wrapped| Seat::take(name, agent, packages, agtmux, wrapped);
    let seats = try_join_all([seat("bare", false), seat("bare again", false), seat("wrapped", true)]).await?;
    let mut outcome = Alike { agent, rows: Vec::new(), rules: BTreeSet::new(), broken_off: None, took: Duration::ZERO };
    for step in &steps {
        match compare(&seats, agent, step, &mut outcome.rules).await {
            Ok((row, pictures)) => {
                for (seat, picture) in seats.iter().zip(&pictures) {
                    keep(kept, &format!("{agent} {} {:02}", seat.name, outcome.rows.len() + 1), picture.as_bytes())?;
                }
                outcome.rows.push(row);
            }
            Err(error) => {
                outcome.broken_off = Some(format!("{}: {error:#}", step.name));
                break;
            }
        }
    }
    for seat in seats {
        keep(kept, &format!("{agent} {}", seat.name), &seat.written()?)?;
        seat.leave().await?;
    }
    outcome.took = began.elapsed();
    Ok(outcome)
}

fn keep(folder: Option<&Path>, name: &str, bytes: &[u8]) -> Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    fs::create_dir_all(folder)?;
    let file = folder.join(name);
    fs::write(&file, bytes).with_context(|| file.display().to_string())
}

/// Does a step in all panes, and compares them.
async fn compare(
    seats: &[Seat],
    agent: Agent,
    step: &Step,
    rules: &mut BTreeSet<&'static str>,
) -> Result<(Row, Vec<String>)> {
    try_join_all(seats.iter().map(|seat| seat.go(agent, step))).await?;
    let pictures = still(seats, rules).await?;
    let differs = |index: usize| {
        let (one, other) = (pictures.first()?, pictures.get(index)?);
        difference(one, other, seats.get(index)?.name)
    };
    Ok((Row { step: step.name, control: differs(1), wrapped: differs(2) }, pictures))
}

/// How two pictures differ, if they do.
fn difference(one: &str, other: &str, name: &str) -> Option<String> {
    let diff = || TextDiff::from_lines(one, other).unified_diff().context_radius(0).header("bare", name).to_string();
    (one != other).then(diff)
}

/// Waits until no pane changes any more and no model is asked, then until they are the same, for a while: an agent that was slow
/// may have something left to draw.
async fn still(seats: &[Seat], rules: &mut BTreeSet<&'static str>) -> Result<Vec<String>> {
    let began = Instant::now();
    let (mut last, mut changed, mut differ_since): (Vec<(String, usize)>, _, _) = (Vec::new(), began, None);
    let mut change = String::new();
    loop {
        let looks = try_join_all(seats.iter().map(Seat::look)).await?;
        if looks != last {
            let changes = last.iter().zip(&looks).filter_map(|(one, other)| difference(&one.0, &other.0, "then"));
            change = changes.collect();
            (last, changed) = (looks, Instant::now());
        } else if changed.elapsed() >= STILL {
            let mut pictures = Vec::new();
            for seat in seats {
                pictures.push(seat.picture(rules).await?);
            }
            let same = pictures.windows(2).all(|pair| pair[0] == pair[1]);
            if same || differ_since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE {
                return Ok(pictures);
            }
        }
        ensure!(began.elapsed() < ARRIVED, "the screens do not hold still:\n{change}");
        tokio::time::sleep(LOOK).await;
    }
}
