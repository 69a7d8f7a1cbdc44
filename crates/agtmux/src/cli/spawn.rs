//! `agtmux spawn`: starts an agent in a window of its own, ready to work and to tell how it stands.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agtmux_wire::error::ErrorCode;
use agtmux_wire::spawn::{SpawnRequest, SpawnStatus, Spawned};
use agtmux_wire::worktree::NewWorktree;
use clap::Args;

use super::{Context, DurationArg, body, output};
use crate::error::CommandError;

/// How much longer than the agent may take the daemon may take.
const MARGIN: Duration = Duration::from_secs(30);

/// How long the daemon waits unless told, at most.
const USUAL_WAIT: Duration = Duration::from_secs(300);

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  agtmux spawn claude                               a window in this session, in this directory\n  agtmux spawn claude-opus --name api --workspace ~/src/api\n  agtmux spawn codex --worktree fix/leak            a git worktree of its own\n  agtmux spawn codex --session agents               a session for agents, made if it is not there\n  agtmux spawn claude 'fix the failing test'        its first prompt; without an agent, for the usual one\n  agtmux spawn gemini -- --approval-mode plan       arguments for the agent itself\n  agtmux spawn -- my-agent --flag                   any command, with the environment of an agent\n\nYour own window and pane stay where they are. A dialog that the agent shows first, whether to trust the folder\nfor instance, is reported and never answered. docs/spawn.md has the rest."
)]
pub struct SpawnArgs {
    /// The agent, or a model that it runs, such as claude-opus; `[spawn] agent` of the configuration unless given. Text with
    /// blanks is its first prompt
    #[arg(value_name = "AGENT")]
    agent: Option<String>,
    /// Make a git worktree for this branch, which is made too if it is not there, and start it there
    #[arg(long, value_name = "BRANCH")]
    worktree: Option<String>,
    /// A directory in the repository of the worktree; the workspace unless given
    #[arg(long, value_name = "DIR", requires = "worktree")]
    repo: Option<PathBuf>,
    #[command(flatten)]
    start: StartArgs,
}

/// Its first prompt.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct PromptArgs {
    /// Its first prompt, sent once it takes prompts
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// A file that holds its first prompt; `-` is standard input
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// Its first prompt; `-` reads it from standard input
    #[arg(value_name = "TEXT")]
    text: Option<String>,
}

impl PromptArgs {
    fn read(self) -> Result<Option<String>, CommandError> {
        match self {
            Self { prompt: Some(text), .. } => Ok(Some(text)),
            Self { prompt_file: Some(file), .. } => body::read(&file).map(Some),
            Self { text: Some(text), .. } if text == "-" => body::read(Path::new("-")).map(Some),
            Self { text, .. } => Ok(text),
        }
    }

    /// Takes the words before it: what is no agent's name is a first prompt.
    fn or_agent(&mut self, word: Option<String>) -> Result<String, CommandError> {
        match word {
            Some(text) if text == "-" || text.contains(char::is_whitespace) => {
                if self.text.is_some() || self.prompt.is_some() || self.prompt_file.is_some() {
                    return Err(CommandError::new(
                        ErrorCode::Usage,
                        format!("{text:?} names no agent, and there is a prompt"),
                    )
                    .hint("name the agent first: `agtmux spawn claude 'fix the failing test'`"));
                }
                self.text = Some(text);
                Ok(String::new())
            }
            agent => Ok(agent.unwrap_or_default()),
        }
    }
}

