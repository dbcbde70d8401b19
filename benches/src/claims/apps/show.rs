//! Answers and requirements for a person.

use super::Apps;
use super::answer::{Answer, Capacity, Compared, Duel, Found, Loaded, Question, Same};
use super::app::App;
use super::judge::{agrees, finds, found, long};
use crate::spread::number;
use crate::table::Table;
use std::fmt;

/// The name of a question, as the command line has it.
pub fn name(question: Question) -> String {
    use clap::ValueEnum;
    question
        .to_possible_value()
        .map_or_else(String::new, |it| it.get_name().to_owned())
}

fn percent(share: Option<f64>) -> String {
    share.map_or("–".into(), |it| format!("{:.1}%", 100.0 * it))
}

fn change(compared: &Compared) -> String {
    format!("{:+.1}%", 100.0 * (compared.ratio - 1.0))
}

fn rate(rate: Option<f64>) -> String {
    rate.map_or("?".into(), |it| number(it, 0))
}

/// A table, unless there is nothing in it.
fn show(table: &Table, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match table.is_empty() {
        true => Ok(()),
        false => writeln!(f, "{table}"),
    }
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.0} s")
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.found {
            Found::Loads { a, b } => write!(f, "{a}; {b}")?,
            Found::Duels(duel) => write!(f, "{duel}")?,
            Found::Planted { plant_us, duel } => write!(f, "+{plant_us:.0} µs: {duel}")?,
            Found::Same(same) => write!(f, "{same}")?,
            Found::Capacities(found) | Found::LongCapacities(found) => write!(f, "{found}")?,
        }
        write!(f, ", {:.0} s", self.seconds)
    }
}

impl fmt::Display for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s, {} failed", number(self.rate, 0), self.failed)
    }
}

impl fmt::Display for Duel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rounds", self.rounds)?;
        for (name, of) in [("CPU", &self.cpu), ("throughput", &self.throughput)] {
            let detectable = percent(of.detectable);
            write!(
                f,
                ", {name} {} ({}; needs {detectable})",
                change(of),
                of.verdict
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Same {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let differs = match self.differs.as_slice() {
            [] => "no difference found".to_owned(),
            some => {
                let names: Vec<&str> = some.iter().map(|it| it.label()).collect();
                format!("DIFFERS in {}", names.join(", "))
            }
        };
        write!(f, "{} rounds, {differs}", self.rounds)
    }
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self
            .capacity
            .map_or("not known".into(), |it| format!("{}/s", number(it, 0)));
        write!(f, "{found} ({} to {})", rate(self.low), rate(self.high))?;
        match self.because.as_slice() {
            [] => Ok(()),
            because => write!(f, ": {}", because.join("; ")),
        }
    }
}

impl fmt::Display for Apps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (apps, answers) = (self.order.len(), self.answers.len());
        writeln!(
            f,
            "{apps} applications are set up, {answers} questions answered, with default options. Of several answers to one\n\
             question the last is shown.\n"
        )?;
        self.loads(f)?;
        self.duels(f)?;
        self.planted(f)?;
        self.same(f)?;
        self.capacities(f)?;
        let asked = !self.answers.is_empty();
        for requirement in self.requirements.iter().filter(|_| asked) {
            let met = match requirement.met {
                None => "not asked yet",
                Some(true) => "met",
                Some(false) => "NOT MET",
            };
            let (by, of) = (requirement.met_by, requirement.of);
            writeln!(f, "{}: {by} of {of}: {met}", requirement.text)?;
        }
        for failure in &self.failures {
            writeln!(f, "no answer: {failure}")?;
        }
        Ok(())
    }
}

