//! What is to be started, checked before anything is done.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agtmux_agents::Manifest;
use agtmux_agents::instructions::InstructionFiles;
use agtmux_agents::launch::{self, Choice};
use agtmux_agents::send::Body;
use agtmux_tmux::open::is_plain_name;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::spawn::SpawnRequest;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::Promise;
use crate::act::Hands;
use crate::act::send::objected;
use crate::config::{self, Config};
use crate::daemon::capabilities::Capability;
use crate::error::CommandError;
use crate::setup::places::find_program;
use crate::worktree::add::Made;

/// The longest that all arguments and variables may be together. They go to tmux in one piece.
const ROOM: usize = 24 * 1_024;

/// What a start takes from elsewhere than the request.
#[derive(Clone, Debug)]
pub struct Meant {
    /// The socket of the tmux server.
    pub socket: PathBuf,
    /// The conversation to go on with, in the agent's own terms.
    pub conversation: Option<String>,
}

/// A start that may be carried out.
pub(super) struct Order {
    /// The agent; for a command that is no agent, its name.
    pub(super) agent: String,
    /// Whether it is a command that nobody said to be an agent.
    pub(super) is_command: bool,
    pub(super) model: Option<String>,
    /// The program and its arguments.
    pub(super) command: Vec<String>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) name: Option<Promise>,
    /// The directory; that in which a worktree is to be made, until it is.
    pub(super) workspace: PathBuf,
    /// The branch of a worktree that is to be made.
    pub(super) branch: Option<String>,
    /// Where worktrees are made, if not beside their repository.
    pub(super) worktrees: Option<PathBuf>,
    /// The worktree that was made.
    pub(super) made: Option<Made>,
    /// The files from which the agent takes instructions.
    pub(super) instructions: Option<InstructionFiles>,
    pub(super) provision: bool,
    pub(super) socket: PathBuf,
    pub(super) session: String,
    pub(super) beside: Option<String>,
    pub(super) conversation: Option<String>,
    pub(super) patience: Duration,
    /// The wrapper that it is to run in.
    pub(super) wrapper: Option<PathBuf>,
    /// Why it does not run in the wrapper though it was to.
    pub(super) unwrapped: Option<String>,
    /// Its first prompt.
    pub(super) prompt: Option<Body>,
    /// The word by which the agent signals.
    pub(super) word: String,
    pub(super) workspace_word: String,
    /// What proves to the daemon that a process is this agent's.
    pub(super) capability: Capability,
}

impl Order {
    /// Checks a request, and does nothing.
    ///
    /// # Errors
    /// Refused if it cannot be carried out, with what would have to be otherwise.
    pub(super) async fn check(hands: &Hands, request: SpawnRequest, meant: Meant) -> Result<Self, CommandError> {
        let config = config::load(&hands.paths.config_dir)?.config;
        let registry = hands.manifests.now();
        let named = if request.agent.is_empty() { &config.spawn.agent } else { &request.agent };
        // Without an agent, what is given besides is the whole command.
        let choice = if request.agent.is_empty() && !request.arguments.is_empty() {
            None
        } else {
            let choice = launch::choose(&registry, named, &config.provision.models);
            Some(choice.ok_or_else(|| unknown_agent(named, &registry))?)
        };
        let command = match &choice {
            Some(choice) => command(choice, &request, meant.conversation.as_deref())?,
            None => plain_command(&request)?,
        };
        let manifest = choice.as_ref().map(|choice| choice.manifest);
        let agent = manifest.map_or_else(|| program_name(&command), |manifest| manifest.id.clone());
        fits(&command, &request.variables)?;
        let worktree = request.worktree.as_ref();
        let repository = worktree.and_then(|worktree| worktree.repo.as_deref());
        let workspace = workspace(repository.or(request.workspace.as_deref()))?;
        let session = session(&request, &config)?;
        if let Some(name) = request.name.clone() {
            hands.handle.read(move |world| world.engine.name_is_free(&name)).await?.map_err(CommandError::from)?;
        }
        let name = request.name.as_deref().map(|name| hands.promised.keep(name)).transpose()?;
        let prompt = request.prompt.as_deref().map(|text| prompt(text, manifest)).transpose()?;
        let (wrapper, unwrapped) = match agtmux_shim::program() {
            _ if !request.wrap.unwrap_or(config.spawn.wrap) => (None, None),
            Ok(shim) => (Some(shim), None),
            Err(error) => (None, Some(format!("it runs without the wrapper: {error}"))),
        };
        let mut variables = request.variables;
        variables.extend(request.path.map(|path| ("PATH".to_owned(), path)));
        let wait = request.wait_ms.map(Duration::from_millis);
        let unique: String = Uuid::new_v4().simple().to_string().chars().take(8).collect();
        Ok(Self {
            word: format!("{agent}-{unique}"),
            workspace_word: workspace_word(&workspace),
            is_command: choice.is_none(),
            capability: hands.handle.capabilities().mint()?,
            agent,
            model: choice.as_ref().and_then(|choice| choice.model).map(str::to_owned),
            command,
            variables,
            name,
            workspace,
            branch: request.worktree.map(|worktree| worktree.branch),
            worktrees: config.spawn.worktrees,
            made: None,
            instructions: manifest.and_then(|manifest| manifest.instructions.clone()),
            provision: request.provision.unwrap_or(config.spawn.provision),
            socket: meant.socket,
            session,
            beside: request.beside,
            conversation: meant.conversation,
            wrapper,
            unwrapped,
            prompt,
            patience: wait.unwrap_or(Duration::from_secs(u64::from(config.spawn.wait_seconds))),
        })
    }

