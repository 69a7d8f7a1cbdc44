//! Any bytes arrive as one argument, and nothing in them runs.

use agtmux_tmux::command::{Command, Script, escape_format, escape_time_format};

use crate::support::{DEADLINE, Server};

/// Texts that mean something to tmux, to a shell or to the control protocol. `CANARY` stands for a path that must
/// never come to exist.
const HOSTILE: &[&[u8]] = &[
    b"",
    b" ",
    b"  two  spaces  ",
    b"plain",
    b"'",
    b"''",
    b"\"",
    b"\"\"",
    b"it's \"both\"",
    b"\\",
    b"\\\\",
    b"trailing\\",
    b"\\n",
    b"\\041",
    b"\\u0041",
    b"$HOME",
    b"${HOME}",
    b"'$HOME",
    b"$",
    b"~",
    b"~root",
    b"'~",
    b"\n~",
    b"a=~",
    b"{",
    b"}",
    b"{ run-shell 'touch CANARY' }",
    b"%if 1",
    b"%endif",
    b"%hidden X=1",
    b"X=1",
    b";",
    b"a;",
    b"a ;",
    b"a \\;",
    b"; run-shell 'touch CANARY'",
    b"' ; run-shell 'touch CANARY' ; '",
    b"\" ; run-shell \"touch CANARY\" ; \"",
    b"\n run-shell 'touch CANARY'",
    b"'\nrun-shell 'touch CANARY'\n'",
    b"\r\nrun-shell 'touch CANARY'\r\n",
    b"#(touch CANARY)",
    b"#{l:#(touch CANARY)}",
    b"'#(touch CANARY)",
    b"#",
    b"##",
    b"# comment",
    b"#{pid}",
    b"#{",
    b"#}",
    b"#[fg=red]",
    b"##[#(touch CANARY)]",
    b"\xff ; run-shell 'touch CANARY'",
    b"###",
    b"-",
    b"--",
    b"-t",
    b"-t%0",
    b"\t",
    b"\ta\tb\t",
    b"\n",
    b"\n\n",
    b"a\nb\n",
    b"\x01\x02\x1b[31m\x07\x7f",
    b"\xff\xfe",
    b"\xc3",
    b"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
    b"'\xff\n",
    b"\xe2\x80\xae\xc2\x9b",
    b"%end 1 2 3",
    b"%begin 1 2 3\n%end 1 2 3",
    b"%exit",
    b"`touch CANARY`",
    b"$(touch CANARY)",
    b"| touch CANARY",
    b"&& touch CANARY",
    b"> CANARY",
    b"*?[a]!^",
    b"%1 %% %s %Y",
    b"@x =x $0 %0 !",
];

fn with_canary(text: &[u8], canary: &str) -> Vec<u8> {
    let mut rest = text;
    let mut result = Vec::new();
    while let Some(at) = rest.windows(6).position(|window| window == b"CANARY") {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(canary.as_bytes());
        rest = &rest[at + 6..];
    }
    result.extend_from_slice(rest);
    result
}

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
