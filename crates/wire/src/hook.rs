//! What `agtmux hook` hands to the daemon: one line of JSON that says what it is, then the agent's payload as it came.
//!
//! The same bytes go over the hook socket and into a spool file. The payload is not part of the JSON, so that a hook
//! need not parse, check or escape what an agent wrote: that is for the daemon, which has the time.

use serde::{Deserialize, Serialize};

/// The largest payload of a hook. `agtmux hook` cuts what is larger.
pub const PAYLOAD_LIMIT: usize = 1024 * 1024;

/// The largest message: a payload, and generous room for its head.
pub const MESSAGE_LIMIT: usize = PAYLOAD_LIMIT + 64 * 1024;

/// What the daemon answers once the hook is in its log. Anything else, or nothing, means that it is not.
pub const TAKEN: u8 = b'+';

/// What the daemon answers once the hook is in its log and somebody may answer what it asks. The answer follows, or the end
/// of the stream if there is none.
pub const HELD: u8 = b'=';

/// What a hook says once it has passed the answer on to its agent.
pub const PASSED_ON: u8 = b'!';

/// What a hook says when it has passed nothing on and never will.
pub const LEFT: u8 = b'-';

/// The longest answer to a hook.
pub const ANSWER_LIMIT: usize = 256 * 1024;

/// What stands before the payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookHead {
    /// The agent that ran the hook, as its settings name it.
    pub agent: String,
    /// What the agent calls the event, where the settings say so; else the payload does.
    #[serde(default)]
    pub event: Option<String>,
    /// Nanoseconds on the host's boot clock when the hook began. Orders the hooks of one agent.
    pub boot_ns: u64,
    /// The hook's process. Together with `boot_ns` it names the hook, however often it is told.
    pub pid: u32,
    /// The variable `TMUX`.
    #[serde(default)]
    pub tmux: Option<String>,
    /// The variable `TMUX_PANE`: a hint, not a proof.
    #[serde(default)]
    pub tmux_pane: Option<String>,
    /// The hook's agent takes an answer and would wait for it. The stream then stays open behind the payload, which has
    /// this many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<usize>,
    /// What the daemon cannot see for itself later; only in the spool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
}

/// What a hook that had to wait in the spool says of the moment in which it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// The boot that `boot_ns` and the processes belong to.
    pub boot_id: String,
    /// Its process and its ancestors, nearest first, as (pid, start).
    pub ancestors: Vec<(u32, u64)>,
}

impl HookHead {
    /// The whole message.
    pub fn message(&self, payload: &[u8]) -> Vec<u8> {
        // Numbers, texts and lists of them can always be written.
        let mut message = serde_json::to_vec(self).unwrap_or_default();
        message.reserve_exact(payload.len() + 1);
        message.push(b'\n');
        message.extend_from_slice(payload);
        message
    }

    /// Takes a message apart; nothing if its first line is no head.
    pub fn parse(message: &[u8]) -> Option<(Self, &[u8])> {
        let end = message.iter().position(|byte| *byte == b'\n')?;
        let (line, rest) = message.split_at(end);
        Some((serde_json::from_slice(line).ok()?, &rest[1..]))
    }
}

#[cfg(test)]
mod tests {
    use super::{HookHead, Witness};

    #[test]
    fn a_message_comes_back_as_it_was() {
        let head = HookHead {
            agent: "claude".to_owned(),
            event: Some("a\nb".to_owned()),
            boot_ns: 7,
            pid: 8,
            tmux: None,
            tmux_pane: Some("%1".to_owned()),
            waits: None,
            witness: Some(Witness { boot_id: "boot".to_owned(), ancestors: vec![(8, 1), (1, 0)] }),
        };
        for payload in [&b""[..], b"{}\n{}\n", b"\xff\x00"] {
            assert_eq!(HookHead::parse(&head.message(payload)), Some((head.clone(), payload)));
        }
        assert_eq!(HookHead::parse(b"{}\n{}"), None);
        assert_eq!(HookHead::parse(b"no line"), None);
    }

    /// The spool may have been written by an older release.
    #[test]
    fn the_shortest_head_is_understood() {
        let (head, payload) = HookHead::parse(b"{\"agent\":\"codex\",\"boot_ns\":1,\"pid\":2}\n{}").expect("a head");
        assert_eq!((head.agent.as_str(), head.event, head.witness, payload), ("codex", None, None, &b"{}"[..]));
    }
}