    /// Goes on in a worktree that was made.
    pub(super) fn move_to(&mut self, made: Made) {
        self.workspace = made.path.canonicalize().unwrap_or_else(|_| made.path.clone());
        self.workspace_word = workspace_word(&self.workspace);
        self.made = Some(made);
    }

    /// What is done, in a line for the log.
    pub(super) fn detail(&self) -> String {
        let name = self.name.as_ref().map_or_else(String::new, |promise| format!(" as {}", promise.name));
        let conversation = self.conversation.as_deref().map_or_else(String::new, |id| format!(", going on with {id}"));
        let branch = self.branch.as_deref().map_or_else(String::new, |branch| format!(" on {branch}"));
        format!("spawn {} in {}{branch}{name}{conversation}", self.agent, self.workspace.display())
    }
}

/// The first prompt, if the agent would take it as one.
fn prompt(text: &str, manifest: Option<&Manifest>) -> Result<Body, CommandError> {
    let body = Body::new(text).map_err(|objection| objected(&objection))?;
    let Some(manifest) = manifest else {
        return Err(CommandError::new(ErrorCode::Usage, "a command that is no agent takes no prompt")
            .hint("name the agent before `--`, or give the text as an argument of the command"));
    };
    if manifest.composer.is_none() {
        let message = format!("it is not known what the composer of {} looks like", manifest.name);
        return Err(
            CommandError::new(ErrorCode::Usage, message).hint("give the prompt as an argument of its own, after `--`")
        );
    }
    match manifest.send.obstacle(&body).or_else(|| manifest.send.objection(&body)) {
        Some(objection) => Err(objected(&objection)),
        None => Ok(body),
    }
}

fn unknown_agent(name: &str, registry: &agtmux_agents::Registry) -> CommandError {
    let known: Vec<_> = registry.list().map(|entry| entry.manifest.id.as_str()).collect();
    CommandError::new(ErrorCode::AgentUnknown, format!("no agent and no model is named {name:?}"))
        .hint(format!("there is {}; a manifest of your own makes another known", known.join(", ")))
}

/// The program and its arguments.
fn command(
    choice: &Choice<'_>,
    request: &SpawnRequest,
    conversation: Option<&str>,
) -> Result<Vec<String>, CommandError> {
    let manifest = choice.manifest;
    let found = program(manifest.program().unwrap_or(&manifest.id), &manifest.name, request)?;
    let cannot = |what: &str| {
        CommandError::new(ErrorCode::Usage, format!("it is not known how {} {what}", manifest.name))
            .hint("say it with arguments of its own, after `--`")
    };
    let mut command = vec![found];
    if let Some(conversation) = conversation {
        if !launch::is_conversation_id(conversation) {
            let message = format!("{conversation:?} cannot be the id of a conversation");
            return Err(CommandError::new(ErrorCode::Usage, message).hint("letters, digits, '-', '_' and '.'"));
        }
        let arguments = manifest.launch.resume_arguments(conversation);
        command.extend(arguments.ok_or_else(|| cannot("goes on with a conversation"))?);
    }
    if let Some(model) = choice.model {
        command.extend(manifest.launch.model_arguments(model).ok_or_else(|| cannot("is told its model"))?);
    }
    command.extend(request.arguments.iter().cloned());
    Ok(command)
}

/// A program by its name or absolute path. `product` is what a person would install.
fn program(program: &str, product: &str, request: &SpawnRequest) -> Result<String, CommandError> {
    let path = request.path.clone().map(Into::into).or_else(|| std::env::var_os("PATH")).unwrap_or_default();
    let found = if program.starts_with('/') { Some(program.into()) } else { find_program(&path, program) };
    let found = found.filter(|program| program.is_file()).ok_or_else(|| {
        CommandError::new(ErrorCode::AgentMissing, format!("{program} is not installed, or not on the path"))
            .hint(format!("install {product}, or start this where `{program}` is found"))
    })?;
    found.into_os_string().into_string().map_err(|path| {
        CommandError::new(ErrorCode::AgentMissing, format!("{} cannot be written as text", path.display()))
    })
}

