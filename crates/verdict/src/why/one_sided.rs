//! Functions that only one of two servers runs: each may be too small to be listed, and all of them together a framework.
//!
//! A function with few samples may be missing on one side by chance, and adding up all that are missing there would make equal
//! servers differ. So for each round the other rounds decide which functions belong to a side, and only their time in this
//! round is added: between equal servers the sums differ by noise alone.

use schemars::JsonSchema;
use serde::Serialize;

/// A function belongs to a side if it was seen there in so many of the other rounds.
const SEEN: usize = 2;

/// A function's CPU time per request by round, of both servers, in nanoseconds; 0 where no sample found it.
pub(super) struct Function {
    pub name: String,
    pub side: Vec<f64>,
    pub base: Vec<f64>,
}

/// CPU time per request in the functions of one server, by round, in nanoseconds; the other server spends hardly any
/// there.
pub(super) struct Sum {
    pub side: Vec<f64>,
    pub base: Vec<f64>,
}

/// The functions that one server runs and the other one does not.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OneSided {
    /// The server that runs them.
    pub server: String,
    /// Names of the functions, with nanoseconds per request, the largest first.
    pub functions: Vec<(String, f64)>,
}

/// Returns the cost of the functions that only `side` runs. For each round the other ones decide which these are.
pub(super) fn sum(functions: &[Function], rounds: usize) -> Sum {
    let mut sum = Sum {
        side: vec![0.0; rounds],
        base: vec![0.0; rounds],
    };
    for function in functions {
        for round in 0..rounds {
            if belongs(function, Some(round)) {
                sum.side[round] += function.side[round];
                sum.base[round] += function.base[round];
            }
        }
    }
    sum
}

/// Returns the functions that only `side` runs, by all rounds.
pub(super) fn named(functions: &[Function], server: &str) -> OneSided {
    let mut functions: Vec<(String, f64)> = (functions.iter())
        .filter(|function| belongs(function, None))
        .map(|function| {
            let rounds = function.side.len().max(1) as f64;
            let average = function.side.iter().sum::<f64>() / rounds;
            (function.name.clone(), average)
        })
        .collect();
    functions.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    OneSided {
        server: server.to_owned(),
        functions,
    }
}

/// Whether only `side` runs it, as far as all rounds but `except` tell.
fn belongs(function: &Function, except: Option<usize>) -> bool {
    let others = |values: &[f64]| {
        let rounds = values.iter().enumerate();
        rounds
            .filter(|(round, value)| Some(*round) != except && **value > 0.0)
            .count()
    };
    others(&function.side) >= SEEN && others(&function.base) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, side: &[f64], base: &[f64]) -> Function {
        Function {
            name: name.into(),
            side: side.into(),
            base: base.into(),
        }
    }

    #[test]
    fn a_round_does_not_decide_for_itself() {
        // Seen by one sample each in two rounds: of either of them, the others know it from one round only.
        let seldom = function("seldom", &[1.0, 1.0, 0.0], &[0.0; 3]);
        // In the last round it is the other's.
        let both = function("both", &[1.0, 1.0, 0.0], &[0.0, 0.0, 5.0]);
        let often = function("often", &[2.0; 3], &[0.0; 3]);
        let sum = sum(&[seldom, both, often], 3);
        assert_eq!(sum.side, [2.0, 2.0, 2.0]);
        assert_eq!(sum.base, [0.0, 0.0, 5.0]);
    }

    #[test]
    fn the_largest_are_named_first() {
        let all = [
            function("small", &[1.0; 3], &[0.0; 3]),
            function("large", &[4.0; 3], &[0.0; 3]),
            function("of both", &[4.0; 3], &[4.0; 3]),
        ];
        let named = named(&all, "new");
        assert_eq!(
            named.functions,
            [("large".to_owned(), 4.0), ("small".to_owned(), 1.0)]
        );
    }
}
