//! Judgement of updates: a table before them and after them, and the rows of the answers.

use super::super::wire::Fault;
use super::rows::WorldRow;
use super::table::Table;
use std::collections::{HashMap, HashSet};

/// Share of rows that must be as answered, in percent: where several requests write one row, a server may
/// leave some of them to another try.
const MOST: usize = 90;

/// Every row has the number that an answer gives it, which is a new one; no other row has changed.
pub(super) fn judge(before: &Table, after: &Table, answered: &[WorldRow]) -> Result<(), Fault> {
    let mut numbers: HashMap<u32, Vec<u32>> = HashMap::new();
    for row in answered {
        numbers.entry(row.id).or_default().push(row.number);
    }
    let changed = |id: &u32| before.get(id) != after.get(id);
    let count = |right: &dyn Fn(u32, &[u32]) -> bool| {
        let found = numbers
            .iter()
            .filter(|(id, answered)| right(**id, answered));
        found.count()
    };
    let all = numbers.len();
    let as_answered =
        |id: u32, answered: &[u32]| after.get(&id).is_some_and(|now| answered.contains(now));
    if count(&as_answered) * 100 < all * MOST {
        let mut others = after
            .keys()
            .filter(|id| changed(id) && !numbers.contains_key(id));
        if let Some(other) = others.next() {
            return Err(Fault::new(
                "the rows of the answers to be changed",
                format!("row {other} changed, which no answer has"),
            ));
        }
        let old = count(&|id, answered| before.get(&id).is_some_and(|old| answered.contains(old)));
        let written = count(&|id, _| changed(&id));
        let found = if old * 100 >= all * MOST && written > 0 {
            format!("the numbers from before the update in {old} of {all} rows")
        } else {
            let kept = all - count(&as_answered);
            format!("{kept} of {all} rows with another number, {written} changed at all")
        };
        return Err(Fault::new(
            "the table to have the numbers that were answered",
            found,
        ));
    }
    let distinct: HashSet<u32> = answered.iter().map(|row| row.number).collect();
    if distinct.len() * 2 < answered.len() {
        return Err(Fault::new(
            "numbers drawn at random",
            format!("{} numbers for {} rows", distinct.len(), answered.len()),
        ));
    }
    let new = count(&|id, _| changed(&id));
    if new * 100 < all * MOST {
        return Err(Fault::new(
            "a new number in each row",
            format!("the old one again in {} of {all} rows", all - new),
        ));
    }
    let more = after
        .keys()
        .filter(|id| changed(id) && !numbers.contains_key(id));
    match more.count() {
        0 => Ok(()),
        more => Err(Fault::new(
            "no row to be changed but those of the answers",
            format!("{more} others changed"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(after: impl Fn(u32) -> u32, answered: impl Fn(u32) -> u32) -> Result<(), String> {
        let before: Table = (1..=100).map(|id| (id, id)).collect();
        let after: Table = (1..=100).map(|id| (id, after(id))).collect();
        let rows: Vec<WorldRow> = (1..=20)
            .map(|id| WorldRow {
                id,
                number: answered(id),
            })
            .collect();
        judge(&before, &after, &rows).map_err(|fault| fault.found)
    }

    #[test]
    fn each_wrong_update_is_named() {
        let new = |id: u32| id + 1_000;
        let written = |id: u32| if id <= 20 { new(id) } else { id };
        assert_eq!(found(written, new), Ok(()));
        // Two of twenty may be left.
        assert_eq!(found(|id| if id <= 18 { new(id) } else { id }, new), Ok(()));
        for (after, answered, said) in [
            (
                &(|id| id) as &dyn Fn(u32) -> u32,
                &new as &dyn Fn(u32) -> u32,
                "0 changed at all",
            ),
            (
                &written,
                &|id| id,
                "the numbers from before the update in 20 of 20",
            ),
            (&|id| id, &|id| id, "the old one again in 20 of 20"),
            (
                &|id| if id > 80 { new(id) } else { id },
                &new,
                "which no answer has",
            ),
            (
                &|id| if id <= 10 { new(id) } else { id },
                &new,
                "10 of 20 rows with another",
            ),
            (
                &|id| if id <= 20 { 7_777 } else { id },
                &|_| 7_777,
                "1 numbers for 20 rows",
            ),
            (
                &|id| if id <= 30 { new(id) } else { id },
                &new,
                "10 others changed",
            ),
        ] {
            let found = found(after, answered).unwrap_err();
            assert!(found.contains(said), "{said}: {found}");
        }
    }
}
