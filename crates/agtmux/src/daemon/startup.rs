//! How a daemon comes to know what it knew: store, log, configuration and manifests, before anything is watched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::Arc;
use std::time::Duration;

use agtmux_agents::Registry;
use agtmux_core::engine::Engine;
use agtmux_core::event::{Event, FORMAT, Fact};
use agtmux_core::id::{AgentId, BootId};
use agtmux_core::policy::Policy;
use agtmux_core::time::Span;
use agtmux_tmux::server;
use agtmux_wire::error::ErrorCode;
use tokio::sync::{mpsc, watch};

use super::Options;
use super::actions::Waiting;
use super::clock::Clock;
use super::guesses::{self, Guesses};
use super::handle::Handle;
use super::mail::{Errand, PostOffice};
use super::mainloop::MainLoop;
use super::observers::Observers;
use super::projection::Projection;
use super::publish::Publisher;
use super::reload;
use super::world::{About, World};
use crate::classify::{Client, SetupError};
use crate::config::{self, ClassifyConfig, Config, MailConfig};
use crate::error::CommandError;
use crate::paths::private_dir;
use crate::platform;
use crate::store::{self, Batch};
use crate::target::link::LinkKind;
use crate::target::manifests::Manifests;
use crate::target::observation::{Gap, Paint};
use crate::target::socket;

/// How many inputs may wait for the main loop.
const INPUTS: usize = 4_096;

/// A daemon that is ready to run.
pub struct Started {
    /// How everybody else talks to it.
    pub handle: Handle,
    /// What has to be run.
    pub mainloop: MainLoop,
    /// The agents there are.
    pub manifests: Manifests,
    /// The tmux program.
    pub tmux: PathBuf,
    /// Told when the pane of an agent is painted.
    pub paints: mpsc::UnboundedReceiver<Paint>,
    /// Told of panes in which markers may have been missed.
    pub gaps: mpsc::UnboundedReceiver<Gap>,
    /// How long a hook waits with a question.
    pub patience: Duration,
    /// Whether Claude's plugin is used.
    pub plugin: bool,
    /// Messages to be delivered.
    pub errands: mpsc::UnboundedReceiver<Errand>,
    /// How they are delivered.
    pub mail: MailConfig,
}

/// Opens the store, replays the log and starts the observers.
///
/// # Errors
/// Fails when configuration or store cannot be used; nothing has been touched then.
pub async fn start(options: &Options) -> Result<Started, CommandError> {
    let loaded = config::load(&options.paths.config_dir)?;
    let mut notes: Vec<_> = loaded.warnings.iter().map(|warning| format!("config.toml: {warning}")).collect();
    let tmux = find_tmux(&loaded.config)?;
    let link = match loaded.config.tmux.link {
        config::Link::Plain => LinkKind::Plain,
        config::Link::Control => LinkKind::Control,
    };
    let (registry, problems) = Registry::with_user(user_manifests(&options.paths.config_dir));
    notes.extend(problems.iter().map(ToString::to_string));
    private_dir(&options.paths.state_dir)?;
    let model = model(&loaded.config.classify, &options.paths.state_dir)?.unwrap_or_else(|error| {
        notes.push(format!("{}: {error}", guesses::PART));
        None
    });
    let boot = platform::boot_id();
    let opened = store::open(&options.paths.state_dir, store_options(&loaded.config), &boot)?;
    notes.extend(opened.recovered.notes.iter().cloned());

    let mut engine = opened.recovered.base.map_or_else(Engine::new, |(_, state)| Engine::restore(state));
    for event in &opened.recovered.tail {
        engine.apply(event);
    }
    let clock = Clock::start(engine.now());
    let mut seq = opened.recovered.next_seq.saturating_sub(1);
    let policy = policy(&loaded.config, &registry);
    if engine.state().policy != policy {
        seq += 1;
        let event = Event { v: FORMAT, seq, at: clock.now(), fact: Fact::PolicySet { policy } };
        opened.writer.append(Batch { events: vec![event.clone()], ..Batch::default() }).await?;
        engine.apply(&event);
    }

    let (replace_manifests, manifests) = Manifests::new(registry);
    let sockets = sockets(options, &loaded.config, &engine);
    let (inputs, received) = mpsc::channel(INPUTS);
    let (synced, is_synced) = watch::channel(false);
    let (roster, members) = watch::channel(Arc::default());
    if let Some(dir) = options.paths.pipe_socket().parent() {
        private_dir(dir)?;
    }
    let (painted, paints) = mpsc::unbounded_channel();
    let (missed, gaps) = mpsc::unbounded_channel();
    let boot = BootId::new(boot);
    let observers =
        Observers::new(tmux.clone(), link, &options.paths, manifests.clone(), boot, inputs.clone(), (painted, missed));
    let projection = Projection::of_targets(&engine);
    let (post, errands, mail) = PostOffice::open(&engine, &opened.reader, &loaded.config.mail)?;
    let mut mainloop = MainLoop {
        world: World {
            engine,
            seq,
            surfaces: BTreeMap::new(),
            conversations: BTreeMap::new(),
            servers: BTreeMap::new(),
            store_problem: None,
            troubles: BTreeMap::new(),
            permissions: loaded.config.policy.permissions(),
            mail_policy: loaded.config.mail.policy(),
            manifests: manifests.clone(),
            start_notes: notes,
            about: About {
                started_at: clock.now(),
                epoch: opened.recovered.epoch,
                socket: options.paths.socket.clone(),
                state_dir: options.paths.state_dir.clone(),
                program: options.program.clone(),
            },
        },
        clock,
        inputs: received,
        writer: opened.writer,
        publisher: Publisher::new(seq),
        projection,
        observers,
        synced,
        roster,
        snapshot_at: seq,
        waiting: Waiting::default(),
        post,
        ending: None,
    };
    for socket in sockets {
        mainloop.watch(&socket);
    }
    let handle = Handle {
        clock,
        inputs,
        synced: is_synced,
        roster: members,
        reader: opened.reader,
        mail,
        hooks: Arc::default(),
        questions: Arc::default(),
        doors: Arc::default(),
        capabilities: Arc::default(),
    };
    if let Some(model) = model {
        let engine = &mainloop.world.engine;
        let guesses = Guesses::new(handle.clone(), clock, tmux.clone(), model, &loaded.config.classify, engine);
        tokio::spawn(guesses.run());
    }
    let patience = loaded.config.approve.hold();
    let plugin = loaded.config.agents.claude.plugin;
    let mail_config = loaded.config.mail.clone();
    tokio::spawn(reload::follow(options.paths.config_dir.clone(), loaded.config, replace_manifests, handle.clone()));
    Ok(Started { handle, mainloop, manifests, tmux, paints, gaps, patience, plugin, errands, mail: mail_config })
}

