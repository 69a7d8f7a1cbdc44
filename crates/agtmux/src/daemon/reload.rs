//! Follows the user's manifests: a person corrects a rule and sees at once what it does, without a restart.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use agtmux_agents::Registry;
use agtmux_core::command::Command;
use tokio::sync::watch;

use super::handle::Handle;
use super::startup::{policy, user_manifests};
use crate::config::Config;

/// How often the directory is looked at. A look is one read of a small directory.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Follows the manifests of a configuration directory until the daemon ends.
pub(super) async fn follow(
    config_dir: PathBuf,
    config: Config,
    manifests: watch::Sender<Arc<Registry>>,
    handle: Handle,
) {
    let mut seen = look(&config_dir);
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = look(&config_dir);
        if now == seen {
            continue;
        }
        let (registry, problems) = Registry::with_user(user_manifests(&config_dir));
        for problem in &problems {
            tracing::warn!(%problem, "a manifest is left out");
        }
        let policy = policy(&config, &registry);
        manifests.send_replace(Arc::new(registry));
        tracing::info!("the manifests were read again");
        match handle.request(Command::SetPolicy(policy)).await {
            Ok(()) => seen = now,
            Err(error) if error == super::gone() => return,
            // The lifetimes could not be kept: they are asked for again.
            Err(error) => tracing::warn!(%error, "the lifetimes of the manifests do not count yet"),
        }
    }
}

/// What tells one version of the files from another.
fn look(config_dir: &Path) -> Vec<(PathBuf, Option<SystemTime>, u64)> {
    let entries = std::fs::read_dir(config_dir.join("agents")).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter_map(|entry| {
            let meta = std::fs::metadata(entry.path()).ok()?;
            Some((entry.path(), meta.modified().ok(), meta.len()))
        })
        .collect();
    files.sort();
    files
}
