//! `agtmux setup`: gives agents the hooks that tell agtmux what they do, checks them, and takes them out again.

use std::path::PathBuf;

use agtmux_agents::setup::{Agent, Installed, Scope, Wish};
use agtmux_wire::error::ErrorCode;
use agtmux_wire::list::PaneItem;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::edits::{self, FileEdit};
use super::output::printable;
use super::table::Sheet;
use super::{Context, hooks, output};
use crate::config;
use crate::error::CommandError;
use crate::platform;
use crate::setup::claude_plugin::{self, Fitness, Plugin};
use crate::setup::job::{Job, Request};
use crate::setup::lock::SetupLock;
use crate::setup::places::Places;
use crate::setup::{SetupError, advice, loading};

#[derive(Debug, Args)]
#[command(after_help = "What is written where, and how it is taken back: docs/setup.md")]
pub struct SetupArgs {
    /// The agents; without any, all that are found here
    #[arg(value_enum, value_name = "AGENT")]
    agents: Vec<AgentArg>,
    /// The same as AGENT
    #[arg(long = "agent", value_enum, value_name = "AGENT")]
    more: Vec<AgentArg>,
    /// For whom
    #[arg(long, value_enum, default_value_t = ScopeArg::User)]
    scope: ScopeArg,
    /// Change nothing; say how far the agents are set up, and fail unless all of them are
    #[arg(long, conflicts_with_all = ["remove", "dry_run"])]
    check: bool,
    /// Take out what setup put in
    #[arg(long)]
    remove: bool,
    /// Change nothing; show what would change
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Where a file is a link, edit the file that it leads to
    #[arg(long)]
    follow_links: bool,
    /// The program that hooks run, if not this one
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// An agent that can be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "the names say it")]
pub enum AgentArg {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Copilot,
    Cursor,
}

impl From<AgentArg> for Agent {
    fn from(agent: AgentArg) -> Self {
        match agent {
            AgentArg::Claude => Self::Claude,
            AgentArg::Codex => Self::Codex,
            AgentArg::Gemini => Self::Gemini,
            AgentArg::Opencode => Self::Opencode,
            AgentArg::Copilot => Self::Copilot,
            AgentArg::Cursor => Self::Cursor,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScopeArg {
    /// All your projects
    User,
    /// The project in the current directory
    Project,
}

/// What became of one agent.
#[derive(Debug, Serialize)]
struct Item {
    agent: &'static str,
    /// How far it is set up: before a change that was only shown, after one that was made.
    status: &'static str,
    files: Vec<FileEdit>,
    advice: Vec<String>,
    problem: Option<String>,
    hint: Option<&'static str>,
    /// The sessions that run, where it is set up.
    sessions: Vec<SessionItem>,
}

/// A session that runs.
#[derive(Debug, Serialize)]
struct SessionItem {
    runtime_id: Option<String>,
    name: Option<String>,
    pane_id: String,
    /// As in `hooks_loaded` of a pane.
    hooks_loaded: Option<bool>,
    #[serde(skip)]
    shown: String,
}

impl Item {
    /// Adds the sessions of this agent. What the daemon knows may be of a moment before the hooks were put in.
    fn look_at(&mut self, running: &[PaneItem]) {
        let own = running.iter().filter(|pane| self.status == "current" && pane.agent.as_deref() == Some(self.agent));
        self.sessions = own
            .map(|pane| {
                let heard = pane.hooks_loaded == Some(true);
                let process = pane.pid.and_then(|pid| Some((pid, platform::process_stat(pid)?.start)));
                let hooks_loaded = process.and_then(|(pid, start)| loading::has_hooks(self.agent, pid, start, heard));
                SessionItem {
                    runtime_id: pane.runtime_id.clone(),
                    name: pane.name.clone(),
                    pane_id: pane.identity.pane_id.clone(),
                    hooks_loaded,
                    shown: hooks::named(pane),
                }
            })
            .collect();
    }
}

impl SessionItem {
    /// What a person has to know of it.
    fn line(&self) -> String {
        let state = match self.hooks_loaded {
            Some(true) => "has loaded the hooks",
            Some(false) => "hooks not loaded by this session; restart it to load them",
            None => "loads the hooks by itself, or loaded them when it started; none was heard from it yet",
        };
        printable(&format!("  {}: {state}", self.shown))
    }
}

pub async fn run(args: &SetupArgs, context: &Context) -> Result<(), CommandError> {
    let project = std::env::current_dir().map_err(CommandError::internal)?;
    let places = Places::from_env(project);
    let agents = chosen(args, &places)?;
    let program = match &args.program {
        Some(program) => std::path::absolute(program).map_err(CommandError::internal)?,
        None => std::env::current_exe().map_err(CommandError::internal)?,
    };
    let program = places.program(&program)?;
    let wish = if args.remove { Wish::Remove } else { Wish::Install { program: &program } };
    let scope = match args.scope {
        ScopeArg::User => Scope::User,
        ScopeArg::Project => Scope::Project,
    };
    let (plugin, note) = plugin(&agents, scope, args.remove, &places, context)?;
    let request = Request { wish, scope, follows_links: args.follow_links, plugin };
    let writes = !args.check && !args.dry_run;
    let _lock = if writes { Some(SetupLock::take(&context.paths.state_dir)?) } else { None };

    let jobs: Vec<_> = agents.iter().map(|agent| (*agent, Job::plan(*agent, &request, &places))).collect();
    let planned: Vec<_> = jobs.iter().filter_map(|(_, job)| job.as_ref().ok()).collect();
    if writes && !args.yes && !args.json {
        confirm(&planned)?;
    }
    let mut items: Vec<_> = jobs.into_iter().map(|(agent, job)| finish(agent, job, args, writes)).collect();
    if let Some(item) = items.iter_mut().find(|item| item.agent == Agent::Claude.id()) {
        item.advice.extend(note);
    }
    if !args.remove && !args.dry_run {
        let running = hooks::sessions(context).await;
        items.iter_mut().for_each(|item| item.look_at(&running));
    }
    print(&items, args, context)?;
    verdict(&items, args)
}

/// The agents that are meant.
fn chosen(args: &SetupArgs, places: &Places) -> Result<Vec<Agent>, CommandError> {
    let mut named: Vec<Agent> = args.agents.iter().chain(&args.more).copied().map(Agent::from).collect();
    named.sort_unstable();
    named.dedup();
    let agents = if named.is_empty() { places.agents() } else { named };
    if agents.is_empty() {
        let known: Vec<_> = Agent::ALL.iter().map(|agent| agent.id()).collect();
        return Err(CommandError::new(ErrorCode::NotSetUp, "no agent was found on PATH or in the home directory")
            .hint(format!("name one: {}", known.join(", "))));
    }
    Ok(agents)
}

/// What becomes of Claude's plugin, and what a person should know of it.
fn plugin(
    agents: &[Agent],
    scope: Scope,
    removes: bool,
    places: &Places,
    context: &Context,
) -> Result<(Plugin, Option<String>), CommandError> {
    if !agents.contains(&Agent::Claude) || scope != Scope::User {
        return Ok((Plugin::AsItIs, None));
    }
    if removes || !config::load(&context.paths.config_dir)?.config.agents.claude.plugin {
        return Ok((Plugin::Out, None));
    }
    Ok(match claude_plugin::check(places) {
        Fitness::Fit => (Plugin::In, None),
        Fitness::NotFound => (Plugin::AsItIs, None),
        Fitness::Unfit(why) => {
            (Plugin::Out, Some(format!("messages go by its hooks and by keys, without the plugin: {why}")))
        }
    })
}

/// Asks before files of a person are changed, if one is there to be asked.
fn confirm(jobs: &[&Job]) -> Result<(), CommandError> {
    let edits: Vec<_> = jobs.iter().flat_map(|job| edits::of(job.edits())).filter(FileEdit::is_change).collect();
    edits::confirm(&edits)
}

fn finish(agent: Agent, job: Result<Job, SetupError>, args: &SetupArgs, writes: bool) -> Item {
    let job = match job.and_then(|job| if writes { job.write().map(|()| job) } else { Ok(job) }) {
        Ok(job) => job,
        Err(error) => {
            let hint = Some(error.hint());
            let problem = Some(error.to_string());
            return Item {
                agent: agent.id(),
                status: "refused",
                files: Vec::new(),
                advice: Vec::new(),
                problem,
                hint,
                sessions: Vec::new(),
            };
        }
    };
    let status = match job.installed() {
        _ if writes && args.remove => "absent",
        _ if writes => "current",
        Installed::Absent => "absent",
        Installed::Stale if args.remove => "present",
        Installed::Stale => "stale",
        Installed::Current => "current",
    };
    let mut notes: Vec<_> = job.plan.remarks.iter().map(|remark| advice::about(*remark).to_owned()).collect();
    if writes && job.changes_anything() {
        notes.push(advice::after_a_change(agent, args.remove).to_owned());
        if job.puts_plugin_in() {
            notes.push(advice::AFTER_THE_PLUGIN.to_owned());
        }
    }
    let files = edits::of(job.edits());
    Item { agent: agent.id(), status, files, advice: notes, problem: None, hint: None, sessions: Vec::new() }
}

fn print(items: &[Item], args: &SetupArgs, context: &Context) -> Result<(), CommandError> {
    if args.json {
        let document = serde_json::json!({ "schema_version": agtmux_wire::SCHEMA_VERSION, "items": items });
        return output::print_json(&document);
    }
    let mut text = String::new();
    if args.dry_run {
        text.extend(items.iter().flat_map(|item| &item.files).map(|edit| edit.diff(context.color)));
    }
    let headings = ["STATUS", "AGENT", "FILE", "CHANGE"];
    // A check changes nothing.
    let columns = if args.check { 3 } else { 4 };
    let mut sheet = Sheet::new(&headings[..columns], context.color);
    for item in items {
        let color = match item.status {
            "current" => "ok",
            "refused" => "fail",
            "absent" if args.remove => "ok",
            _ => "warn",
        };
        for file in &item.files {
            let row = [item.status.into(), item.agent.into(), file.path.clone(), file.change.into()];
            sheet.row(Some(color), &row[..columns]);
        }
        // Of one agent alone the error says it all.
        if let Some(problem) = item.problem.as_ref().filter(|_| items.len() > 1) {
            let row = [item.status.into(), item.agent.into(), problem.clone(), String::new()];
            sheet.row(Some(color), &row[..columns]);
        }
    }
    if items.len() > 1 || items.iter().any(|item| item.problem.is_none()) {
        text.push_str(&sheet.render());
    }
    let lines = |item: &Item| {
        let advice = item.advice.iter().map(|note| format!("{}: {note}\n", item.agent));
        let head = item.advice.is_empty() && !item.sessions.is_empty();
        let head = head.then(|| format!("{}: sessions that run\n", item.agent));
        let sessions = item.sessions.iter().map(|session| format!("{}\n", session.line()));
        advice.chain(head).chain(sessions).collect::<String>()
    };
    let notes: String = items.iter().map(lines).collect();
    if !notes.is_empty() {
        text.push('\n');
        text.push_str(&notes);
    }
    output::print(&text)
}

fn verdict(items: &[Item], args: &SetupArgs) -> Result<(), CommandError> {
    let named = |wanted: &dyn Fn(&Item) -> bool| -> Vec<&str> {
        items.iter().filter(|item| wanted(item)).map(|item| item.agent).collect()
    };
    if let Some(refused) = items.iter().find(|item| item.problem.is_some()) {
        let problem = refused.problem.clone().unwrap_or_default();
        let agents = named(&|item| item.problem.is_some());
        let message = if agents.len() > 1 { format!("{problem} (refused: {})", agents.join(", ")) } else { problem };
        return Err(CommandError::new(ErrorCode::SetupRefused, message).hint(refused.hint.unwrap_or_default()));
    }
    let missing = named(&|item| item.status != "current");
    if args.check && !missing.is_empty() {
        let message = format!("not set up: {}", missing.join(", "));
        return Err(CommandError::new(ErrorCode::NotSetUp, message).hint(format!("agtmux setup {}", missing.join(" "))));
    }
    Ok(())
}
