//! Who types: the person, or an injection while the person's keys are held.
//!
//! Pure: time comes in as milliseconds, bytes go out into a [`Buffer`]. Keys are never dropped and never reordered. While an
//! injection is typed they wait, and then follow at the pace at which they were typed, since some programs take keys that come
//! all at once for a paste.

use std::collections::VecDeque;

use crate::buffer::Buffer;
use crate::keyboard::{Keyboard, PASTE_MS};
use crate::protocol::{Answer, Busy, HOLD_LIMIT_MS, Inject, PROTOCOL, Progress, Refusal, Status};
use crate::script::{Ends, Script};
use crate::seen::Seen;
use crate::standing::Standing;

/// The most that is read of a person's keys at once.
pub const PIECE: usize = 4_096;

/// How much of a person's keys is held here; what comes beyond waits in the terminal.
const HELD: usize = 32 * 1_024;

/// So many pieces keep their pace.
const PIECES: usize = 256;

/// The longest pause between two held pieces when they are let go, except after a paste.
const PACE_MS: u64 = 12;

/// Between a person's last key and an injection. Bytes that follow at once may be read together with it.
const LEAD_MS: u64 = 50;

/// After this time what looks like the beginning of a sequence was a key.
const KEY_MS: u64 = 200;

/// Decides whose turn it is.
#[derive(Debug)]
pub struct Arbiter {
    keyboard: Keyboard,
    /// When the person's last bytes came.
    last_input: Option<u64>,
    phase: Phase,
    held: Buffer,
    pieces: VecDeque<Piece>,
    seen: Seen,
    /// What was typed here and not submitted.
    standing: Standing,
}

/// Held bytes that came at once.
#[derive(Clone, Copy, Debug)]
struct Piece {
    length: usize,
    /// The pause before it.
    pause_ms: u64,
    ends_paste: bool,
}

#[derive(Debug)]
enum Phase {
    /// Keys pass.
    Open,
    /// An injection is typed.
    Typing { script: Script, pause_ms: u64, not_before: u64, hold_until: u64 },
    /// Held keys are let go.
    Releasing { next_at: u64 },
}

/// What the agent's side looks like when an injection is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    /// Whether the program wants pastes to be marked.
    pub pastes: bool,
    /// How many bytes it has written.
    pub output: u64,
}

impl Default for Arbiter {
    fn default() -> Self {
        Self {
            keyboard: Keyboard::default(),
            last_input: None,
            phase: Phase::Open,
            held: Buffer::new(HELD),
            pieces: VecDeque::with_capacity(PIECES),
            seen: Seen::default(),
            standing: Standing::default(),
        }
    }
}

impl Arbiter {
    /// Whether a piece of keys may be read now.
    pub fn has_room(&self, agent: &Buffer) -> bool {
        let room = if matches!(self.phase, Phase::Open) { agent.room() } else { self.held.room() };
        room >= PIECE
    }

    /// A piece of keys came, of at most [`PIECE`] bytes and with room for it.
    pub fn input(&mut self, piece: &[u8], now: u64, agent: &mut Buffer) {
        let last = self.last_input.replace(now).unwrap_or(now);
        // What an Enter means depends on how long after a paste it comes, so the time that matters for that is kept.
        let pause_ms = now.saturating_sub(last).min(PACE_MS.max(self.keyboard.paste_left(last)));
        self.keyboard.feed(piece, now);
        if matches!(self.phase, Phase::Open) {
            agent.push(piece);
            return;
        }
        let length = self.held.push(piece);
        let ends_paste = self.keyboard.paste_left(now) == PASTE_MS;
        let is_full = self.pieces.len() == PIECES;
        match self.pieces.back_mut().filter(|_| is_full) {
            Some(last) => {
                last.length += length;
                last.ends_paste |= ends_paste;
            }
            None => self.pieces.push_back(Piece { length, pause_ms, ends_paste }),
        }
    }

