//! What a run of the lab shows: every state with the time it took, and the latencies that are promised.

use std::fmt::Write as _;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

use crate::agent::Agent;
use crate::play::{Outcome, Sight};
use crate::story::Story;

/// Every sight of every story.
pub fn sights(outcomes: &[(Story, Outcome)]) -> String {
    let mut table = table(&["STORY", "AFTER", "STATE", "VISIBLE AFTER", "AFTER IT WAS DRAWN", "SOURCE"], &[3, 4]);
    for (story, outcome) in outcomes {
        for sight in &outcome.sights {
            table.add_row([
                story.to_string(),
                shortened(&sight.after),
                sight.state.clone(),
                format!("{} ms", sight.visible.as_millis()),
                sight.drawn.map_or_else(|| "-".to_owned(), |drawn| format!("{drawn} ms")),
                sight.source.clone().unwrap_or_else(|| "-".to_owned()),
            ]);
        }
    }
    format!("{table}\n")
}

/// The latencies that are promised, per agent.
pub fn latencies(outcomes: &[(Story, Outcome)]) -> String {
    let mut table = table(&["AGENT", "FROM", "TO", "N", "P50", "MAX"], &[3, 4, 5]);
    for agent in Agent::ALL {
        let of_agent = || outcomes.iter().filter(move |(story, _)| story.agent == agent).flat_map(|(_, o)| &o.sights);
        let interrupted =
            of_agent().filter(|sight| is_interruption(sight)).map(|sight| millis(sight.visible.as_millis()));
        let asked = of_agent().filter(|sight| sight.state.starts_with("waiting_approval"));
        let asked = asked.filter_map(|sight| sight.drawn).map(|drawn| drawn.max(0));
        for (from, to, mut samples) in [
            ("Esc", "idle visible", interrupted.collect::<Vec<_>>()),
            ("dialog drawn", "waiting_approval visible", asked.collect()),
        ] {
            samples.sort_unstable();
            let (Some(middle), Some(max)) = (samples.get(samples.len().saturating_sub(1) / 2), samples.last()) else {
                continue;
            };
            let count = samples.len().to_string();
            table.add_row([agent.name(), from, to, &count, &format!("{middle} ms"), &format!("{max} ms")]);
        }
    }
    format!("{table}\n")
}

/// What went wrong, and a last line that says how it went.
pub fn summary(outcomes: &[(Story, Outcome)]) -> String {
    let mut text = String::new();
    for (_, outcome) in outcomes {
        if let Some(failure) = &outcome.failure {
            let _ = writeln!(text, "FAILED {failure}");
        }
    }
    let mut outside: Vec<_> = outcomes.iter().flat_map(|(_, outcome)| &outcome.outside).collect();
    outside.sort_unstable();
    outside.dedup();
    for request in outside {
        let _ = writeln!(text, "kept from the world: {request}");
    }
    let failed: Vec<_> =
        outcomes.iter().filter(|(_, o)| o.failure.is_some()).map(|(story, _)| story.to_string()).collect();
    let _ = writeln!(text, "{} stories, {} failed {}", outcomes.len(), failed.len(), failed.join(" "));
    text
}

/// Only of a single press is it known when it counted.
fn is_interruption(sight: &Sight) -> bool {
    sight.after == "key Escape" && sight.state.starts_with("idle")
}

fn millis(millis: u128) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}

fn shortened(text: &str) -> String {
    let short: String = text.chars().take(40).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

/// A table with these headings, some of its columns aligned to the right.
pub(crate) fn table(headers: &[&str], numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(headers.to_vec());
    for index in numbers {
        if let Some(column) = table.column_mut(*index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
