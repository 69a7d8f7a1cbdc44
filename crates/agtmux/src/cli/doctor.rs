//! `agtmux doctor`: looks at everything agtmux needs and says how to mend what is wrong.

mod versions;

use std::path::Path;
use std::process::Command;

use agtmux_agents::setup::{Installed, Scope, Wish};
use agtmux_agents::{ManifestProblem, Registry};
use agtmux_tmux::server;
use agtmux_wire::agent::{AgentItem, AgentList};
use agtmux_wire::daemon::{DaemonStatus, HookFigures, TmuxServer};
use agtmux_wire::error::ErrorCode;
use clap::Args;
use serde::Serialize;

use super::table::Sheet;
use super::{Context, output};
use crate::config;
use crate::daemon::startup::user_manifests;
use crate::error::CommandError;
use crate::paths::{check_socket_place, private_dir};
use crate::platform;
use crate::setup::claude_plugin::Plugin;
use crate::setup::job::{Job, Request};
use crate::setup::places::Places;
use crate::target::socket;

/// Open files that a daemon with hundreds of streams needs.
const FILES_WANTED: u64 = 1_024;

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What one check found.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    status: Status,
    detail: String,
    fix: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    Warn,
    Fail,
}

impl Status {
    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

pub async fn run(args: DoctorArgs, context: &Context) -> Result<(), CommandError> {
    let mut findings = vec![tmux_program(context), tmux_server(context)];
    findings.extend([
        directory("state directory", &context.paths.state_dir),
        socket_place(context),
        configuration(context),
    ]);
    let (registry, problems) = Registry::with_user(user_manifests(&context.paths.config_dir));
    findings.extend(manifests(&registry, &problems));
    findings.push(agent_hooks()?);
    findings.extend(versions::findings(&registry, context).await);
    findings.push(open_files());
    findings.extend(daemon(context).await);
    findings.extend(adapters(context).await);
    findings.extend(sessions(context).await);
    let failed = findings.iter().filter(|finding| finding.status == Status::Fail).count();
    if args.json {
        output::print_json(&serde_json::json!({ "schema_version": agtmux_wire::SCHEMA_VERSION, "items": findings }))?;
    } else {
        output::print(&render(&findings, context.color))?;
    }
    match failed {
        0 => Ok(()),
        failed => Err(CommandError::new(ErrorCode::PreconditionFailed, format!("{failed} checks failed"))
            .hint("each has its fix in the last column")),
    }
}

fn render(findings: &[Finding], color: bool) -> String {
    let mut sheet = Sheet::new(&["STATUS", "CHECK", "FOUND"], color);
    for finding in findings {
        let status = finding.status.name();
        sheet.row(Some(status), &[status.to_owned(), finding.check.to_owned(), finding.detail.clone()]);
    }
    let fixes: String = findings
        .iter()
        .filter_map(|finding| Some(format!("fix {}: {}\n", finding.check, finding.fix.as_ref()?)))
        .collect();
    format!("{}{}{fixes}", sheet.render(), if fixes.is_empty() { "" } else { "\n" })
}

fn ok(check: &'static str, detail: impl Into<String>) -> Finding {
    Finding { check, status: Status::Ok, detail: detail.into(), fix: None }
}

fn finding(check: &'static str, status: Status, detail: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { check, status, detail: detail.into(), fix: Some(fix.into()) }
}

fn of_error(check: &'static str, error: CommandError) -> Finding {
    Finding { check, status: Status::Fail, detail: error.message, fix: error.hint }
}

fn tmux_program(context: &Context) -> Finding {
    const CHECK: &str = "tmux";
    let program = config::load(&context.paths.config_dir)
        .ok()
        .and_then(|loaded| loaded.config.tmux.program)
        .unwrap_or_else(|| "tmux".into());
    let Ok(answer) = Command::new(&program).arg("-V").output() else {
        let fix = "install tmux 3.2 or newer, or set tmux.program in config.toml";
        return finding(CHECK, Status::Fail, format!("{} cannot be run", program.display()), fix);
    };
    let version = server::Version::parse(&String::from_utf8_lossy(&answer.stdout));
    if version.supported() {
        ok(CHECK, format!("{} {version}", program.display()))
    } else {
        finding(CHECK, Status::Fail, format!("{version} is older than 3.2"), "install tmux 3.2 or newer")
    }
}

fn tmux_server(context: &Context) -> Finding {
    const CHECK: &str = "tmux server";
    let path = context.tmux_socket.clone().unwrap_or_else(socket::default_socket);
    if server::is_alive(&path) {
        ok(CHECK, path.display().to_string())
    } else {
        let fix = "start tmux, or name another server with --tmux-socket; agtmux sees it as soon as it is there";
        finding(CHECK, Status::Warn, format!("none runs at {}", path.display()), fix)
    }
}

fn directory(check: &'static str, path: &Path) -> Finding {
    match private_dir(path) {
        Ok(()) => ok(check, path.display().to_string()),
        Err(error) => of_error(check, error),
    }
}

fn socket_place(context: &Context) -> Finding {
    const CHECK: &str = "daemon socket";
    let path = &context.paths.socket;
    let checked = path.parent().map_or(Ok(()), private_dir).and_then(|()| check_socket_place(path));
    match checked {
        Ok(()) => ok(CHECK, path.display().to_string()),
        Err(error) => of_error(CHECK, error),
    }
}

fn configuration(context: &Context) -> Finding {
    const CHECK: &str = "configuration";
    let file = context.paths.config_dir.join("config.toml");
    match config::load(&context.paths.config_dir) {
        Err(error) => of_error(CHECK, error),
        Ok(loaded) if !loaded.warnings.is_empty() => {
            finding(CHECK, Status::Warn, loaded.warnings.join("; "), format!("remove them from {}", file.display()))
        }
        Ok(_) if file.exists() => ok(CHECK, file.display().to_string()),
        Ok(_) => ok(CHECK, "defaults"),
    }
}

fn manifests(registry: &Registry, problems: &[ManifestProblem]) -> Vec<Finding> {
    const CHECK: &str = "agent manifests";
    if problems.is_empty() {
        let ids: Vec<_> = registry.list().map(|entry| entry.manifest.id.as_str()).collect();
        return vec![ok(CHECK, ids.join(", "))];
    }
    let fix = "mend or remove the file; the others count";
    problems.iter().map(|problem| finding(CHECK, Status::Fail, problem.to_string(), fix)).collect()
}

/// Whether the agents that are here have the hooks that tell what they do.
fn agent_hooks() -> Result<Finding, CommandError> {
    const CHECK: &str = "agent hooks";
    let places = Places::from_env(std::env::current_dir().map_err(CommandError::internal)?);
    let program = places.program(&std::env::current_exe().map_err(CommandError::internal)?)?;
    let request = Request {
        wish: Wish::Install { program: &program },
        scope: Scope::User,
        follows_links: true,
        plugin: Plugin::AsItIs,
    };
    let mut current = Vec::new();
    let mut missing = Vec::new();
    for agent in places.agents() {
        match Job::plan(agent, &request, &places) {
            Ok(job) if job.installed() == Installed::Current => current.push(agent.id()),
            Ok(_) => missing.push(agent.id()),
            Err(error) => return Ok(finding(CHECK, Status::Warn, error.to_string(), error.hint())),
        }
    }
    Ok(match (missing.is_empty(), current.is_empty()) {
        (false, _) => {
            let found = format!("missing or out of date for {}", missing.join(", "));
            finding(CHECK, Status::Warn, found, format!("agtmux setup {}", missing.join(" ")))
        }
        (true, false) => ok(CHECK, current.join(", ")),
        (true, true) => ok(CHECK, "no agent is installed"),
    })
}

fn open_files() -> Finding {
    const CHECK: &str = "open files";
    match platform::fd_limit() {
        Some(limit) if limit < FILES_WANTED => {
            let fix = format!("raise it: ulimit -n {FILES_WANTED}");
            finding(CHECK, Status::Warn, format!("at most {limit}; each agent pane takes two"), fix)
        }
        Some(limit) => ok(CHECK, format!("at most {limit}")),
        None => ok(CHECK, "unlimited"),
    }
}

async fn daemon(context: &Context) -> Vec<Finding> {
    const CHECK: &str = "daemon";
    match context.quiet_client().get::<DaemonStatus>("/v1/daemon").await {
        Ok(status) if status.program_replaced => {
            let program = status.program.as_deref().unwrap_or("its own on the disk");
            let found = format!("pid {} runs an older program than {program}", status.pid);
            let fix = "agtmux daemon stop; the next command starts the new one";
            vec![finding(CHECK, Status::Warn, found, fix), hooks(&status.hooks)]
        }
        Ok(status) => {
            let fix = format!("its log is {}", context.paths.log_file().display());
            let daemon = match status.problems.as_slice() {
                [] => ok(CHECK, format!("pid {}, version {}", status.pid, status.version)),
                problems => finding(CHECK, Status::Warn, problems.join("; "), fix),
            };
            [daemon, hooks(&status.hooks)].into_iter().chain(streams(&status.tmux_servers)).collect()
        }
        Err(error) if error.code == ErrorCode::DaemonUnreachable => {
            vec![ok(CHECK, "does not run; the first command that needs it starts it")]
        }
        Err(error) => vec![of_error(CHECK, error)],
    }
}

/// How the adapters of the agents that run fare.
async fn adapters(context: &Context) -> Option<Finding> {
    const CHECK: &str = "adapters";
    // Whether there is a daemon was found out before.
    let agents: AgentList = context.quiet_client().get("/v1/agents").await.ok()?;
    let used: Vec<_> = agents.items.iter().filter(|agent| agent.runtimes > 0).collect();
    if used.is_empty() {
        return Some(ok(CHECK, "no agent runs"));
    }
    let told = |agent: &AgentItem| {
        let flags = agent.capabilities;
        let words = [
            (flags.event_driven, "events"),
            (flags.polling_required, "polling"),
            (flags.supports_waiting_approval, "approval"),
            (flags.supports_waiting_input, "input"),
            (flags.supports_completed, "completed"),
        ];
        let words: Vec<_> = words.iter().filter(|(is_set, _)| *is_set).map(|(_, word)| *word).collect();
        format!("{} {} ({})", agent.agent, agent.health, words.join(" "))
    };
    let detail = used.iter().map(|agent| told(agent)).collect::<Vec<_>>().join(", ");
    let bad: Vec<_> = used.iter().filter(|agent| matches!(agent.health.as_str(), "degraded" | "unsupported")).collect();
    if bad.is_empty() {
        return Some(ok(CHECK, detail));
    }
    let names: Vec<_> = bad.iter().map(|agent| agent.agent.as_str()).collect();
    let fix = format!("agtmux setup {}; agents that run already have to be started again", names.join(" "));
    Some(finding(CHECK, Status::Warn, detail, fix))
}

/// Sessions that have not loaded the hooks that are there.
async fn sessions(context: &Context) -> Option<Finding> {
    let unloaded = super::hooks::unloaded(&super::hooks::sessions(context).await);
    let found = || format!("hooks not loaded by this session: {}", unloaded.join(", "));
    (!unloaded.is_empty()).then(|| finding("sessions", Status::Warn, found(), "restart them to load the hooks"))
}

/// Panes whose output the daemon cannot read.
fn streams(servers: &[TmuxServer]) -> Option<Finding> {
    let taken: u64 = servers.iter().map(|server| server.taken).sum();
    let detail = format!("another program reads {taken} agent panes (pipe-pane); their screens are read instead");
    let fix =
        "end that program's pipe-pane if you want every marker and OSC sequence seen; `agtmux explain` names the panes";
    (taken > 0).then(|| finding("pane streams", Status::Warn, detail, fix))
}

fn hooks(figures: &HookFigures) -> Finding {
    const CHECK: &str = "hooks";
    let HookFigures { taken, spooled, passed_over, passed_over_last, unread, dropped } = figures;
    let last = passed_over_last.as_ref().map(|why| format!("; the last one passed over, {why}")).unwrap_or_default();
    let detail = format!(
        "{taken} taken, {spooled} of all from the spool, {passed_over} passed over, {unread} unreadable, {dropped} lost{last}"
    );
    match dropped {
        0 => ok(CHECK, detail),
        _ => finding(CHECK, Status::Warn, detail, "keep the daemon running while agents work"),
    }
}