/// The tmux program, if it is there and not too old. Checked at the start, where somebody is there to read it.
fn find_tmux(config: &Config) -> Result<PathBuf, CommandError> {
    let program = config.tmux.program.clone().unwrap_or_else(|| PathBuf::from("tmux"));
    let output = Process::new(&program).arg("-V").output().map_err(|error| {
        CommandError::new(ErrorCode::TmuxMissing, format!("cannot run {}: {error}", program.display()))
            .hint("install tmux 3.2 or newer, or set tmux.program in config.toml")
    })?;
    let version = server::Version::parse(&String::from_utf8_lossy(&output.stdout));
    if !version.supported() {
        return Err(CommandError::new(ErrorCode::TmuxTooOld, format!("tmux {version} is older than 3.2"))
            .hint("install tmux 3.2 or newer, or set tmux.program in config.toml"));
    }
    Ok(program)
}

/// The model to ask about silent agents, if there is to be one. A program runs in a directory of its own, in which there is
/// nothing to find or to spoil.
fn model(config: &ClassifyConfig, state_dir: &Path) -> Result<Result<Option<Client>, SetupError>, CommandError> {
    let workdir = state_dir.join("classify");
    if config.provider.is_some() {
        private_dir(&workdir)?;
    }
    Ok(Client::new(config, &workdir))
}

/// The user's manifests: file name and text. A file that cannot be read is as good as a bad one and reported as such.
pub fn user_manifests(config_dir: &Path) -> Vec<(String, String)> {
    let Ok(entries) = fs::read_dir(config_dir.join("agents")) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let read = |path: &PathBuf| fs::read_to_string(path).unwrap_or_else(|error| format!("# cannot be read: {error}"));
    paths.iter().map(|path| (path.display().to_string(), read(path))).collect()
}

fn store_options(config: &Config) -> store::Options {
    let mut options = store::Options {
        synchronous: match config.store.synchronous {
            config::Synchronous::Normal => store::Synchronous::Normal,
            config::Synchronous::Full => store::Synchronous::Full,
        },
        ..store::Options::default()
    };
    options.retention.events_days = config.store.events_days;
    options.retention.payload_days = config.store.payload_days;
    options.retention.audit_days = config.store.audit_days;
    options
}

pub(super) fn policy(config: &Config, registry: &Registry) -> Policy {
    let lifetimes = registry.list().map(|entry| {
        let manifest = &entry.manifest;
        (AgentId::new(manifest.id.clone()), manifest.lifetimes())
    });
    Policy {
        completed_for: Span::seconds(i64::from(config.state.completed_seconds)),
        bind_within: Span::seconds(i64::from(config.state.bind_seconds)),
        lifetimes: lifetimes.collect(),
        mail_alarm: config.mail.alarm(),
        after_interrupt: config.mail.after_interrupt(),
        guess_after: Span::seconds(i64::from(config.classify.after_seconds)),
    }
}

/// The servers to watch: the one this daemon was started for, those of the configuration, and those that had panes when
/// the log ended, so that a server that went meanwhile is seen to be gone.
fn sockets(options: &Options, config: &Config, engine: &Engine) -> BTreeSet<PathBuf> {
    let first = options.tmux_socket.clone().unwrap_or_else(socket::default_socket);
    let mut sockets = BTreeSet::from([socket::normal(&first)]);
    for name in &config.tmux.sockets {
        if name == "*" {
            sockets.extend(server::discover(&server::socket_directory()).unwrap_or_default());
        } else {
            sockets.extend(socket::from_argument(name).ok());
        }
    }
    sockets.extend(engine.state().topology.servers.values().map(|server| PathBuf::from(&server.socket)));
    sockets
}