    /// Begins to type something, or says why not.
    pub fn inject(&mut self, inject: &Inject, body: Vec<u8>, now: u64, screen: Screen) -> Answer {
        if let Some(state) = self.seen.get(&inject.id) {
            return Answer::Duplicate { id: inject.id.clone(), state };
        }
        let hold_ms = inject.hold_ms.min(HOLD_LIMIT_MS);
        let script = match Script::new(inject, body, screen.pastes, hold_ms) {
            Ok(script) => script,
            Err(reason) => return Answer::Refused { reason },
        };
        if let Some(reason) = self.busy(inject, script.has_body, now, screen) {
            return Answer::Busy { reason };
        }
        if script.has_body {
            self.standing.begin(&inject.id, self.keyboard.keys(), screen.output);
        }
        let not_before = self.last_input.map_or(now, |last| now.max(last + LEAD_MS));
        self.seen.set(&inject.id, Progress::Pasting);
        self.phase = Phase::Typing { script, pause_ms: LEAD_MS, not_before, hold_until: now + hold_ms };
        Answer::Accepted { id: inject.id.clone() }
    }

    fn busy(&mut self, inject: &Inject, has_body: bool, now: u64, screen: Screen) -> Option<Busy> {
        if !matches!(self.phase, Phase::Open) {
            return Some(Busy::Hold);
        }
        self.settle(now);
        if !self.keyboard.is_between_keys() {
            return Some(Busy::Draft);
        }
        if inject.if_input.is_some_and(|judged| self.keyboard.keys() > judged) {
            return Some(Busy::Draft);
        }
        if inject.empty_at == Some(self.keyboard.keys()) && self.standing.seen_empty(&self.keyboard, inject.if_output) {
            self.keyboard.seen_empty();
        }
        let stands = self.standing.id(&self.keyboard);
        if inject.if_stands.is_some() && inject.if_stands.as_deref() != stands {
            return Some(Busy::Draft);
        }
        // To what was typed here and waits for Enter, nothing is added; keys without a text, such as that Enter, may go.
        let is_in_the_way = self.keyboard.is_draft() && (stands.is_none() || has_body);
        if is_in_the_way && !inject.even_if_draft {
            return Some(Busy::Draft);
        }
        inject.if_output.filter(|judged| screen.output > *judged).map(|_| Busy::Modal)
    }

    fn settle(&mut self, now: u64) {
        if self.last_input.is_some_and(|last| now.saturating_sub(last) >= KEY_MS) {
            self.keyboard.settle();
        }
    }

    /// Whether an injection is being typed.
    pub fn is_typing(&self) -> bool {
        matches!(self.phase, Phase::Typing { .. })
    }

    /// Whether a paste of the person's is so fresh that an Enter may be taken for a part of it.
    pub fn has_fresh_paste(&self, now: u64) -> bool {
        self.keyboard.paste_left(now) > 0
    }

    /// For this long the agent has not read all that was written to it, and still has not. A pause that is meant for the agent
    /// begins when it has read; and as long as it reads nothing, nobody's keys could reach it, so it is no time of holding.
    pub fn lagged(&mut self, ms: u64, now: u64) {
        if self.has_fresh_paste(now) {
            self.keyboard.paste_arrives(now);
        }
        if let Phase::Typing { hold_until, .. } = &mut self.phase {
            *hold_until += ms;
        }
        self.stays_silent(now);
    }

    /// The agent has read everything, but shows nothing yet. The pause for it begins when it does, as far as keys may be held.
    pub fn stays_silent(&mut self, now: u64) {
        if let Phase::Typing { script, pause_ms, not_before, .. } = &mut self.phase
            && !script.is_begun()
        {
            *not_before = (*not_before).max(now + *pause_ms);
        }
    }

    /// Allows an injection to be submitted that waits for that, or says how far it is.
    pub fn submit(&mut self, id: String) -> Answer {
        match &mut self.phase {
            Phase::Typing { script, .. } if script.id == id && script.is_waiting() => {
                script.allow();
                Answer::Accepted { id }
            }
            _ => self.state(id),
        }
    }

    /// Whoever asked for the injection under way is gone, and will not say whether it may be submitted. It is there, and whatever the
    /// person types next would be added to it: so it is submitted before that.
    pub fn abandoned(&mut self) {
        if let Phase::Typing { script, .. } = &mut self.phase {
            script.abandon();
        }
    }

