//! The command line: what can be asked, and one file per verb that answers.
//!
//! Nothing here knows the domain or the database; a verb sees what the daemon's API shows, like any other client.

pub mod ack;
mod acting;
pub mod adopt;
pub mod agents;
mod agents_text;
pub mod approve;
mod args;
pub mod attach;
pub mod audit;
pub mod bench;
mod body;
pub mod completions;
pub mod confirm;
pub mod daemon;
pub mod demo;
pub mod doctor;
pub mod edits;
pub mod events;
pub mod explain;
pub mod fullscreen;
pub mod guard;
pub mod helper;
pub mod hook;
mod hooks;
pub mod kill;
pub mod list;
pub mod next;
pub mod output;
pub mod page;
pub mod provision;
pub mod resume;
pub mod send;
pub mod setup;
pub mod signal;
pub mod skill;
pub mod sm;
pub mod spawn;
pub mod table;
pub mod target;
pub mod view_output;
pub mod wait;
pub mod watch;
pub mod worktree;
pub mod wrap;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use args::{ColorChoice, DurationArg};

use crate::client::{Client, StartDaemon};
use crate::error::CommandError;
use crate::paths::Paths;
use crate::target::socket;

/// Know what every coding agent in your tmux is doing, and why.
///
/// agtmux watches the tmux server you already use. It finds the panes that hold a coding agent (Claude Code, Codex,
/// Gemini, opencode, Copilot, Cursor), knows the state of each, and shows on what evidence. It changes nothing of
/// yours: no layout, no focus, no option.
#[derive(Debug, Parser)]
#[command(
    name = "agtmux",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Start here:\n  agtmux list panes          every agent, its state, why, and for how long\n  agtmux watch               the same, live\n  agtmux list panes --needs-action\n  agtmux explain %3          the evidence behind one state\n  agtmux next                go to the agent that needs you most\n  agtmux demo                try it on a private tmux server\n\nExit codes: 0 ok, 1 failed, 2 usage, 3 daemon unreachable, 4 refused by a guard, 5 timeout."
)]
pub struct Cli {
    /// The tmux server to look at: a name as for `tmux -L` or a path as for `tmux -S`
    #[arg(long, global = true, env = "AGTMUX_TMUX_SOCKET", value_name = "NAME|PATH", hide_env_values = true)]
    tmux_socket: Option<String>,

    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: ColorChoice,

    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List panes, windows or sessions with the state of their agents
    #[command(subcommand)]
    List(list::ListVerb),
    /// Show changes as they happen
    Watch(watch::WatchArgs),
    /// Wait until an agent is in a state
    Wait(wait::WaitArgs),
    /// Show the evidence behind the state of an agent, and what would change it
    Explain(explain::ExplainArgs),
    /// Go to an agent: bring this terminal to its pane
    Attach(attach::AttachArgs),
    /// Go to the agent that needs you most
    Next(next::NextArgs),
    /// Say that you know, so that an agent stops calling
    Ack(ack::AckArgs),
    /// Show what an agent printed
    ViewOutput(view_output::ViewOutputArgs),
    /// Interrupt or end an agent, and say what came of it
    Kill(kill::KillArgs),
    /// Say yes to what an agent asks permission for
    Approve(approve::ApproveArgs),
    /// Say no to what an agent asks permission for
    Deny(approve::DenyArgs),
    /// Show the log of events
    Events(events::EventsArgs),
    /// Check the record of who did what to which agent
    #[command(subcommand)]
    Audit(audit::AuditVerb),
    /// Type a text at an agent, as its next prompt
    Send(send::SendArgs),
    /// Write messages that wait until an agent can take them
    #[command(subcommand)]
    Sm(sm::SmVerb),
    /// Say what the agent in this pane is doing
    Signal(signal::SignalArgs),
    /// Tell what happened to the agent that runs this; for the settings of agents, not for people
    Hook(hook::HookArgs),
    /// Run an agent so that messages never mix with what you type
    Wrap(wrap::WrapArgs),
    /// Start an agent in a window of its own
    Spawn(spawn::SpawnArgs),
    /// Start an agent again, in the conversation that it was in when it ended
    Resume(resume::ResumeArgs),
    /// Give an agent a name
    Adopt(adopt::AdoptArgs),
    /// List and remove the git worktrees in which agents work
    #[command(subcommand)]
    Worktree(worktree::WorktreeVerb),
    /// Give agents the hooks that tell agtmux what they do
    Setup(setup::SetupArgs),
    /// Print what an agent has to know to work with other agents
    Skill(skill::SkillArgs),
    /// Teach the agents of a workspace to say how they stand
    Provision(provision::ProvisionArgs),
    /// Manage the places where agents run
    #[command(subcommand)]
    Target(target::TargetVerb),
    /// Run, start, stop or ask the daemon
    #[command(subcommand)]
    Daemon(daemon::DaemonVerb),
    /// Check this installation and say how to mend what is wrong
    Doctor(doctor::DoctorArgs),
    /// Show agtmux on a private tmux server with scripted agents
    Demo(demo::DemoArgs),
    /// Show the agents that are known, and try their rules on a screen
    #[command(subcommand)]
    Agents(agents::AgentsVerb),
    /// Measure agtmux itself
    #[command(subcommand)]
    Bench(bench::BenchVerb),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
}