/// A command that is no agent by name, with its program found.
fn plain_command(request: &SpawnRequest) -> Result<Vec<String>, CommandError> {
    let name = request.arguments.first().map_or("", String::as_str);
    if name.contains('/') && !name.starts_with('/') {
        return Err(CommandError::new(ErrorCode::Usage, format!("{name} is not an absolute path"))
            .hint("give an absolute path, or the name of a program on the path"));
    }
    let found = program(name, name, request)?;
    Ok(std::iter::once(found).chain(request.arguments.iter().skip(1).cloned()).collect())
}

/// The name of a program, as far as that can stand in a file name.
fn program_name(command: &[String]) -> String {
    word(Path::new(command.first().map_or("", String::as_str)))
}

fn fits(command: &[String], variables: &BTreeMap<String, String>) -> Result<(), CommandError> {
    let usage = |message: &str| Err(CommandError::new(ErrorCode::Usage, message));
    let names_well = |name: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(plain)
    };
    if let Some(odd) = variables.keys().find(|name| !names_well(name)) {
        return usage(&format!("{odd:?} is not the name of a variable"));
    }
    let texts = || command.iter().chain(variables.values());
    if texts().any(|text| text.contains('\0')) {
        return usage("an argument or variable contains a NUL");
    }
    if texts().map(String::len).sum::<usize>() > ROOM {
        return usage("the arguments and variables are too long together");
    }
    Ok(())
}

/// The directory, by the one name that agents and git know it by.
fn workspace(given: Option<&str>) -> Result<PathBuf, CommandError> {
    let refuse = |message: String| {
        Err(CommandError::new(ErrorCode::Usage, message).hint("name a directory that exists, with --workspace"))
    };
    let Some(given) = given.filter(|path| Path::new(path).is_absolute()) else {
        return refuse("it is not said in which directory to work".to_owned());
    };
    match Path::new(given).canonicalize() {
        Ok(path) if path.is_dir() => Ok(path),
        Ok(_) => refuse(format!("{given} is not a directory")),
        Err(error) => refuse(format!("{given}: {error}")),
    }
}

fn session(request: &SpawnRequest, config: &Config) -> Result<String, CommandError> {
    let session = request.session.as_ref().unwrap_or(&config.spawn.session);
    if !is_plain_name(session) {
        return Err(CommandError::new(ErrorCode::BadName, format!("{session:?} cannot name a session that is made"))
            .hint("1 to 63 letters, digits, '_' and '-', the first no dash"));
    }
    if request.beside.as_deref().is_some_and(|pane| pane.parse::<agtmux_tmux::PaneId>().is_err()) {
        return Err(CommandError::new(ErrorCode::Usage, "the pane to open a window beside is none").hint("`%3`"));
    }
    Ok(session.clone())
}

/// The word for a workspace, unique for its path.
fn workspace_word(workspace: &Path) -> String {
    let digest = Sha256::digest(workspace.as_os_str().as_encoded_bytes());
    let unique: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{unique}", word(workspace))
}

/// The last part of a path, as far as that can stand in a file name.
fn word(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let plain: String = name.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect();
    let plain = plain.trim_start_matches('.').chars().take(63).collect::<String>();
    if plain.is_empty() { "workspace".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_has_a_word_that_is_one_name() {
        for (path, expected) in [("/w/proj", "proj"), ("/w/a b;c", "a-b-c"), ("/", "workspace"), ("/w/..x", "x")] {
            assert_eq!(word(Path::new(path)), expected);
        }
        let [here, there] = ["/w/proj", "/x/proj"].map(|path| workspace_word(Path::new(path)));
        assert!(here.starts_with("proj-") && here.len() == "proj-".len() + 8, "{here}");
        assert_ne!(here, there);
        assert_eq!(here, workspace_word(Path::new("/w/proj")));
    }

    #[test]
    fn what_no_program_can_be_given_is_refused() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let none = BTreeMap::new();
        assert!(fits(&words(&["claude", "-x", ""]), &none).is_ok());
        assert!(fits(&words(&["claude", "a\0b"]), &none).is_err());
        assert!(fits(&words(&["claude", &"x".repeat(ROOM)]), &none).is_err());
        for name in ["", "1A", "A=B", "A B", "é"] {
            assert!(fits(&[], &BTreeMap::from([(name.to_owned(), String::new())])).is_err(), "{name}");
        }
    }
}
