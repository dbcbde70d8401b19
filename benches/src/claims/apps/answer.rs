//! Answers of `prony`, kept in a file as soon as they are there: who interrupts this goes on later.

use crate::error::{Error, Result};
use prony_record::CheckId;
use prony_record::verdict::Quantity;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A question to `prony` about an application, asked with default options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// `load` of each side
    Loads,
    /// `duel` of its two sides
    Duels,
    /// `duel` of the first side with itself and a tenth more CPU work: is it found?
    Planted,
    /// `duel` of the first side with itself, in a minute and a half: is a difference found?
    Same,
    /// `capacity` of the first side
    Capacities,
    /// `capacity` with longer trials on more starts, once, as the reference for `capacities`
    LongCapacities,
}

impl Question {
    pub const ALL: [Self; 6] = [
        Self::Loads,
        Self::Duels,
        Self::Planted,
        Self::Same,
        Self::Capacities,
        Self::LongCapacities,
    ];

    /// How often it is asked when each is to be asked so many times.
    pub const fn times(self, times: u32) -> u32 {
        match self {
            Self::LongCapacities => 1,
            _ => times,
        }
    }
}

/// One answer about one application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub app: String,
    /// Counts from 1.
    pub time: u32,
    /// How long `prony` took.
    pub seconds: f64,
    #[serde(flatten)]
    pub found: Found,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "kebab-case")]
pub enum Found {
    Loads { a: Loaded, b: Loaded },
    Duels(Duel),
    Planted { plant_us: f64, duel: Duel },
    Same(Same),
    Capacities(Capacity),
    LongCapacities(Capacity),
}

impl Found {
    pub const fn question(&self) -> Question {
        match self {
            Self::Loads { .. } => Question::Loads,
            Self::Duels(_) => Question::Duels,
            Self::Planted { .. } => Question::Planted,
            Self::Same(_) => Question::Same,
            Self::Capacities(_) => Question::Capacities,
            Self::LongCapacities(_) => Question::LongCapacities,
        }
    }
}

/// A side under `prony load`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// Responses per second.
    pub rate: f64,
    pub failed: u64,
    pub checks: Vec<CheckId>,
}

/// The second side of a duel, against the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Duel {
    pub rounds: u32,
    /// CPU time per request of the first side, in microseconds.
    pub cpu_us: f64,
    pub cpu: Compared,
    pub throughput: Compared,
    pub checks: Vec<CheckId>,
}

/// A side against itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Same {
    pub rounds: u32,
    /// CPU time per request of the first side, in microseconds.
    pub cpu_us: f64,
    /// In which quantities it was called better or worse than itself.
    pub differs: Vec<Quantity>,
    pub checks: Vec<CheckId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    pub ratio: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub verdict: String,
    /// The minimum detectable effect, as a share.
    pub detectable: Option<f64>,
}

/// The result of a capacity search, in requests per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    pub capacity: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Why it is not known better.
    pub because: Vec<String>,
}

/// The answers that are there, and the file that has them, one a line.
#[derive(Debug)]
pub struct Answers {
    pub all: Vec<Answer>,
    path: PathBuf,
}

impl Answers {
    /// Returns the answers of a file, which need not exist, without those that `forget` selects. Rewrites the file if
    /// there are any such, or if its last line is not complete.
    ///
    /// # Errors
    /// When the file cannot be read or written, or has something else in it.
    pub fn open(path: &Path, forget: impl Fn(&Answer) -> bool) -> Result<Self> {
        let doing = || Error::io(format!("cannot use {}", path.display()));
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            text => text.map_err(doing())?,
        };
        let mut all = parse(&text)
            .map_err(|error| Error::Unusable(format!("{}: {error}", path.display())))?;
        let before = all.len();
        all.retain(|answer| !forget(answer));
        let path = path.to_owned();
        let answers = Self { all, path };
        // Another process may be adding to it: it is replaced only if it must be.
        if answers.all.len() < before || !text.is_empty() && !text.ends_with('\n') {
            let draft = answers.path.with_extension("new");
            let lines: Result<Vec<String>> = answers.all.iter().map(line).collect();
            fs::write(&draft, lines?.concat()).map_err(doing())?;
            fs::rename(&draft, &answers.path).map_err(doing())?;
        }
        Ok(answers)
    }

    /// One more.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, answer: Answer) -> Result<()> {
        let line = line(&answer)?;
        let mut file = OpenOptions::new();
        let file = file.create(true).append(true).open(&self.path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        written.map_err(Error::io("cannot write an answer"))?;
        self.all.push(answer);
        Ok(())
    }

    /// The answer to a question about an application, if it is there.
    pub fn get(&self, app: &str, question: Question, time: u32) -> Option<&Answer> {
        let mut all = self.all.iter();
        all.find(|it| it.app == app && it.time == time && it.found.question() == question)
    }
}

