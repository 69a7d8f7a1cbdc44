//! What came of runs, as a table: counts, and for every zero how large the rate may be all the same.

use std::fmt::Write as _;

use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;

use crate::oracle::{FATES, Fate};
use crate::run::{Outcome, Plan};

/// One row per run.
#[must_use]
pub fn table(runs: &[(Plan, Outcome)]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header([
        "way",
        "messages",
        "not intact",
        "lines typed",
        "not intact",
        "strays",
        "put off",
        "MB",
        "minutes",
    ]);
    for (plan, outcome) in runs {
        let messages: Vec<_> = outcome.verdicts.iter().flat_map(|verdict| &verdict.messages).copied().collect();
        let lines: Vec<_> = outcome.verdicts.iter().flat_map(|verdict| &verdict.lines).copied().collect();
        let strays: usize = outcome.verdicts.iter().map(|verdict| verdict.strays.len()).sum();
        let megabytes = outcome.bytes as f64 / 1e6;
        table.add_row([
            plan.name.clone(),
            messages.len().to_string(),
            failures(&messages),
            lines.len().to_string(),
            failures(&lines),
            strays.to_string(),
            outcome.put_off.to_string(),
            format!("{megabytes:.1}"),
            format!("{:.1}", outcome.took.as_secs_f64() / 60.0),
        ]);
    }
    table.to_string()
}

/// How many are not intact, and in which way; for none, the rate that is excluded with 95 % (rule of three).
#[must_use]
pub fn failures(fates: &[Fate]) -> String {
    let count = |fate: Fate| fates.iter().filter(|other| **other == fate).count();
    let failed = fates.len() - count(Fate::Intact);
    let all = fates.len() as f64;
    if fates.is_empty() {
        return "–".to_owned();
    }
    if failed == 0 {
        return format!("0 (≤ {:.2} %)", 300.0 / all);
    }
    let mut text = format!("{failed} ({:.1} %):", 100.0 * failed as f64 / all);
    for fate in FATES.into_iter().filter(|fate| *fate != Fate::Intact && count(*fate) > 0) {
        // Writing into a string does not fail.
        write!(text, " {} {}", count(fate), fate.word()).ok();
    }
    text
}

/// The machine's load, as far as it tells.
#[must_use]
pub fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let averages: Vec<_> = load.split(' ').take(3).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{} on {cores} cores", averages.join(" "))
}

/// Whether nothing at all went wrong.
#[must_use]
pub fn is_clean(outcome: &Outcome) -> bool {
    outcome.verdicts.iter().all(|verdict| {
        verdict.strays.is_empty() && verdict.lines.iter().chain(&verdict.messages).all(|fate| *fate == Fate::Intact)
    })
}