    /// Goes on with what is under way, as far as that is possible now. Gives what whoever asked for an injection is to be told that
    /// has just ended. To be called after each write, and when [`Self::deadline`] has come.
    pub fn turn(&mut self, now: u64, agent: &mut Buffer) -> Option<Answer> {
        let mut ended = None;
        loop {
            match &mut self.phase {
                Phase::Open => return ended,
                Phase::Typing { script, pause_ms, not_before, hold_until } => {
                    let due = if script.is_waiting() { *hold_until } else { (*not_before).min(*hold_until) };
                    if now < due {
                        return ended;
                    }
                    if script.is_waiting() && script.is_abandoned() {
                        script.allow();
                    }
                    if script.is_waiting() {
                        script.leave();
                        self.standing.leave(&mut self.keyboard);
                        ended = Some(Answer::Left { id: script.id.clone() });
                    }
                    if script.is_over() {
                        self.phase = Phase::Releasing { next_at: now };
                        continue;
                    }
                    let written = agent.push(script.unwritten());
                    script.wrote(written);
                    if !script.unwritten().is_empty() || !agent.is_empty() {
                        return ended;
                    }
                    let progress;
                    (*pause_ms, progress) = script.next();
                    *not_before = now + *pause_ms;
                    if let Some(progress) = progress {
                        self.seen.set(&script.id, progress);
                        if progress == Progress::Submitted {
                            match script.ends {
                                Ends::Submits => self.standing.submit(&mut self.keyboard),
                                Ends::Leaves if script.has_body => self.standing.leave(&mut self.keyboard),
                                Ends::Leaves => {}
                            }
                            ended = Some(Answer::Submitted { id: script.id.clone() });
                        }
                    }
                }
                Phase::Releasing { next_at } => {
                    let Some(Piece { length, ends_paste, .. }) = self.pieces.front().copied() else {
                        self.phase = Phase::Open;
                        continue;
                    };
                    if now < *next_at || (agent.room() < length && !agent.is_empty()) {
                        return ended;
                    }
                    let released = agent.push(&self.held.waiting()[..length]);
                    self.held.consume(released);
                    if released < length {
                        self.pieces[0].length -= released;
                        return ended;
                    }
                    self.pieces.pop_front();
                    *next_at = now + self.pieces.front().map_or(0, |next| next.pause_ms);
                    if ends_paste {
                        self.keyboard.paste_arrives(now);
                    }
                }
            }
        }
    }

    /// When something is due although nothing comes. As long as the agent has to take bytes first, nothing is.
    pub fn deadline(&self, agent: &Buffer) -> Option<u64> {
        match &self.phase {
            _ if !agent.is_empty() => None,
            Phase::Open => None,
            Phase::Typing { script, hold_until, .. } if script.is_waiting() => Some(*hold_until),
            Phase::Typing { not_before, hold_until, .. } => Some((*not_before).min(*hold_until)),
            Phase::Releasing { next_at } => Some(*next_at),
        }
    }

    /// What became of an id.
    pub fn state(&self, id: String) -> Answer {
        match self.seen.get(&id) {
            Some(state) => Answer::Duplicate { id, state },
            None => Answer::Unseen { id },
        }
    }

    /// What the person has typed since their composer was empty. While keys are held, or a text of somebody else stands there, it is not
    /// what the composer holds.
    pub fn typed(&mut self, now: u64) -> Answer {
        self.settle(now);
        let is_alone = matches!(self.phase, Phase::Open) && self.standing.id(&self.keyboard).is_none();
        let text = self.keyboard.typed().filter(|_| is_alone).map(str::to_owned);
        Answer::Typed { text, input: self.keyboard.keys() }
    }

    /// How things stand, as far as they are known here.
    pub fn status(&mut self, now: u64, screen: Screen) -> Status {
        self.settle(now);
        Status {
            protocol: PROTOCOL,
            draft: self.keyboard.is_draft(),
            stands: self.standing.id(&self.keyboard).map(str::to_owned),
            hold: !matches!(self.phase, Phase::Open),
            paste_mode: screen.pastes,
            input: self.keyboard.keys(),
            input_age_ms: self.last_input.map(|last| now.saturating_sub(last)),
            output: screen.output,
            injections: self.seen.total(),
            forgotten: self.seen.forgotten(),
            ..Status::default()
        }
    }
}