fn line(answer: &Answer) -> Result<String> {
    let json = serde_json::to_string(answer);
    json.map(|it| it + "\n")
        .map_err(|error| Error::Unusable(error.to_string()))
}

/// Lines of answers. A last one that ends without a newline was cut off.
fn parse(text: &str) -> serde_json::Result<Vec<Answer>> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(serde_json::from_str).collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn compared(ratio: f64, verdict: &str, detectable: f64) -> Compared {
        Compared {
            ratio,
            low: Some(ratio * 0.95),
            high: Some(ratio * 1.05),
            verdict: verdict.into(),
            detectable: Some(detectable),
        }
    }

    pub fn duel(cpu: Compared, throughput: Compared) -> Duel {
        Duel {
            rounds: 12,
            cpu_us: 250.0,
            cpu,
            throughput,
            checks: Vec::new(),
        }
    }

    pub fn same(rounds: u32) -> Found {
        Found::Same(Same {
            rounds,
            cpu_us: 250.0,
            differs: Vec::new(),
            checks: Vec::new(),
        })
    }

    pub fn answer(app: &str, time: u32, found: Found) -> Answer {
        Answer {
            app: app.into(),
            time,
            seconds: 170.0,
            found,
        }
    }

    pub fn capacity(low: f64, capacity: f64, high: f64) -> Capacity {
        Capacity {
            capacity: Some(capacity),
            low: Some(low),
            high: Some(high),
            because: Vec::new(),
        }
    }

    #[test]
    fn what_is_answered_is_kept_and_what_is_forgotten_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.jsonl");
        let equal = duel(
            compared(1.0, "no difference", 0.02),
            compared(1.0, "inconclusive", 0.04),
        );
        let mut answers = Answers::open(&path, |_| false).unwrap();
        answers
            .add(answer("php", 1, Found::Duels(equal.clone())))
            .unwrap();
        let planted = Found::Planted {
            plant_us: 25.0,
            duel: equal,
        };
        answers.add(answer("php", 1, planted)).unwrap();
        let found = Found::Capacities(capacity(90.0, 100.0, 110.0));
        answers.add(answer("gin", 2, found)).unwrap();

        let again = Answers::open(&path, |_| false).unwrap();
        assert_eq!(again.all, answers.all);
        assert!(again.get("php", Question::Planted, 1).is_some());
        assert_eq!(again.get("php", Question::Planted, 2), None);
        assert_eq!(again.get("php", Question::Capacities, 1), None);

        // Both add to it.
        let mut again = again;
        again
            .add(answer("gin", 3, answers.all[2].found.clone()))
            .unwrap();
        answers
            .add(answer("gin", 4, answers.all[2].found.clone()))
            .unwrap();
        assert_eq!(Answers::open(&path, |_| false).unwrap().all.len(), 5);

        let fewer = Answers::open(&path, |it| it.app == "php" || it.time > 2).unwrap();
        assert_eq!(fewer.all.len(), 1);
        let fewer = Answers::open(&path, |_| false).unwrap();
        assert_eq!(fewer.all.len(), 1);
    }

    #[test]
    fn a_line_that_was_cut_off_is_left_out() {
        let found = Found::Capacities(capacity(90.0, 100.0, 110.0));
        let line = serde_json::to_string(&answer("gin", 1, found)).unwrap();
        assert_eq!(parse(&format!("{line}\n{}", &line[..20])).unwrap().len(), 1);
        assert_eq!(parse(&line[..20]).unwrap(), []);
        assert!(parse("nonsense\n").is_err());
    }
}
