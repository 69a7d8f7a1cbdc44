//! `agtmux daemon run|start|stop|status|unit`, and the binary `agtmuxd`.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use agtmux_wire::daemon::DaemonStatus;
use agtmux_wire::error::{ErrorCode, ErrorDetail};
use clap::{Args, Parser, Subcommand, ValueEnum};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep};

use super::{Context, output};
use crate::client::launch::READY;
use crate::daemon;
use crate::error::CommandError;
use crate::paths::{Paths, private_dir};
use crate::platform::{self, Program};
use crate::service;
use crate::target::socket;

/// How long a stopping daemon may take to put everything away.
const STOP_DEADLINE: Duration = Duration::from_secs(10);

/// How long reads that are under way when the daemon ends are waited for.
const LAST_READS: Duration = Duration::from_secs(1);

#[derive(Debug, Subcommand)]
pub enum DaemonVerb {
    /// Run the daemon in the foreground
    Run(RunArgs),
    /// Start the daemon in the background, if it does not run
    Start {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop the daemon; it leaves nothing behind in tmux
    Stop,
    /// Say whether the daemon runs, and what it watches
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a service file that starts the daemon with your session
    Unit {
        /// For which service manager
        #[arg(long, value_enum, default_value_t)]
        format: UnitFormat,
    },
}

#[derive(Debug, Default, Args)]
pub struct RunArgs {
    /// Take a session of its own, log to the state directory, and say `ready` on standard output
    #[arg(long, hide = true)]
    detached: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum UnitFormat {
    /// systemd on Linux, launchd on macOS
    #[default]
    Auto,
    /// A systemd user unit
    Systemd,
    /// A launchd property list
    Launchd,
}

#[derive(Debug, Parser)]
#[command(name = "agtmuxd", version, about = "The agtmux daemon; the same as `agtmux daemon run`")]
struct Agtmuxd {
    /// The tmux server to watch: a name as for `tmux -L` or a path as for `tmux -S`
    #[arg(long, env = "AGTMUX_TMUX_SOCKET", value_name = "NAME|PATH", hide_env_values = true)]
    tmux_socket: Option<String>,
}

/// The binary `agtmuxd`.
pub fn main() -> ExitCode {
    let args = match Agtmuxd::try_parse() {
        Ok(args) => args,
        Err(error) => return output::usage(&error),
    };
    let outcome = (|| {
        let tmux_socket = args.tmux_socket.as_deref().map(socket::from_argument).transpose()?;
        let context = Context { paths: Paths::from_env()?, tmux_socket, color: false };
        run(&context, &RunArgs::default())
    })();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::fail(&error),
    }
}

/// Runs the daemon until it is told to stop.
pub fn run(context: &Context, args: &RunArgs) -> Result<(), CommandError> {
    let outcome = prepare_and_run(context, args.detached);
    if args.detached
        && let Err(error) = &outcome
    {
        // Whoever started it reads this from the pipe and shows it as its own error.
        let detail = ErrorDetail::from(error.clone());
        tracing::error!(%error, "the daemon could not start");
        say_to_starter(&serde_json::to_string(&detail).unwrap_or_default());
    }
    outcome
}

fn prepare_and_run(context: &Context, detached: bool) -> Result<(), CommandError> {
    private_dir(&context.paths.state_dir)?;
    if detached {
        // Fails only for a process that already leads a group, which has what this would give it.
        let _already_leader = rustix::process::setsid();
    }
    start_log(&context.paths, detached)?;
    platform::raise_fd_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CommandError::internal)?;
    let program = Program::own();
    let options = daemon::Options { paths: context.paths.clone(), tmux_socket: context.tmux_socket.clone(), program };
    let outcome = runtime.block_on(service::run(options, move || {
        if detached {
            say_to_starter(READY);
        }
    }));
    // What is still being read then, nobody waits for; everything that is written was.
    runtime.shutdown_timeout(LAST_READS);
    outcome
}

/// Writes one line to the process that started the daemon, and lets go of its pipe.
fn say_to_starter(line: &str) {
    let mut out = io::stdout().lock();
    // The starter may be gone; the daemon then runs on for the next one.
    let _gone = writeln!(out, "{line}").and_then(|()| out.flush());
    if let Ok(null) = std::fs::OpenOptions::new().write(true).open("/dev/null") {
        let _kept = rustix::stdio::dup2_stdout(null);
    }
}