/// The answer when there is no memory for a body.
pub(crate) const NO_MEMORY: Answer = Answer::Refused { reason: Refusal::Memory };

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Arbiter, Screen};
    use crate::buffer::Buffer;
    use crate::keyboard::PASTE_MS;
    use crate::protocol::{Answer, Busy, Inject};

    const SCREEN: Screen = Screen { pastes: true, output: 0 };
    const PASTE: &[u8] = b"\x1b[200~text\x1b[201~";

    fn inject(id: usize) -> Inject {
        Inject { id: id.to_string(), delay_ms: 100, ..Inject::default() }
    }

    #[derive(Clone, Debug)]
    enum Event {
        /// The person presses something.
        Keys(Vec<u8>),
        /// Somebody asks how things stand.
        Judge,
        /// A message is to be typed, perhaps into a draft, perhaps not to be submitted before that is allowed, and perhaps only if nothing
        /// was typed since things were judged.
        Message { length: usize, even_if_draft: bool, waits: bool, as_judged: bool },
        /// The last message may be submitted.
        Allow,
        /// The agent reads so many bytes.
        Read(usize),
        /// Time passes.
        Wait(u64),
    }

    fn event() -> impl Strategy<Value = Event> {
        let keys = proptest::sample::select(vec![
            &b"a"[..],
            b"\r",
            b"\x1b[A",
            b"\x1b",
            b"[",
            "é".as_bytes(),
            &[0xc3],
            &[0xa9],
            b"\x1b[200~",
            b"\x1b[201~",
            b"\x1b[I",
            b"more than one key",
        ]);
        prop_oneof![
            4 => keys.prop_map(|keys| Event::Keys(keys.to_vec())),
            1 => Just(Event::Judge),
            2 => (1usize..70_000, any::<[bool; 3]>()).prop_map(|(length, [even_if_draft, waits, as_judged])| {
                Event::Message { length, even_if_draft, waits, as_judged }
            }),
            2 => Just(Event::Allow),
            3 => (1usize..100_000).prop_map(Event::Read),
            3 => (0u64..3_000).prop_map(Event::Wait),
        ]
    }

    proptest! {
        /// I3 and I4: whatever happens when, the agent reads every key in order, every accepted message once and whole, and
        /// none of them within a sequence of keys. None is put behind another that was left without Enter, and none that minds what
        /// was typed since comes behind a key.
        #[test]
        fn keys_and_messages_arrive_whole(events in proptest::collection::vec(event(), 1..80)) {
            let (mut arbiter, mut agent) = (Arbiter::default(), Buffer::new(64 * 1_024));
            let (mut now, mut typed, mut read) = (0, Vec::new(), Vec::new());
            let mut accepted: Vec<(usize, Vec<u8>)> = Vec::new();
            let (mut judged, mut typed_when_judged, mut minds) = (0, 0, Vec::new());
            let take = |agent: &mut Buffer, read: &mut Vec<u8>, count: usize| {
                let count = count.min(agent.waiting().len());
                read.extend_from_slice(&agent.waiting()[..count]);
                agent.consume(count);
            };
            for (number, event) in events.into_iter().enumerate() {
                match event {
                    Event::Keys(keys) => if arbiter.has_room(&agent) {
                        arbiter.input(&keys, now, &mut agent);
                        typed.extend(keys);
                    },
                    Event::Judge => (judged, typed_when_judged) = (arbiter.status(now, SCREEN).input, typed.len()),
                    Event::Message { length, even_if_draft, waits, as_judged } => {
                        // No byte of a key, so that messages can be told from keys.
                        let body = vec![b'A' + u8::try_from(number % 26).expect("a letter"); length];
                        let if_input = as_judged.then_some(judged);
                        let request = Inject { even_if_draft, waits, if_input, ..inject(number) };
                        let draft = arbiter.status(now, SCREEN).draft;
                        match arbiter.inject(&request, body.clone(), now, SCREEN) {
                            Answer::Accepted { .. } => {
                                prop_assert!(even_if_draft || !draft);
                                let since: &[u8] = if as_judged { &typed[typed_when_judged..] } else { b"" };
                                // What a terminal says by itself is no key.
                                prop_assert!(since.chunks(3).all(|report| report == b"\x1b[I"), "{since:?}");
                                minds.push(!even_if_draft);
                                let enter: &[u8] = if waits { b"" } else { b"\r" };
                                accepted.push((number, [b"\x1b[200~", &body[..], b"\x1b[201~", enter].concat()));
                            }
                            Answer::Busy { .. } => {}
                            other => prop_assert!(false, "{other:?}"),
                        }
                    }
                    Event::Allow => if let Some((number, message)) = accepted.last_mut()
                        && matches!(arbiter.submit(number.to_string()), Answer::Accepted { .. })
                    {
                        message.push(b'\r');
                    },
                    Event::Read(count) => take(&mut agent, &mut read, count),
                    Event::Wait(ms) => now += ms,
                }
                arbiter.turn(now, &mut agent);
            }
            for _ in 0..1_000 {
                take(&mut agent, &mut read, usize::MAX);
                now += 100;
                arbiter.turn(now, &mut agent);
            }
            prop_assert_eq!(arbiter.deadline(&agent), None);
            let mut rest = &read[..];
            let mut keys = Vec::new();
            let mut is_left = false;
            for ((_, message), minds) in accepted.iter().zip(minds) {
                let at = memchr::memmem::find(rest, message);
                prop_assert!(at.is_some(), "a message is not whole");
                prop_assert!(!(is_left && minds) || rest[..at.unwrap_or(0)].contains(&b'\r'), "one behind another");
                is_left = !message.ends_with(b"\r");
                keys.extend_from_slice(&rest[..at.unwrap_or(0)]);
                rest = &rest[at.unwrap_or(0) + message.len()..];
            }
            keys.extend_from_slice(rest);
            prop_assert_eq!(keys, typed);
        }

        /// Where an Enter ends a draft, the agent gets it as long after the last paste as it takes to know one from the other,
        /// however long both were held.
        #[test]
        fn enter_ends_no_draft_too_soon_after_a_paste(
            pressed in proptest::collection::vec((proptest::sample::select(vec![PASTE, b"a", b"\r"]), 0u64..700), 1..12),
        ) {
            let (mut arbiter, mut agent) = (Arbiter::default(), Buffer::new(64 * 1_024));
            let message = Inject { before: "X".to_owned(), before_ms: 1_500, submit: "Y".to_owned(), ..inject(1) };
            let answer = arbiter.inject(&message, Vec::new(), 0, SCREEN);
            prop_assert_eq!(answer, Answer::Accepted { id: "1".to_owned() });
            let (mut pressed, mut next_at, mut sent) = (pressed.into_iter(), 0, Vec::new());
            let mut next = pressed.next();
            let (mut entered_at, mut read) = (Vec::new(), Vec::new());
            for now in 0..12_000 {
                while let Some((keys, pause)) = next.filter(|_| next_at <= now) {
                    let was_draft = arbiter.status(now, SCREEN).draft;
                    arbiter.input(keys, now, &mut agent);
                    entered_at.push(was_draft && !arbiter.status(now, SCREEN).draft);
                    sent.push(keys);
                    next_at = now + pause;
                    next = pressed.next();
                }
                arbiter.turn(now, &mut agent);
                read.extend(agent.waiting().iter().map(|byte| (*byte, now)));
                agent.consume(usize::MAX);
                arbiter.turn(now, &mut agent);
            }
            let mut read = read.into_iter().filter(|(byte, _)| !b"XY".contains(byte));
            let mut pasted_at = None;
            for (keys, ended) in sent.into_iter().zip(entered_at) {
                let times: Vec<u64> = read.by_ref().take(keys.len()).map(|(_, at)| at).collect();
                let at = times.last().copied().expect("every key is read");
                if keys == PASTE {
                    pasted_at = Some(at);
                }
                prop_assert!(!ended || pasted_at.is_none_or(|pasted| at - pasted >= PASTE_MS));
            }
        }
    }

    /// A paste that the agent has not read is not behind it yet.
    #[test]
    fn a_paste_is_fresh_as_long_as_it_is_unread() {
        let (mut arbiter, mut agent) = (Arbiter::default(), Buffer::new(64 * 1_024));
        arbiter.input(PASTE, 0, &mut agent);
        for now in (0..=1_000).step_by(50) {
            arbiter.lagged(0, now);
        }
        arbiter.input(b"\r", 1_000 + PASTE_MS - 1, &mut agent);
        assert!(arbiter.status(2_000, SCREEN).draft);
        arbiter.input(b"\r", 1_000 + PASTE_MS, &mut agent);
        assert!(!arbiter.status(2_000, SCREEN).draft);
    }

    /// However long the program reads nothing, no more than two seconds are waited for anything else.
    #[test]
    fn pauses_end_with_the_hold() {
        let (mut arbiter, mut agent) = (Arbiter::default(), Buffer::new(64 * 1_024));
        arbiter.inject(&Inject { delay_ms: 1_500, ..inject(1) }, b"text".to_vec(), 0, SCREEN);
        arbiter.turn(0, &mut agent);
        arbiter.input(b"key", 10, &mut agent);
        agent.consume(6);
        arbiter.turn(1_000, &mut agent);
        agent.consume(4);
        arbiter.turn(1_200, &mut agent);
        agent.consume(6);
        arbiter.turn(1_300, &mut agent);
        assert_eq!((arbiter.deadline(&agent), agent.is_empty()), (Some(2_000), true));
        arbiter.turn(2_000, &mut agent);
        assert_eq!(agent.waiting(), b"\r");
        agent.consume(1);
        assert_eq!(arbiter.turn(2_001, &mut agent), Some(Answer::Submitted { id: "1".to_owned() }));
        assert_eq!(agent.waiting(), b"key");
    }

    /// What waits to be allowed is submitted then, and not at all when keys cannot be held any longer. Either way they follow.
    #[test]
    fn what_waits_is_submitted_in_time_or_left() {
        for (allowed_at, expected) in [(Some(700), "submitted"), (None, "left"), (Some(2_100), "left")] {
            let (mut arbiter, mut agent) = (Arbiter::default(), Buffer::new(64 * 1_024));
            arbiter.inject(&Inject { waits: true, ..inject(1) }, b"text".to_vec(), 0, SCREEN);
            let (mut read, mut ended) = (Vec::new(), Vec::new());
            for now in 0..3_000 {
                if now == 300 {
                    arbiter.input(b"key", now, &mut agent);
                }
                if allowed_at == Some(now) {
                    arbiter.submit("1".to_owned());
                }
                ended.extend(arbiter.turn(now, &mut agent));
                read.extend_from_slice(agent.waiting());
                agent.consume(usize::MAX);
                ended.extend(arbiter.turn(now, &mut agent));
            }
            let (id, body) = ("1".to_owned(), "\x1b[200~text\x1b[201~");
            if expected == "submitted" {
                assert_eq!(
                    (&ended[..], &read[..]),
                    (&[Answer::Submitted { id }][..], format!("{body}\rkey").as_bytes())
                );
            } else {
                assert_eq!((&ended[..], &read[..]), (&[Answer::Left { id }][..], format!("{body}key").as_bytes()));
            }
        }
    }

    /// What was left is a text that stands there: nothing is added to it, and Enter is pressed for it as long as nobody has typed.
    #[test]
    fn what_was_left_stands_until_it_is_submitted() {
        let left = |keys: &[u8]| {
            let (mut arbiter, mut agent) = (Arbiter::default(), Buffer::new(64 * 1_024));
            arbiter.inject(&Inject { waits: true, ..inject(1) }, b"text".to_vec(), 0, SCREEN);
            pass(&mut arbiter, &mut agent, 0..1_000);
            if !keys.is_empty() {
                arbiter.input(keys, 1_000, &mut agent);
            }
            pass(&mut arbiter, &mut agent, 1_000..3_000);
            (arbiter, agent)
        };
        let stands = |arbiter: &mut Arbiter| {
            let status = arbiter.status(3_000, SCREEN);
            (status.draft, status.stands)
        };
        let enter = |named: Option<&str>| Inject { if_stands: named.map(str::to_owned), ..inject(2) };
        let busy = Answer::Busy { reason: Busy::Draft };
        let accepted = |id: &str| Answer::Accepted { id: id.to_owned() };

        // Another message waits, and another one's Enter is not for this.
        let (mut arbiter, mut agent) = left(b"");
        assert_eq!(stands(&mut arbiter), (true, Some("1".to_owned())));
        assert_eq!(arbiter.inject(&inject(2), b"more".to_vec(), 3_000, SCREEN), busy);
        assert_eq!(arbiter.inject(&enter(Some("0")), Vec::new(), 3_000, SCREEN), busy);
        assert_eq!(arbiter.inject(&enter(Some("1")), Vec::new(), 3_000, SCREEN), accepted("2"));
        pass(&mut arbiter, &mut agent, 3_000..4_000);
        assert_eq!(stands(&mut arbiter), (false, None));
        assert_eq!(arbiter.inject(&inject(3), b"more".to_vec(), 4_000, SCREEN), accepted("3"));

        // A daemon that is older than this rule does not name it.
        let (mut arbiter, _) = left(b"");
        assert_eq!(arbiter.inject(&enter(None), Vec::new(), 3_000, SCREEN), accepted("2"));

        // Seen to be gone it is, unless the agent had not drawn it by then.
        let (mut arbiter, _) = left(b"");
        let drawn = Screen { output: 1, ..SCREEN };
        for judged in [None, Some(0)] {
            let seen = Inject { empty_at: Some(0), if_output: judged, ..inject(2) };
            assert_eq!(arbiter.inject(&seen, b"more".to_vec(), 3_000, drawn), busy);
        }
        let seen = Inject { empty_at: Some(0), if_output: Some(1), ..inject(2) };
        assert_eq!(arbiter.inject(&seen, b"more".to_vec(), 3_000, drawn), accepted("2"));

        // Who has typed meanwhile goes on with it, or has sent it.
        let (mut arbiter, _) = left(b"mine");
        assert_eq!(stands(&mut arbiter), (true, None));
        for named in [None, Some("1")] {
            assert_eq!(arbiter.inject(&enter(named), Vec::new(), 3_000, SCREEN), busy);
        }
        let (mut arbiter, _) = left(b"mine\r");
        assert_eq!(stands(&mut arbiter), (false, None));
        assert_eq!(arbiter.inject(&enter(Some("1")), Vec::new(), 3_000, SCREEN), busy);
        assert_eq!(arbiter.inject(&inject(2), b"more".to_vec(), 3_000, SCREEN), accepted("2"));
    }

    /// A text that is typed for the person to go on with is a draft like any of theirs.
    #[test]
    fn what_is_typed_without_enter_stands_too() {
        let (mut arbiter, mut agent) = (Arbiter::default(), Buffer::new(64 * 1_024));
        arbiter.inject(&Inject { submit: String::new(), ..inject(1) }, b"text".to_vec(), 0, SCREEN);
        pass(&mut arbiter, &mut agent, 0..1_000);
        assert!(arbiter.status(1_000, SCREEN).draft);
        let answer = arbiter.inject(&inject(2), b"more".to_vec(), 1_000, SCREEN);
        assert_eq!(answer, Answer::Busy { reason: Busy::Draft });
        arbiter.input(b"\r", 1_000, &mut agent);
        assert!(!arbiter.status(1_000, SCREEN).draft);
    }

    /// A text is taken away and typed again only if it was not sent meanwhile: Enter is a key too.
    #[test]
    fn what_was_typed_since_is_minded() {
        let (mut arbiter, mut agent) = (Arbiter::default(), Buffer::new(64 * 1_024));
        arbiter.input(b"mine", 0, &mut agent);
        let judged = arbiter.status(1_000, SCREEN).input;
        let aside = Inject { even_if_draft: true, if_input: Some(judged), ..inject(1) };
        arbiter.input(b"\r", 1_000, &mut agent);
        assert!(!arbiter.status(1_000, SCREEN).draft);
        let answer = arbiter.inject(&aside, b"text".to_vec(), 1_000, SCREEN);
        assert_eq!(answer, Answer::Busy { reason: Busy::Draft });
        // A report of the terminal is no key.
        arbiter.input(b"\x1b[I", 1_000, &mut agent);
        let aside = Inject { if_input: Some(judged + 1), ..aside };
        let answer = arbiter.inject(&aside, b"text".to_vec(), 1_000, SCREEN);
        assert_eq!(answer, Answer::Accepted { id: "1".to_owned() });
    }

    /// Lets time pass, with an agent that reads everything at once.
    fn pass(arbiter: &mut Arbiter, agent: &mut Buffer, times: std::ops::Range<u64>) {
        for now in times {
            arbiter.turn(now, agent);
            agent.consume(usize::MAX);
        }
    }

    /// Where nobody is left who could allow it, it is submitted when keys cannot be held any longer: they follow it in a line of
    /// their own.
    #[test]
    fn what_is_abandoned_is_submitted_before_the_keys() {
        let (mut arbiter, mut agent) = (Arbiter::default(), Buffer::new(64 * 1_024));
        arbiter.inject(&Inject { waits: true, ..inject(1) }, b"text".to_vec(), 0, SCREEN);
        let (mut read, mut ended) = (Vec::new(), Vec::new());
        for now in 0..3_000 {
            match now {
                300 => arbiter.input(b"key", now, &mut agent),
                500 => arbiter.abandoned(),
                1_900 => assert_eq!(read, PASTE, "somebody who comes back may still decide"),
                _ => {}
            }
            ended.extend(arbiter.turn(now, &mut agent));
            read.extend_from_slice(agent.waiting());
            agent.consume(usize::MAX);
            ended.extend(arbiter.turn(now, &mut agent));
        }
        assert_eq!(ended, [Answer::Submitted { id: "1".to_owned() }]);
        assert_eq!(read, [PASTE, b"\rkey"].concat());
    }

    /// An Enter that is read together with the paste before it is taken for a part of it. So the pause between them is counted
    /// from the moment in which the agent has read the paste, also when that is later than anything else would be waited for.
    #[test]
    fn a_pause_begins_when_the_agent_has_read() {
        let (mut arbiter, mut agent) = (Arbiter::default(), Buffer::new(64 * 1_024));
        arbiter.inject(&inject(1), b"text".to_vec(), 0, SCREEN);
        let (reads_at, mut written, mut entered) = (3_000, 0, None);
        for now in 0..4_000 {
            if written >= b"\x1b[200~text\x1b[201~".len() && now < reads_at {
                arbiter.lagged(1, now);
            }
            arbiter.turn(now, &mut agent);
            if agent.waiting() == b"\r" {
                entered = Some(now);
            }
            written += agent.waiting().len();
            agent.consume(usize::MAX);
        }
        assert_eq!(entered, Some(reads_at - 1 + 100));
    }

    #[test]
    fn what_is_typed_meanwhile_keeps_its_pace() {
        let (mut arbiter, mut agent) = (Arbiter::default(), Buffer::new(64 * 1_024));
        arbiter.inject(&Inject { submit: "\x1b".to_owned(), ..inject(1) }, Vec::new(), 0, SCREEN);
        arbiter.turn(0, &mut agent);
        for (at, key) in [(10, b"a"), (100, b"b"), (103, b"c")] {
            arbiter.input(key, at, &mut agent);
        }
        agent.consume(1);
        arbiter.turn(1, &mut agent);
        assert_eq!(arbiter.inject(&inject(2), b"text".to_vec(), 104, SCREEN), Answer::Busy { reason: Busy::Hold });
        let mut released = Vec::new();
        for now in 40..120 {
            arbiter.turn(now, &mut agent);
            if !agent.is_empty() {
                released.push((now, agent.waiting().to_vec()));
                agent.consume(usize::MAX);
            }
        }
        assert_eq!(released, [(51, b"a".to_vec()), (63, b"b".to_vec()), (66, b"c".to_vec())]);
    }
}
