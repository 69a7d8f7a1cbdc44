//! The block in an agent's instruction file that teaches it to say how it stands.
//!
//! The file is a person's. The block goes to its end between two marks, is brought up to date between them, and can be
//! taken out to the byte.

mod block;
mod exclude;
mod files;
mod models;

pub use block::Change;
pub use exclude::{exclude, excluded, pattern};
pub use files::{InstructionFiles, Reach};
pub use models::base_agent;

use block::Marks;

use crate::setup::Refusal;

const MARKS: Marks = Marks {
    begin: "<!-- SCHMUX:BEGIN -->",
    end: "<!-- SCHMUX:END -->",
    made: "<!-- this file was made for the block below -->",
};

/// What an agent is taught: the file first, because it survives redraws and needs no screen; the marker for agents that
/// cannot run commands.
const TEXT: &str = r#"## Status signaling

While `SCHMUX_ENABLED` is `1`, somebody watches several agents at once and comes to the one that says it needs them.
Say how you stand whenever it changes, as one line `STATE MESSAGE` in the file that `SCHMUX_STATUS_FILE` names:

    echo "needs_input Shall I delete the old migrations?" > "$SCHMUX_STATUS_FILE"

- STATE is `working` (you began something), `completed` (done), `needs_input` (you wait for an answer or a permission),
  `needs_testing` (somebody has to try it) or `error` (you cannot go on).
- MESSAGE is one short sentence, under 100 characters. Signal `completed` or `needs_input` last, before you stop.
- If you cannot write files, put `--<[schmux:STATE:MESSAGE]>--` on a line of its own in your answer instead.
"#;

/// The file with the block as it should be.
///
/// # Errors
/// Refuses a file in which the marks do not pair up, and one that is not UTF-8.
pub fn ensure(before: Option<&[u8]>) -> Result<(Vec<u8>, Change), Refusal> {
    MARKS.ensure(before, TEXT)
}

/// Whether a file has the block, whatever it says.
pub fn has_instructions(bytes: &[u8]) -> bool {
    matches!(MARKS.body(bytes), Ok(Some(_)))
}

/// Whether a file was made for the block and holds nothing else.
pub fn is_ours_alone(bytes: &[u8]) -> bool {
    MARKS.is_all(bytes)
}

/// The file without the block; `None` if it was made for it and holds nothing else.
///
/// # Errors
/// As [`ensure`].
pub fn remove(before: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
    MARKS.remove(before)
}
