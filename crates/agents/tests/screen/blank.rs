//! A screen with nothing of the agent's on it says nothing, whatever the pane's title is.

use agtmux_agents::Registry;
use agtmux_agents::screen::{Cursor, Enter, Foreground, Screen, ScreenContext, read};

#[test]
fn a_screen_that_is_not_the_agents_says_nothing() {
    let registry = Registry::builtin();
    let screens = ["", "\n\n\n", "$ ls\nCargo.toml\n$ \n", "Loading…\n"];
    for manifest in registry.list().map(|entry| &entry.manifest) {
        for (screen, title) in screens.iter().flat_map(|screen| ["vm", "⠋ work", "work"].map(|title| (screen, title)))
        {
            let context = ScreenContext {
                size: Some((80, 24)),
                cursor: Some(Cursor { column: 0, row: 0, visible: true }),
                title: Some(title.to_owned()),
                dead: false,
                foreground: Some(Foreground::Agent),
            };
            let reading = read(manifest, &Screen::parse(screen.as_bytes()), &context);
            assert_eq!(reading.readings, [], "{} on {screen:?} under {title:?}", manifest.id);
            assert_eq!(reading.composer.enter, Enter::Unknown, "{} on {screen:?}", manifest.id);
        }
    }
}
