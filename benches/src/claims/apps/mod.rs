//! Does `prony` give useful answers about real applications, to someone who knows none of its options? Twelve of them, in
//! `benches/apps`, with two versions or settings each.

mod answer;
mod app;
mod ask;
mod judge;
mod running;
mod setup;
mod show;

pub use answer::Question;

use crate::error::{Error, Result};
use answer::{Answer, Answers};
use app::App;
use judge::{Requirement, requirements};
use serde::Serialize;
use std::path::PathBuf;

/// The options of `prony-benches apps`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Only this application; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Only these questions
    #[arg(long, value_name = "QUESTION", value_enum, value_delimiter = ',')]
    questions: Vec<Question>,
    /// How often each is asked
    #[arg(long, value_name = "N", default_value_t = 1)]
    times: u32,
    /// Answers so far, to which others are added [default: target/apps/answers.jsonl]
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Forget the answers to these questions about these applications, and ask again
    #[arg(long)]
    again: bool,
    /// Ask nothing: set everything up, start each side, and load it for a second
    #[arg(long, conflicts_with_all = ["questions", "times", "again"])]
    smoke: bool,
}

/// Answers about the chosen applications, and what they say of the requirements.
#[derive(Debug, Serialize)]
pub struct Apps {
    answers: Vec<Answer>,
    requirements: Vec<Requirement>,
    /// Questions that were asked in vain, with the reason.
    failures: Vec<String>,
    #[serde(skip)]
    order: Vec<App>,
}

/// Where applications are set up: `apps`, next to the folder that this program was built into.
fn folder() -> Result<PathBuf> {
    let here = std::env::current_exe().map_err(Error::io("cannot find this program"))?;
    let profile = here.ancestors().find(|it| it.join(".fingerprint").is_dir());
    let target = profile.and_then(|it| it.parent());
    target
        .map(|it| it.join("apps"))
        .ok_or_else(|| Error::Unusable(format!("{} is not in a target folder", here.display())))
}

/// Sets applications up, and asks `prony` about them what was not asked yet.
///
/// # Errors
/// When the answers cannot be kept, or one application cannot be set up, or started for a smoke test.
pub fn run(options: &Options) -> Result<Apps> {
    let apps = app::all(&options.only)?;
    for app in &apps {
        setup::set_up(app)?;
        if options.smoke {
            smoke(app)?;
        }
    }
    let (answers, failures) = match options.smoke {
        true => (Vec::new(), Vec::new()),
        false => ask_all(&apps, options)?,
    };
    Ok(Apps {
        requirements: requirements(&answers),
        answers,
        failures,
        order: apps,
    })
}

/// Answers about these applications, old and new, and the errors of those that there are none of.
fn ask_all(apps: &[App], options: &Options) -> Result<(Vec<Answer>, Vec<String>)> {
    let questions = match options.questions.as_slice() {
        [] => &Question::ALL,
        some => some,
    };
    let about = |it: &Answer| apps.iter().any(|app| app.name == it.app);
    let path = match &options.answers {
        Some(path) => path.clone(),
        None => folder()?.join("answers.jsonl"),
    };
    let mut answers = Answers::open(&path, |it| {
        options.again && about(it) && questions.contains(&it.found.question())
    })?;
    let mut failures = Vec::new();
    for (app, question, time) in unanswered(apps, questions, options.times, &answers) {
        let what = format!("{} of {}, {time}", show::name(question), app.name);
        match ask::ask(app, question, time, &answers) {
            Ok(answer) => {
                eprintln!("apps: {what}: {answer}");
                answers.add(answer)?;
            }
            Err(error) => {
                eprintln!("apps: {what}: error: {error}");
                failures.push(format!("{what}: {error}"));
            }
        }
    }
    answers.all.retain(about);
    Ok((answers.all, failures))
}

/// The questions without an answer, in order: each application once, then each a second time, and so on.
fn unanswered<'a>(
    apps: &'a [App],
    questions: &[Question],
    times: u32,
    answers: &Answers,
) -> Vec<(&'a App, Question, u32)> {
    let mut open: Vec<(&App, Question, u32)> = Vec::new();
    for time in 1..=times {
        for &question in questions {
            for app in apps {
                // The first short duel says how much is to be planted.
                let before = (question == Question::Planted).then_some((app, Question::Same, 1));
                let this = (time <= question.times(times)).then_some((app, question, time));
                for (app, question, time) in before.into_iter().chain(this) {
                    let asked = open.iter().any(|(other, of, at)| {
                        other.name == app.name && *of == question && *at == time
                    });
                    if !asked && answers.get(&app.name, question, time).is_none() {
                        open.push((app, question, time));
                    }
                }
            }
        }
    }
    open
}

/// Does each side start and respond rightly, and does `prony` measure it, also with a plant?
fn smoke(app: &App) -> Result<()> {
    for (side, plant_us) in [(&app.a, 0.0), (&app.b, 0.0), (&app.a, 100.0)] {
        let loaded = ask::load(app, side, plant_us, &["-d", "1s", "--no-keep"])?;
        eprintln!("apps: {} {}, +{plant_us} µs: {loaded}", app.name, side.name);
        if loaded.failed > 0 || loaded.rate <= 0.0 {
            let name = format!("{} {}", app.name, side.name);
            return Err(Error::process(name, format!("fails under load: {loaded}")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::answer::tests::{answer, capacity, same};
    use super::*;
    use answer::Found;

    #[test]
    fn what_is_answered_is_not_asked_again() {
        let apps = app::all(&["gin".into(), "php".into()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut answers = Answers::open(&folder.path().join("answers"), |_| false).unwrap();
        let names = |questions: &[Question], times, answers: &Answers| -> Vec<String> {
            let open = unanswered(&apps, questions, times, answers).into_iter();
            let named =
                open.map(|(app, question, time)| format!("{} {question:?} {time}", app.name));
            named.collect()
        };
        let both = [Question::Capacities, Question::LongCapacities];
        assert_eq!(
            names(&both, 2, &answers),
            [
                "gin Capacities 1",
                "php Capacities 1",
                "gin LongCapacities 1",
                "php LongCapacities 1",
                "gin Capacities 2",
                "php Capacities 2",
            ]
        );
        let found = Found::Capacities(capacity(9.0, 10.0, 11.0));
        answers.add(answer("gin", 1, found)).unwrap();
        assert_eq!(names(&both[..1], 1, &answers), ["php Capacities 1"]);

        answers.add(answer("gin", 1, same(2))).unwrap();
        assert_eq!(
            names(&[Question::Planted], 2, &answers),
            [
                "gin Planted 1",
                "php Same 1",
                "php Planted 1",
                "gin Planted 2",
                "php Planted 2",
            ]
        );
    }
}
