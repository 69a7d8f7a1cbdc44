//! The writing thread.
//!
//! SQLite has one writer at a time, so there is one thread that writes. It takes all batches that wait and commits
//! them together; each caller is answered after the commit. Only if the group fails is every batch tried on its own,
//! so that a bad one does not take the others down.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agtmux_core::engine::EngineState;
use agtmux_core::event::{Event, Fact};
use agtmux_core::mail::MailFact;
use agtmux_core::time::{Span, Timestamp};
use rusqlite::{Connection, Transaction};
use tokio::sync::{mpsc, oneshot};

use super::database::{Database, Durability};
use super::error::StoreError;
use super::log::{Entry, integer};
use super::owner::Lock;
use super::projection::{self, Row};
use super::retention::{Progress, Pruning, Retained};
use super::snapshot;
use super::texts::{self, Text};

/// How many requests may wait before callers are held back.
const QUEUE: usize = 1_024;

/// How many events one commit holds at most, so that the first caller does not wait for all that came after it.
const GROUP: usize = 4_096;

/// How many numbers are reserved at a time.
pub(super) const BLOCK: u64 = 100_000;

/// What is written together, or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub events: Vec<Event>,
    /// The rows that the events changed.
    pub projection: Vec<Row>,
    /// Texts of messages to keep or let go of. What is kept is on the disk when it is answered for.
    pub texts: Vec<Text>,
}

/// Hands work to the writing thread. Cheap to clone. When the last clone is dropped the thread finishes what was
/// handed in and ends; [`Self::close`] waits for that.
#[derive(Clone, Debug)]
pub struct Writer {
    queue: mpsc::Sender<Request>,
    reserved: Arc<AtomicU64>,
}

type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

enum Request {
    Append { batch: Batch, answer: Answer<()> },
    Snapshot { seq: u64, state: Box<EngineState> },
    Retain { now: Timestamp, state: Box<EngineState>, seq: u64, answer: Answer<Retained> },
    Reserve { upto: u64, answer: Answer<()> },
    Flush { answer: Answer<()> },
    Close { answer: Answer<()> },
}

impl Writer {
    /// Writes a batch. On `Ok` it is committed; on `Err` nothing of it is in the log, nor will be.
    pub async fn append(&self, batch: Batch) -> Result<(), StoreError> {
        self.ask(|answer| Request::Append { batch, answer }).await
    }

    /// Keeps the state after event `seq` for a faster start. A snapshot is a cache: when the thread is too busy to
    /// take one, or cannot write it, it is left out.
    pub fn snapshot(&self, seq: u64, state: EngineState) {
        self.queue.try_send(Request::Snapshot { seq, state: Box::new(state) }).ok();
    }

    /// Lets go of what is old. `seq` is a fresh number, larger than that of any event appended so far; if events
    /// are pruned, `state`, the state at that point, is logged under it as the new base.
    pub async fn retain(&self, now: Timestamp, state: EngineState, seq: u64) -> Result<Retained, StoreError> {
        let state = Box::new(state);
        self.ask(|answer| Request::Retain { now, state, seq, answer }).await
    }

    /// Makes sure that no number below `upto` is handed out again after a restart. Appending does this by itself;
    /// only who hands out many numbers without logging them must ask.
    pub async fn reserve(&self, upto: u64) -> Result<(), StoreError> {
        if upto <= self.reserved() {
            return Ok(());
        }
        self.ask(|answer| Request::Reserve { upto, answer }).await
    }

    /// The first number that is not reserved yet.
    pub fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Acquire)
    }

    /// Waits until everything handed in before has been dealt with.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.ask(|answer| Request::Flush { answer }).await
    }

    /// Finishes what was handed in before, folds the write-ahead log into the database and gives up the directory.
    pub async fn close(self) -> Result<(), StoreError> {
        self.ask(|answer| Request::Close { answer }).await
    }

    async fn ask<T>(&self, request: impl FnOnce(Answer<T>) -> Request) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let Ok(()) = self.queue.send(request(answer)).await else {
            return Err(StoreError::Closed);
        };
        answered.await.unwrap_or(Err(StoreError::Closed))
    }
}

