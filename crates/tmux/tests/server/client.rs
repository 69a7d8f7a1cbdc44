//! Replies keep their places, whatever happens to callers, to the server and to the stream.

use std::time::{Duration, Instant};

use agtmux_tmux::{Client, ClientError, Command, Notification, Script};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::support::{DEADLINE, Server};

fn say(text: &str) -> Command {
    Command::new("display-message").flag("-p").arg(text)
}

async fn answer(client: &Client, text: &str) -> Result<String, ClientError> {
    let reply = client.run(&say(text), DEADLINE).await?;
    Ok(String::from_utf8(reply.text()).unwrap())
}

#[tokio::test]
async fn pipelined_commands_get_their_own_replies() {
    let server = Server::start("exec sleep 1000");
    // Hooks of the user's answer in between, and one of them fails each time.
    server.tmux(["set-hook", "-g", "after-display-message", "display-message -p hook ; list-panes -t %99"]);
    let (session, _notifications) = server.open().await;
    let tasks: Vec<_> = (0..200)
        .map(|number: u32| {
            let client = session.control().clone();
            tokio::spawn(async move {
                let text = number.to_string();
                match number % 4 {
                    0 => {
                        let guard = Command::new("if-shell").flag("-F").arg("1").commands(&Script::from(&say(&text)));
                        assert_eq!(client.run(&guard, DEADLINE).await.unwrap().text(), text.as_bytes());
                    }
                    1 => {
                        let pane = format!("%{}", number + 1000);
                        let list = Command::new("list-panes").target(&pane);
                        let refused = ClientError::Refused(format!("can't find pane: {pane}"));
                        assert_eq!(client.run(&list, DEADLINE).await, Err(refused));
                    }
                    2 => {
                        let script = Script::new().then(&say(&text)).then(&Command::new("list-panes").target("%999"));
                        let script = script.then(&say("never"));
                        let refused = ClientError::Refused("can't find pane: %999".into());
                        assert_eq!(client.run_script(&script, DEADLINE).await, Err(refused));
                    }
                    _ => assert_eq!(answer(&client, &text).await.unwrap(), text),
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn a_stopped_server_times_out_and_replies_do_not_shift_when_it_goes_on() {
    let server = Server::start("exec sleep 1000");
    let (session, _notifications) = server.open().await;
    let client = session.control();
    assert_eq!(answer(client, "before").await.unwrap(), "before");

    server.signal("STOP");
    let deadline = Duration::from_millis(100);
    let began = Instant::now();
    for number in 0..5 {
        let lost = client.run(&say(&format!("lost {number}")), deadline).await;
        assert_eq!(lost, Err(ClientError::Timeout));
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    // Callers that are dropped before their reply keep their place as well (F99).
    for number in 0..5 {
        drop(tokio::time::timeout(Duration::from_millis(1), answer(client, &format!("dropped {number}"))).await);
    }
    server.signal("CONT");
    for number in 0..20 {
        let text = format!("after {number}");
        assert_eq!(answer(client, &text).await.unwrap(), text);
    }
}

#[tokio::test]
async fn a_killed_server_closes_the_connection() {
    let server = Server::start("exec sleep 1000");
    let (session, _notifications) = server.open().await;
    let waiting = session.control().stream(&Script::from(&Command::new("wait-for").arg("never"))).unwrap();
    let mut waiting = waiting;
    server.signal("KILL");
    assert!(matches!(waiting.next().await, Err(ClientError::Closed { .. })));
    assert!(matches!(answer(session.control(), "x").await, Err(ClientError::Closed { .. })));
    assert!(session.control().is_closed());
    assert!(!session.waiter().closed().await.is_empty());
}

#[tokio::test]
async fn an_orderly_end_of_the_server_is_told_with_its_reason() {
    let server = Server::start("exec sleep 1000");
    let (session, _notifications) = server.open().await;
    server.tmux(["kill-server"]);
    let reason = session.control().closed().await;
    assert_eq!(answer(session.control(), "x").await, Err(ClientError::Closed { reason }));
}

/// A scripted far end, for what tmux never does in a test.
struct FarEnd {
    lines: BufReader<tokio::io::ReadHalf<tokio::io::DuplexStream>>,
    stream: tokio::io::WriteHalf<tokio::io::DuplexStream>,
}

fn connect() -> (Client, tokio::sync::mpsc::Receiver<Notification>, FarEnd) {
    let (near, far) = tokio::io::duplex(1 << 20);
    let (near_read, near_write) = tokio::io::split(near);
    let (far_read, far_write) = tokio::io::split(far);
    let (client, notifications) = Client::start(near_read, near_write);
    (client, notifications, FarEnd { lines: BufReader::new(far_read), stream: far_write })
}

impl FarEnd {
    async fn say(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    async fn heard(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).await.unwrap();
        line
    }
}

#[tokio::test]
async fn a_slow_receiver_of_notifications_never_holds_up_replies_and_learns_what_it_missed() {
    let (client, mut notifications, mut far) = connect();
    far.say(&b"%sessions-changed\n".repeat(5_000)).await;
    far.say(b"%begin 1 1 1\nhere\n%end 1 1 1\n").await;
    // The reply above comes before its command is asked for only in this test; ask again for one that counts.
    let asking = tokio::spawn(async move { answer(&client, "x").await });
    assert_eq!(far.heard().await, "display-message -p -- 'x'\n");
    far.say(b"%begin 1 2 1\nx\n%end 1 2 1\n").await;
    assert_eq!(asking.await.unwrap().unwrap(), "x");
    let mut heard = Vec::new();
    while let Ok(notification) = notifications.try_recv() {
        heard.push(notification);
    }
    assert_eq!(heard.pop(), Some(Notification::Missed));
    assert!(heard.iter().all(|notification| *notification == Notification::SessionsChanged));
    far.say(b"%sessions-changed\n").await;
    assert_eq!(notifications.recv().await, Some(Notification::SessionsChanged));
}

#[tokio::test]
async fn a_greeting_before_the_first_block_is_skipped_and_stray_text_later_closes() {
    let (client, _notifications, mut far) = connect();
    far.say(b"Welcome to the far host\n%begin 1 1 0\n%end 1 1 0\n").await;
    let asking = tokio::spawn({
        let client = client.clone();
        async move { answer(&client, "x").await }
    });
    far.heard().await;
    far.say(b"%begin 1 2 1\nx\n%end 1 2 1\n").await;
    assert_eq!(asking.await.unwrap().unwrap(), "x");
    far.say(b"%end 1 2 1\n").await;
    assert_eq!(client.closed().await, "control stream out of step");
}

#[tokio::test]
async fn the_last_clone_closes_the_far_end() {
    let (client, _notifications, mut far) = connect();
    drop(client.clone());
    let asking = tokio::spawn(async move { answer(&client, "x").await });
    assert_eq!(far.heard().await, "display-message -p -- 'x'\n");
    asking.abort();
    asking.await.unwrap_err();
    assert_eq!(far.heard().await, "");
}

#[tokio::test]
async fn what_cannot_be_written_is_refused_before_it_takes_a_place() {
    let (client, _notifications, mut far) = connect();
    let long = Command::new("set-buffer").arg(vec![b'x'; agtmux_tmux::client::MAX_LINE]);
    assert_eq!(client.run(&long, DEADLINE).await, Err(ClientError::TooLong));
    let nul = Command::new("set-buffer").arg(b"\0");
    assert!(matches!(client.run(&nul, DEADLINE).await, Err(ClientError::Invalid(_))));
    let asking = tokio::spawn(async move { answer(&client, "x").await });
    assert_eq!(far.heard().await, "display-message -p -- 'x'\n");
    far.say(b"%begin 1 2 1\nx\n%end 1 2 1\n").await;
    assert_eq!(asking.await.unwrap().unwrap(), "x");
}
