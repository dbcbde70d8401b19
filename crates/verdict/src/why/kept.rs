//! Reduction of the rounds to the part that is worth keeping.

use super::part::CostPart;
use prony_record::anatomy::{Dissection, Dissections};
use std::collections::{BTreeMap, BTreeSet};

/// Different stacks of each server that are kept whole.
pub const STACKS: usize = 2_000;

/// The same with the most frequent stacks of each server only; of every other, one frame is left that tells its part, so
/// that the cost of parts stays what it is.
#[must_use]
pub fn kept(seen: &Dissections) -> Dissections {
    bounded(seen, STACKS)
}

fn bounded(seen: &Dissections, most: usize) -> Dissections {
    let mut kept = seen.clone();
    for side in 0..seen.names.len() {
        let stacks = frequent(seen, side, most, |it| &it.stacks);
        let waits = frequent(seen, side, most, |it| &it.waits);
        let rounds = kept.rounds.iter_mut();
        for round in rounds.filter_map(|round| round.get_mut(side)) {
            round.stacks = shortened(std::mem::take(&mut round.stacks), &stacks);
            round.waits = shortened(std::mem::take(&mut round.waits), &waits);
        }
    }
    kept
}

/// The same without most frames of those that are not among the `whole`.
fn shortened(all: BTreeMap<String, u64>, whole: &BTreeSet<&str>) -> BTreeMap<String, u64> {
    let mut stacks = BTreeMap::new();
    for (stack, samples) in all {
        let stack = match whole.contains(stack.as_str()) {
            true => stack,
            false => telling(&stack).to_owned(),
        };
        *stacks.entry(stack).or_default() += samples;
    }
    stacks
}

/// The stacks of a side that have the most samples, or the longest waits, in all rounds.
fn frequent(
    seen: &Dissections,
    side: usize,
    most: usize,
    of: fn(&Dissection) -> &BTreeMap<String, u64>,
) -> BTreeSet<&str> {
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for round in seen.rounds.iter().filter_map(|round| round.get(side)) {
        for (stack, samples) in of(round) {
            *all.entry(stack).or_default() += samples;
        }
    }
    let mut all: Vec<(&str, u64)> = all.into_iter().collect();
    all.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
    all.into_iter().take(most).map(|(stack, _)| stack).collect()
}

/// A frame of a stack that is of the same part by itself.
fn telling(stack: &str) -> &str {
    let part = CostPart::of(stack);
    let found = stack
        .split(';')
        .rev()
        .find(|frame| CostPart::of(frame) == part);
    found.unwrap_or(stack)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::part::parts;

    #[test]
    fn rare_stacks_lose_frames_and_no_part_a_sample() {
        let stacks = [
            ("main;serve;json_encode", 30),
            ("main;serve;parse", 3),
            (
                "main;send;do_syscall_64_[k];__x64_sys_sendto_[k];tcp_sendmsg_[k]",
                20,
            ),
            (
                "main;recv;do_syscall_64_[k];__x64_sys_recvfrom_[k];tcp_recvmsg_[k]",
                2,
            ),
            ("main;other;asm_exc_page_fault_[k];handle_mm_fault_[k]", 1),
        ];
        let round = Dissection {
            samples: 56,
            stacks: stacks.map(|(stack, n)| (stack.to_owned(), n)).into(),
            waits: stacks.map(|(stack, n)| (stack.to_owned(), n)).into(),
            ..Dissection::default()
        };
        let seen = Dissections {
            names: vec!["it".into()],
            rounds: vec![vec![round.clone()]],
            ..Dissections::default()
        };
        let kept = bounded(&seen, 2);
        let after = &kept.rounds[0][0];
        let left: Vec<&str> = after.stacks.keys().map(String::as_str).collect();
        let expected = [
            "__x64_sys_recvfrom_[k]",
            "asm_exc_page_fault_[k]",
            "main;send;do_syscall_64_[k];__x64_sys_sendto_[k];tcp_sendmsg_[k]",
            "main;serve;json_encode",
            "parse",
        ];
        assert_eq!(left, expected);
        assert_eq!(after.waits, after.stacks);
        assert_eq!(parts(after), parts(&round));
        assert_eq!(bounded(&seen, 5), seen);
    }
}