/// Where and how an agent is started. The same flags for `spawn` and `resume`.
#[derive(Debug, Args)]
pub struct StartArgs {
    /// A name for it, unique among the agents that live
    #[arg(long)]
    name: Option<String>,
    /// The directory that it works in; this one unless given
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Open the window in this session, made if it is not there
    #[arg(long, value_name = "NAME", conflicts_with = "window")]
    session: Option<String>,
    /// Open the window in the session of this pane; so it is anyway inside of tmux
    #[arg(long)]
    window: bool,
    /// Give it this variable too
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    variables: Vec<(String, String)>,
    #[command(flatten)]
    prompt: PromptArgs,
    /// Do not teach the workspace to signal
    #[arg(long)]
    no_provision: bool,
    /// Do not run it in the wrapper
    #[arg(long)]
    no_wrap: bool,
    /// How long to wait for it to be ready
    #[arg(long, value_name = "DURATION")]
    wait: Option<DurationArg>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Arguments for the agent itself
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

pub async fn run(args: SpawnArgs, context: &Context) -> Result<(), CommandError> {
    let json = args.start.json;
    let repo = args.repo.map(absolute).transpose()?;
    let worktree = args.worktree.map(|branch| NewWorktree { branch, repo });
    let mut start = args.start;
    let agent = start.prompt.or_agent(args.agent)?;
    let request = SpawnRequest { agent, worktree, ..start.request(true)? };
    let progress = progress(if request.agent.is_empty() { "it" } else { &request.agent });
    let client = context.client().patient(patience(&request));
    let spawned = client.post("/v1/actions/spawn", &request).await;
    progress.abort();
    report(&spawned?, json)
}

impl StartArgs {
    /// The request, without an agent. `here` is whether this directory is meant where none is named.
    ///
    /// # Errors
    /// Refused for paths that are not text, and for `--window` outside of tmux.
    pub fn request(self, here: bool) -> Result<SpawnRequest, CommandError> {
        let pane =
            std::env::var("TMUX_PANE").ok().filter(|pane| !pane.is_empty() && std::env::var_os("TMUX").is_some());
        if self.window && pane.is_none() {
            return Err(CommandError::new(ErrorCode::NotInPane, "this is not a tmux pane, so it has no session")
                .hint("name a session with --session"));
        }
        // What is started again has a session of its own to go to.
        let beside = if self.session.is_none() && (here || self.window) { pane } else { None };
        let workspace = match self.workspace {
            None if !here => None,
            given => Some(absolute(given.unwrap_or_else(|| PathBuf::from(".")))?),
        };
        Ok(SpawnRequest {
            agent: String::new(),
            name: self.name,
            workspace,
            worktree: None,
            session: self.session,
            beside,
            arguments: self.arguments,
            variables: self.variables.into_iter().collect::<BTreeMap<_, _>>(),
            path: std::env::var("PATH").ok(),
            provision: self.no_provision.then_some(false),
            wrap: self.no_wrap.then_some(false),
            prompt: self.prompt.read()?,
            wait_ms: self.wait.map(|DurationArg(wait)| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        })
    }

    /// Whether JSON is wanted.
    pub const fn json(&self) -> bool {
        self.json
    }
}

/// How long the daemon may take for a start.
pub fn patience(request: &SpawnRequest) -> Duration {
    request.wait_ms.map_or(USUAL_WAIT, Duration::from_millis).saturating_add(MARGIN)
}

/// Says on a terminal, after a second, that it is waited for.
pub fn progress(agent: &str) -> tokio::task::JoinHandle<()> {
    let text = format!("waiting for {} to be ready…", output::printable(agent));
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if std::io::stderr().is_terminal() {
            output::remark(&text);
        }
    })
}

/// Prints what exists now. What of the request was not done makes the command fail, after that.
///
/// # Errors
/// That.
pub fn report(spawned: &Spawned, json: bool) -> Result<(), CommandError> {
    if json {
        output::print_json(spawned)?;
    } else {
        let who = spawned.runtime_id.as_deref().unwrap_or("no agent");
        let called = spawned.name.as_deref().map_or_else(String::new, |name| format!(" ({name})"));
        let state = spawned.state.as_deref().unwrap_or(status_name(spawned.status));
        let text = format!(
            "{who}{called}: {} in {} of session {}, {state}\n",
            spawned.agent,
            spawned.pane_id,
            output::printable(&spawned.session_name)
        );
        output::print(&text)?;
        if let Some(made) = &spawned.worktree {
            output::remark(&output::printable(&format!("it works on {} in {}", made.branch, made.path)));
        }
        if spawned.prompt.is_some() && spawned.problem.is_none() {
            output::remark("it took its first prompt");
        }
        spawned.notes.iter().for_each(|note| output::remark(&output::printable(note)));
    }
    spawned.problem.clone().map_or(Ok(()), |problem| Err(problem.into()))
}

const fn status_name(status: SpawnStatus) -> &'static str {
    match status {
        SpawnStatus::Ready => "ready",
        SpawnStatus::WaitingInput => "waiting_input",
        SpawnStatus::Starting => "starting",
        SpawnStatus::Unrecognised => "unrecognised",
        SpawnStatus::Ended => "ended",
    }
}

/// A path as the daemon takes it.
///
/// # Errors
/// Fails for a path that is not text.
pub fn absolute(path: PathBuf) -> Result<String, CommandError> {
    let absolute = std::path::absolute(&path).unwrap_or(path);
    absolute.into_os_string().into_string().map_err(|path| {
        CommandError::new(ErrorCode::Usage, format!("{} cannot be written as text", path.display()))
            .hint("work in a directory whose path is UTF-8")
    })
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it has to be NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
