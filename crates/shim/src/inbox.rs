//! From the bytes of a connection to requests.

use crate::protocol::{BODY_LIMIT, ID_LIMIT, KEYS_LIMIT, LINE_LIMIT, Refusal, Request};

/// What arrived of a request so far.
#[derive(Debug, Default)]
pub struct Inbox {
    line: Vec<u8>,
    awaited: Option<(Request, usize)>,
    body: Vec<u8>,
}

/// What is no request: whoever sent it is not listened to any more.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed;

/// A request that is there in full, and its body. Without the memory for a body it is refused in its place.
pub type Arrived = Result<(Request, Vec<u8>), Refusal>;

impl Inbox {
    /// Takes the next bytes, up to the end of one request. Gives how many were taken.
    ///
    /// # Errors
    /// When they are not those of a request.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(usize, Option<Arrived>), Malformed> {
        if let Some((_, length)) = &self.awaited {
            let taken = bytes.len().min(length - self.body.len());
            self.body.extend_from_slice(&bytes[..taken]);
            let done = self.body.len() == *length;
            let request = if done { self.awaited.take() } else { None };
            return Ok((taken, request.map(|(request, _)| Ok((request, std::mem::take(&mut self.body))))));
        }
        let end = memchr::memchr(b'\n', bytes);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        if self.line.len() + part.len() > LINE_LIMIT {
            return Err(Malformed);
        }
        self.line.extend_from_slice(part);
        if end.is_none() {
            return Ok((bytes.len(), None));
        }
        let taken = part.len() + 1;
        let request: Request = serde_json::from_slice(&self.line).map_err(|_malformed| Malformed)?;
        self.line.clear();
        let length = body_length(&request)?;
        if length == 0 {
            return Ok((taken, Some(Ok((request, Vec::new())))));
        }
        if self.body.try_reserve_exact(length).is_err() {
            return Ok((taken, Some(Err(Refusal::Memory))));
        }
        self.awaited = Some((request, length));
        Ok((taken, None))
    }

    /// Whether a request has begun that is not there in full.
    pub fn is_partial(&self) -> bool {
        self.awaited.is_some() || !self.line.is_empty()
    }
}

fn body_length(request: &Request) -> Result<usize, Malformed> {
    let (id, length, keys) = match request {
        Request::Status | Request::Typed => return Ok(0),
        Request::State { id } | Request::Submit { id } => (id, 0, 0),
        Request::Inject(inject) => (&inject.id, inject.length, inject.before.len().max(inject.submit.len())),
    };
    let is_sane = !id.is_empty() && id.len() <= ID_LIMIT && length <= BODY_LIMIT && keys <= KEYS_LIMIT;
    if is_sane { Ok(length) } else { Err(Malformed) }
}

#[cfg(test)]
mod tests {
    use super::{Inbox, Malformed};
    use crate::protocol::{BODY_LIMIT, Inject, LINE_LIMIT, Request};

    /// All requests in a stream of bytes, in pieces of a size.
    fn read(bytes: &[u8], size: usize) -> Result<Vec<(Request, Vec<u8>)>, Malformed> {
        let mut inbox = Inbox::default();
        let mut requests = Vec::new();
        for mut piece in bytes.chunks(size) {
            while !piece.is_empty() {
                let (taken, arrived) = inbox.feed(piece)?;
                requests.extend(arrived.map(|arrived| arrived.expect("memory")));
                piece = &piece[taken..];
            }
        }
        Ok(requests)
    }

    fn inject(id: &str, body: &[u8]) -> (Inject, Vec<u8>) {
        let inject = Inject { id: id.to_owned(), length: body.len(), ..Inject::default() };
        let mut bytes = serde_json::to_vec(&Request::Inject(inject.clone())).expect("json");
        bytes.push(b'\n');
        bytes.extend_from_slice(body);
        (inject, bytes)
    }

    #[test]
    fn requests_and_bodies_arrive_however_they_are_cut() {
        let body: Vec<u8> = (0..=255).cycle().take(3_000).collect();
        let (first, mut bytes) = inject("a", &body);
        bytes.extend_from_slice(b"{\"do\":\"status\"}\n");
        let (second, more) = inject("b", b"\n");
        bytes.extend_from_slice(&more);
        let expected = vec![
            (Request::Inject(first), body),
            (Request::Status, Vec::new()),
            (Request::Inject(second), b"\n".to_vec()),
        ];
        for size in [1, 2, 7, 100, 5_000] {
            assert_eq!(read(&bytes, size).as_ref(), Ok(&expected), "{size}");
        }
    }

    /// A shim takes no field that it does not know, and lives as long as its agent: what came later is left out unless it is wanted.
    #[test]
    fn what_asks_for_nothing_new_is_understood_by_the_oldest() {
        let (request, _) = inject("a", b"text");
        let request = serde_json::to_value(Request::Inject(request)).expect("json");
        let fields: Vec<&str> = request.as_object().expect("an object").keys().map(String::as_str).collect();
        let known =
            "before before_ms delay_ms do empty_at even_if_draft hold_ms id if_output length paste submit waits";
        assert_eq!(fields.join(" "), known);
    }

    #[test]
    fn nonsense_is_malformed() {
        let too_long = format!("{{\"do\":\"state\",\"id\":\"{}\"}}\n", "x".repeat(LINE_LIMIT));
        let too_large = format!("{{\"do\":\"inject\",\"id\":\"a\",\"length\":{}}}\n", BODY_LIMIT + 1);
        let cases = [
            "\n",
            "{}\n",
            "null\n",
            "{\"do\":\"state\",\"id\":\"\"}\n",
            "{\"do\":\"inject\",\"id\":\"a\",\"length\":-1}\n",
            "{\"do\":\"inject\",\"id\":\"a\",\"if_something\":true}\n",
            "{\"do\":\"exit\"}\n",
            &too_large,
            &too_long,
        ];
        for case in cases {
            assert_eq!(read(case.as_bytes(), 1_000), Err(Malformed), "{case:.60}");
        }
    }
}
