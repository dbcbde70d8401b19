//! Does `prony duel --why` name what makes a server cost more? Duels of a small server in C and of one in Go, built here, with
//! one that has a known cause planted; and with itself. What sampling costs them, and how much of their CPU time the parts that
//! it finds stand for, is told too.

mod cause;

use crate::error::{Error, Result};
use crate::prony;
use crate::table::Table;
pub use cause::{Cause, Language};
use serde::Serialize;
use serde_json::Value;
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The servers; their second argument is the cause.
const C: &str = include_str!("../plant/why.c");
const GO: &str = include_str!("../plant/why.go");
/// Rows of parts, and of counts, among which the cause must be.
const FIRST: usize = 2;
/// More requests than this that could not be sent, as a share of those that ended: the server did not keep up.
const BEHIND: f64 = 0.01;
/// Functions that only one server runs of which so many, the largest, count as named.
const EXAMPLES: usize = 3;
/// Load time of each server in a round, in lengths of a part: two loads for each way of looking, of different lengths.
const LOADED: f64 = 3.7;
/// Time for a start of a server with its warm-up, in seconds.
const START: f64 = 0.7;

/// Number, causes and load of the duels.
#[derive(Debug, Clone)]
pub struct Options {
    pub repeat: u32,
    pub only: Vec<Cause>,
    pub languages: Vec<Language>,
    pub rate: f64,
    /// Rounds of each duel's `--why`, unless as many as each cause needs.
    pub rounds: Option<u32>,
    /// The length of each part of a round, in seconds, unless that which each cause needs.
    pub seconds: Option<f64>,
}

impl Options {
    fn effort(&self, cause: Cause) -> (u32, f64) {
        let (rounds, seconds) = cause.effort();
        (
            self.rounds.unwrap_or(rounds),
            self.seconds.unwrap_or(seconds),
        )
    }

    fn planted(&self) -> Vec<(Language, Cause)> {
        let wanted = |cause: &Cause| self.only.is_empty() || self.only.contains(cause);
        let asked =
            |language: &Language| self.languages.is_empty() || self.languages.contains(language);
        let languages = Language::ALL.into_iter().filter(asked);
        languages
            .flat_map(|language| Cause::ALL.into_iter().map(move |cause| (language, cause)))
            .filter(|(_, cause)| wanted(cause))
            .collect()
    }

    /// About what all of it takes: in each round both servers are started and loaded, and in two rounds of the duel itself.
    fn takes(&self) -> Duration {
        let seconds = |(_, cause): (Language, Cause)| {
            let (rounds, part) = self.effort(cause);
            f64::from(2 * rounds) * (START + LOADED * part) + 4.0 * (START + 2.0 * part)
        };
        let one: f64 = self.planted().into_iter().map(seconds).sum();
        Duration::from_secs_f64(f64::from(self.repeat) * one)
    }
}

/// Results for all causes.
#[derive(Debug, Serialize)]
pub struct Found {
    causes: Vec<Named>,
    seconds: f64,
    /// Why there are fewer duels than were asked for.
    ended_early: Option<String>,
}

/// How often a cause was found.
#[derive(Debug, Serialize)]
struct Named {
    language: Language,
    cause: Cause,
    duels: u32,
    /// Duels in which the cause is among the first rows that differ.
    in_rows: u32,
    /// The sentence names it.
    in_sentence: u32,
    /// Any row is called different.
    any: u32,
    /// A server did not keep up with the rate.
    behind: u32,
    sentences: Vec<String>,
    /// CPU time with sampling as a multiple of that without, of both servers of each duel.
    sampling: Vec<f64>,
    /// The sum over functions and calls of the kernel as a multiple of the CPU time without sampling, of both servers of each duel.
    explained: Vec<f64>,
}

