//! Is what is required of `prony` met?

use super::answer::{Answer, Capacity, Duel, Found};

/// CPU work that is planted into the second side, as a share of the first one's.
pub const PLANTED: f64 = 0.10;
/// A duel finds differences from these on, as shares.
const DETECTABLE_CPU: f64 = 0.10;
const DETECTABLE_THROUGHPUT: f64 = 0.15;
/// A duel ends within so many seconds: its time limit, and its last round, pilot and evaluation.
const SOON: f64 = 180.0;
/// The share of planted differences that is found.
const FOUND: f64 = 0.9;
/// The share of duels of a side with itself that may find a difference.
const DIFFERENT: f64 = 0.05;
/// A capacity's interval ends no further than this from the long search's figure, as a share.
const CLOSE: f64 = 0.15;

/// Does a duel find what it has to in its time?
pub fn finds(duel: &Duel, seconds: f64) -> bool {
    let below = |detectable: Option<f64>, limit| detectable.is_some_and(|it| it <= limit);
    below(duel.cpu.detectable, DETECTABLE_CPU)
        && below(duel.throughput.detectable, DETECTABLE_THROUGHPUT)
        && seconds <= SOON
}

/// Is more work called more?
pub fn found(duel: &Duel) -> bool {
    !misled(duel) && (duel.cpu.verdict == "more expensive" || duel.throughput.verdict == "slower")
}

/// Is more work called less?
pub fn misled(duel: &Duel) -> bool {
    duel.cpu.verdict == "cheaper" || duel.throughput.verdict == "faster"
}

/// Does an interval agree with a long search? Both also agree if they find no capacity at all.
pub fn agrees(found: &Capacity, long: &Capacity) -> bool {
    let Some(truth) = long.capacity else {
        return found.capacity.is_none() && found.low.is_none() && long.low.is_none();
    };
    let close = |end: Option<f64>| end.is_some_and(|it| (it / truth - 1.0).abs() <= CLOSE);
    found.capacity.is_some() && close(found.low) && close(found.high)
}

/// A requirement, and how many answers meet it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Requirement {
    pub text: String,
    pub met_by: usize,
    pub of: usize,
    /// None while nothing that bears on it is answered.
    pub met: Option<bool>,
}

impl Requirement {
    fn new(text: String, each: &[bool], share: f64) -> Self {
        let met_by = each.iter().filter(|it| **it).count();
        Self {
            text,
            met_by,
            of: each.len(),
            met: (!each.is_empty()).then_some(met_by as f64 >= share * each.len() as f64),
        }
    }
}

/// Formats the 95% interval of the share of answers that differ: those that are false in `same`.
fn interval_of(same: &[bool]) -> String {
    let wrong = same.iter().filter(|it| !**it).count();
    let (low, high) = binomial_interval(wrong, same.len());
    format!("{:.1}% to {:.1}%", 100.0 * low, 100.0 * high)
}

/// The exact 95% interval of a share of which `k` of `n` were seen (Clopper & Pearson, *Biometrika* 26 (1934)).
fn binomial_interval(k: usize, n: usize) -> (f64, f64) {
    // P(X ≤ k) for a binomial X falls as p grows, from 1 to 0.
    let at_most = |k: usize, p: f64| {
        let mut term = (1.0 - p).powi(n as i32);
        let mut sum = term;
        for i in 0..k {
            term *= (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p);
            sum += term;
        }
        sum
    };
    let solve = |below: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            match below(middle) {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    };
    let low = match k {
        0 => 0.0,
        k => solve(&|p| 1.0 - at_most(k - 1, p) < 0.025),
    };
    let high = match k {
        k if k == n => 1.0,
        k => solve(&|p| at_most(k, p) > 0.025),
    };
    (low, high)
}

/// The long search of an application.
pub fn long<'a>(answers: &'a [Answer], app: &str) -> Option<&'a Capacity> {
    answers.iter().find_map(|it| match &it.found {
        Found::LongCapacities(long) if it.app == app => Some(long),
        _ => None,
    })
}

