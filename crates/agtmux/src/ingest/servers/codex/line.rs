//! Questions to a server on the connection of whoever listens to it: a connection more would be a client more, and it counts how many
//! there are.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The first id of these questions; those below are the listener's own.
const FIRST: u64 = 100;

/// More questions than are asked at once.
const MOST: usize = 64;

/// A way to ask. It leads nowhere once nobody listens any more.
#[derive(Clone)]
pub(super) struct Line(mpsc::Sender<Call>);

/// A question.
pub(super) struct Call {
    method: &'static str,
    params: Value,
    answer: oneshot::Sender<Result<Value, String>>,
}

/// Why a question has no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// It was not asked.
    NotSent,
    /// The server said no.
    Refused(String),
    /// It may have been asked, and nobody can say whether anything was done.
    Unknown,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent => formatter.write_str("it is not heard any more"),
            Self::Refused(why) => write!(formatter, "it says: {why}"),
            Self::Unknown => formatter.write_str("it did not answer"),
        }
    }
}

/// The questions that the listener passes on.
pub(super) struct Calls {
    calls: mpsc::Receiver<Call>,
    open: BTreeMap<u64, oneshot::Sender<Result<Value, String>>>,
    next: u64,
}

impl Line {
    /// A line, and what the listener needs for it.
    pub(super) fn new() -> (Self, Calls) {
        let (sender, calls) = mpsc::channel(MOST);
        (Self(sender), Calls { calls, open: BTreeMap::new(), next: FIRST })
    }

    /// Asks something, and waits for the answer.
    pub(super) async fn ask(&self, method: &'static str, params: Value) -> Result<Value, Failure> {
        let (answer, answered) = oneshot::channel();
        self.0.send(Call { method, params, answer }).await.map_err(|_closed| Failure::NotSent)?;
        match timeout(PATIENCE, answered).await {
            Ok(Ok(answer)) => answer.map_err(Failure::Refused),
            Ok(Err(_)) | Err(_) => Err(Failure::Unknown),
        }
    }
}

impl Calls {
    /// The next question. Never ends: somebody else ends the connection.
    pub(super) async fn next(&mut self) -> Call {
        match self.calls.recv().await {
            Some(call) => call,
            None => std::future::pending().await,
        }
    }

    /// The message that asks a question.
    pub(super) fn ask(&mut self, call: Call) -> Value {
        // Those who wait no more are forgotten.
        self.open.retain(|_, answer| !answer.is_closed());
        let id = self.next;
        self.next += 1;
        self.open.insert(id, call.answer);
        json!({"id": id, "method": call.method, "params": call.params})
    }

    /// Passes an answer on.
    pub(super) fn answer(&mut self, message: &Value) {
        let id = message["id"].as_u64().filter(|_| message.get("method").is_none());
        let Some(answer) = id.and_then(|id| self.open.remove(&id)) else { return };
        let error = &message["error"];
        let told = match message.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(error["message"].as_str().unwrap_or("no").chars().take(200).collect()),
        };
        answer.send(told).ok();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Failure, Line};

    #[tokio::test]
    async fn an_answer_goes_to_whoever_asked() {
        let (line, mut calls) = Line::new();
        let server = async {
            let (first, second) = (calls.next().await, calls.next().await);
            let (first, second) = (calls.ask(first), calls.ask(second));
            calls.answer(&json!({"id": second["id"], "error": {"code": 1, "message": "not now"}}));
            calls.answer(&json!({"id": 1, "result": {}}));
            calls.answer(&json!({"id": first["id"], "result": {"of": first["method"]}}));
            drop(calls);
        };
        let asking = async { tokio::join!(line.ask("a", json!({})), line.ask("b", json!({}))) };
        let ((a, b), ()) = tokio::join!(asking, server);
        assert_eq!(a.expect("an answer"), json!({"of": "a"}));
        assert!(matches!(b, Err(Failure::Refused(why)) if why == "not now"));
        assert!(matches!(line.ask("c", json!({})).await, Err(Failure::NotSent)));
    }

    #[tokio::test]
    async fn nobody_knows_what_became_of_a_question_whose_connection_is_lost() {
        let (line, mut calls) = Line::new();
        let server = async {
            let call = calls.next().await;
            calls.ask(call);
            drop(calls);
        };
        let (asked, ()) = tokio::join!(line.ask("a", json!({})), server);
        assert!(matches!(asked, Err(Failure::Unknown)));
    }
}
