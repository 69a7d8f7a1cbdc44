//! Somebody who talks to a shim.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use agtmux_shim::protocol::{Answer, Busy, Inject, Request, Status};

use super::wait_for;

pub(crate) struct Visitor {
    line: BufReader<UnixStream>,
}

/// An injection with an id and nothing else said.
pub(crate) fn inject(id: &str) -> Inject {
    Inject { id: id.to_owned(), delay_ms: 20, ..Inject::default() }
}

impl Visitor {
    pub(crate) fn new(socket: &Path) -> Self {
        let line = UnixStream::connect(socket).unwrap();
        line.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self { line: BufReader::new(line) }
    }

    /// Sends a request and does not wait.
    pub(crate) fn send(&mut self, request: &Request, body: &[u8]) {
        let mut message = serde_json::to_vec(request).unwrap();
        message.push(b'\n');
        message.extend_from_slice(body);
        self.line.get_mut().write_all(&message).unwrap();
    }

    /// Sends bytes, whatever they are, as far as they are taken.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        self.line.get_mut().write_all(bytes).ok();
    }

    /// The next answer; nothing if the shim has closed the connection.
    pub(crate) fn answer(&mut self) -> Option<Answer> {
        let mut text = String::new();
        match self.line.read_line(&mut text) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&text).unwrap()),
        }
    }

    /// Has something typed, and gives the first answer.
    pub(crate) fn inject(&mut self, inject: &Inject, body: &[u8]) -> Answer {
        self.send(&Request::Inject(Inject { length: body.len(), ..inject.clone() }), body);
        self.answer().unwrap()
    }

    /// Has something typed, and waits until it is.
    #[track_caller]
    pub(crate) fn inject_to_the_end(&mut self, inject: &Inject, body: &[u8]) {
        // The one before is held a moment longer than it takes to be submitted.
        let accepted = wait_for("a turn", || match self.inject(inject, body) {
            Answer::Busy { reason: Busy::Hold } => Err("hold"),
            other => Ok(other),
        });
        assert_eq!(accepted, Answer::Accepted { id: inject.id.clone() });
        assert_eq!(self.answer(), Some(Answer::Submitted { id: inject.id.clone() }));
    }

    #[track_caller]
    pub(crate) fn status(&mut self) -> Status {
        self.send(&Request::Status, b"");
        match self.answer() {
            Some(Answer::Status(status)) => status,
            other => panic!("{other:?}"),
        }
    }
}
