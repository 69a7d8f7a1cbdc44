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
    open: Option<Open>,
    seen: Vec<Sighting>,
    gave_up: bool,
}

/// A marker that was not closed on its line, and may go on below.
struct Open {
    after: String,
    is_below: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum End {
    Down,
    Return,
    Away,
}

impl vte::Perform for Terminal {
    fn print(&mut self, char: char) {
        if char != '\x7f' {
            self.put(char);
            self.at = self.at.map(|(row, column)| (row, column + 1));
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            0x07 => self.seen.push(Sighting::Bell),
            b'\t' => self.print(' '),
            0x0a..=0x0c => self.end_line(End::Down),
            b'\r' => self.end_line(End::Return),
            0x08 => self.end_line(End::Away),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _ignore: bool, byte: u8) {
        if intermediates.is_empty() && b"DEM8c".contains(&byte) {
            self.end_line(if b"DE".contains(&byte) { End::Down } else { End::Away });
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
            'B' | 'E' | 'e' if first == 1 => self.end_line(End::Down),
            'A' | 'B' | 'D' | 'E' | 'F' | 'd' | 'e' | 'u' => self.end_line(End::Away),
            'C' | 'a' => {
                self.at = self.at.map(|(row, column)| (row, column + first));
                (0..first).for_each(|_| self.put(' '));
            }
            'G' | '`' if first == 1 => self.end_line(End::Return),
            'G' | '`' => match self.at {
                Some((row, _)) => self.move_to(row, first),
                None => self.put(' '),
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
                    self.put(' ');
                }
            }
            Some((here, _)) if row == here + 1 => {
                self.end_line(End::Down);
                if column > 1 {
                    self.put(' ');
                }
            }
            _ => self.end_line(End::Away),
        }
        self.at = Some((row, column));
    }

    fn put(&mut self, char: char) {
        let is_first = self.line.is_empty();
        self.line.push(char);
        let Some(open) = &self.open else { return };
        let is_another = self.line.trim_start_matches(beside) == "--<[schmux:";
        if !open.is_below || is_first && !beside(char) || is_another {
            self.give_up();
        }
    }

    /// What was open is no marker.
    fn give_up(&mut self) {
        let open = self.open.take();
        self.seen.extend(open.map(|open| read("--", &open.after)));
    }

    fn end_line(&mut self, end: End) {
        self.at = None;
        let line = std::mem::take(&mut self.line);
        let rest = line.trim_start_matches(beside);
        let opened = match self.open.take() {
            Some(open) if !rest.is_empty() => {
                Some(("--".to_owned(), format!("{}\n{rest}", open.after.trim_end_matches(beside))))
            }
            Some(open) if end == End::Return => {
                self.open = Some(open);
                None
            }
            Some(open) if end == End::Down && !open.is_below => {
                self.open = Some(Open { is_below: true, ..open });
                None
            }
            Some(open) => {
                self.open = Some(open);
                self.give_up();
                None
            }
            None => opened(&line).map(|(before, after)| (before.to_owned(), after.to_owned())),
        };
        let Some((before, after)) = opened else { return };
        let is_begun = before.trim_start_matches(beside) == "--"
            && !after.contains("]>--")
            && after.split_once(':').is_some_and(|(state, _)| Statement::new(state, "").is_some());
        match read(&before, &after) {
            Sighting::NearMiss { why: Miss::NotClosed, .. } if is_begun && end != End::Away => {
                self.open = Some(Open { after, is_below: end == End::Down });
            }
            sighting => self.seen.push(sighting),
        }
    }
}

fn beside(char: char) -> bool {
    char.is_whitespace() || "●⏺•✦│┃▌".contains(char)
}

/// The line before and after the first opening that is complete.
fn opened(line: &str) -> Option<(&str, &str)> {
    line.split_once("<[schmux:")
}

/// Reads a line; `after` has a line feed wherever it was wrapped.
fn read(before: &str, after: &str) -> Sighting {
    let alone = before.trim_start_matches(beside) == "--";
    let dashes = if alone { "--" } else { "" };
    let whole = after.replace('\n', " ");
    let miss = |why| Sighting::NearMiss { line: format!("{dashes}<[schmux:{}", whole.trim_end()), why };
    let trimmed = after.trim_end_matches(beside);
    let closed = ["]>--", "]\n>--", "]>\n--", "]>-\n-"].into_iter().find_map(|closing| trimmed.strip_suffix(closing));
    match closed {
        None if after.contains("]>--") => miss(Miss::NotAlone),
        None => miss(Miss::NotClosed),
        Some(inside) if !alone || inside.contains("<[schmux:") => miss(Miss::NotAlone),
        Some(inside) => {
            let inside = inside.replace('\n', " ");
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
