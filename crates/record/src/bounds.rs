//! Limits on a document from elsewhere: every number has a range, and every text a maximum length. Measured values lie
//! well inside. A value outside would overflow a sum, or make a report that never ends.

use crate::inert::NAMES;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::ops::RangeInclusive;

/// The most rounds of a run.
pub const MOST_ROUNDS: u32 = 10_000;
/// Names and labels, in bytes: a duel's sides are called by their command lines.
const LONGEST_NAME: usize = 16 << 10;
/// Other texts and histograms, in bytes.
const LONGEST_TEXT: usize = 1 << 20;
/// The most that a figure without a unit of time can be: a million answers per second for 30 years.
pub const MOST: f64 = 1e15;
/// Nanoseconds and seconds: 115 days.
const MOST_NANOSECONDS: f64 = 1e16;
const MOST_SECONDS: f64 = 1e7;

/// Is every number of this JSON document in its range, and every text of a bearable length?
///
/// # Errors
/// What is not, with its place; or that this is no JSON.
pub fn check(json: &str) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(json);
    Value {
        key: "",
        measured: false,
    }
    .deserialize(&mut reader)?;
    reader.end()
}

/// The range of the number that stands under this key. What was measured is never negative.
fn range(key: &str, measured: bool) -> RangeInclusive<f64> {
    match key {
        // All 64 bits of it are used.
        "seed" => 0.0..=u64::MAX as f64,
        "rounds" | "round" | "most" => 0.0..=f64::from(MOST_ROUNDS),
        "busy" | "waiting" | "others_busy" | "stolen" => 0.0..=10.0,
        // What requests add that crossed the ends of a measurement: those at its beginning take away.
        "right" | "all" => -MOST..=MOST,
        _ if key.ends_with("_ns") => 0.0..=MOST_NANOSECONDS,
        _ if key.ends_with("seconds") => 0.0..=MOST_SECONDS,
        _ if measured => 0.0..=MOST,
        _ => -MOST..=MOST,
    }
}

/// A value, and where it stands.
#[derive(Clone, Copy)]
struct Value<'a> {
    /// The key under which it stands, or under which its list does.
    key: &'a str,
    /// Is it a part of a trial?
    measured: bool,
}

impl Value<'_> {
    fn number<E: Error>(self, number: f64) -> Result<(), E> {
        let range = range(self.key, self.measured);
        if range.contains(&number) {
            return Ok(());
        }
        Err(E::custom(format!(
            "{:?} is {number:?}, and must be from {:?} to {:?}",
            self.key,
            range.start(),
            range.end()
        )))
    }

    fn text<E: Error>(self, text: &str) -> Result<(), E> {
        let most = match NAMES.contains(&self.key) {
            true => LONGEST_NAME,
            false => LONGEST_TEXT,
        };
        if text.len() <= most {
            return Ok(());
        }
        Err(E::custom(format!(
            "the text of {:?} has {} bytes, and may have {most}",
            self.key,
            text.len()
        )))
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.number(number as f64)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.number(number as f64)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.number(number)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.text(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<String>()? {
            Value {
                key: "a key",
                ..self
            }
            .text(&key)?;
            entries.next_value_seed(Value {
                measured: self.measured || key == "trials",
                key: &key,
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_measured_is_let_in() {
        let document = json!({
            "run": {"seed": u64::MAX, "title": "a", "manifest": {"nice": -20}, "none": null},
            "trials": [{"rounds": 10_000, "p50_ns": 5_000_000, "busy": 1.01, "ok": true}],
        });
        check(&document.to_string()).unwrap();
    }

    #[test]
    fn what_is_out_of_range_is_named_with_its_place() {
        let title = "x".repeat(20_000);
        let text = "x".repeat((1 << 20) + 1);
        for (document, said) in [
            (
                json!({"trials": [{"throughput": 1e308}]}),
                "\"throughput\" is 1e308",
            ),
            (
                json!({"trials": [{"throughput": -1.0}]}),
                "\"throughput\" is -1.0",
            ),
            (json!({"trials": [{"list": [1, -1]}]}), "\"list\" is -1.0"),
            (json!({"run": {"rounds": u32::MAX}}), "from 0.0 to 10000.0"),
            (json!({"measured_seconds": 1e308}), "\"measured_seconds\""),
            (json!({"p50_ns": u64::MAX}), "\"p50_ns\""),
            (json!({"title": title}), "\"title\" has 20000 bytes"),
            (json!({"message": text}), "may have 1048576"),
            (json!({ text.clone(): 1 }), "\"a key\""),
        ] {
            let error = check(&document.to_string()).unwrap_err().to_string();
            assert!(error.contains(said) && error.contains("line 1"), "{error}");
        }
        assert!(check("{\"a\": 1").is_err());
        assert!(check("{} {}").is_err());
    }
}
