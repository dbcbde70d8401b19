//! Rows of the table `world`, as answers have them, and what makes their choice random.

use super::super::answer::HttpAnswer;
use super::super::wire::{Fault, excerpt};
use serde_json::Value;
use std::collections::HashMap;

/// Rows of the table, and the largest number in one.
pub(super) const ROWS: u32 = 10_000;

/// The most rows that a request can ask for.
pub(super) const MOST: usize = 500;

/// Row of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorldRow {
    pub id: u32,
    pub number: u32,
}

/// The one row of an answer.
pub(super) fn row(answer: &HttpAnswer) -> Result<WorldRow, Fault> {
    row_of(&json(answer)?)
}

/// Reads so many rows of an answer.
pub(super) fn rows(answer: &HttpAnswer, count: usize) -> Result<Vec<WorldRow>, Fault> {
    let expected = format!("an array of {count} rows");
    match json(answer)? {
        Value::Array(list) if list.len() == count => list.iter().map(row_of).collect(),
        Value::Array(list) => Err(Fault::new(expected, format!("{} rows", list.len()))),
        other => Err(Fault::new(expected, shown(&other))),
    }
}

fn json(answer: &HttpAnswer) -> Result<Value, Fault> {
    serde_json::from_slice(&answer.body)
        .map_err(|error| Fault::new("JSON", format!("{} ({error})", excerpt(&answer.body))))
}

fn shown(value: &Value) -> String {
    excerpt(value.to_string().as_bytes())
}

fn row_of(value: &Value) -> Result<WorldRow, Fault> {
    let wrong =
        |found: String| Fault::new("a row with id and randomNumber, each 1 to 10000", found);
    let Value::Object(members) = value else {
        return Err(wrong(shown(value)));
    };
    let member = |key: &str| {
        let found = members.get(key).and_then(Value::as_u64);
        let number = found.and_then(|number| u32::try_from(number).ok());
        number.filter(|number| (1..=ROWS).contains(number))
    };
    match (member("id"), member("randomNumber"), members.len()) {
        (Some(id), Some(number), 2) => Ok(WorldRow { id, number }),
        _ => Err(wrong(shown(value))),
    }
}

fn not_random<T>(ids: &[u32], found: &str) -> Result<T, Fault> {
    let first: Vec<String> = ids.iter().take(6).map(u32::to_string).collect();
    let found = format!("{found}: {}, …", first.join(", "));
    Err(Fault::new("ids drawn at random", found))
}

/// The ids of rows were drawn at random: neither the same again and again, nor at equal distances, nor from a part of the
/// table. Random ones are refused less than once in 10,000,000 times, from 20 ids on. They may be in order: who draws
/// ids that differ from each other may have them so.
pub(super) fn are_random(ids: &[u32]) -> Result<(), Fault> {
    let wrong = |found: String| not_random(ids, &found);
    let steps = || ids.windows(2).map(|pair| (pair[1] + ROWS - pair[0]) % ROWS);
    let mut common: HashMap<u32, usize> = HashMap::new();
    for step in steps() {
        *common.entry(step).or_default() += 1;
    }
    let most = common.into_iter().max_by_key(|&(_, times)| times);
    match most {
        Some((0, times)) if times > ids.len() / 4 => {
            return wrong("the same id again and again".to_owned());
        }
        Some((step, times)) if times > ids.len() / 4 => {
            return wrong(format!("ids {step} apart"));
        }
        _ => {}
    }
    let (low, high) = (ids.iter().min(), ids.iter().max());
    if let (Some(low), Some(high)) = (low, high)
        && high - low < ROWS / 4
    {
        return wrong(format!("ids from {low} to {high} only"));
    }
    Ok(())
}

/// The ids of answers to several requests are in no order.
pub(super) fn are_mixed(ids: &[u32]) -> Result<(), Fault> {
    match ids.is_sorted() || ids.is_sorted_by(|a, b| a >= b) {
        true => not_random(ids, "ids in order"),
        false => Ok(()),
    }
}

/// Two answers have other ids: no list of ids was drawn once and kept.
pub(super) fn are_others(first: &[WorldRow], second: &[WorldRow]) -> Result<(), Fault> {
    let again = second
        .iter()
        .filter(|row| first.iter().any(|other| other.id == row.id))
        .count();
    if again * 2 < second.len() {
        return Ok(());
    }
    let found = format!("{again} of {} ids again", second.len());
    Err(Fault::new("other ids in the next answer", found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::answer::OtherFields;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn answer(body: &str) -> HttpAnswer {
        HttpAnswer {
            encoding: prony_engine::protocol::encoding::Encoding::of([]),
            status: 200,
            content_type: Some("application/json".into()),
            body: body.into(),
            chunked: false,
            fields: OtherFields::default(),
        }
    }

    #[test]
    fn rows_have_two_numbers_of_the_table() {
        let right = r#" { "randomNumber":10000 , "id":1 } "#;
        let expected = WorldRow {
            id: 1,
            number: 10_000,
        };
        assert_eq!(row(&answer(right)).unwrap(), expected);
        assert_eq!(rows(&answer(&format!("[{right}]")), 1).unwrap(), [expected]);
        for wrong in [
            r#"{"id":0,"randomNumber":1}"#,
            r#"{"id":1,"randomNumber":10001}"#,
            r#"{"id":1.5,"randomNumber":1}"#,
            r#"{"id":1,"randomNumber":"1"}"#,
            r#"{"id":1,"randomnumber":1}"#,
            r#"{"id":1,"randomNumber":1,"more":1}"#,
            r#"[{"id":1,"randomNumber":1}]"#,
            "{",
            "",
        ] {
            assert!(row(&answer(wrong)).is_err(), "{wrong}");
        }
        let fault = rows(&answer(&format!("[{right},{right}]")), 1).unwrap_err();
        assert_eq!(fault.found, "2 rows");
    }

    #[test]
    fn random_ids_pass_and_others_do_not() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for _ in 0..20_000 {
            let ids: Vec<u32> = (0..20).map(|_| rng.random_range(1..=ROWS)).collect();
            are_random(&ids).unwrap();
            are_mixed(&ids).unwrap();
        }
        let found = |ids: Vec<u32>| are_random(&ids).unwrap_err().found;
        assert!(found(vec![7; 20]).starts_with("the same id again"));
        assert!(found((1..=20).collect()).starts_with("ids 1 apart"));
        let strides = (0..20).map(|n| n * 777 % ROWS + 1).collect();
        assert!(found(strides).starts_with("ids 777 apart"));
        let mut sorted: Vec<u32> = (0..20).map(|_| rng.random_range(1..=ROWS)).collect();
        sorted.sort_unstable();
        are_random(&sorted).unwrap();
        assert!(are_mixed(&sorted).is_err());
        sorted.reverse();
        assert!(are_mixed(&sorted).is_err());
        let few: Vec<u32> = (0..20).map(|_| rng.random_range(1..=100)).collect();
        assert!(found(few).contains("only"));
    }

    #[test]
    fn a_list_of_ids_is_not_kept() {
        let row = |id| WorldRow { id, number: 1 };
        let of = |ids: std::ops::Range<u32>| ids.map(row).collect::<Vec<_>>();
        are_others(&of(1..21), &of(20..40)).unwrap();
        assert!(are_others(&of(1..21), &of(5..25)).is_err());
    }
}