/// Starts the thread.
pub(super) fn start(database: Database, lock: Lock, reserved: u64) -> std::io::Result<Writer> {
    let (queue, requests) = mpsc::channel(QUEUE);
    let reserved = Arc::new(AtomicU64::new(reserved));
    let payload_life = database.options().retention.payload_life();
    let thread = WriterThread { requests, database, reserved: Arc::clone(&reserved), payload_life, pruning: None };
    std::thread::Builder::new().name("agtmux-store".into()).spawn(move || thread.run(lock))?;
    Ok(Writer { queue, reserved })
}

struct WriterThread {
    requests: mpsc::Receiver<Request>,
    database: Database,
    reserved: Arc<AtomicU64>,
    payload_life: Span,
    pruning: Option<(Pruning, Answer<Retained>)>,
}

/// A batch made ready to be written, as often as it takes.
struct Prepared {
    entries: Vec<Entry>,
    projection: Vec<Row>,
    texts: Vec<Text>,
    is_promise: bool,
    answer: Answer<()>,
}

/// Whether a batch must survive whatever happens to the machine. Who sends a message is told that it is kept, and goes away; and what
/// may have been typed, or given by a hook, must not be said later not to have been.
fn is_promise(batch: &Batch) -> bool {
    let begins = |fact: &MailFact| matches!(fact, MailFact::Started { .. } | MailFact::Offered { .. });
    let is_started = |event: &Event| matches!(&event.fact, Fact::Mail(fact) if begins(fact));
    batch.texts.iter().any(|text| matches!(text, Text::Keep { .. })) || batch.events.iter().any(is_started)
}

impl WriterThread {
    /// Runs until told to close, or until nobody is left to tell.
    fn run(mut self, lock: Lock) {
        let closing = loop {
            match self.next() {
                Some(Request::Close { answer }) => break Some(answer),
                Some(request) => {
                    if let Some(answer) = self.handle(request) {
                        break Some(answer);
                    }
                }
                None if self.requests.is_closed() && self.requests.is_empty() => break None,
                None => {}
            }
            self.prune_a_little();
        };
        // Only a mark: where it cannot be made, the next start checks the whole database.
        let mark = |transaction: &Transaction<'_>| transaction.execute("UPDATE meta SET closed = 1", []);
        self.database.transaction(Durability::Configured, mark).ok();
        let closed = self.database.close();
        // The directory is free only when the database is closed, and the answer means that it is free.
        drop(lock);
        if let Some(answer) = closing {
            answer.send(closed).ok();
        }
    }

    /// Waits for the next request, unless there is pruning to get on with.
    fn next(&mut self) -> Option<Request> {
        if self.pruning.is_some() { self.requests.try_recv().ok() } else { self.requests.blocking_recv() }
    }

    /// Deals with a request. Gives back the answer to a `Close` that came up behind it.
    fn handle(&mut self, request: Request) -> Option<Answer<()>> {
        match request {
            Request::Append { batch, answer } => return self.append(batch, answer),
            Request::Snapshot { seq, state } => self.snapshot(seq, &state),
            Request::Retain { now, state, seq, answer } => self.retain(now, *state, seq, answer),
            Request::Reserve { upto, answer } => {
                let done = if upto > self.reserved.load(Ordering::Acquire) { self.reserve(upto) } else { Ok(()) };
                answer.send(done).ok();
            }
            Request::Flush { answer } => {
                answer.send(Ok(())).ok();
            }
            Request::Close { answer } => return Some(answer),
        }
        None
    }

    /// Commits a batch together with all that wait behind it, then deals with the request that ended the group.
    fn append(&mut self, batch: Batch, answer: Answer<()>) -> Option<Answer<()>> {
        let mut group = Vec::new();
        let mut events = batch.events.len();
        self.prepare(batch, answer, &mut group);
        let mut other = None;
        while events < GROUP {
            match self.requests.try_recv() {
                Ok(Request::Append { batch, answer }) => {
                    events += batch.events.len();
                    self.prepare(batch, answer, &mut group);
                }
                Ok(request) => {
                    other = Some(request);
                    break;
                }
                Err(_) => break,
            }
        }
        self.commit(group);
        other.and_then(|request| self.handle(request))
    }

