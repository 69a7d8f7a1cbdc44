//! Observes a tmux server until it is killed: `observe SOCKET [PIPE_SOCKET]`.
//!
//! Prints what the hooks report and, given a path for a pipe socket, how much every pane writes. As
//! `observe --pass PIPE_SOCKET TOKEN` it is the helper that tmux starts for each pane. `observe --plain SOCKET` does it
//! by ordinary clients, with itself as the janitor that tidies up after it.

#![expect(clippy::print_stdout, reason = "an example that reports to its terminal")]

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use agtmux_tmux::hook_queue::HookQueue;
use agtmux_tmux::janitor;
use agtmux_tmux::list::{self, Detail};
use agtmux_tmux::pipe::{Freed, PipeReceiver, helper};
use agtmux_tmux::plain::Plain;
use agtmux_tmux::session::{HiddenSession, hidden};
use tokio::io::AsyncReadExt;

const DEADLINE: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["--janitor"] => Ok(janitor::serve(std::io::stdin().lock())?),
        ["--plain", socket] => observe_plainly(socket),
        ["--pass", socket, token] => Ok(helper::send_stdin(Path::new(socket), token)?),
        [socket] => observe(socket, None),
        [socket, pipe_socket] => observe(socket, Some(pipe_socket)),
        _ => Err("usage: observe SOCKET [PIPE_SOCKET]".into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn observe(socket: &str, pipe_socket: Option<&str>) -> Result<(), Box<dyn Error>> {
    let (session, mut notifications) = HiddenSession::open(Path::new("tmux"), Path::new(socket), DEADLINE).await?;
    let (_hooks, mut reader) = HookQueue::install(&session, DEADLINE).await?;
    if let Some(path) = pipe_socket {
        pipe_all(&session, path).await?;
    }
    println!("observing as {}", session.slot().session_name());
    loop {
        tokio::select! {
            batch = reader.next_batch() => println!("{:?}", batch?),
            Some(notification) = notifications.recv() => println!("{notification:?}"),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn observe_plainly(socket: &str) -> Result<(), Box<dyn Error>> {
    let (tmux, socket) = (Path::new("tmux"), Path::new(socket));
    let helper = [std::env::current_exe()?.into(), "--janitor".into()];
    let (_hooks, mut reader, _janitor) = HookQueue::install_plain(&Plain::new(tmux, socket), &helper, DEADLINE).await?;
    loop {
        println!("{:?}", reader.next_batch().await?);
    }
}

async fn pipe_all(session: &HiddenSession, path: &str) -> Result<(), Box<dyn Error>> {
    let receiver = PipeReceiver::bind(Path::new(path), Freed::ByTmux)?;
    let helper = [std::env::current_exe()?.into(), "--pass".into()];
    let mut armed = 0;
    for row in list::panes(session.control(), Detail::Light, DEADLINE).await? {
        if !hidden(row.session_name.as_bytes()) {
            receiver.arm(session.control(), row.pane_id, row.pane_pid, &helper, DEADLINE).await?;
            armed += 1;
        }
    }
    for _ in 0..armed {
        let mut piped = receiver.receive().await?;
        tokio::spawn(async move {
            let mut buffer = vec![0; 64 << 10];
            while piped.stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
        });
    }
    Ok(())
}
