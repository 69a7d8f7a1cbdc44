//! What `agtmux agents` shows to people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use agtmux_agents::screen::{Condition, Rule, ScreenReading};
use agtmux_agents::{Capabilities, Entry, Origin, Registry};
use agtmux_wire::agent::AgentItem;

use super::output::printable;
use super::table::Sheet;

/// The table of agents.
pub(super) fn list(registry: &Registry, fares: &BTreeMap<String, AgentItem>, color: bool) -> String {
    let mut sheet = Sheet::new(&["AGENT", "NAME", "FROM", "TESTED WITH", "SCREEN", "TELLS", "HEALTH"], color);
    for Entry { manifest, origin } in registry.list() {
        let tested = if manifest.is_tested() { manifest.recorded.join(", ") } else { "untested".to_owned() };
        let from = match origin {
            Origin::Builtin => "built-in".to_owned(),
            Origin::User(file) => format!("{} {file}", self::origin(&manifest.id, origin)),
        };
        let composer = if manifest.composer.is_some() { "composer" } else { "no composer" };
        let screen = format!("{composer}, {} rules", manifest.screen.in_order().len());
        let health = fares.get(&manifest.id).map_or_else(|| "-".to_owned(), |fares| fares.health.clone());
        let tells = tells(Capabilities::of(manifest));
        sheet.row(None, &[manifest.id.clone(), manifest.name.clone(), from, tested, screen, tells, health]);
    }
    sheet.render()
}

/// What can be known of an agent, in words.
pub(super) fn tells(capabilities: Capabilities) -> String {
    let words = ["events", "polling", "approval", "input", "completed"];
    let set = capabilities.flags().into_iter().zip(words).filter(|((_, is_set), _)| *is_set).map(|(_, word)| word);
    set.collect::<Vec<_>>().join(" ")
}

/// Where a description comes from, in a word.
pub(super) fn origin(agent: &str, origin: &Origin) -> &'static str {
    match origin {
        Origin::Builtin => "built-in",
        Origin::User(_) if Registry::builtin().get(agent).is_some() => "overridden",
        Origin::User(_) => "user",
    }
}

/// All that is known about one agent.
pub(super) fn explain(entry: &Entry) -> String {
    let manifest = &entry.manifest;
    let mut text = String::new();
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "{label:<12}{}", printable(value));
    };
    line("agent", &format!("{} ({})", manifest.id, manifest.name));
    match &entry.origin {
        Origin::Builtin => line("from", "built-in"),
        Origin::User(file) => line("from", &format!("{} {file}", origin(&manifest.id, &entry.origin))),
    }
    let tested = if manifest.is_tested() { manifest.recorded.join(", ") } else { "no version: untested".to_owned() };
    line("tested with", &tested);
    line("programs", &manifest.process.programs.join(", "));
    line("packages", &manifest.process.packages.join(", "));
    line("tells", &tells(Capabilities::of(manifest)));
    line("composer", manifest.composer.as_ref().map_or("is not recognised: nothing is typed", |_| "is recognised"));
    text.push_str("\nrules, in the order in which they are tried; the first that tells a state counts\n");
    for rule in manifest.screen.in_order() {
        text.push_str(&explain_rule(rule));
    }
    text
}

fn explain_rule(rule: &Rule) -> String {
    let mut text = format!("  {} {} in {} means {}", rule.priority, rule.id, rule.region, rule.means.name());
    if let Some(cause) = rule.cause {
        let _ = write!(text, " ({})", cause.name());
    }
    text.push('\n');
    let mut conditions = |label: &str, conditions: &[Condition]| {
        for condition in conditions {
            let _ = writeln!(text, "     {label:<4}{}", printable(&condition.to_string()));
        }
    };
    conditions("all", &rule.all);
    conditions("any", &rule.any);
    conditions("not", &rule.not);
    text
}

/// What was read from a screen, by which agent's rules.
pub(super) fn readings(found: &[(&str, ScreenReading)]) -> String {
    if found.is_empty() {
        return "no agent finds anything of its own on this screen\n".to_owned();
    }
    found.iter().map(|(agent, reading)| of_agent(agent, reading)).collect::<Vec<_>>().join("\n")
}

fn of_agent(agent: &str, reading: &ScreenReading) -> String {
    let composer = &reading.composer;
    let mut text = String::new();
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "{label:<8}{}", printable(value));
    };
    line("agent", agent);
    line("enter", composer.enter.name());
    if let Some(draft) = &composer.draft {
        line("draft", &format!("{draft:?}"));
    }
    if let Some(ghost) = &composer.ghost {
        line("ghost", &format!("{ghost:?}"));
    }
    if composer.queued > 0 {
        line("queued", &composer.queued.to_string());
    }
    if let Some(dialog) = &composer.dialog {
        line("dialog", dialog.title.as_deref().unwrap_or("without a title"));
        for option in &dialog.options {
            let mark = if option.selected { ">" } else { " " };
            let key = option.key.as_deref().map_or(String::new(), |key| format!("{key}. "));
            line("", &format!("{mark} {key}{}", option.label));
        }
    }
    if reading.matched.is_empty() {
        line("rules", "none matches");
    }
    for found in &reading.matched {
        let means = found.means.name();
        line("rule", &format!("{} in {} means {means}, on {:?}", found.rule, found.region, found.text));
    }
    text
}