    fn prepare(&self, batch: Batch, answer: Answer<()>, group: &mut Vec<Prepared>) {
        let is_promise = is_promise(&batch);
        let Batch { events, projection, texts } = batch;
        let entries = events.into_iter().map(|event| Entry::new(event, self.payload_life)).collect();
        match entries {
            Ok(entries) => group.push(Prepared { entries, projection, texts, is_promise, answer }),
            Err(error) => {
                answer.send(Err(StoreError::Rejected { detail: error.to_string() })).ok();
            }
        }
    }

    fn commit(&mut self, group: Vec<Prepared>) {
        let result = self.write(&group);
        match (result, group.len()) {
            (Ok(()), _) => {
                for batch in group {
                    batch.answer.send(Ok(())).ok();
                }
            }
            (Err(error), 1) => {
                for batch in group {
                    batch.answer.send(Err(error.clone())).ok();
                }
            }
            (Err(_), _) => {
                for batch in group {
                    self.commit(vec![batch]);
                }
            }
        }
    }

    fn write(&mut self, group: &[Prepared]) -> Result<(), StoreError> {
        if let Some(last) = group.iter().flat_map(|batch| &batch.entries).map(Entry::seq).max() {
            self.reserve_ahead_of(last)?;
        }
        let is_promise = group.iter().any(|batch| batch.is_promise);
        let durability = if is_promise { Durability::PowerLoss } else { Durability::Configured };
        self.database
            .transaction(durability, |transaction| group.iter().try_for_each(|batch| write_batch(transaction, batch)))
    }

    /// Reserves in time: half a block early, so that a disk that is full for a moment does no harm.
    fn reserve_ahead_of(&mut self, seq: u64) -> Result<(), StoreError> {
        let reserved = self.reserved.load(Ordering::Acquire);
        if seq.saturating_add(BLOCK / 2) < reserved {
            return Ok(());
        }
        match self.reserve(seq.saturating_add(BLOCK)) {
            Err(_) if seq < reserved => Ok(()),
            outcome => outcome,
        }
    }

    fn reserve(&mut self, upto: u64) -> Result<(), StoreError> {
        self.database.transaction(Durability::PowerLoss, |transaction| {
            transaction.execute("UPDATE meta SET seq_reserved = max(seq_reserved, ?1)", [integer(upto)])
        })?;
        self.reserved.fetch_max(upto, Ordering::AcqRel);
        Ok(())
    }

    fn snapshot(&mut self, seq: u64, state: &EngineState) {
        let Ok(body) = snapshot::encode(state) else {
            return;
        };
        self.database.transaction(Durability::Configured, |transaction| snapshot::insert(transaction, seq, &body)).ok();
    }

    fn retain(&mut self, now: Timestamp, state: EngineState, seq: u64, answer: Answer<Retained>) {
        let begun = self.reserve_ahead_of(seq).and_then(|()| Pruning::begin(&mut self.database, now, state, seq));
        match begun {
            Ok(pruning) => {
                // A pruning that is still under way ends here: the later one covers what is left of it.
                if let Some((earlier, answer)) = self.pruning.replace((pruning, answer)) {
                    answer.send(Ok(earlier.so_far())).ok();
                }
            }
            Err(error) => {
                answer.send(Err(error)).ok();
            }
        }
    }

    fn prune_a_little(&mut self) {
        let Some((mut pruning, answer)) = self.pruning.take() else {
            return;
        };
        match pruning.step(&mut self.database) {
            Ok(Progress::More) => self.pruning = Some((pruning, answer)),
            Ok(Progress::Finished(done)) => {
                answer.send(Ok(done)).ok();
            }
            Err(error) => {
                answer.send(Err(error)).ok();
            }
        }
    }
}

fn write_batch(connection: &Connection, batch: &Prepared) -> rusqlite::Result<()> {
    batch.entries.iter().try_for_each(|entry| entry.insert(connection))?;
    batch.projection.iter().try_for_each(|row| projection::write(connection, row))?;
    batch.texts.iter().try_for_each(|text| texts::write(connection, text))
}
