//! How a cell is painted, as far as it carries meaning.

use serde::Deserialize;

/// The rendition of one cell. Only what rules may ask for is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// The colour of the character.
    pub fg: Colour,
    /// The colour behind it.
    pub bg: Colour,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub reverse: bool,
}

/// What a screen is painted with. Without colours, as under `NO_COLOR`, a program can still be read by its shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ink {
    /// Colours.
    #[default]
    Colours,
    /// Bold, faint and italic letters, and no colours.
    Weights,
    /// Nothing but reversed cells, if anything.
    Plain,
}

/// A colour as the program asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colour {
    /// Whatever the terminal uses when nothing is asked for.
    #[default]
    Default,
    /// A place in the palette of 256.
    Indexed(u8),
    Rgb(u8, u8, u8),
}

/// A family of colours. Themes pick other shades, so rules name families and never shades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hue {
    /// Nothing was asked for.
    Default,
    /// Anything was asked for.
    Set,
    /// Black, white and what lies between.
    Gray,
    /// Anything but gray and the default.
    Coloured,
    Red,
    Yellow,
    Green,
    Cyan,
    Blue,
    Magenta,
}

impl Colour {
    /// Whether the colour belongs to a family.
    pub fn is(self, hue: Hue) -> bool {
        let Some(rgb) = self.rgb() else {
            return hue == Hue::Default;
        };
        match hue {
            Hue::Default => false,
            Hue::Set => true,
            Hue::Coloured => family(rgb) != Hue::Gray,
            hue => family(rgb) == hue,
        }
    }

    fn rgb(self) -> Option<[u8; 3]> {
        match self {
            Self::Default => None,
            Self::Rgb(r, g, b) => Some([r, g, b]),
            Self::Indexed(index) => Some(palette(index)),
        }
    }
}

/// The palette that terminals ship with. The sixteen first differ between terminals, their families do not.
fn palette(index: u8) -> [u8; 3] {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    match index {
        0 => [0, 0, 0],
        7 => [192, 192, 192],
        8 => [128, 128, 128],
        1..=6 => [index & 1, index >> 1 & 1, index >> 2 & 1].map(|on| on * 128),
        9..=15 => [index & 1, index >> 1 & 1, index >> 2 & 1].map(|on| on * 255),
        16..=231 => {
            let place = index - 16;
            [place / 36, place / 6 % 6, place % 6].map(|step| STEPS[usize::from(step)])
        }
        232..=255 => [8 + (index - 232) * 10; 3],
    }
}

/// The family of a colour, by its place on the colour wheel; what is nearly without colour is gray.
fn family(rgb: [u8; 3]) -> Hue {
    let [r, g, b] = rgb.map(i32::from);
    let most = r.max(g).max(b);
    let spread = most - r.min(g).min(b);
    if spread * 6 < most || spread < 24 {
        return Hue::Gray;
    }
    let degrees = if most == r {
        (60 * (g - b) / spread).rem_euclid(360)
    } else if most == g {
        60 * (b - r) / spread + 120
    } else {
        60 * (r - g) / spread + 240
    };
    match degrees {
        0..25 | 330..360 => Hue::Red,
        25..75 => Hue::Yellow,
        75..165 => Hue::Green,
        165..200 => Hue::Cyan,
        200..265 => Hue::Blue,
        _ => Hue::Magenta,
    }
}

#[cfg(test)]
mod tests {
    use super::{Colour, Hue};

    #[test]
    fn shades_of_all_themes_fall_into_their_family() {
        let cases = [
            (Colour::Indexed(1), Hue::Red),
            (Colour::Indexed(9), Hue::Red),
            (Colour::Indexed(168), Hue::Red),
            (Colour::Indexed(211), Hue::Red),
            (Colour::Indexed(217), Hue::Red),
            (Colour::Rgb(224, 108, 117), Hue::Red),
            (Colour::Indexed(220), Hue::Yellow),
            (Colour::Indexed(3), Hue::Yellow),
            (Colour::Indexed(2), Hue::Green),
            (Colour::Indexed(114), Hue::Green),
            (Colour::Indexed(6), Hue::Cyan),
            (Colour::Indexed(75), Hue::Blue),
            (Colour::Indexed(5), Hue::Magenta),
            (Colour::Indexed(183), Hue::Magenta),
            (Colour::Indexed(8), Hue::Gray),
            (Colour::Indexed(246), Hue::Gray),
            (Colour::Indexed(231), Hue::Gray),
            (Colour::Default, Hue::Default),
        ];
        for (colour, hue) in cases {
            assert!(colour.is(hue), "{colour:?} is not {hue:?}");
            assert_eq!(colour.is(Hue::Set), hue != Hue::Default, "{colour:?}");
            assert_eq!(colour.is(Hue::Coloured), !matches!(hue, Hue::Default | Hue::Gray), "{colour:?}");
        }
    }
}
