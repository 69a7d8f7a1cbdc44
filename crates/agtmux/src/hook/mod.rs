//! `agtmux hook AGENT [EVENT]`: what an agent runs when something happens to it.
//!
//! The agent waits for it, so it does as little as it can and never harms: it says nothing, always succeeds, starts no
//! runtime and reads no configuration. It hands the payload to the daemon with one write and waits for one byte, since
//! the daemon reads from the kernel whose child it is. A daemon that does not answer soon finds the hook in the spool.
//!
//! Some events are different, since Claude Code reads what their hook prints. `PermissionRequest` may take its time and answer the
//! question, and so waits for an answer, if the daemon holds the question. The ends of a turn and of a tool are moments in which
//! the agent can be given messages; if any wait, the daemon says so at once, and the hook waits a moment for them. A prompt that
//! repeats messages can be refused. It prints that and nothing else, ever.

mod argument;
mod cut;
mod deliver;
mod stdin;

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::panic;
use std::time::Duration;

use agtmux_wire::hook::{HookHead, LEFT, PASSED_ON, Witness};

use crate::paths::Paths;
use crate::platform;
use crate::spool::Spool;
use argument::Call;
use deliver::Delivered;

/// The word on the command line.
pub const VERB: &str = "hook";

/// Tells the daemon what happened, as the arguments after the verb and the standard input say. `boot_ns` is when the
/// program began, on the boot clock.
pub fn run(boot_ns: u64, arguments: impl Iterator<Item = OsString>) {
    // A panic must not show up in the agent's conversation either.
    panic::set_hook(Box::new(|_| {}));
    if let Some(call) = Call::parse(arguments) {
        panic::catch_unwind(|| tell(boot_ns, call)).ok();
    }
}

fn tell(boot_ns: u64, call: Call) {
    let patience = takes_an_answer(&call);
    let payload = cut::to_limit(call.payload.map_or_else(stdin::read, String::into_bytes));
    // Without a place there is nobody to tell, and nobody here to tell that.
    let Ok(paths) = Paths::from_env() else { return };
    let waits = patience.is_some().then_some(payload.len());
    let mut head = HookHead {
        agent: call.agent,
        event: call.event,
        boot_ns,
        pid: std::process::id(),
        tmux: variable("TMUX"),
        tmux_pane: variable("TMUX_PANE"),
        waits,
        witness: None,
    };
    match deliver::deliver(&paths.hook_socket(), &head.message(&payload), waits.is_some()) {
        Delivered::No => {}
        Delivered::Taken => return,
        Delivered::Held(held) => match held.answer(patience.and_then(Patience::limit)) {
            Some(answer) => {
                if std::io::stdout().write_all(&answer).and_then(|()| std::io::stdout().flush()).is_ok() {
                    held.say(PASSED_ON);
                }
                return;
            }
            None => {
                held.say(LEFT);
                if matches!(patience, Some(Patience::Endless)) {
                    return;
                }
                // The daemon has logged that the agent goes on with what it is given, and may have died before it could log that
                // it was given nothing. It is told again, as another hook.
                head.boot_ns = platform::boot_clock_ns();
            }
        },
    }
    // A daemon that runs may know the conversation of an agent outside of any pane; later it could only guess.
    if head.tmux_pane.is_some() {
        let witness = Witness { boot_id: platform::boot_id(), ancestors: platform::ancestors(head.pid) };
        // A disk that takes nothing leaves nothing to be done.
        Spool::new(paths.spool_dir()).keep(HookHead { witness: Some(witness), waits: None, ..head }, &payload).ok();
    }
}

/// How long a hook waits for an answer once the daemon has said that there may be one.
#[derive(Clone, Copy)]
enum Patience {
    /// As long as the daemon wants: the agent shows its dialog meanwhile.
    Endless,
    /// A moment: the agent does nothing else meanwhile.
    Short,
}

impl Patience {
    const fn limit(self) -> Option<Duration> {
        match self {
            Self::Endless => None,
            Self::Short => Some(Duration::from_secs(1)),
        }
    }
}

/// Whether the agent reads an answer from the hook, and how long that may take. The settings have to name the event: there the agent
/// also says for how long it would wait.
fn takes_an_answer(call: &Call) -> Option<Patience> {
    match (call.agent.as_str(), call.event.as_deref()?) {
        ("claude", "PermissionRequest") => Some(Patience::Endless),
        ("claude", "Stop" | "PostToolUse" | "UserPromptSubmit") => Some(Patience::Short),
        _ => None,
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
