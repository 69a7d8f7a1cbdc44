//! A program as a provider: the question on its standard input, the answer on its standard output.
//!
//! It may well be a coding agent (`claude -p`), with hooks that report to this very daemon. So it gets none of the
//! variables by which an agent in a pane is known, and it lives in a process group of its own that ends with the request.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use agtmux_agents::guess;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::client::{ANSWER_LIMIT, AskError, complaint};

/// What a program needs to find itself, its user's files and login, and its language. Whatever else the daemon inherited
/// stays out: a list of what must not be passed on would never be complete.
pub(super) const KEPT: [&str; 18] = [
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "HTTPS_PROXY",
    "NO_PROXY",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
];

/// The most of standard error that is kept.
const STDERR_LIMIT: usize = 4 * 1_024;

/// A program that is asked.
#[derive(Debug)]
pub(super) struct Program {
    argv: Vec<String>,
    kept: Vec<String>,
    workdir: PathBuf,
}

impl Program {
    pub(super) fn new(argv: &[String], also_kept: Option<&str>, workdir: &Path) -> Self {
        let kept = KEPT.into_iter().chain(also_kept).map(str::to_owned).collect();
        Self { argv: argv.to_vec(), kept, workdir: workdir.to_owned() }
    }

    /// Asks, and gives what the program wrote. Dropping the future ends the program.
    pub(super) async fn ask(&self, question: &str) -> Result<String, AskError> {
        let name = self.argv.first().map(String::as_str).unwrap_or_default();
        let spawn_error = |error| AskError::Spawn { program: name.to_owned(), error };
        let mut child = self.command(name).spawn().map_err(spawn_error)?;
        let group = Group::of(&child);
        let (mut stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let told = async move {
            if let Some(stdin) = &mut stdin {
                // A program that does not read to the end has still been told; what it says counts.
                stdin.write_all(guess::INSTRUCTIONS.as_bytes()).await.ok();
                stdin.write_all(b"\n\n").await.ok();
                stdin.write_all(question.as_bytes()).await.ok();
            }
            Ok(())
        };
        let ended = async move {
            let status = child.wait().await.map_err(spawn_error);
            // What it left behind could hold its output open.
            drop(group);
            status
        };
        let answered = async {
            let (answer, is_whole) = first(stdout, ANSWER_LIMIT).await;
            if is_whole { Ok(answer) } else { Err(AskError::TooLong) }
        };
        let complained = async {
            let mut stderr = stderr;
            let (complaints, _) = first(stderr.as_mut(), STDERR_LIMIT).await;
            if let Some(stderr) = &mut stderr {
                // Nobody may have to wait for somebody to read this.
                tokio::io::copy(stderr, &mut tokio::io::sink()).await.ok();
            }
            Ok(complaints)
        };
        let ((), status, answer, complaints) = tokio::try_join!(told, ended, answered, complained)?;
        if !status.success() {
            return Err(AskError::Exit { program: name.to_owned(), status, complaint: complaint(&complaints) });
        }
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command
            .args(self.argv.iter().skip(1))
            .env_clear()
            .envs(self.kept.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .current_dir(&self.workdir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }
}

/// The process group of a program. Killed when nobody waits for it any more.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // A group that is gone already is as it should be.
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

/// The first bytes of a stream, and whether that was all of it.
async fn first(stream: Option<impl AsyncRead + Unpin>, limit: usize) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        // What could be read counts, whatever comes after.
        stream.take(bound).read_to_end(&mut bytes).await.ok();
    }
    let is_whole = bytes.len() <= limit;
    bytes.truncate(limit);
    (bytes, is_whole)
}
