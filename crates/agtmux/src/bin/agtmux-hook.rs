//! `agtmux-hook`: the same as `agtmux hook`, as a program of its own. Agents run hooks many times a turn and wait for each, and
//! most of what a start costs is the size of the program.

use agtmux::{hook, platform};

fn main() {
    // Read before anything else: this moment orders a hook among the others of its agent.
    let boot_ns = platform::boot_clock_ns();
    let mut arguments = std::env::args_os().skip(1).peekable();
    arguments.next_if(|verb| verb == hook::VERB);
    hook::run(boot_ns, arguments);
}
