//! An HTTP server that says what it is told to, and remembers what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// What to answer.
pub(super) enum Reply {
    Json(Value),
    Raw(String),
    /// Takes the request and says nothing.
    Hang,
    /// A byte now and then, for ever.
    Drip,
    /// A body without end.
    Flood,
}

/// A request as it came in.
pub(super) struct Request {
    pub(super) head: String,
    pub(super) body: Value,
}

pub(super) struct Server {
    pub(super) url: String,
    pub(super) requests: Receiver<Request>,
}

impl Server {
    /// Answers one request after another with these, in order.
    pub(super) fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        thread::spawn(move || {
            for reply in replies {
                let (stream, _) = listener.accept().unwrap();
                serve(stream, &reply, &sender);
            }
        });
        Self { url, requests }
    }
}

fn serve(mut stream: TcpStream, reply: &Reply, sender: &Sender<Request>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
    let head = head.to_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    sender.send(Request { head, body: serde_json::from_slice(&body).unwrap() }).ok();
    let endless = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n";
    match reply {
        Reply::Json(value) => respond(&mut stream, "200 OK", &value.to_string()),
        Reply::Raw(text) => stream.write_all(text.as_bytes()).unwrap(),
        // Ends when the client has gone.
        Reply::Hang => drop(reader.read(&mut [0])),
        Reply::Drip => write_until_gone(&mut stream, endless, b" ", Duration::from_millis(20)),
        Reply::Flood => write_until_gone(&mut stream, endless, &[b' '; 8_192], Duration::ZERO),
    }
}

pub(super) fn status(line: &str, body: &str) -> Reply {
    Reply::Raw(response(line, body))
}

fn respond(stream: &mut TcpStream, line: &str, body: &str) {
    stream.write_all(response(line, body).as_bytes()).unwrap();
}

fn response(line: &str, body: &str) -> String {
    format!("HTTP/1.1 {line}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

fn write_until_gone(stream: &mut TcpStream, head: &[u8], piece: &[u8], pause: Duration) {
    let mut outcome = stream.write_all(head);
    while outcome.is_ok() {
        thread::sleep(pause);
        outcome = stream.write_all(piece);
    }
}