fn start_log(paths: &Paths, detached: bool) -> Result<(), CommandError> {
    let filter = tracing_subscriber::EnvFilter::try_from_env("AGTMUX_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false);
    if detached {
        let file = daemon::log_file::open(&paths.log_file()).map_err(|error| {
            CommandError::new(ErrorCode::StoreReadOnly, format!("cannot write {}: {error}", paths.log_file().display()))
        })?;
        builder.with_writer(std::sync::Mutex::new(file)).init();
    } else {
        builder.with_writer(io::stderr).init();
    }
    Ok(())
}

/// The verbs that talk to a daemon.
pub async fn control(verb: DaemonVerb, context: &Context) -> Result<(), CommandError> {
    match verb {
        // Runs before there is a runtime to run it on.
        DaemonVerb::Run(_) => Ok(()),
        DaemonVerb::Start { json } => {
            let status: DaemonStatus = context.client().get("/v1/daemon").await?;
            show(&status, json)
        }
        DaemonVerb::Status { json } => {
            let status: DaemonStatus = context.quiet_client().get("/v1/daemon").await?;
            show(&status, json)
        }
        DaemonVerb::Stop => stop(context).await,
        DaemonVerb::Unit { format } => output::print(&unit(format)?),
    }
}

fn show(status: &DaemonStatus, json: bool) -> Result<(), CommandError> {
    if json {
        return output::print_json(status);
    }
    let mut text = format!(
        "agtmux {} runs as pid {}, for {}s\nsocket  {}\nstate   {}\n",
        status.version, status.pid, status.uptime_s, status.socket, status.state_dir
    );
    for server in &status.tmux_servers {
        let _ = writeln!(
            text,
            "tmux    {} {}: {} panes, {} agents, {} streams",
            server.socket, server.status, server.panes, server.agents, server.streams
        );
    }
    if let Some(program) = status.program.as_ref().filter(|_| status.program_replaced) {
        let _ = writeln!(text, "older   than {}, which was replaced since", output::printable(program));
    }
    for problem in &status.problems {
        let _ = writeln!(text, "problem {}", output::printable(problem));
    }
    output::print(&text)
}

async fn stop(context: &Context) -> Result<(), CommandError> {
    let client = context.quiet_client();
    let status: DaemonStatus = match client.post("/v1/daemon/stop", &serde_json::json!({})).await {
        Ok(status) => status,
        Err(error) if matches!(error.code, ErrorCode::DaemonUnreachable | ErrorCode::OutcomeUnknown) => {
            return output::print("no daemon runs\n");
        }
        Err(error) => return Err(error),
    };
    let deadline = Instant::now() + STOP_DEADLINE;
    while !platform::has_ended(status.pid) || UnixStream::connect(client.socket()).await.is_ok() {
        if Instant::now() > deadline {
            return Err(CommandError::new(ErrorCode::Timeout, format!("pid {} is still stopping", status.pid))
                .hint(format!("its log is {}", context.paths.log_file().display())));
        }
        sleep(Duration::from_millis(10)).await;
    }
    output::print("stopped\n")
}

fn unit(format: UnitFormat) -> Result<String, CommandError> {
    let program = daemon_program()?;
    let launchd = match format {
        UnitFormat::Auto => cfg!(target_os = "macos"),
        UnitFormat::Systemd => false,
        UnitFormat::Launchd => true,
    };
    Ok(if launchd { launchd_plist(&program) } else { systemd_unit(&program) })
}

/// `agtmuxd` beside this program, where it is installed like that; else this program.
fn daemon_program() -> Result<PathBuf, CommandError> {
    let this = std::env::current_exe().map_err(CommandError::internal)?;
    let beside = this.with_file_name("agtmuxd");
    Ok(if beside.exists() { beside } else { this })
}

/// `KillMode=process` and `OOMPolicy=continue`: a tmux server that was started from an agent's pane may share the
/// unit's control group, and stopping the daemon must never take it along.
fn systemd_unit(program: &std::path::Path) -> String {
    let run = if program.ends_with("agtmuxd") { "" } else { " daemon run" };
    format!(
        "# agtmux daemon unit > ~/.config/systemd/user/agtmux.service\n\
         # systemctl --user daemon-reload && systemctl --user enable --now agtmux\n\
         [Unit]\nDescription=agtmux, the control plane for coding agents in tmux\n\n\
         [Service]\nExecStart=\"{}\"{run}\nRestart=on-failure\nKillMode=process\nOOMPolicy=continue\n\n\
         [Install]\nWantedBy=default.target\n",
        program.display()
    )
}

fn launchd_plist(program: &std::path::Path) -> String {
    let run = if program.ends_with("agtmuxd") {
        String::new()
    } else {
        "\n    <string>daemon</string>\n    <string>run</string>".to_owned()
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!-- agtmux daemon unit > ~/Library/LaunchAgents/agtmux.plist && launchctl load ~/Library/LaunchAgents/agtmux.plist -->\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  <string>agtmux</string>\n  <key>ProgramArguments</key>\n  <array>\n    <string>{}</string>{run}\n  </array>\n  <key>RunAtLoad</key>\n  <true/>\n  <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n  <key>AbandonProcessGroup</key>\n  <true/>\n</dict>\n</plist>\n",
        program.display()
    )
}
