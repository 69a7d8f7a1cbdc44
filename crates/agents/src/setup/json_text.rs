//! JSON that we write, in the style of the file it goes into.

use std::ops::Range;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;

use super::text::{indent_at, line_start, newline};

/// A value that we write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Json {
    Text(String),
    Number(u32),
    List(Vec<Self>),
    Object(Vec<(&'static str, Self)>),
}

impl Json {
    /// Whether a value of a file says the same, whatever the order of its members.
    pub(super) fn says(&self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Text(text), Value::StringLit(found)) => found.value == text.as_str(),
            (Self::Number(number), Value::NumberLit(found)) => found.value == number.to_string(),
            (Self::List(items), Value::Array(found)) => {
                items.len() == found.elements.len()
                    && items.iter().zip(&found.elements).all(|(item, found)| item.says(found))
            }
            (Self::Object(members), Value::Object(found)) => {
                members.len() == found.properties.len()
                    && members
                        .iter()
                        .all(|(name, item)| found.get(name).is_some_and(|property| item.says(&property.value)))
            }
            _ => false,
        }
    }
}

/// How a file is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) newline: &'static str,
    /// One level of indentation.
    unit: String,
    /// Whether the file is one line without a blank between its parts.
    minified: bool,
    /// Whether the file is one line, blanks or not.
    one_line: bool,
}

impl Style {
    /// The layout of a file, from the first member of its object. Without one it is two blanks a level.
    pub(super) fn of(text: &str, root: Option<&Object<'_>>) -> Self {
        let first = root.and_then(|root| root.properties.first());
        let inside = root.map_or("", |root| &text[root.range.start..root.range.end]);
        let one_line = first.is_some() && !inside.contains('\n');
        let unit = first
            .map(|first| own_indent(text, first.range.start).unwrap_or_default())
            .filter(|unit| !unit.is_empty())
            .unwrap_or("  ");
        Self { newline: newline(text), unit: unit.to_owned(), minified: one_line && !inside.contains("\": "), one_line }
    }

    /// What stands between a key and its value.
    pub(super) const fn colon(&self) -> &'static str {
        if self.minified { ":" } else { ": " }
    }

    /// What stands before an item that goes into a container, and what closes a container that was empty.
    pub(super) fn layout(&self, text: &str, container: &Range<usize>, first: Option<usize>) -> Layout {
        let inside = &text[container.clone()];
        let base = indent_at(text, container.start);
        let is_one_line = if first.is_some() { !inside.contains('\n') } else { self.one_line };
        if is_one_line {
            return Layout { lead: if self.minified { "" } else { " " }.to_owned(), indent: None, tail: String::new() };
        }
        let indent = first
            .and_then(|first| own_indent(text, first).map(str::to_owned))
            .unwrap_or_else(|| format!("{base}{}", self.unit));
        let lead = format!("{}{indent}", self.newline);
        Layout { lead, indent: Some(indent), tail: format!("{}{base}", self.newline) }
    }

    /// A value as text. `indent` is that of the line it begins on; without one it is written on one line.
    pub(super) fn render(&self, value: &Json, indent: Option<&str>) -> String {
        match value {
            Json::Text(text) => quoted(text),
            Json::Number(number) => number.to_string(),
            Json::List(items) => self.block('[', ']', indent, items.iter().map(|item| (String::new(), item)).collect()),
            Json::Object(members) => {
                let named = members.iter().map(|(name, item)| (format!("{}{}", quoted(name), self.colon()), item));
                self.block('{', '}', indent, named.collect())
            }
        }
    }

    fn block(&self, open: char, close: char, indent: Option<&str>, items: Vec<(String, &Json)>) -> String {
        let Some(indent) = indent.filter(|_| !items.is_empty()) else {
            let items: Vec<_> = items.iter().map(|(name, item)| format!("{name}{}", self.render(item, None))).collect();
            return format!("{open}{}{close}", items.join(if self.minified { "," } else { ", " }));
        };
        let deeper = format!("{indent}{}", self.unit);
        let lead = format!("{}{deeper}", self.newline);
        let items: Vec<_> =
            items.iter().map(|(name, item)| format!("{lead}{name}{}", self.render(item, Some(&deeper)))).collect();
        format!("{open}{}{}{indent}{close}", items.join(","), self.newline)
    }
}

/// Where an item goes in a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// What stands before the item.
    pub(super) lead: String,
    /// The indentation of the item's lines, if it has several.
    pub(super) indent: Option<String>,
    /// What follows the last item of a container that was empty.
    pub(super) tail: String,
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c < ' ' => quoted.extend(format!("\\u{:04x}", u32::from(c)).chars()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The indentation of a node, if it is the first on its line.
fn own_indent(text: &str, offset: usize) -> Option<&str> {
    let indent = indent_at(text, offset);
    (line_start(text, offset) + indent.len() == offset).then_some(indent)
}

/// The start of a value.
pub(super) fn start(value: &Value<'_>) -> usize {
    value.range().start
}
