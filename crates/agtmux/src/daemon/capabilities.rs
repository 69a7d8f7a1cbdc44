//! Capabilities: what an agent that was started here has in its environment, and nobody else was given.
//!
//! A process proves whose it is by its ancestors. One that has left them behind, since it was started in the background and
//! its parent ended, proves it by the capability that the agent was started with. Capabilities live in the daemon's memory
//! alone and are of one runtime each; after a restart of the daemon, ancestors are all there is.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use agtmux_core::id::RuntimeId;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::error::CommandError;

/// The variable that holds a capability.
pub const CAPABILITY_VARIABLE: &str = "AGTMUX_CAPABILITY";

/// The variable that holds the id of a runtime.
pub const RUNTIME_VARIABLE: &str = "AGTMUX_RUNTIME_ID";

/// How many are remembered. The oldest go first; agents that live long prove themselves by their processes anyway.
const MOST: usize = 4_096;

/// 256 random bits. It is shown by [`Self::reveal`] and in no other way.
#[derive(Clone)]
pub struct Capability([u8; 32]);

/// The capabilities that were given out, and to whom.
#[derive(Default)]
pub struct Capabilities(Mutex<VecDeque<Given>>);

/// Whose a capability is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// An agent's.
    Runtime(RuntimeId),
    /// That of an agent which was started and is not found yet.
    NotFoundYet,
    /// Nobody's: it is made up, or was given out before the daemon was started.
    Nobody,
}

/// A capability that was given out. Only its hash is kept.
struct Given {
    hash: [u8; 32],
    /// None until the runtime is known that it is of.
    runtime: Option<RuntimeId>,
}

impl Capability {
    /// The text that goes into the environment of the agent: 64 hexadecimal digits.
    pub fn reveal(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reads what [`Self::reveal`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, place) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(text.get(place..place + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0).into()
    }
}

impl fmt::Debug for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Capability(…)")
    }
}

impl Capabilities {
    /// Makes a capability for an agent that is about to be started. It counts once it is [bound](Self::bind).
    ///
    /// # Errors
    /// Fails when the system has no randomness to give.
    pub fn mint(&self) -> Result<Capability, CommandError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(CommandError::internal)?;
        let capability = Capability(bytes);
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if given.len() >= MOST {
            given.pop_front();
        }
        given.push_back(Given { hash: capability.hash(), runtime: None });
        Ok(capability)
    }

    /// Says whose a capability is, now that it is known. It cannot be bound twice.
    pub fn bind(&self, capability: &Capability, runtime: &RuntimeId) {
        let hash = capability.hash();
        let mut given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = given.iter_mut().find(|entry| bool::from(entry.hash.ct_eq(&hash))) {
            entry.runtime.get_or_insert_with(|| runtime.clone());
        }
    }

    /// Whose a capability is. Takes the same time whoever that is, and if it is nobody.
    pub fn holder(&self, capability: &Capability) -> Holder {
        let hash = capability.hash();
        let given = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut place, mut found) = (0_u64, Choice::from(0));
        for (index, entry) in (0_u64..).zip(given.iter()) {
            let is_it = entry.hash.ct_eq(&hash);
            place.conditional_assign(&index, is_it);
            found |= is_it;
        }
        let place = usize::try_from(place).ok().filter(|_| bool::from(found));
        match place.and_then(|place| given.get(place)) {
            Some(Given { runtime: Some(runtime), .. }) => Holder::Runtime(runtime.clone()),
            Some(_) => Holder::NotFoundYet,
            None => Holder::Nobody,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_is_of_one_runtime_and_of_no_other() {
        let capabilities = Capabilities::default();
        let (one, other) = (capabilities.mint().unwrap(), capabilities.mint().unwrap());
        assert_eq!(capabilities.holder(&one), Holder::NotFoundYet);
        capabilities.bind(&one, &RuntimeId::new("rt_a"));
        capabilities.bind(&one, &RuntimeId::new("rt_b"));
        assert_eq!(capabilities.holder(&one), Holder::Runtime(RuntimeId::new("rt_a")));
        assert_eq!(capabilities.holder(&other), Holder::NotFoundYet);
        let read = Capability::parse(&one.reveal()).unwrap();
        assert_eq!(capabilities.holder(&read), Holder::Runtime(RuntimeId::new("rt_a")));
        assert_eq!(Capabilities::default().holder(&one), Holder::Nobody);
    }

    #[test]
    fn what_differs_in_one_bit_is_another_one() {
        let capabilities = Capabilities::default();
        let capability = capabilities.mint().unwrap();
        capabilities.bind(&capability, &RuntimeId::new("rt_a"));
        for bit in 0..256 {
            let mut bytes = capability.0;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(capabilities.holder(&Capability(bytes)), Holder::Nobody, "bit {bit}");
        }
    }

    #[test]
    fn only_64_digits_are_read_and_nothing_is_shown() {
        let capability = Capabilities::default().mint().unwrap();
        assert_eq!(format!("{capability:?}"), "Capability(…)");
        let text = capability.reveal();
        for wrong in ["", &text[1..], &format!("{text}0"), &format!("+{}", &text[1..]), &"é".repeat(32)] {
            assert!(Capability::parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn the_oldest_are_forgotten_first() {
        let capabilities = Capabilities::default();
        let first = capabilities.mint().unwrap();
        capabilities.bind(&first, &RuntimeId::new("rt_a"));
        let rest: Vec<_> = (0..MOST).map(|_| capabilities.mint().unwrap()).collect();
        capabilities.bind(&rest[0], &RuntimeId::new("rt_b"));
        assert_eq!(capabilities.holder(&first), Holder::Nobody);
        assert_eq!(capabilities.holder(&rest[0]), Holder::Runtime(RuntimeId::new("rt_b")));
    }
}
