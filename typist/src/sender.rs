//! Somebody who sends messages to a pane, one after the other, each as soon as it is possible.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use fastrand::Rng;

use crate::body;
use crate::inject::{Attempt, Injector};
use crate::person::Person;

/// How long a message may wait for a moment in which nobody types.
const STARVED: Duration = Duration::from_secs(300);

/// The sender.
pub struct Sender {
    injector: Box<dyn Injector>,
    /// What the ids of the messages begin with.
    name: String,
    sizes: RangeInclusive<usize>,
    haste: f64,
    random: Rng,
    texts: Vec<String>,
    put_off: usize,
}

impl Sender {
    /// Somebody who has sent nothing yet. The name is part of the ids, and `sizes` are bytes.
    #[must_use]
    pub fn new(injector: Box<dyn Injector>, name: &str, sizes: RangeInclusive<usize>, haste: f64, random: Rng) -> Self {
        Self { injector, name: name.to_owned(), sizes, haste, random, texts: Vec::new(), put_off: 0 }
    }

    /// Everything that was sent, in order.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// How often a message was put off, since somebody typed.
    #[must_use]
    pub const fn put_off(&self) -> usize {
        self.put_off
    }

    /// Sends one more, and rests.
    pub fn send(&mut self) -> Result<()> {
        let number = self.texts.len();
        let size = body::size(&mut self.random).clamp(*self.sizes.start(), *self.sizes.end());
        let text = body::message(&mut self.random, number, size);
        let id = format!("{}.{number}", self.name);
        let since = Instant::now();
        while self.injector.attempt(&id, &text).with_context(|| format!("message {id}"))? == Attempt::Busy {
            self.put_off += 1;
            if since.elapsed() > STARVED {
                bail!("{id} found no moment to be sent");
            }
            thread::sleep(Duration::from_millis(self.random.u64(10..80)));
        }
        self.texts.push(text);
        thread::sleep(Duration::from_millis(self.random.u64(..1_500)).div_f64(self.haste));
        Ok(())
    }
}

/// Lets a person type and a sender send at the same time: so many lines and messages at least, and as long as there is trouble.
pub fn together(
    person: &mut Person,
    sender: &mut Sender,
    lines: usize,
    messages: usize,
    troubled: &AtomicBool,
) -> Result<()> {
    let is = |flag: &AtomicBool| flag.load(Ordering::Acquire);
    let sending = AtomicBool::new(true);
    thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let mut sent = Ok(());
            while sent.is_ok() && (sender.texts.len() < messages || is(troubled)) {
                sent = sender.send();
            }
            sending.store(false, Ordering::Release);
            sent
        });
        while is(&sending) || person.lines().len() < lines || is(troubled) {
            person.type_line()?;
        }
        sender.join().unwrap_or_else(|_| bail!("a sender panicked"))
    })
}