pub fn run(options: &Options) -> Result<Found> {
    let folder = tempfile::tempdir().map_err(Error::io("no temporary folder"))?;
    let planted = options.planted();
    for language in Language::ALL {
        if planted.iter().any(|(planted, _)| *planted == language) {
            build(language, folder.path())?;
        }
    }
    let minutes = options.takes().as_secs_f64() / 60.0;
    let duels = planted.len() as u32 * options.repeat;
    eprintln!("{duels} duels take some {minutes:.0} minutes");
    let interrupted = on_signal()?;
    let begun = Instant::now();
    let mut causes: Vec<Named> = planted
        .into_iter()
        .map(|(language, cause)| Named::new(language, cause))
        .collect();
    let ended = causes.iter_mut().try_for_each(|named| {
        (1..=options.repeat).try_for_each(|number| {
            let why = duel(named.language, named.cause, options, folder.path());
            // Ctrl-C has cut it short, and its error, if any, says nothing else.
            if interrupted.load(Relaxed) {
                return Err(Error::Unusable("interrupted".to_owned()));
            }
            named.add(&why?)?;
            eprintln!("{}", named.last(number, options.repeat));
            Ok(())
        })
    });
    causes.retain(|named| named.duels > 0);
    let ended_early = match ended {
        Err(error) if causes.is_empty() => return Err(error),
        ended => ended.err().map(|error| error.to_string()),
    };
    Ok(Found {
        causes,
        seconds: begun.elapsed().as_secs_f64(),
        ended_early,
    })
}

/// Becomes true on Ctrl-C, which ends the program only when it comes again: duels that are finished are told of.
fn on_signal() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    let handler = move || {
        if flag.swap(true, Relaxed) {
            std::process::exit(130);
        }
        eprintln!(
            "interrupted: ends with the duels that are finished (once more to leave at once)"
        );
    };
    prony_lab::interrupt::on_signal(handler).map_err(Error::io("cannot wait for signals"))?;
    Ok(interrupted)
}

/// Builds the server, with frame pointers and names.
fn build(language: Language, folder: &Path) -> Result<()> {
    let (source, text, compiler) = match language {
        Language::C => ("why.c", C, "cc"),
        Language::Go => ("why.go", GO, "go"),
    };
    let source = folder.join(source);
    std::fs::write(&source, text).map_err(Error::io("cannot write the server's source"))?;
    let mut command = Command::new(compiler);
    match language {
        Language::C => command.args(["-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-o"]),
        Language::Go => command.args(["build", "-o"]),
    };
    let output = command
        .arg(folder.join(program(language)))
        .arg(&source)
        .output()
        .map_err(Error::io("cannot start the compiler (cc or go)"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::process(
            compiler,
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        )),
    }
}

const fn program(language: Language) -> &'static str {
    match language {
        Language::C => "why-c",
        Language::Go => "why-go",
    }
}

