//! In which content codings bodies came, and how long they were with and without them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Codings that are told apart; a server could make up any number of them.
const MOST: usize = 16;
/// Name under which the codings beyond [`MOST`] are counted together.
const OTHERS: &str = "others";

/// Bodies with the same content coding, of those that were looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Encoded {
    /// Answers that had it.
    pub answers: u64,
    /// Answers with the coding whose body could be decoded; 0 for `identity`, which has nothing to decode.
    pub decoded: u64,
    /// Bytes of these bodies as they came.
    pub wire_bytes: u64,
    /// Bytes of the same bodies, decoded.
    pub decoded_bytes: u64,
}

impl Encoded {
    /// Adds this to what is known of a coding.
    pub fn count(&self, name: &str, all: &mut BTreeMap<String, Self>) {
        let name = match all.len() < MOST || all.contains_key(name) {
            true => name,
            false => OTHERS,
        };
        if let Some(known) = all.get_mut(name) {
            known.add(self);
        } else {
            all.insert(name.to_owned(), *self);
        }
    }

    /// Adds those of another coding, or of another load.
    pub fn add(&mut self, other: &Self) {
        self.answers += other.answers;
        self.decoded += other.decoded;
        self.wire_bytes += other.wire_bytes;
        self.decoded_bytes += other.decoded_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codings_beyond_the_most_are_counted_together() {
        let one = Encoded {
            answers: 1,
            decoded: 1,
            wire_bytes: 10,
            decoded_bytes: 30,
        };
        let mut all = BTreeMap::new();
        for n in 0..100 {
            one.count(&format!("made-up-{n:02}"), &mut all);
        }
        one.count("made-up-03", &mut all);
        assert_eq!(all.len(), MOST + 1);
        assert_eq!(all["made-up-03"].answers, 2);
        assert_eq!(all[OTHERS].answers, 84);
        assert_eq!(all.values().map(|it| it.decoded_bytes).sum::<u64>(), 3030);
    }
}
