//! Texts for agents, read from where the person says.

use std::io::Read;
use std::path::Path;

use agtmux_wire::error::ErrorCode;

use crate::error::CommandError;

/// More is not read: no text may be so long.
const MOST: u64 = 1024 * 1024;

/// Reads a text from a file, or from standard input if that is named `-`.
///
/// # Errors
/// When it cannot be read, is no UTF-8, or is longer than any text that is sent.
pub(super) fn read(file: &Path) -> Result<String, CommandError> {
    if file.as_os_str() == "-" {
        return read_all("standard input", std::io::stdin().lock());
    }
    let name = file.display().to_string();
    let open = std::fs::File::open(file).map_err(|error| unreadable(&name, &error.to_string()))?;
    read_all(&name, open)
}

fn read_all(name: &str, from: impl Read) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    from.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(name, &error.to_string()))?;
    if bytes.len() as u64 > MOST {
        return Err(CommandError::new(ErrorCode::TooLarge, format!("{name} is larger than any text that is sent"))
            .hint("write it to a file and tell the agent to read that"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CommandError::new(ErrorCode::BadText, format!("{name} is not UTF-8: byte {at}")).hint("convert it first")
    })
}

fn unreadable(name: &str, why: &str) -> CommandError {
    CommandError::new(ErrorCode::Usage, format!("cannot read {name}: {why}")).hint("name a file that can be read")
}
