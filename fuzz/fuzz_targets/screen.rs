//! Any bytes are a screen that every agent's rules read without a panic. The first two bytes place the cursor.

#![no_main]

use std::sync::LazyLock;

use agtmux_agents::Registry;
use agtmux_agents::screen::{Cursor, Screen, ScreenContext, read};
use libfuzzer_sys::fuzz_target;

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

fuzz_target!(|bytes: &[u8]| {
    let [column, row, capture @ ..] = bytes else {
        return;
    };
    let screen = Screen::parse(capture);
    let cursor = Some(Cursor { column: usize::from(*column), row: usize::from(*row), visible: column % 2 == 0 });
    for entry in REGISTRY.list() {
        for cursor in [cursor, None] {
            let context = ScreenContext { cursor, title: Some("⠋ fuzz".to_owned()), ..ScreenContext::default() };
            let composer = read(&entry.manifest, &screen, &context).composer;
            assert!(composer.draft.is_none() || !composer.enter.is_safe());
            assert!(composer.dialog.is_none() || !composer.enter.is_safe());
        }
    }
});
