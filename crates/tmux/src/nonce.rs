//! Random text that untrusted output cannot contain by guessing.

use std::fs::File;
use std::io::{self, Read};

/// Returns 32 hexadecimal digits (128 bits) from the system's random source.
pub(crate) fn nonce() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().flat_map(|byte| [hex(byte >> 4), hex(byte & 15)]).collect())
}

fn hex(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).unwrap_or('0')
}
