//! A payload that is larger than the daemon takes loses its bulk and stays JSON: an event whose tool printed ten
//! megabytes is still the event.

use agtmux_wire::hook::PAYLOAD_LIMIT;
use serde_json::Value;

/// What may stay of a payload.
struct Measure {
    /// Bytes of a text.
    text: usize,
    /// Entries of a list or object.
    entries: usize,
    /// Levels of lists and objects.
    levels: usize,
}

/// Tried in turn until the rest is small enough. The last one leaves the names and ids that every agent has at the top.
const MEASURES: [Measure; 4] = [
    Measure { text: 64 * 1024, entries: 4_096, levels: 64 },
    Measure { text: 4 * 1024, entries: 256, levels: 16 },
    Measure { text: 1024, entries: 32, levels: 4 },
    Measure { text: 1024, entries: 64, levels: 1 },
];

/// The longest name of an entry.
const NAME: usize = 256;

/// A payload of at most [`PAYLOAD_LIMIT`] bytes.
pub(super) fn to_limit(mut payload: Vec<u8>) -> Vec<u8> {
    if payload.len() <= PAYLOAD_LIMIT {
        return payload;
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(&payload) else {
        // It means nothing, and its beginning is enough to show that.
        payload.truncate(PAYLOAD_LIMIT);
        return payload;
    };
    for measure in &MEASURES {
        shorten(&mut value, measure, measure.levels);
        if let Some(text) = serde_json::to_vec(&value).ok().filter(|text| text.len() <= PAYLOAD_LIMIT) {
            return text;
        }
    }
    b"{}".to_vec()
}

fn shorten(value: &mut Value, measure: &Measure, levels: usize) {
    match value {
        Value::String(text) if text.len() > measure.text => {
            text.truncate(text.floor_char_boundary(measure.text));
            text.push('…');
        }
        Value::Array(_) | Value::Object(_) if levels == 0 => *value = Value::Null,
        Value::Array(items) => {
            items.truncate(measure.entries);
            items.iter_mut().for_each(|item| shorten(item, measure, levels - 1));
        }
        Value::Object(fields) => {
            let mut room = measure.entries;
            fields.retain(|name, _| {
                let stays = room > 0 && name.len() <= NAME;
                room -= usize::from(stays);
                stays
            });
            fields.values_mut().for_each(|field| shorten(field, measure, levels - 1));
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use agtmux_wire::hook::PAYLOAD_LIMIT;
    use serde_json::{Value, json};

    use super::to_limit;

    fn cut(payload: &Value) -> Value {
        let text = to_limit(payload.to_string().into_bytes());
        assert!(text.len() <= PAYLOAD_LIMIT, "{} bytes", text.len());
        serde_json::from_slice(&text).expect("JSON")
    }

    #[test]
    fn what_fits_is_left_alone() {
        let odd = b"{ \"a\" :\n1 } and more".to_vec();
        assert_eq!(to_limit(odd.clone()), odd);
        let full = vec![b'x'; PAYLOAD_LIMIT];
        assert_eq!(to_limit(full.clone()), full);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let payload = json!({ "hook_event_name": "PostToolUse", "tool_response": { "stdout": "ä".repeat(600_000) } });
        let cut = cut(&payload);
        assert_eq!(cut["hook_event_name"], "PostToolUse");
        let text = cut["tool_response"]["stdout"].as_str().expect("a text");
        assert!(text.len() < 70_000 && text.ends_with("ä…"), "{} bytes", text.len());
    }

    #[test]
    fn bulk_of_every_shape_goes_and_the_names_stay() {
        let deep = (0..100).fold(json!(["x".repeat(1_100_000)]), |inner, _| json!([inner]));
        let long_names: Value = (0..2_000).map(|n| (format!("{n}{}", "k".repeat(1_000)), json!(n))).collect();
        let many: Value = (0..120_000).map(|n| (n.to_string(), json!([n]))).collect();
        let escaped = json!(vec!["\u{1}".repeat(70_000); 4]);
        for bulk in [deep, json!(vec![1; 600_000]), long_names, many, escaped] {
            let cut = cut(&json!({ "hook_event_name": "Stop", "session_id": "s", "bulk": bulk }));
            assert_eq!((&cut["hook_event_name"], &cut["session_id"]), (&"Stop".into(), &"s".into()));
        }
    }

    #[test]
    fn what_is_no_json_keeps_its_beginning() {
        let garbage = to_limit(vec![b'{'; 3_000_000]);
        assert_eq!((garbage.len(), garbage[0]), (PAYLOAD_LIMIT, b'{'));
        assert_eq!(to_limit(json!(vec!["x".repeat(2_000); 2_000]).to_string().into_bytes())[..2], *b"[\"");
    }
}
