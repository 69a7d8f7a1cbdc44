//! Reads a stream as the machine would, without taking it through every byte.

use std::iter;

use super::machine::{self, BEL, ESC, Machine};
use super::sighting::{Sighting, Statement};
use super::{BOUND, foothold, osc, skip};

/// A stretch that is read sooner than it is put off.
const WORTHWHILE: usize = 64;

/// A [`Machine`] that is left behind while the stream holds nothing but whole strings, bells and what [`skip`] passes
/// over. It catches up where its state matters: where a marker opens, and where a piece ends in the midst of something.
#[derive(Debug, Default)]
pub(super) struct Reader {
    machine: Machine,
    /// What a machine that joins here has to read, if this one was left behind at the end of the last piece.
    unread: Vec<u8>,
}

/// Up to where a piece has been read.
#[derive(Clone, Copy)]
struct Progress {
    /// By the machine.
    machine: usize,
    /// The end of the last string. From there on there is none.
    strings: usize,
}

impl Reader {
    /// Takes the next bytes.
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut Vec<Sighting>) {
        // Where it was left behind, it was idle.
        let mut at = if self.unread.is_empty() { self.machine.crawl_until_idle(bytes, out) } else { 0 };
        let mut progress = Progress { machine: at, strings: at };
        loop {
            at += skip::uninteresting(&bytes[at..]);
            if let Some(end) = whole(&bytes[at..], out) {
                at += end;
                progress.strings = at;
                continue;
            }
            if at == bytes.len() && self.leave_behind(bytes, progress) {
                return;
            }
            self.catch_up(&bytes[..at], progress);
            if at == bytes.len() {
                return;
            }
            self.machine.crawl(&bytes[at..=at], out);
            at += 1;
            at += self.machine.crawl_until_idle(&bytes[at..], out);
            progress = Progress { machine: at, strings: at };
        }
    }

    /// The marker on a line that has not ended, if there is one.
    pub(super) fn unended_marker(&self) -> Option<Statement> {
        self.machine.unended_marker()
    }

    /// The rest of the line is no part of a marker.
    pub(super) fn pass_marker(&mut self) {
        self.machine.pass_marker();
    }

    /// Leaves the machine behind at the end of a piece, if it can join again later. False if it cannot, or if that would
    /// cost more than to catch up.
    fn leave_behind(&mut self, read: &[u8], progress: Progress) -> bool {
        // What these begin may go on in the next piece.
        let begins = matches!(read.last(), Some(&ESC | b'<'));
        let recent = &read[progress.strings..];
        if begins || recent.len() < WORTHWHILE {
            return false;
        }
        let Some(place) = foothold::last(recent) else {
            return false;
        };
        self.unread.clear();
        self.unread.extend_from_slice(&recent[place..]);
        true
    }

    /// Brings the machine to the end of what has been read.
    ///
    /// A short stretch before the end tells what state it is in there, if a line begins or is placed in it. Otherwise a
    /// longer stretch is tried.
    fn catch_up(&mut self, read: &[u8], progress: Progress) {
        let behind = read.len() - progress.machine;
        if behind == 0 && self.unread.is_empty() {
            return;
        }
        let foothold = foothold::last(&read[progress.strings..]).map(|place| progress.strings + place);
        let stretches = iter::successors(Some(64), |stretch| Some(stretch * 4)).take_while(|stretch| *stretch < behind);
        let starts = foothold.into_iter().chain(stretches.map(|stretch| read.len() - stretch));
        match starts.filter_map(|start| joined(&read[start..], start >= progress.strings)).next() {
            Some(there) => self.machine = there,
            // What there is to report has been reported.
            None => {
                if !self.unread.is_empty() {
                    self.machine = Machine::midway();
                    self.machine.crawl(&self.unread, &mut Vec::new());
                }
                self.machine.crawl(&read[progress.machine..], &mut Vec::new());
            }
        }
        self.unread.clear();
        // What ends a string may be the first byte that was not read.
        self.machine.leave_string();
    }
}

/// Reports a bell or a string that is wholly here. Returns its length.
fn whole(bytes: &[u8], out: &mut Vec<Sighting>) -> Option<usize> {
    match bytes {
        [BEL, ..] => {
            out.push(Sighting::Bell);
            Some(1)
        }
        [ESC, b']', string @ ..] => {
            let end = machine::osc_end(string)?;
            out.extend(osc::sighting(&string[..end.min(BOUND)]));
            Some(2 + machine::after(string, end))
        }
        // The second one ends what the first began. So does tmux's passthrough begin.
        [ESC, ESC, ..] => Some(1),
        [ESC, b'P' | b'X' | b'^' | b'_', string @ ..] => Some(2 + machine::other_string_end(string)?),
        _ => None,
    }
}

/// The machine after bytes from the midst of a stream, if they tell enough.
fn joined(bytes: &[u8], outside_of_strings: bool) -> Option<Machine> {
    // An ESC begins a sequence whatever came before; and outside of strings, these end whatever was open.
    let start = bytes.iter().position(|byte| *byte == ESC || outside_of_strings && matches!(byte, 0x60..=0x7e))?;
    let known = start + usize::from(bytes[start] != ESC);
    let mut machine = Machine::midway();
    machine.crawl(&bytes[known..], &mut Vec::new());
    machine.is_settled().then_some(machine)
}
