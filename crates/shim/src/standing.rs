//! A text that an injection has typed and not submitted: it stands in the composer, and is in nobody's way by itself, since no key of
//! the person told of it. Whatever is typed next would be added to it.

use crate::keyboard::Keyboard;

/// The last text that was typed.
#[derive(Debug, Default)]
pub(crate) struct Standing(Option<Text>);

#[derive(Debug)]
struct Text {
    id: String,
    /// How many bytes of keys there were before it: any that came since may have changed or sent it.
    keys: u64,
    /// How much the agent had written before it: one that has written nothing since has not drawn it.
    output: u64,
    is_left: bool,
}

impl Standing {
    /// A text is about to be typed.
    pub(crate) fn begin(&mut self, id: &str, keys: u64, output: u64) {
        self.0 = Some(Text { id: id.to_owned(), keys, output, is_left: false });
    }

    /// It was typed, and is not submitted with it.
    pub(crate) fn leave(&mut self, keyboard: &mut Keyboard) {
        // Keys that were held follow now, and may be an Enter. What they are is known without this.
        match self.0.as_mut().filter(|text| text.keys == keyboard.keys()) {
            Some(text) => {
                text.is_left = true;
                keyboard.seen_text();
            }
            None => self.0 = None,
        }
    }

    /// An Enter of ours follows it.
    pub(crate) fn submit(&mut self, keyboard: &mut Keyboard) {
        if self.id(keyboard).is_some() {
            keyboard.seen_empty();
        }
        self.0 = None;
    }

    /// Somebody saw an empty composer, on a screen on which the agent had written so much if they say so. Gives whether that proves
    /// anything.
    pub(crate) fn seen_empty(&mut self, keyboard: &Keyboard, judged: Option<u64>) -> bool {
        let is_drawn = self.text(keyboard).is_none_or(|text| judged.is_some_and(|output| output > text.output));
        if is_drawn {
            self.0 = None;
        }
        is_drawn
    }

    /// Whose text stands there.
    pub(crate) fn id(&self, keyboard: &Keyboard) -> Option<&str> {
        self.text(keyboard).map(|text| text.id.as_str())
    }

    fn text(&self, keyboard: &Keyboard) -> Option<&Text> {
        self.0.as_ref().filter(|text| text.is_left && text.keys == keyboard.keys())
    }
}
