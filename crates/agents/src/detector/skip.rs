//! The fast way past what says nothing.
//!
//! Nearly all of what an agent writes is text and control sequences that colour it and move it about: an ESC every
//! dozen bytes. To look at each of them costs more than all the rest. But since an ESC ends whatever was open, the few
//! things that are of interest can be told by two neighbouring bytes alone, wherever they stand, and all bytes of a
//! block can be asked at once.

use std::array;

/// How many bytes at the beginning can be passed over: in them no string begins, no bell rings and no marker opens.
pub(super) fn uninteresting(bytes: &[u8]) -> usize {
    let mut passed = 0;
    loop {
        passed += blocks(&bytes[passed..]);
        // As far as the block goes at which that stopped, and to the end where there is no whole one left.
        for _ in 0..BLOCK / 16 {
            let Some(block) = bytes[passed..].first_chunk::<17>() else {
                return passed + pairs(&bytes[passed..]);
            };
            let each: [u8; 16] = array::from_fn(|index| is_interesting(block[index], block[index + 1]));
            let each = u128::from_le_bytes(each);
            if each != 0 {
                return passed + each.trailing_zeros() as usize / 8;
            }
            passed += 16;
        }
    }
}

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// The length of as many blocks as nothing begins in that could be of interest.
fn blocks(bytes: &[u8]) -> usize {
    let mut passed = 0;
    while let Some(block) = bytes[passed..].first_chunk::<{ BLOCK + 1 }>() {
        // Without an end before the last byte, so that compilers turn it into vector instructions.
        let any = (0..BLOCK).fold(0, |any, index| any | may_be_interesting(block[index], block[index + 1]));
        if any != 0 {
            break;
        }
        passed += BLOCK;
    }
    passed
}

/// The same for the few bytes at the end of all.
fn pairs(bytes: &[u8]) -> usize {
    let pair = bytes.windows(2).position(|pair| is_interesting(pair[0], pair[1]) != 0);
    pair.unwrap_or_else(|| bytes.len() - usize::from(bytes.last() == Some(&0x07)))
}

/// Zero only where [`is_interesting`] is, and in most other cases too; and quicker.
#[inline(always)]
fn may_be_interesting(byte: u8, next: u8) -> u8 {
    let is = |truth: bool| u8::from(truth);
    is(byte == 0x07) | is(byte == b'<') | is(byte == 0x1b) & is(next != b'[')
}

/// Not zero if the first of two neighbouring bytes must be looked at closely. Without branches, as many are asked at
/// once.
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