/// All requirements, with what these answers say of them.
pub fn requirements(answers: &[Answer]) -> Vec<Requirement> {
    let each = |judge: &dyn Fn(&Answer) -> Option<bool>| -> Vec<bool> {
        answers.iter().filter_map(judge).collect()
    };
    let loads = each(&|it| match &it.found {
        Found::Loads { a, b } => Some(a.failed + b.failed == 0 && a.rate > 0.0 && b.rate > 0.0),
        _ => None,
    });
    let duels = each(&|it| match &it.found {
        Found::Duels(duel) => Some(finds(duel, it.seconds)),
        _ => None,
    });
    let planted = each(&|it| match &it.found {
        Found::Planted { duel, .. } => Some(found(duel)),
        _ => None,
    });
    let right = each(&|it| match &it.found {
        Found::Planted { duel, .. } => Some(!misled(duel)),
        _ => None,
    });
    let same = each(&|it| match &it.found {
        // One round has no interval, so it cannot differ.
        Found::Same(same) if same.rounds >= 2 => Some(same.differs.is_empty()),
        _ => None,
    });
    let capacities = each(&|it| match &it.found {
        Found::Capacities(found) => Some(agrees(found, long(answers, &it.app)?)),
        _ => None,
    });
    let percent = |share: f64| format!("{:.0}%", 100.0 * share);
    vec![
        Requirement::new("loads: no request fails".into(), &loads, 1.0),
        Requirement::new(
            format!(
                "duels: find {} in CPU time and {} in throughput within {SOON:.0} s",
                percent(DETECTABLE_CPU),
                percent(DETECTABLE_THROUGHPUT)
            ),
            &duels,
            1.0,
        ),
        Requirement::new(
            format!(
                "{} more CPU time: found in {} of duels",
                percent(PLANTED),
                percent(FOUND)
            ),
            &planted,
            FOUND,
        ),
        Requirement::new(
            format!("{} more CPU time: never called less", percent(PLANTED)),
            &right,
            1.0,
        ),
        Requirement {
            text: format!(
                "the same twice: no more than {} differ, in truth (95% interval {})",
                percent(DIFFERENT),
                interval_of(&same)
            ),
            met_by: same.iter().filter(|it| **it).count(),
            of: same.len(),
            met: (!same.is_empty()).then(|| {
                let wrong = same.iter().filter(|it| !**it).count();
                binomial_interval(wrong, same.len()).0 <= DIFFERENT
            }),
        },
        Requirement::new(
            format!(
                "capacities: the interval lies within ±{} of a long search",
                percent(CLOSE)
            ),
            &capacities,
            1.0,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::answer::tests::{answer, capacity, compared, duel, same};
    use super::*;

    #[test]
    fn a_duel_finds_enough_in_time_or_not() {
        let of = |cpu, throughput| {
            duel(
                compared(1.0, "inconclusive", cpu),
                compared(1.0, "inconclusive", throughput),
            )
        };
        assert!(finds(&of(0.10, 0.15), 180.0));
        assert!(!finds(&of(0.11, 0.15), 170.0));
        assert!(!finds(&of(0.10, 0.16), 170.0));
        assert!(!finds(&of(0.10, 0.15), 181.0));
        let mut unknown = of(0.01, 0.01);
        unknown.cpu.detectable = None;
        assert!(!finds(&unknown, 60.0));
    }

    #[test]
    fn more_work_is_found_by_either_quantity_and_called_less_by_none() {
        let of = |cpu, throughput| {
            let duel = duel(compared(1.1, cpu, 0.1), compared(0.9, throughput, 0.1));
            (found(&duel), misled(&duel))
        };
        assert_eq!(of("more expensive", "inconclusive"), (true, false));
        assert_eq!(of("inconclusive", "slower"), (true, false));
        assert_eq!(of("no difference", "inconclusive"), (false, false));
        assert_eq!(of("more expensive", "faster"), (false, true));
        assert_eq!(of("cheaper", "slower"), (false, true));
    }

    #[test]
    fn an_interval_agrees_with_a_long_search() {
        let long = capacity(98.0, 100.0, 102.0);
        assert!(agrees(&capacity(86.0, 99.0, 114.0), &long));
        assert!(!agrees(&capacity(84.0, 99.0, 110.0), &long));
        assert!(!agrees(&capacity(90.0, 99.0, 116.0), &long));
        let range = Capacity {
            capacity: None,
            ..capacity(90.0, 0.0, 110.0)
        };
        assert!(!agrees(&range, &long));
        assert!(!agrees(&range, &range));
        let none = Capacity {
            capacity: None,
            low: None,
            high: None,
            because: Vec::new(),
        };
        assert!(agrees(&none, &none));
        assert!(!agrees(&none, &long));
    }

    #[test]
    fn nine_of_ten_are_enough_and_eight_are_not() {
        let planted = |verdict| {
            let duel = duel(
                compared(1.1, verdict, 0.1),
                compared(1.0, "inconclusive", 0.1),
            );
            answer(
                "php",
                1,
                Found::Planted {
                    plant_us: 9.0,
                    duel,
                },
            )
        };
        let mut answers = vec![planted("more expensive"); 9];
        answers.push(planted("inconclusive"));
        let of = |answers: &[Answer]| requirements(answers)[2].met;
        assert_eq!(of(&answers), Some(true));
        answers[0] = planted("no difference");
        assert_eq!(of(&answers), Some(false));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_duel_of_one_round_is_no_evidence() {
        let alone = |rounds| answer("php", 1, same(rounds));
        let of = |answers: &[Answer]| requirements(answers)[4].of;
        assert_eq!(of(&[alone(1), alone(2), alone(3)]), 2);
    }

    #[test]
    fn an_exact_interval() {
        // Of none it is 1 − 0.025^(1/n); the other was computed with whole binomial coefficients.
        let near = |found: (f64, f64), low: f64, high: f64| {
            assert!(
                (found.0 - low).abs() < 1e-5 && (found.1 - high).abs() < 1e-5,
                "{found:?}"
            );
        };
        near(binomial_interval(3, 120), 0.005_186, 0.071_323);
        near(binomial_interval(0, 10), 0.0, 0.308_497);
        near(binomial_interval(10, 10), 0.691_503, 1.0);
    }

    #[test]
    fn a_capacity_is_not_judged_before_the_long_search() {
        let short = Found::Capacities(capacity(90.0, 99.0, 109.0));
        let mut answers = vec![answer("php", 1, short)];
        assert_eq!(requirements(&answers)[5].met, None);
        let long = Found::LongCapacities(capacity(99.0, 100.0, 101.0));
        answers.push(answer("gin", 1, long.clone()));
        assert_eq!(requirements(&answers)[5].met, None);
        answers.push(answer("php", 1, long));
        assert_eq!(requirements(&answers)[5].met, Some(true));
    }
}
