//! How long a fact may be believed, per fact and source.
//!
//! A fact that nothing renews goes stale: hooks are silent when a person presses Escape, files outlive the
//! process that wrote them. The table is data of the manifest because each agent renews different facts.

use std::collections::BTreeMap;
use std::fmt;

use agtmux_core::policy::FactKind;
use agtmux_core::signal::Source;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

/// The `[ttl]` table of a manifest.
pub(crate) type TtlTable = BTreeMap<FactKind, BTreeMap<Source, Ttl>>;

/// A positive span of time, written `500ms`, `30s`, `15m` or `12h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ttl {
    pub(crate) millis: i64,
}

impl Ttl {
    fn parse(text: &str) -> Option<Self> {
        let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = text.split_at(unit_at);
        let unit_millis = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return None,
        };
        let millis = number.parse::<i64>().ok()?.checked_mul(unit_millis)?;
        (millis > 0).then_some(Self { millis })
    }
}

impl<'de> Deserialize<'de> for Ttl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SpanOfTime;

        impl Visitor<'_> for SpanOfTime {
            type Value = Ttl;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a span of time such as \"500ms\", \"30s\", \"15m\" or \"12h\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Ttl, E> {
                Ttl::parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_str(SpanOfTime)
    }
}

#[cfg(test)]
mod tests {
    use super::Ttl;

    #[test]
    fn spans_of_time_have_one_number_and_one_unit() {
        let millis = |text| Ttl::parse(text).map(|ttl| ttl.millis);
        assert_eq!(millis("500ms"), Some(500));
        assert_eq!(millis("30s"), Some(30_000));
        assert_eq!(millis("15m"), Some(900_000));
        assert_eq!(millis("12h"), Some(43_200_000));
        for bad in
            ["", "15", "m", "0s", "-1s", "1.5h", "1h30m", "1 h", "5d", "99999999999999999999s", "18446744073709551615h"]
        {
            assert_eq!(millis(bad), None, "{bad:?}");
        }
    }
}
