//! Colour on errors: as on everything else, `--color` and NO_COLOR decide.

use crate::common::{AGTMUX, Terminal, TestEnvironment};

#[test]
fn errors_have_the_colour_that_was_asked_for() {
    let environment = TestEnvironment::new();
    // A mistake on the command line is found before `--color` is parsed, and the other error is the command's own.
    for mistake in ["list nosuch", "daemon status"] {
        for (settings, arguments, is_coloured) in [
            ("", "", true),
            ("NO_COLOR=1", "", false),
            ("NO_COLOR=1", "--color always", true),
            ("", "--color never", false),
            ("", "--color=never", false),
            ("TERM=dumb", "", false),
        ] {
            let terminal =
                Terminal::start(&environment, &format!("{settings} {AGTMUX} {arguments} {mistake}; echo end"));
            terminal.wait_for("end");
            let shown = terminal.shown();
            assert!(shown.contains("error"), "{shown}");
            assert_eq!(shown.contains("\u{1b}["), is_coloured, "{settings} {arguments} {mistake}: {shown:?}");
        }
    }
}
