//! What is to be typed, in steps with pauses between.

use crate::keyboard::PASTE_END;
use crate::protocol::{Inject, Paste, Progress, Refusal};

const PASTE_BEGIN: &[u8] = b"\x1b[200~";

/// The pause after the last key, so that the agent does not read it together with what a person typed meanwhile.
const SETTLE_MS: u64 = 50;

/// One injection under way.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) id: String,
    steps: Vec<Step>,
    at: usize,
    /// The step that waits to be allowed.
    waits_at: Option<usize>,
    /// Nobody is left who could allow it.
    abandoned: bool,
    /// Whether there is a text in it, besides keys.
    pub(crate) has_body: bool,
    /// What becomes of a text when all of it is written.
    pub(crate) ends: Ends,
}

/// What the last keys of a script do to a text that is in the composer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// They submit it.
    Submits,
    /// It stays.
    Leaves,
}

/// Bytes to write, and what is so when they are written.
#[derive(Debug)]
struct Step {
    bytes: Vec<u8>,
    written: usize,
    pause_ms: u64,
    progress: Option<Progress>,
}

impl Script {
    /// Makes a script of a request. `pastes` says whether the program wants pastes to be marked.
    ///
    /// # Errors
    /// When the request can never be done.
    pub(crate) fn new(inject: &Inject, body: Vec<u8>, pastes: bool, hold_ms: u64) -> Result<Self, Refusal> {
        if memchr::memmem::find(&body, PASTE_END).is_some() {
            return Err(Refusal::EndsPaste);
        }
        let pauses = [inject.before_ms, inject.delay_ms, SETTLE_MS];
        if pauses.iter().fold(0u64, |sum, pause| sum.saturating_add(*pause)) > hold_ms {
            return Err(Refusal::TooLong);
        }
        let marked = pastes && inject.paste == Paste::Auto && !body.is_empty();
        let has_body = !body.is_empty();
        let mut steps = vec![
            Step::new(inject.before.clone().into_bytes(), inject.before_ms, None),
            Step::new(if marked { PASTE_BEGIN.to_vec() } else { Vec::new() }, 0, None),
            Step::new(body, 0, None),
            Step::new(if marked { PASTE_END.to_vec() } else { Vec::new() }, 0, None),
            Step::new(inject.submit.clone().into_bytes(), SETTLE_MS, None),
        ];
        steps.retain(|step| !step.bytes.is_empty());
        let submits = !inject.submit.is_empty();
        let last = steps.last_mut().ok_or(Refusal::Empty)?;
        last.progress = Some(Progress::Submitted);
        last.pause_ms = SETTLE_MS;
        if has_body && submits {
            // The one before the last is the end of the body.
            let end = steps.len() - 2;
            steps[end].progress = Some(Progress::Pasted);
            steps[end].pause_ms = inject.delay_ms;
        }
        let waits_at = (inject.waits && has_body && submits).then(|| steps.len() - 1);
        // A text of one's own may be submitted by any key; what stands there already is by Enter alone.
        let is_submitted = if has_body { submits } else { inject.submit.contains('\r') };
        let ends = if is_submitted { Ends::Submits } else { Ends::Leaves };
        Ok(Self { id: inject.id.clone(), steps, at: 0, waits_at, abandoned: false, has_body, ends })
    }

    /// What has to be written before the next pause.
    pub(crate) fn unwritten(&self) -> &[u8] {
        self.steps.get(self.at).map_or(&[], |step| &step.bytes[step.written..])
    }

    /// So many bytes were written.
    pub(crate) fn wrote(&mut self, count: usize) {
        if let Some(step) = self.steps.get_mut(self.at) {
            step.written = (step.written + count).min(step.bytes.len());
        }
    }

    /// The step is written: gives the pause that follows it and what is so now.
    pub(crate) fn next(&mut self) -> (u64, Option<Progress>) {
        let step = self.steps.get(self.at).map_or((0, None), |step| (step.pause_ms, step.progress));
        self.at += 1;
        step
    }

    /// Whether the next step is not allowed yet.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waits_at == Some(self.at)
    }

    /// Allows what waits.
    pub(crate) fn allow(&mut self) {
        self.waits_at = None;
    }

    /// Nobody is left who could allow what waits.
    pub(crate) fn abandon(&mut self) {
        self.abandoned = true;
    }

    /// Whether nobody is left who could allow it.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// Leaves out what is not written.
    pub(crate) fn leave(&mut self) {
        self.steps.truncate(self.at);
    }

    /// Whether a part of the step is written.
    pub(crate) fn is_begun(&self) -> bool {
        self.steps.get(self.at).is_some_and(|step| step.written > 0)
    }

    /// Whether nothing is left to write.
    pub(crate) fn is_over(&self) -> bool {
        self.at >= self.steps.len()
    }
}

impl Step {
    fn new(bytes: Vec<u8>, pause_ms: u64, progress: Option<Progress>) -> Self {
        Self { bytes, written: 0, pause_ms, progress }
    }
}
