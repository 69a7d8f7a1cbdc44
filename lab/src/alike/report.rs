//! What the comparison shows: each step and what differs, the rules that were needed, and a line per agent.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::rules::RULES;
use super::{Alike, Row};
use crate::install::version;
use crate::report::table;

/// The report.
#[must_use]
pub fn report(outcomes: &[Alike]) -> String {
    let mut table = table(&["AGENT", "STEP", "BARE AND BARE AGAIN", "BARE AND WRAPPED"], &[]);
    let mut text = String::new();
    for outcome in outcomes {
        let name = format!("{} {}", outcome.agent, version(outcome.agent));
        for row in &outcome.rows {
            table.add_row([&name, row.step, verdict(&row.control), verdict(&row.wrapped)]);
            for difference in row.control.iter().chain(&row.wrapped) {
                let _ = writeln!(text, "DIFFERS {name}: {}\n{difference}", row.step);
            }
        }
        if let Some(why) = &outcome.broken_off {
            let _ = writeln!(text, "BROKEN OFF {name}: {why}");
        }
    }
    let needed: BTreeSet<_> = outcomes.iter().flat_map(|outcome| &outcome.rules).collect();
    let _ = writeln!(text, "\nleft out, since it differs between any two runs:");
    for rule in needed {
        let pattern = RULES.iter().find(|(name, ..)| name == rule).map_or("its path", |(_, pattern, _)| pattern);
        let _ = writeln!(text, "  {rule}: {pattern}");
    }
    for outcome in outcomes {
        let _ = writeln!(text, "{}", last_line(outcome));
    }
    format!("{table}\n{text}")
}

fn verdict(difference: &Option<String>) -> &'static str {
    if difference.is_some() { "differs" } else { "same" }
}

fn last_line(outcome: &Alike) -> String {
    let count = |differs: fn(&Row) -> bool| outcome.rows.iter().filter(|row| differs(row)).count();
    format!(
        "{} {}: {} steps compared, {} differ wrapped, {} differ bare, {:.1} s{}",
        outcome.agent,
        version(outcome.agent),
        outcome.rows.len(),
        count(|row| row.wrapped.is_some()),
        count(|row| row.control.is_some()),
        outcome.took.as_secs_f64(),
        if outcome.broken_off.is_some() { ", BROKEN OFF" } else { "" }
    )
}
