//! The same reading by other means: the `vte` crate says what is text and what is a control, whole lines are collected
//! as text, and a regular look at the text tells what they are. Slow, and simple enough to be believed.

use agtmux_agents::detector::{Miss, PromptMark, Statement};
use agtmux_agents::{Sighting, SignalDetector};

/// What the detector sees before it asks what is news. Every line ends, so that nothing waits for time to pass.
pub(crate) fn raw(stream: &[u8]) -> Vec<Sighting> {
    let mut all = Vec::new();
    let mut detector = SignalDetector::new();
    detector.feed(stream, &mut all);
    all
}

/// What is to be seen, or none if the parser itself gave up on a part.
pub(crate) fn sightings(stream: &[u8]) -> Option<Vec<Sighting>> {
    let mut parser = vte::Parser::new();
    let mut terminal = Terminal::default();
    parser.advance(&mut terminal, stream);
    (!terminal.gave_up).then(|| News::default().of(terminal.seen))
}

#[derive(Default)]
struct Terminal {
    line: String,
    at: Option<(u16, u16)>,
    seen: Vec<Sighting>,
    gave_up: bool,
}

impl vte::Perform for Terminal {
    fn print(&mut self, char: char) {
        if char != '\x7f' {
            self.line.push(char);
            self.at = self.at.map(|(row, column)| (row, column + 1));
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            0x07 => self.seen.push(Sighting::Bell),
            b'\t' => self.print(' '),
            0x08 | 0x0a..=0x0d => self.end_line(),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _ignore: bool, byte: u8) {
        if intermediates.is_empty() && b"DEM8c".contains(&byte) {
            self.end_line();
        }
    }

    fn csi_dispatch(&mut self, params: &vte::Params, intermediates: &[u8], _ignore: bool, action: char) {
        let with_colons = params.iter().any(|param| param.len() > 1);
        if !intermediates.is_empty() || with_colons {
            return;
        }
        let mut numbers = params.iter().map(|param| param[0].max(1));
        let (first, second) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(1));
        match action {
            'A' | 'B' | 'D' | 'E' | 'F' | 'd' | 'e' | 'u' => self.end_line(),
            'C' | 'a' => {
                self.at = self.at.map(|(row, column)| (row, column + first));
                self.line.extend(std::iter::repeat_n(' ', first.into()));
            }
            'G' | '`' if first == 1 => self.end_line(),
            'G' | '`' => match self.at {
                Some((row, _)) => self.move_to(row, first),
                None => self.line.push(' '),
            },
            'H' | 'f' => self.move_to(first, second),
            _ => {}
        }
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], _bell_terminated: bool) {
        self.gave_up |= params.len() == 16;
        let fields: Vec<_> = params.iter().map(|field| String::from_utf8_lossy(field).replace('\x7f', "")).collect();
        self.seen.extend(osc(&fields));
    }
}

impl Terminal {
    fn move_to(&mut self, row: u16, column: u16) {
        match self.at {
            Some((here, from)) if here == row && column >= from => {
                if column > from {
                    self.line.push(' ');
                }
            }
            _ => self.end_line(),
        }
        self.at = Some((row, column));
    }

    fn end_line(&mut self) {
        self.at = None;
        let line = std::mem::take(&mut self.line);
        self.seen.extend(opened(&line).map(|(before, after)| read(before, after)));
    }
}

/// The line before and after the first opening that is complete.
fn opened(line: &str) -> Option<(&str, &str)> {
    line.split_once("<[schmux:")
}

fn read(before: &str, after: &str) -> Sighting {
    let beside = |char: char| char.is_whitespace() || "●⏺•✦│┃▌".contains(char);
    let alone = before.trim_start_matches(beside) == "--";
    let miss = |why| Sighting::NearMiss { line: format!("<[schmux:{}", after.trim_end()), why };
    match after.trim_end_matches(beside).strip_suffix("]>--") {
        None if after.contains("]>--") => miss(Miss::NotAlone),
        None => miss(Miss::NotClosed),
        Some(inside) if !alone || inside.contains("<[schmux:") => miss(Miss::NotAlone),
        Some(inside) => {
            let statement = inside.split_once(':').and_then(|(state, message)| Statement::new(state, message));
            statement.map_or_else(|| miss(Miss::UnknownState), Sighting::Marker)
        }
    }
}

fn osc(fields: &[String]) -> Option<Sighting> {
    let text = |fields: &[String]| fields.join(";");
    let some = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    let owned: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
    match fields.as_slice() {
        ["0" | "2", _, ..] => Some(Sighting::Title(text(&owned[1..]))),
        ["9", "4", state, rest @ ..] => Some(Sighting::Progress {
            state: state.parse().ok()?,
            percent: rest.first().and_then(|percent| percent.parse().ok()),
        }),
        ["9", number, ..] if (1..=2).contains(&number.len()) && number.parse::<u8>().is_ok() => None,
        ["9", ..] if fields.len() > 1 => Some(Sighting::Notify { title: None, body: some(&text(&owned[1..])) }),
        ["99", metadata, _, ..] => {
            let body = some(&text(&owned[2..]));
            match metadata.split(':').find_map(|pair| pair.strip_prefix("p=")) {
                None | Some("title") => Some(Sighting::Notify { title: body, body: None }),
                Some("body") => Some(Sighting::Notify { title: None, body }),
                Some(_) => None,
            }
        }
        ["133", "A", ..] => Some(Sighting::Prompt(PromptMark::PromptStart)),
        ["133", "D", rest @ ..] => {
            let exit = rest.first().and_then(|code| code.parse().ok());
            Some(Sighting::Prompt(PromptMark::CommandEnd { exit }))
        }
        ["777", "notify", title, ..] => {
            let body = text(&owned[3..]);
            Some(match Statement::new(title, &body) {
                Some(statement) => Sighting::Osc777(statement),
                None => Sighting::Notify { title: some(title), body: some(&body) },
            })
        }
        ["7501", _, ..] => {
            let all = text(&owned[1..]);
            let value = |key: &str| all.split(':').find_map(|pair| some(pair.strip_prefix(key)?));
            Some(Sighting::Program { state: value("state=")?, kind: value("kind="), app: value("app=") })
        }
        _ => None,
    }
}

/// What is news: no title and no near miss twice in a row, no marker that was seen before.
#[derive(Default)]
struct News {
    title: Option<String>,
    near_miss: Option<String>,
    markers: Vec<Statement>,
}

impl News {
    fn of(mut self, mut seen: Vec<Sighting>) -> Vec<Sighting> {
        seen.retain(|sighting| match sighting {
            Sighting::Title(title) => self.title.replace(title.clone()).as_ref() != Some(title),
            Sighting::NearMiss { line, .. } => self.near_miss.replace(line.clone()).as_ref() != Some(line),
            Sighting::Marker(marker) => {
                let known = self.markers.contains(marker);
                if !known {
                    self.markers.push(marker.clone());
                }
                // The ninth drives out the first.
                if self.markers.len() > 8 {
                    self.markers.remove(0);
                }
                !known
            }
            _ => true,
        });
        seen
    }
}