impl Apps {
    fn about<'a>(&'a self, app: &App) -> impl Iterator<Item = &'a Answer> + Clone {
        let name = app.name.clone();
        self.answers.iter().filter(move |it| it.app == name)
    }

    fn loads(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["load", "a", "b", "a/s", "b/s", "failed", "took"]);
        for app in &self.order {
            let loads = self.about(app).filter_map(|it| match &it.found {
                Found::Loads { a, b } => Some((it, a, b)),
                _ => None,
            });
            let Some((answer, a, b)) = loads.clone().last() else {
                continue;
            };
            let failed: u64 = loads.map(|(_, a, b)| a.failed + b.failed).sum();
            table.row([
                app.name.clone(),
                app.a.name.clone(),
                app.b.name.clone(),
                number(a.rate, 0),
                number(b.rate, 0),
                failed.to_string(),
                seconds(answer.seconds),
            ]);
        }
        show(&table, f)
    }

    fn duels(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new([
            "duel of a and b",
            "CPU/request of a",
            "b: CPU",
            "needs",
            "b: throughput",
            "needs",
            "rounds",
            "took",
            "finds enough",
        ]);
        for app in &self.order {
            let duels = self.about(app).filter_map(|it| match &it.found {
                Found::Duels(duel) => Some((it, duel)),
                _ => None,
            });
            let Some((answer, duel)) = duels.clone().last() else {
                continue;
            };
            let enough = duels.clone().filter(|(it, duel)| finds(duel, it.seconds));
            table.row([
                app.name.clone(),
                format!("{} µs", number(duel.cpu_us, 0)),
                format!("{} {}", change(&duel.cpu), duel.cpu.verdict),
                percent(duel.cpu.detectable),
                format!("{} {}", change(&duel.throughput), duel.throughput.verdict),
                percent(duel.throughput.detectable),
                duel.rounds.to_string(),
                seconds(answer.seconds),
                format!("{} of {}", enough.count(), duels.count()),
            ]);
        }
        show(&table, f)
    }

    fn planted(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new([
            "10% more CPU time",
            "planted",
            "seen: CPU",
            "throughput",
            "more expensive",
            "slower",
            "found",
            "longest",
        ]);
        for app in &self.order {
            let duels = self.about(app).filter_map(|it| match &it.found {
                Found::Planted { plant_us, duel } => Some((it.seconds, *plant_us, duel)),
                _ => None,
            });
            let all = duels.clone().count();
            let Some((_, plant_us, _)) = duels.clone().next() else {
                continue;
            };
            let mean = |of: fn(&Duel) -> &Compared| {
                let logs: f64 = duels.clone().map(|(_, _, duel)| of(duel).ratio.ln()).sum();
                format!("{:+.1}%", 100.0 * ((logs / all as f64).exp() - 1.0))
            };
            let count = |is: &dyn Fn(&Duel) -> bool| {
                let those = duels.clone().filter(|(_, _, duel)| is(duel));
                format!("{} of {all}", those.count())
            };
            let longest = duels.clone().map(|(took, _, _)| took).fold(0.0, f64::max);
            table.row([
                app.name.clone(),
                format!("{plant_us:.0} µs"),
                mean(|duel| &duel.cpu),
                mean(|duel| &duel.throughput),
                count(&|duel| duel.cpu.verdict == "more expensive"),
                count(&|duel| duel.throughput.verdict == "slower"),
                count(&found),
                seconds(longest),
            ]);
        }
        show(&table, f)
    }

    fn same(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["a with itself", "duels", "differ", "in", "rounds"]);
        for app in &self.order {
            let duels: Vec<&Same> = self
                .about(app)
                .filter_map(|it| match &it.found {
                    Found::Same(same) => Some(same),
                    _ => None,
                })
                .collect();
            if duels.is_empty() {
                continue;
            }
            let differ: Vec<&&Same> = duels.iter().filter(|it| !it.differs.is_empty()).collect();
            let mut names: Vec<&str> = differ
                .iter()
                .flat_map(|it| &it.differs)
                .map(|it| it.label())
                .collect();
            names.sort_unstable();
            names.dedup();
            let rounds: u32 = duels.iter().map(|it| it.rounds).sum();
            table.row([
                app.name.clone(),
                duels.len().to_string(),
                differ.len().to_string(),
                names.join(", "),
                format!("{:.0}", f64::from(rounds) / duels.len() as f64),
            ]);
        }
        show(&table, f)
    }

    fn capacities(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new([
            "capacity of a, p99 within 10 ms",
            "found/s (95% interval)",
            "took",
            "long search/s (95% interval)",
            "took",
            "agrees",
        ]);
        let told = |found: &Capacity| {
            let interval = format!("({} to {})", rate(found.low), rate(found.high));
            format!("{} {interval}", rate(found.capacity))
        };
        for app in &self.order {
            let searches = self.about(app).filter_map(|it| match &it.found {
                Found::Capacities(found) => Some((it, found)),
                _ => None,
            });
            let truth = self.about(app).find_map(|it| match &it.found {
                Found::LongCapacities(found) => Some((it, found)),
                _ => None,
            });
            let all = searches.clone().count();
            let right = long(&self.answers, &app.name).map(|long| {
                let those = searches.clone().filter(|(_, found)| agrees(found, long));
                format!("{} of {all}", those.count())
            });
            let last = searches.last();
            if last.is_none() && truth.is_none() {
                continue;
            }
            let shown = |of: Option<(&Answer, &Capacity)>| match of {
                Some((answer, found)) => [told(found), seconds(answer.seconds)],
                None => ["–".into(), "–".into()],
            };
            let ([found, took], [searched, longer]) = (shown(last), shown(truth));
            let right = right.unwrap_or("–".into());
            table.row([app.name.clone(), found, took, searched, longer, right]);
        }
        show(&table, f)
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::tests::{answer, capacity, compared, duel};
    use super::super::app;
    use super::super::judge::requirements;
    use super::*;

    #[test]
    fn tables_and_requirements() {
        let more = duel(
            compared(1.1, "more expensive", 0.04),
            compared(0.92, "inconclusive", 0.12),
        );
        let answers = vec![
            answer("php", 1, Found::Duels(more.clone())),
            answer(
                "php",
                1,
                Found::Planted {
                    plant_us: 25.0,
                    duel: more,
                },
            ),
            answer(
                "php",
                1,
                Found::Capacities(capacity(900.0, 1_000.0, 1_100.0)),
            ),
            answer(
                "php",
                1,
                Found::LongCapacities(capacity(980.0, 1_010.0, 1_040.0)),
            ),
        ];
        let shown = Apps {
            requirements: requirements(&answers),
            answers,
            failures: vec!["loads of php, 1: it ended".into()],
            order: app::all(&["php".into()]).unwrap(),
        };
        let shown = shown.to_string();
        for part in [
            "+10.0% more expensive",
            "1,000 (900 to 1,100)",
            "found in 90% of duels: 1 of 1: met",
            "no request fails: 0 of 0: not asked yet",
            "no answer: loads of php, 1: it ended",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}
