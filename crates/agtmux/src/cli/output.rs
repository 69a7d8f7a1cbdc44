//! Everything that is printed goes through here: results to standard output, errors to standard error.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use agtmux_wire::error::ErrorDetail;
use serde::Serialize;

use super::ColorChoice;
use crate::client::Notice;
use crate::error::CommandError;

/// Prints text as it is. A reader that went away (`| head`) is success.
///
/// # Errors
/// Fails when standard output cannot be written for another reason, a full disk for instance.
pub fn print(text: &str) -> Result<(), CommandError> {
    print_bytes(text.as_bytes())
}

/// Prints bytes as they are.
///
/// # Errors
/// As [`print()`].
pub fn print_bytes(bytes: &[u8]) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => Err(CommandError::internal(format!("cannot write the result: {error}"))),
    }
}

/// Prints a document on one line.
///
/// # Errors
/// As [`print()`].
pub fn print_json(document: &impl Serialize) -> Result<(), CommandError> {
    let mut text = serde_json::to_string(document).map_err(CommandError::internal)?;
    text.push('\n');
    print(&text)
}

/// Prints a remark for people to standard error, where it cannot spoil a result.
#[expect(clippy::print_stderr, reason = "this is the one place that prints remarks")]
pub fn remark(text: &str) {
    eprintln!("{text}");
}

/// Prints what the client has to tell meanwhile. A script that reads JSON gets no hints, and the rest as JSON.
pub fn tell(notice: Notice<'_>) {
    match (notice, wants_json()) {
        (Notice::Waiting(text), true) => remark(&serde_json::json!({ "waiting": text }).to_string()),
        (Notice::Hint(_), true) => {}
        (Notice::Waiting(text) | Notice::Hint(text), false) => remark(&printable(text)),
    }
}

fn wants_json() -> bool {
    std::env::args_os().any(|arg| arg == "--json")
}

/// Prints an error of a command and gives its exit code. With `--json` on the command line the error is JSON too.
pub fn fail(error: &CommandError) -> ExitCode {
    if wants_json() {
        let detail = ErrorDetail::from(error.clone());
        remark(&serde_json::json!({ "error": detail }).to_string());
    } else {
        let (bold, plain) = if errors_are_coloured() { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
        // Our own messages may have lines, those of a TOML mistake for instance.
        let message = error.message.trim_end().lines().map(printable).collect::<Vec<_>>().join("\n");
        let mut text = format!("{bold}error{plain}: {message} [{}]", error.code.name());
        if let Some(hint) = &error.hint {
            text.push_str("\n hint: ");
            text.push_str(&printable(hint));
        }
        remark(&text);
    }
    ExitCode::from(error.code.exit_code())
}

/// Prints what clap says: help and version to standard output with success, a mistake to standard error with 2.
pub fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render();
    let choice = ColorChoice::on_command_line(std::env::args_os());
    let (mut out, colored): (Box<dyn Write>, _) = if error.use_stderr() {
        (Box::new(io::stderr()), choice.enabled_on(&io::stderr()))
    } else {
        (Box::new(io::stdout()), choice.enabled_on(&io::stdout()))
    };
    let text = if colored { text.ansi().to_string() } else { text.to_string() };
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if printed.is_err() || error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

/// Whether errors have colour. The command line may be what is wrong, so it is looked at as it is.
fn errors_are_coloured() -> bool {
    ColorChoice::on_command_line(std::env::args_os()).enabled_on(&io::stderr())
}

/// Text from outside, made harmless for a terminal: control characters and bidirectional overrides are shown as
/// escapes, so that a title cannot move the cursor and a message cannot hide its end.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}') {
            let _ = write!(safe, "{}", c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// As [`printable`], for text of ours that has lines.
pub fn printable_lines(text: &str) -> String {
    text.lines().map(|line| printable(line) + "\n").collect()
}

/// Waits for something. If that takes more than a second, a person at a terminal is told what is waited for.
pub async fn with_progress<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    if io::stderr().is_terminal() {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(Duration::from_secs(1)) => remark(&format!("{what} …")),
        }
    }
    work.await
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        assert_eq!(printable("a\x1b[31mb\u{9b}m\u{202e}c\nd"), "a\\u{1b}[31mb\\u{9b}m\\u{202e}c\\nd");
        assert_eq!(printable("Grüße 你好 🧪"), "Grüße 你好 🧪");
    }
}
