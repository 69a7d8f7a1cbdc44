//! JSON with comments and trailing commas, read with the place of everything in it.

use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::Refusal;

/// Reads a text that is blank or holds one object. Comments and trailing commas are common in files that people edit, and
/// the agents take them; other liberties are refused, since an agent may read them otherwise than we do.
pub(super) fn parse(text: &str) -> Result<Option<Object<'_>>, Refusal> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| {
        let why = error.kind().to_string();
        let mut letters = why.chars();
        let why: String = letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect();
        Refusal::at(text, error.range().start, format!("is not JSON: {why}"))
    })?;
    match parsed.value {
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(other) => Err(Refusal::at(text, other.range().start, "is not a JSON object")),
        None if text.trim().is_empty() => Ok(None),
        None => Err(Refusal::whole("has comments but no JSON object")),
    }
}

/// The member of that name. Of two with one name readers take the one or the other, so that both are refused.
pub(super) fn member<'o, 't>(
    text: &str,
    object: &'o Object<'t>,
    name: &str,
) -> Result<Option<&'o ObjectProp<'t>>, Refusal> {
    let mut found = object.properties.iter().filter(|property| property.name.as_str() == name);
    let first = found.next();
    match found.next() {
        Some(second) => Err(Refusal::at(text, second.range.start, format!("has a second {name:?}"))),
        None => Ok(first),
    }
}

/// The range of a node as the standard library writes it.
pub(super) fn range(node: &impl Ranged) -> Range<usize> {
    let range = node.range();
    range.start..range.end
}

/// A string member of an object.
pub(super) fn string<'o>(object: &'o Object<'_>, name: &str) -> Option<&'o str> {
    object.get_string(name).map(|text| text.value.as_ref())
}
