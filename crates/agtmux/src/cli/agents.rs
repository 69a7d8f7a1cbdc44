//! `agtmux agents list|explain|test`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use agtmux_agents::screen::{Cursor, Foreground, Screen, ScreenContext, ScreenReading, read};
use agtmux_agents::{Capabilities, Entry, Manifest, Origin, Registry};
use agtmux_wire::agent::AgentList;
use agtmux_wire::error::ErrorCode;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::agents_text;
use super::{Context, output};
use crate::accuracy::Recording;
use crate::client::follow::is_gone;
use crate::daemon::startup::user_manifests;
use crate::error::CommandError;

#[derive(Debug, Subcommand)]
pub enum AgentsVerb {
    /// Every agent that is known, and where its description comes from
    List(ListArgs),
    /// What is known about one agent: its process, composer, dialogs and the rules for its screen
    Explain(ExplainArgs),
    /// Which rules match on a captured screen, on which text, and what Enter would do there
    Test(TestArgs),
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Which agent: claude, codex, gemini, …
    agent: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "tmux capture-pane -e -p -t %3 | agtmux agents test - --agent codex --cursor \"$(tmux display -p -t %3 '#{cursor_x},#{cursor_y}')\"\n\nWithout the cursor less is proved, and Enter is more often unknown."
)]
pub struct TestArgs {
    /// A capture as by `tmux capture-pane -e -p`, `-` for standard input, or the directory of a recording
    file: PathBuf,
    /// The agent whose screen it is; by default every agent is tried
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Where the cursor is, column and row from 0
    #[arg(long, value_name = "X,Y", value_parser = place)]
    cursor: Option<(usize, usize)>,
    /// The cursor is hidden
    #[arg(long, requires = "cursor")]
    hidden: bool,
    /// The pane's title
    #[arg(long)]
    title: Option<String>,
    /// What tmux calls the pane's current command
    #[arg(long)]
    command: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub async fn run(verb: AgentsVerb, context: &Context) -> Result<(), CommandError> {
    let (registry, problems) = Registry::with_user(user_manifests(&context.paths.config_dir));
    for problem in &problems {
        output::remark(&format!("left out {problem}"));
    }
    match verb {
        AgentsVerb::List(args) => list(&registry, &args, context).await,
        AgentsVerb::Explain(args) => explain(&registry, &args),
        AgentsVerb::Test(args) => test(&registry, &args),
    }
}

async fn list(registry: &Registry, args: &ListArgs, context: &Context) -> Result<(), CommandError> {
    // How they fare only a daemon knows; what can be known of them is known without one.
    let fares = match context.quiet_client().get::<AgentList>("/v1/agents").await {
        Ok(list) => list.items.into_iter().map(|item| (item.agent.clone(), item)).collect(),
        // A daemon that is older than this program knows nothing of it.
        Err(error) if is_gone(&error) || error.code == ErrorCode::NoSuchRoute => BTreeMap::new(),
        Err(error) => return Err(error),
    };
    if !args.json {
        return output::print(&agents_text::list(registry, &fares, context.color));
    }
    let agents: Vec<Value> = registry
        .list()
        .map(|Entry { manifest, origin }| {
            let fares = fares.get(&manifest.id);
            let capabilities: BTreeMap<_, _> = Capabilities::of(manifest).flags().into();
            json!({
                "contract": manifest.contract,
                "capabilities": capabilities,
                "health": fares.map(|fares| &fares.health),
                "runtimes": fares.map(|fares| fares.runtimes),
                "agent": manifest.id,
                "name": manifest.name,
                "origin": agents_text::origin(&manifest.id, origin),
                "file": match origin { Origin::Builtin => None, Origin::User(file) => Some(file) },
                "recorded": manifest.recorded,
                "rules": manifest.screen.in_order().len(),
                "composer": manifest.composer.is_some(),
            })
        })
        .collect();
    output::print_json(&json!({ "agents": agents }))
}

fn explain(registry: &Registry, args: &ExplainArgs) -> Result<(), CommandError> {
    let entry = known(registry, &args.agent)?;
    if !args.json {
        return output::print(&agents_text::explain(entry));
    }
    let manifest = &entry.manifest;
    let rules: Vec<Value> = manifest
        .screen
        .in_order()
        .iter()
        .map(|rule| {
            let texts = |conditions: &[agtmux_agents::screen::Condition]| {
                conditions.iter().map(ToString::to_string).collect::<Vec<_>>()
            };
            json!({
                "rule": rule.id,
                "priority": rule.priority,
                "region": rule.region.to_string(),
                "means": rule.means.name(),
                "all": texts(&rule.all),
                "any": texts(&rule.any),
                "not": texts(&rule.not),
            })
        })
        .collect();
    output::print_json(&json!({
        "agent": manifest.id,
        "name": manifest.name,
        "origin": agents_text::origin(&manifest.id, &entry.origin),
        "recorded": manifest.recorded,
        "programs": manifest.process.programs,
        "rules": rules,
    }))
}

fn test(registry: &Registry, args: &TestArgs) -> Result<(), CommandError> {
    let recording = args.file.is_dir().then(|| Recording::read(&args.file)).transpose();
    let recording = recording.map_err(|error| CommandError::new(ErrorCode::Usage, error.to_string()))?;
    let (capture, context) = match &recording {
        Some(recording) => (recording.screen.clone(), recording.screen_context(registry)),
        None => (capture(&args.file)?, args.context()),
    };
    let agent = args.agent.as_deref().or(recording.as_ref().map(|recording| recording.agent.as_str()));
    let manifests: Vec<&Manifest> = match agent {
        Some(agent) => vec![&known(registry, agent)?.manifest],
        None => registry.list().map(|entry| &entry.manifest).collect(),
    };
    let screen = Screen::parse(&capture);
    let readings = manifests.iter().map(|manifest| (manifest.id.as_str(), read(manifest, &screen, &context)));
    // A screen that nobody named is shown as read by those who find anything of theirs on it.
    let found: Vec<_> = readings.filter(|(_, reading)| agent.is_some() || !reading.matched.is_empty()).collect();
    if args.json {
        let found: Vec<Value> = found.iter().map(|(agent, reading)| document(agent, reading)).collect();
        return output::print_json(&json!({ "readings": found }));
    }
    output::print(&agents_text::readings(&found))
}

impl TestArgs {
    fn context(&self) -> ScreenContext {
        ScreenContext {
            size: None,
            cursor: self.cursor.map(|(column, row)| Cursor { column, row, visible: !self.hidden }),
            title: self.title.clone(),
            dead: false,
            foreground: Foreground::of(None, self.command.as_deref()),
        }
    }
}

fn document(agent: &str, reading: &ScreenReading) -> Value {
    let composer = &reading.composer;
    let dialog = composer.dialog.as_ref().map(|dialog| {
        let options: Vec<Value> = dialog
            .options
            .iter()
            .map(|option| json!({ "key": option.key, "label": option.label, "selected": option.selected }))
            .collect();
        json!({ "title": dialog.title, "options": options, "prompt_hash": dialog.prompt_hash })
    });
    let rules: Vec<Value> = reading
        .matched
        .iter()
        .map(|found| {
            json!({
                "rule": found.rule,
                "region": found.region.to_string(),
                "means": found.means.name(),
                "text": found.text,
            })
        })
        .collect();
    let signals: Vec<Value> = reading
        .readings
        .iter()
        .map(|reading| json!({ "signal": reading.signal, "message": reading.message }))
        .collect();
    json!({
        "agent": agent,
        "enter": composer.enter.name(),
        "draft": composer.draft,
        "ghost": composer.ghost,
        "queued": composer.queued,
        "dialog": dialog,
        "rules": rules,
        "signals": signals,
    })
}

fn known<'a>(registry: &'a Registry, agent: &str) -> Result<&'a Entry, CommandError> {
    registry.list().find(|entry| entry.manifest.id == agent).ok_or_else(|| {
        CommandError::new(ErrorCode::Usage, format!("there is no agent {agent:?}"))
            .hint("`agtmux agents list` shows those that are known")
    })
}

fn capture(file: &Path) -> Result<Vec<u8>, CommandError> {
    let unreadable =
        |error: std::io::Error| CommandError::new(ErrorCode::Usage, format!("{}: {error}", file.display()));
    if file != Path::new("-") {
        return fs::read(file).map_err(unreadable);
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(bytes)
}

fn place(text: &str) -> Result<(usize, usize), String> {
    let parsed = text.split_once(',').and_then(|(x, y)| Some((x.trim().parse().ok()?, y.trim().parse().ok()?)));
    parsed.ok_or_else(|| format!("{text:?} is not a column and a row such as 2,36"))
}