/// Carries out a duel of the server without the cause and the one with it, and returns its `why` as JSON.
fn duel(language: Language, cause: Cause, options: &Options, folder: &Path) -> Result<Value> {
    let (without, with) = cause.words();
    let (connections, rate) = cause.load(options.rate);
    let (rounds, seconds) = options.effort(cause);
    let side = |word| format!("./{} {{port}} {word}", program(language));
    let mut command = Command::new(prony::program()?);
    command
        .arg("duel")
        // Sentences have these names, which say nothing of the cause.
        .args(["-n", "without", "-n", "with"])
        .args([side(without), side(with)])
        .args(["--path", "/", "--only", "cpu", "--rounds", "2"])
        .args(["-c", &connections.to_string()])
        .args(["--why", "--why-rounds", &rounds.to_string()])
        .args(["--rate", &rate.to_string(), "--warmup", "300ms"])
        .args(["-d", &format!("{}ms", (seconds * 1e3) as u64)])
        .args(["--json", "--quiet"])
        .current_dir(folder)
        .env("PRONY_NOTEBOOK", folder.join("notebook.db"));
    let mut report: Value = prony::json(&mut command)?;
    let refused = report["why"]["refused"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if let Some(refused) = refused.first() {
        return Err(Error::Unusable(format!(
            "{refused}: nothing can be named here"
        )));
    }
    Ok(report["why"].take())
}

impl Named {
    fn new(language: Language, cause: Cause) -> Self {
        Self {
            language,
            cause,
            duels: 0,
            in_rows: 0,
            in_sentence: 0,
            any: 0,
            behind: 0,
            sentences: Vec::new(),
            sampling: Vec::new(),
            explained: Vec::new(),
        }
    }

    /// A line about the duel that was added last.
    fn last(&self, number: u32, of: u32) -> String {
        let sentence = self.sentences.last().map_or("", String::as_str);
        format!(
            "{:?} {:?} {number} of {of}: {sentence}",
            self.language, self.cause
        )
    }

    /// Adds the anatomy that a duel has printed.
    fn add(&mut self, why: &Value) -> Result<()> {
        let against = &why["differences"][0];
        let missing = || Error::process("prony", "its JSON has no differences".to_owned());
        let (Some(parts), Some(counts), Some(sentence)) = (
            against["parts"].as_array(),
            against["counts"].as_array(),
            against["sentence"].as_str(),
        ) else {
            return Err(missing());
        };
        let sides = why["sides"].as_array().map_or(&[][..], Vec::as_slice);
        let names = sides.iter().filter_map(|side| side["name"].as_str());
        let said = names.fold(sentence.to_owned(), |said, name| said.replace(name, ""));
        let differ = |row: &&Value| row[1]["differs"] == true;
        let told = |name: &str| self.cause.tells(self.language, name);
        // Of functions that only one server runs, those that the sentence may name.
        let only = |server: &str| {
            let all = against["one_sided"]
                .as_array()
                .map_or(&[][..], Vec::as_slice);
            let functions = all.iter().filter(|one| one["server"] == server);
            let mut named = functions
                .filter_map(|one| one["functions"].as_array())
                .flat_map(|functions| functions.iter().take(EXAMPLES));
            named.any(|function| function[0].as_str().is_some_and(told))
        };
        let tells = |row: &Value| {
            // A part is `{"kind": …, "name": …}`, a count a text.
            let name = row[0]["name"].as_str().or(row[0].as_str());
            match row[0]["kind"] == "only-in" {
                true => name.is_some_and(only),
                false => name.is_some_and(told),
            }
        };
        let first = |rows: &[Value]| rows.iter().filter(differ).take(FIRST).any(&tells);
        self.duels += 1;
        self.in_rows += u32::from(first(parts) || first(counts));
        self.in_sentence += u32::from(self.cause.tells(self.language, &said));
        let whole = against["cpu"]["differs"] == true;
        self.any += u32::from(whole || parts.iter().chain(counts).any(|row| differ(&row)));
        self.sentences.push(sentence.to_owned());
        self.behind += u32::from(sides.iter().any(behind));
        self.sampling.extend(sides.iter().filter_map(sampling));
        self.explained.extend(sides.iter().filter_map(explained));
        Ok(())
    }
}

fn behind(side: &Value) -> bool {
    let number = |name: &str| side[name].as_f64().unwrap_or(0.0);
    number("unsent") > BEHIND * number("requests")
}

fn sampling(side: &Value) -> Option<f64> {
    side["sampling"]["value"].as_f64()
}

/// Everything that samples have shown, as a multiple of the CPU time without sampling.
fn explained(side: &Value) -> Option<f64> {
    let sampled = |row: &&Value| row[0]["kind"] != "unsampled";
    let parts = side["parts"].as_array()?.iter().filter(sampled);
    let sum: f64 = parts.filter_map(|row| row[1]["value"].as_f64()).sum();
    Some(sum / side["cpu"]["value"].as_f64()?)
}

/// Multiples as a change in percent: `+1.3% (+0.2 to +2.4)`, with the 95% interval of their mean.
fn change(multiples: &[f64]) -> String {
    let percent: Vec<f64> = multiples.iter().map(|it| 100.0 * (it - 1.0)).collect();
    let Ok(mean) = prony_stats::mean::mean(&percent, prony_stats::Unit::Ratio) else {
        return "–".to_owned();
    };
    let range = mean.interval().map_or_else(String::new, |interval| {
        format!(" ({:+.1} to {:+.1})", interval.low(), interval.high())
    });
    format!("{:+.1}%{range}", mean.value())
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new([
            "server",
            "planted",
            "duels",
            "first two rows",
            "sentence",
            "any row differs",
            "behind its rate",
            "sampling costs",
            "sum over functions",
        ]);
        for named in &self.causes {
            let of = |n: u32| format!("{n}/{}", named.duels);
            let planted = |n| match named.cause {
                Cause::Same => "–".to_owned(),
                _ => of(n),
            };
            table.row([
                format!("{:?}", named.language),
                format!("{:?}", named.cause).to_lowercase(),
                named.duels.to_string(),
                planted(named.in_rows),
                planted(named.in_sentence),
                of(named.any),
                of(named.behind),
                change(&named.sampling),
                change(&named.explained),
            ]);
        }
        writeln!(f, "{table}")?;
        let all = |of: fn(&Named) -> &Vec<f64>| -> Vec<f64> {
            self.causes.iter().flat_map(of).copied().collect()
        };
        let (sampling, explained) = (all(|it| &it.sampling), all(|it| &it.explained));
        writeln!(
            f,
            "sampling changes the CPU time of a server by {}",
            change(&sampling)
        )?;
        writeln!(
            f,
            "the sum over functions differs from the CPU time without sampling by {}",
            change(&explained)
        )?;
        write!(f, "it took {:.0} minutes", self.seconds / 60.0)?;
        match &self.ended_early {
            Some(why) => write!(f, "; it ended before all duels were done: {why}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn named(cause: Cause, against: &Value) -> (u32, u32, u32) {
        let mut named = Named::new(Language::C, cause);
        named.add(&json!({"differences": [against]})).unwrap();
        (named.in_rows, named.in_sentence, named.any)
    }

    #[test]
    fn the_name_of_a_side_says_nothing() {
        let mut of_go = Named::new(Language::Go, Cause::Lock);
        let why = |found: &str| {
            json!({
                "differences": [{
                    "sentence": format!("./why-go {{port}} lock costs 1 µs more{found}."),
                    "cpu": {"differs": true}, "parts": [], "counts": [],
                }],
                "sides": [{"name": "A"}, {"name": "./why-go {port} lock"}],
            })
        };
        of_go.add(&why("")).unwrap();
        assert_eq!(of_go.in_sentence, 0);
        of_go.add(&why(": 1 µs in `sync.(*Mutex).Lock`")).unwrap();
        assert_eq!(of_go.in_sentence, 1);
    }

    #[test]
    fn functions_that_only_one_server_runs_count_by_their_names() {
        let found = |function: &str| {
            json!({
                "sentence": "", "cpu": {"differs": false}, "counts": [],
                "parts": [[{"kind": "only-in", "name": "new lock"}, {"differs": true}]],
                "one_sided": [
                    {"server": "old", "functions": [["futex", 9.0]]},
                    {"server": "new lock", "functions": [["a", 3.0], [function, 2.0], ["b", 1.0], ["futex", 0.5]]},
                ],
            })
        };
        assert_eq!(named(Cause::Lock, &found("futex_wait")), (1, 0, 1));
        assert_eq!(named(Cause::Lock, &found("other")), (0, 0, 1));
    }

    #[test]
    fn only_rows_that_differ_and_come_first_count() {
        let part = |name: &str, differs: bool| json!([{"kind": "function", "name": name}, {"differs": differs}]);
        let count = |name: &str, differs: bool| json!([name, {"differs": differs}]);
        let found = json!({
            "sentence": "b costs 1.00 µs more: 900 ns in `json_encode`.",
            "cpu": {"differs": true},
            "parts": [part("main", true), part("json_encode", true), part("parse", false)],
            "counts": [count("`futex` calls", false)],
        });
        assert_eq!(named(Cause::Work, &found), (1, 1, 1));
        assert_eq!(named(Cause::Lock, &found), (0, 0, 1));
        let nothing = json!({
            "sentence": "no difference was found",
            "cpu": {"differs": false},
            "parts": [part("json_encode", false)],
            "counts": [count("`futex` calls", true)],
        });
        assert_eq!(named(Cause::Work, &nothing), (0, 0, 1));
        assert_eq!(named(Cause::Lock, &nothing), (1, 0, 1));
    }

    #[test]
    fn what_has_no_samples_is_not_in_the_sum() {
        let part = |kind: &str, ns: f64| json!([{"kind": kind, "name": "it"}, {"value": ns}]);
        let side = json!({
            "parts": [part("function", 600.0), part("call", 300.0), part("unsampled", 100.0)],
            "cpu": {"value": 1_000.0},
            "sampling": {"value": 1.02},
            "requests": 1_000,
            "unsent": 11,
        });
        assert_eq!(explained(&side), Some(0.9));
        let mut named = Named::new(Language::Go, Cause::Same);
        let against = json!({"parts": [], "counts": [], "sentence": ""});
        named
            .add(&json!({"differences": [against], "sides": [side]}))
            .unwrap();
        assert_eq!((named.behind, named.any), (1, 0));
        assert_eq!((named.sampling, named.explained), (vec![1.02], vec![0.9]));
    }

    #[test]
    fn time_is_asked_for_in_proportion() {
        let options = |repeat, languages: &[Language]| Options {
            repeat,
            only: vec![Cause::Calls],
            languages: languages.to_vec(),
            rate: 1.0,
            rounds: None,
            seconds: None,
        };
        let one = options(1, &[Language::C]).takes();
        assert_eq!(options(10, &[Language::C]).takes(), 10 * one);
        assert_eq!(options(1, &[]).takes(), 2 * one);
    }
}
