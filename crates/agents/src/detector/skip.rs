//! The fast way past what says nothing.
//!
//! Nearly all of what an agent writes is text and control sequences that colour it and move it about: an ESC every
//! dozen bytes. To look at each of them costs more than all the rest. But since an ESC ends whatever was open, the few
//! things that are of interest can be told by two neighbouring bytes alone, wherever they stand, and all bytes of a
//! block can be asked at once.

/// How many bytes at the beginning can be passed over: in them no string begins, no bell rings and no marker opens.
pub(super) fn uninteresting(bytes: &[u8]) -> usize {
    let passed = blocks::<64, 65>(bytes);
    let passed = passed + blocks::<16, 17>(&bytes[passed..]);
    let rest = &bytes[passed..];
    let pair = rest.windows(2).position(|pair| is_interesting(pair[0], pair[1]) != 0);
    passed + pair.unwrap_or_else(|| rest.len() - usize::from(rest.last() == Some(&0x07)))
}

/// The length of as many blocks as nothing of interest begins in. `NEXT` is `BLOCK` and one, for the neighbour of the
/// last byte.
fn blocks<const BLOCK: usize, const NEXT: usize>(bytes: &[u8]) -> usize {
    let mut passed = 0;
    while let Some(block) = bytes[passed..].first_chunk::<NEXT>() {
        // Without an end before the last byte, so that compilers turn it into vector instructions.
        let any = (0..BLOCK).fold(0, |any, index| any | is_interesting(block[index], block[index + 1]));
        if any != 0 {
            break;
        }
        passed += BLOCK;
    }
    passed
}

/// Not zero if the first of two neighbouring bytes must be looked at closely. Without branches: see [`blocks`].
#[inline(always)]
fn is_interesting(byte: u8, next: u8) -> u8 {
    let is = |truth: bool| u8::from(truth);
    let bell = is(byte == 0x07);
    // A control, or a byte of no meaning, that may stand between two bytes that belong together.
    let between = is(next < 0x20) | is(next >= 0x7f);
    // ] P X ^ _
    let string = is(next.wrapping_sub(b']') <= 2) | is(next & 0xf7 == b'P');
    let escape = is(byte == 0x1b) & (string | between);
    let opening = is(byte == b'<') & (is(next == b'[') | between);
    bell | escape | opening
}
