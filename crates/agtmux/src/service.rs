//! The daemon as a service: the main loop, the API and the hooks on their sockets, from start to stop.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};

use crate::act::{self, Hands};
use crate::api;
use crate::daemon::{Handle, Options, startup};
use crate::error::CommandError;
use crate::ingest;
use crate::ingest::hooks::Hooks;
use crate::ingest::screens::Eyes;
use crate::listener;
use crate::spool::Spool;

/// Runs a daemon until it is told to stop. Calls `ready` once it serves.
///
/// # Errors
/// Fails when the configuration, the state directory or the socket cannot be used.
pub async fn run(options: Options, ready: impl FnOnce()) -> Result<(), CommandError> {
    let started = startup::start(&options).await?;
    let (socket, hook_socket, plugin_socket) =
        (&options.paths.socket, options.paths.hook_socket(), options.paths.plugin_socket());
    let door = listener::bind(socket)?;
    let hook_door = listener::bind(&hook_socket)?;
    let plugin_door = listener::bind(&plugin_socket)?;
    let handle = started.handle.clone();
    let hands = Hands {
        handle: handle.clone(),
        tmux: started.tmux.clone(),
        manifests: started.manifests.clone(),
        locks: Arc::default(),
        buffers: Arc::default(),
        shims: options.paths.shim_dir(),
        promised: Arc::default(),
        looks: Arc::default(),
        stashes: Arc::default(),
        paths: options.paths.clone(),
        mail: started.mail.clone(),
        hooks_loaded: Arc::default(),
    };
    let courier = tokio::spawn(act::deliver::run(hands.clone(), started.errands));
    let server = tokio::spawn(api::serve(door, hands, options.program.clone()));
    let hooks =
        Hooks::new(handle.clone(), started.manifests.clone(), Spool::new(options.paths.spool_dir()), started.patience);
    let hook_server = tokio::spawn(hooks.serve(hook_door));
    tracing::info!(pid = std::process::id(), socket = %socket.display(), "ready");
    ready();
    let manifests = started.manifests.clone();
    let tmux = started.tmux.clone();
    let eyes = Eyes { tmux: started.tmux, manifests: started.manifests, paints: started.paints };
    let beside = [
        courier.abort_handle(),
        server.abort_handle(),
        hook_server.abort_handle(),
        tokio::spawn(ingest::plugin::serve(plugin_door, handle.clone(), started.plugin)).abort_handle(),
        tokio::spawn(ingest::files::run(handle.clone(), manifests.clone())).abort_handle(),
        tokio::spawn(ingest::sessions::run(handle.clone())).abort_handle(),
        tokio::spawn(ingest::servers::run(handle.clone(), manifests)).abort_handle(),
        tokio::spawn(ingest::screens::run(handle.clone(), eyes)).abort_handle(),
        tokio::spawn(act::replies::run(handle.clone(), options.paths.shim_dir())).abort_handle(),
        tokio::spawn(ingest::backlog::run(handle.clone(), tmux, started.gaps)).abort_handle(),
        tokio::spawn(stop_on_signal(handle.clone())).abort_handle(),
    ];
    let outcome = started.mainloop.run().await;
    beside.iter().for_each(tokio::task::AbortHandle::abort);
    listener::unbind(socket);
    listener::unbind(&hook_socket);
    listener::unbind(&plugin_socket);
    tracing::info!("stopped");
    outcome
}

/// SIGTERM, SIGINT and SIGHUP stop the daemon as `agtmux daemon stop` does.
async fn stop_on_signal(handle: Handle) {
    let signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
    let [Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)] = signals else {
        tracing::warn!("signals cannot be handled");
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = hangup.recv() => {}
    }
    handle.stop().await;
}