/// What every verb needs.
#[derive(Clone, Debug)]
pub struct Context {
    /// The places of this instance.
    pub paths: Paths,
    /// The tmux server that is meant, if one is.
    pub tmux_socket: Option<PathBuf>,
    /// Whether to use colour.
    pub color: bool,
}

impl Context {
    /// A client that starts the daemon on first need.
    pub fn client(&self) -> Client {
        Client::new(&self.paths, self.tmux_socket.clone(), StartDaemon::OnNeed).telling(output::tell)
    }

    /// A client that leaves a daemon that does not run alone.
    pub fn quiet_client(&self) -> Client {
        self.client().never_starting()
    }
}

/// The command line as data, for completions and the reference page.
pub fn command() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// Parses the command line, runs the verb and maps its error to the exit code.
pub fn main() -> ExitCode {
    if let Some(served) = helper::serve(std::env::args_os().skip(1)) {
        return served;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return output::usage(&error),
    };
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::fail(&error),
    }
}

fn run(cli: Cli) -> Result<(), CommandError> {
    // An agent that somebody starts is not kept from starting by anything that is wrong with agtmux.
    if let Verb::Wrap(args) = &cli.verb {
        return Err(wrap::run(args));
    }
    let paths = Paths::from_env()?;
    let tmux_socket = match cli.tmux_socket.as_deref() {
        Some(text) => Some(socket::from_argument(text)?),
        None => socket::from_tmux_variable(),
    };
    let context = Context { paths, tmux_socket, color: cli.color.enabled_on(&std::io::stdout()) };
    if let Verb::Daemon(daemon::DaemonVerb::Run(args)) = &cli.verb {
        return daemon::run(&context, args);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CommandError::internal)?;
    runtime.block_on(dispatch(cli.verb, &context))
}

async fn dispatch(verb: Verb, context: &Context) -> Result<(), CommandError> {
    match verb {
        Verb::List(verb) => list::run(verb, context).await,
        Verb::Watch(args) => watch::run(args, context).await,
        Verb::Wait(args) => wait::run(args, context).await,
        Verb::Explain(args) => explain::run(args, context).await,
        Verb::Attach(args) => attach::run(args, context).await,
        Verb::Next(args) => next::run(args, context).await,
        Verb::Ack(args) => ack::run(args, context).await,
        Verb::ViewOutput(args) => view_output::run(args, context).await,
        Verb::Kill(args) => kill::run(args, context).await,
        Verb::Approve(args) => approve::approve(args, context).await,
        Verb::Deny(args) => approve::deny(args, context).await,
        Verb::Events(args) => events::run(args, context).await,
        Verb::Audit(verb) => audit::run(verb, context).await,
        Verb::Send(args) => send::run(args, context).await,
        Verb::Sm(verb) => sm::run(verb, context).await,
        Verb::Signal(args) => signal::run(args, context).await,
        Verb::Hook(args) => {
            hook::run(args);
            Ok(())
        }
        Verb::Wrap(args) => Err(wrap::run(&args)),
        Verb::Spawn(args) => spawn::run(args, context).await,
        Verb::Resume(args) => resume::run(args, context).await,
        Verb::Adopt(args) => adopt::run(args, context).await,
        Verb::Worktree(verb) => worktree::run(verb, context).await,
        Verb::Setup(args) => setup::run(&args, context).await,
        Verb::Skill(args) => skill::run(&args),
        Verb::Provision(args) => provision::run(&args, context),
        Verb::Target(verb) => target::run(verb, context).await,
        Verb::Daemon(verb) => daemon::control(verb, context).await,
        Verb::Doctor(args) => doctor::run(args, context).await,
        Verb::Demo(args) => demo::run(args, context).await,
        Verb::Agents(verb) => agents::run(verb, context).await,
        Verb::Bench(verb) => bench::run(verb, context),
        Verb::Completions(args) => completions::run(&args),
    }
}
