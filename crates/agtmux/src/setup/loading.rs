//! Whether the session of a process has loaded our hooks, by the files that it reads them from.

use std::fs;
use std::time::SystemTime;

use agtmux_agents::setup::{Agent, Installed, Scope, Wish, is_loaded};

use super::claude_plugin::Plugin;
use super::job::{Job, Request};
use super::places::Places;
use crate::platform;

/// Whether the session of a process has loaded our hooks; `None` where that is not known, and where there are none. `heard` is
/// whether a hook was heard from it.
pub fn has_hooks(agent: &str, pid: u32, start: u64, heard: bool) -> Option<bool> {
    let agent = Agent::from_id(agent)?;
    if heard {
        return Some(true);
    }
    let (variables, cwd) = (platform::process_environment(pid), platform::process_cwd(pid)?);
    // Read before the check: a pid that has come to mean another process gives nothing.
    if platform::process_stat(pid)?.start != start {
        return None;
    }
    let places = Places::of(&variables, cwd);
    let written: Vec<_> =
        [Scope::User, Scope::Project].into_iter().filter_map(|scope| written_ms(agent, scope, &places)).collect();
    is_loaded(agent, platform::started_at_unix_ms(start), heard, &written)
}

/// When the file with our hooks was written, if they are there.
fn written_ms(agent: Agent, scope: Scope, places: &Places) -> Option<u64> {
    let request = Request { wish: Wish::Remove, scope, follows_links: true, plugin: Plugin::AsItIs };
    let job = Job::plan(agent, &request, places).ok()?;
    let file = job.files.first().filter(|_| job.installed() != Installed::Absent)?;
    unix_ms(fs::metadata(&file.path).ok()?.modified().ok()?)
}

fn unix_ms(time: SystemTime) -> Option<u64> {
    u64::try_from(time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_millis()).ok()
}
