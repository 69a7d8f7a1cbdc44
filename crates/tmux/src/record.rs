//! Records that hostile names cannot forge.
//!
//! Directory names may hold line ends, and so may what users put in names on some versions. Every record begins with
//! a random word made for this one answer, numbers and ids come first, and each text that somebody chose is set off
//! by the same word: whatever the text says, it can neither end its field nor begin a record.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::client::ClientError;
use crate::id::decimal;
use crate::nonce::nonce;

/// The fields of records that are to be asked for once.
#[derive(Debug)]
pub(crate) struct Fields {
    nonce: String,
    numbers: &'static [&'static str],
    texts: &'static [&'static str],
}

impl Fields {
    /// Formats that give numbers and ids, and formats that give text.
    pub(crate) fn new(numbers: &'static [&'static str], texts: &'static [&'static str]) -> Result<Self, ClientError> {
        let nonce = nonce().map_err(|error| ClientError::Closed { reason: error.to_string() })?;
        Ok(Self { nonce, numbers, texts })
    }

    /// `NONCE!NUMBER,NUMBER,…NONCE/TEXTNONCE/TEXT…NONCE.`
    pub(crate) fn format(&self) -> String {
        let nonce = &self.nonce;
        let numbers: String = self.numbers.iter().map(|name| format!("#{{{name}}},")).collect();
        let texts: String = self.texts.iter().map(|name| format!("{nonce}/#{{{name}}}")).collect();
        format!("{nonce}!{numbers}{texts}{nonce}.")
    }

    /// What every record begins with, and nothing that came before.
    pub(crate) fn mark(&self) -> &[u8] {
        self.nonce.as_bytes()
    }

    /// The records of an answer; what stands before the first one is not looked at.
    pub(crate) fn records(&self, answer: &[u8]) -> Result<Vec<Record>, ClientError> {
        self.split(answer).ok_or_else(unreadable)
    }

    /// The one record that an answer begins with, and what follows it.
    pub(crate) fn first<'a>(&self, answer: &'a [u8]) -> Result<(Record, &'a [u8]), ClientError> {
        let end = [self.mark(), b"."].concat();
        let end = memchr::memmem::find(answer, &end).map(|at| at + end.len()).ok_or_else(unreadable)?;
        let (record, rest) = answer.split_at(end);
        Ok((self.records(record)?.pop().ok_or_else(unreadable)?, rest))
    }

    fn split(&self, answer: &[u8]) -> Option<Vec<Record>> {
        let nonce = self.mark();
        let mut records: Vec<Record> = Vec::new();
        let mut pieces = memchr::memmem::find_iter(answer, nonce).map(|at| at + nonce.len()).peekable();
        while let Some(start) = pieces.next() {
            let end = pieces.peek().map_or(answer.len(), |next| next - nonce.len());
            let (mark, field) = answer[start..end].split_first()?;
            match mark {
                b'!' => records.push(Record { numbers: field.to_vec(), texts: Vec::with_capacity(self.texts.len()) }),
                b'/' => records.last_mut()?.texts.push(field.to_vec()),
                b'.' => {}
                _ => return None,
            }
        }
        records.iter().all(|record| record.texts.len() == self.texts.len()).then_some(records)
    }
}

/// A record taken apart, its fields still bytes.
#[derive(Debug)]
pub(crate) struct Record {
    numbers: Vec<u8>,
    texts: Vec<Vec<u8>>,
}

impl Record {
    /// Its numbers and ids, one after the other.
    pub(crate) fn numbers(&self) -> Numbers<'_> {
        Numbers(&self.numbers)
    }

    /// Its texts, one after the other.
    pub(crate) fn texts(&self) -> std::slice::Iter<'_, Vec<u8>> {
        self.texts.iter()
    }
}

/// The numbers and ids of a record.
pub(crate) struct Numbers<'a>(&'a [u8]);

impl<'a> Numbers<'a> {
    /// The next one as it is.
    pub(crate) fn next(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(b',', self.0)?;
        let field = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Some(field)
    }

    /// Reads a number; a format without a value, as `pane_pid` of an empty pane, counts as zero.
    pub(crate) fn number<T: std::str::FromStr + Default>(&mut self) -> Option<T> {
        match self.next()? {
            b"" => Some(T::default()),
            digits => decimal(digits),
        }
    }

    /// Reads a flag.
    pub(crate) fn flag(&mut self) -> Option<bool> {
        self.number::<u32>().map(|number| number != 0)
    }
}

/// A text for people.
pub(crate) fn lossy(text: impl AsRef<[u8]>) -> String {
    String::from_utf8_lossy(text.as_ref()).into_owned()
}

/// A text that is a path.
pub(crate) fn path(text: impl AsRef<[u8]>) -> PathBuf {
    OsString::from_vec(text.as_ref().to_vec()).into()
}

/// tmux answered with something else than it was asked for.
pub(crate) fn unreadable() -> ClientError {
    ClientError::Refused("tmux gave a record of an unknown shape".into())
}
