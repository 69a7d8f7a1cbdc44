//! Any bytes arrive as one argument, and nothing in them runs.

use agtmux_tmux::command::{Command, Script, escape_format, escape_time_format};

use crate::corpus::{HOSTILE, with_canary};
use crate::support::{DEADLINE, Server};

#[tokio::test]
async fn hostile_arguments_arrive_exactly_and_never_run() {
    let server = Server::start("exec sleep 1000");
    let (session, _notifications) = server.open().await;
    let client = session.control();
    let canary = server.directory().join("canary").display().to_string();
    assert!(HOSTILE.len() >= 60);

    let every_byte: Vec<u8> = (1..=u8::MAX).collect();
    let long = b"it's long\n".repeat(20_000);
    let texts = HOSTILE.iter().map(|text| with_canary(text, &canary)).chain([every_byte, long]);
    for text in texts {
        let shown = text[..text.len().min(80)].escape_ascii().to_string();
        let set = Command::new("set-environment").flag("-g").arg("HOSTILE").arg(&text);
        let show = Command::new("show-environment").flag("-g").arg("HOSTILE");
        let expected = [b"HOSTILE=".as_slice(), &text].concat();

        client.run(&set, DEADLINE).await.unwrap_or_else(|error| panic!("{shown}: {error}"));
        let reply = client.run(&show, DEADLINE).await.unwrap();
        assert!(reply.text() == expected, "{shown}");

        // The same one level deeper, as in a guard.
        let clear = Command::new("set-environment").flag("-gu").arg("HOSTILE");
        client.run(&clear, DEADLINE).await.unwrap();
        let nested = Command::new("if-shell").flag("-F").arg("1").commands(&Script::from(&set));
        client.run(&nested, DEADLINE).await.unwrap_or_else(|error| panic!("{shown}: {error}"));
        let reply = client.run(&show, DEADLINE).await.unwrap();
        assert!(reply.text() == expected, "nested {shown}");
    }
    assert_eq!(server.session_names(), ["_agtmux", "work"]);
    assert!(!std::path::Path::new(&canary).exists(), "something hostile ran");
}

#[tokio::test]
async fn escaped_formats_expand_to_themselves() {
    let server = Server::start("exec sleep 1000");
    let (session, _notifications) = server.open().await;
    let canary = server.directory().join("canary").display().to_string();
    for text in HOSTILE {
        let text = with_canary(text, &canary);
        let Ok(text) = std::str::from_utf8(&text) else {
            continue;
        };
        // A conditional ends at a bare comma or brace, so this is also what keeps text inside one argument.
        let command = Command::new("display-message").flag("-p").arg(escape_time_format(text));
        let reply = session.control().run(&command, DEADLINE).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&reply.text()), text);
        let command = Command::new("set-environment").flag("-gF").arg("HOSTILE").arg(escape_format(text));
        session.control().run(&command, DEADLINE).await.unwrap();
        let show = Command::new("show-environment").flag("-g").arg("HOSTILE");
        let reply = session.control().run(&show, DEADLINE).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&reply.text()), format!("HOSTILE={text}"));
    }
    assert!(!std::path::Path::new(&canary).exists(), "something hostile ran");
}
