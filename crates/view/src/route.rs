//! From an address to an answer.

use crate::answer::{self, Response, Trouble};
use crate::door::{Door, Welcome};
use crate::live::Live;
use crate::page::list::List;
use crate::page::run::{CELLS, RunPage, TRIALS};
use crate::page::{self, compare, history, list};
use crate::query::Query;
use crate::shelf::Shelf;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, LOCATION, SET_COOKIE};
use hyper::{HeaderMap, Method, Request, StatusCode};
use prony_notebook::{Notebook, Overview, RunId, TrialId, Wanted};
use prony_report::diff::DiffReport;
use prony_report::history::change::History;
use prony_report::history::{Measure, cell_of, cells};
use prony_stats::compare::BAND;
use sha2::{Digest, Sha256};
use std::sync::{Arc, LazyLock};

/// The longest text that is looked for, in bytes.
const LONGEST_TEXT: usize = 1_000;
/// Runs on a page.
const PAGE: u32 = 50;

type Answer = Result<Response, Trouble>;

/// State that every answer may need.
#[derive(Debug, Clone)]
struct Room {
    shelf: Arc<Shelf>,
    live: Live,
}

/// All addresses, behind their door.
#[derive(Debug, Clone)]
pub struct Routes {
    room: Room,
    door: Arc<Door>,
}

impl Routes {
    /// Returns the routes for this notebook. Needs a runtime to run in.
    pub fn new(shelf: Arc<Shelf>, door: Arc<Door>) -> Self {
        let room = Room {
            live: Live::begin(Arc::clone(&shelf)),
            shelf,
        };
        Self { room, door }
    }

    /// Nothing is answered without a look at the door, and nothing leaves without its headers.
    pub async fn answer(&self, request: &Request<()>) -> Response {
        answer::guarded(match self.door.welcome(request) {
            Welcome::In => {
                let answer = self.find(request).await;
                answer.unwrap_or_else(|trouble| trouble.page())
            }
            Welcome::Key { cookie, to } => answer::made(
                StatusCode::SEE_OTHER,
                [(SET_COOKIE, &cookie), (LOCATION, &to)],
                "",
            ),
            Welcome::Method => {
                let mut answer = answer::problem(
                    StatusCode::METHOD_NOT_ALLOWED,
                    "There is nothing here to be changed.",
                );
                let allowed = HeaderValue::from_static("GET, HEAD");
                answer.headers_mut().insert(ALLOW, allowed);
                answer
            }
            Welcome::Host => answer::problem(
                StatusCode::MISDIRECTED_REQUEST,
                "This view answers under localhost, 127.0.0.1 and [::1] alone; for another name: prony view --listen.",
            ),
            Welcome::Token => answer::problem(
                StatusCode::UNAUTHORIZED,
                "Open the address that prony view has printed, whole: it holds a token.",
            ),
        })
    }

    async fn find(&self, request: &Request<()>) -> Answer {
        let room = self.room.clone();
        let query = Query::of(request.uri().query());
        let path: Vec<&str> = request.uri().path().split('/').collect();
        match path[..] {
            ["", ""] => runs(room, query).await,
            ["", "run", id] => run(room, id).await,
            ["", "run", id, "report"] => report(room, id, request.headers().clone()).await,
            ["", "run", id, "export", format] => export(room, id, format.to_owned(), query).await,
            ["", "compare"] => compare(room, &query).await,
            ["", "histories"] => histories(room).await,
            ["", "history", trial] => one_history(room, trial, query).await,
            // A head alone listens to nothing.
            ["", "events"] if request.method() == Method::HEAD => Ok(answer::made(
                StatusCode::OK,
                [(CONTENT_TYPE, "text/event-stream")],
                "",
            )),
            ["", "events"] => Ok(answer::events(room.live.events())),
            ["", "style.css"] => Ok(fixed(request, "text/css; charset=utf-8", &STYLE)),
            ["", "script.js"] => Ok(fixed(request, "text/javascript; charset=utf-8", &SCRIPT)),
            _ => Err(Trouble::unknown()),
        }
    }
}

/// Reads the notebook, away from the task that answers.
async fn read(
    room: Room,
    look: impl FnOnce(&Shelf, &Notebook) -> Answer + Send + 'static,
) -> Answer {
    let done = tokio::task::spawn_blocking(move || {
        let notebook = room.shelf.take()?;
        let answer = look(&room.shelf, &notebook);
        room.shelf.put(notebook);
        answer
    });
    let failed =
        |_| Trouble::Broken("Making this page failed; please report how it came about.".into());
    done.await.map_err(failed)?
}

/// A number in an address: digits and nothing else.
fn number(text: &str) -> Result<i64, Trouble> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    number.ok_or_else(Trouble::unknown)
}

fn overview(notebook: &Notebook, id: i64) -> Result<Overview, Trouble> {
    let wanted = Wanted {
        only: Some(RunId(id)),
        limit: 1,
        ..Wanted::default()
    };
    let found = notebook.overviews(&wanted)?.pop();
    found.ok_or_else(|| Trouble::Nothing(format!("The notebook has no run {id}.")))
}

async fn runs(room: Room, query: Query) -> Answer {
    if ["q", "name"]
        .iter()
        .any(|key| query.one(key).is_some_and(|text| text.len() > LONGEST_TEXT))
    {
        return Err(Trouble::Question(format!(
            "A text of at most {LONGEST_TEXT} bytes can be looked for."
        )));
    }
    read(room, move |shelf, notebook| {
        let text = |key: &str| query.one(key).map(str::to_owned);
        let before = match query.one("before") {
            Some(id) => Some(RunId(number(id)?)),
            None => None,
        };
        let wanted = Wanted {
            text: text("q"),
            name: text("name"),
            before,
            // One more tells whether there are more.
            limit: PAGE + 1,
            ..Wanted::default()
        };
        let mut runs = notebook.overviews(&wanted)?;
        let more = runs.len() > PAGE as usize;
        runs.truncate(PAGE as usize);
        let page = list::page(&List {
            notebook: shelf.path(),
            query: &query,
            runs: &runs,
            found: &shelf.findings(notebook, &runs)?,
            names: &notebook.names()?,
            more,
        });
        Ok(answer::page(&page))
    })
    .await
}

async fn run(room: Room, id: &str) -> Answer {
    let id = number(id)?;
    read(room, move |shelf, notebook| {
        let run = overview(notebook, id)?;
        let found = shelf.findings(notebook, std::slice::from_ref(&run))?;
        let earlier = Wanted {
            name: Some(run.name.clone()),
            before: Some(run.id),
            limit: 1,
            ..Wanted::default()
        };
        let page = page::run::page(&RunPage {
            run: &run,
            found: found.get(&run.id).map_or(&[], Vec::as_slice),
            trials: &notebook.latest_trials(run.id, TRIALS)?,
            cells: &notebook.first_trials(run.id, CELLS)?,
            before: notebook.overviews(&earlier)?.first(),
        });
        Ok(answer::page(&page))
    })
    .await
}

async fn report(room: Room, id: &str, asked: HeaderMap) -> Answer {
    let id = number(id)?;
    read(room, move |shelf, notebook| {
        let report = shelf.report(notebook, &overview(notebook, id)?)?;
        Ok(answer::report(&asked, &report))
    })
    .await
}

async fn export(room: Room, id: &str, format: String, query: Query) -> Answer {
    let id = number(id)?;
    read(room, move |_, notebook| {
        crate::file::answer(notebook, &overview(notebook, id)?, &format, &query)
    })
    .await
}

async fn compare(room: Room, query: &Query) -> Answer {
    let mut chosen = query
        .all("run")
        .map(number)
        .collect::<Result<Vec<_>, _>>()?;
    // The earlier run is what the later one is held against, whichever was chosen first.
    chosen.sort_unstable();
    chosen.dedup();
    let [before, after] = chosen[..] else {
        let text = format!(
            "Two runs are compared, and {} were chosen: go back and choose two.",
            chosen.len()
        );
        return Err(Trouble::Question(text));
    };
    read(room, move |_, notebook| {
        let [old, new] = [overview(notebook, before)?, overview(notebook, after)?];
        let [first, second] = [notebook.run(old.id)?, notebook.run(new.id)?];
        let report = DiffReport::new(notebook, &first, &second, BAND)?;
        Ok(answer::page(&compare::page(&old, &new, &report)))
    })
    .await
}

async fn histories(room: Room) -> Answer {
    read(room, |_, notebook| {
        let cells = cells(&notebook.past_trials(None)?, &notebook.past_runs()?);
        Ok(answer::page(&history::all(&cells)))
    })
    .await
}

async fn one_history(room: Room, trial: &str, query: Query) -> Answer {
    let id = number(trial)?;
    read(room, move |_, notebook| {
        let measure = match query.one("value") {
            None => Some(Measure::Throughput),
            Some(name) => Measure::ALL
                .into_iter()
                .find(|measure| measure.name() == name),
        };
        let measure = measure.ok_or_else(Trouble::unknown)?;
        let trials = notebook.past_trials(Some(TrialId(id)))?;
        let runs = notebook.past_runs()?;
        let all = cells(&trials, &runs);
        let trial = trials.iter().find(|trial| trial.id.0 == id);
        let cell = trial.and_then(|trial| cell_of(&all, trial, &runs));
        let cell = cell.ok_or_else(|| {
            Trouble::Nothing(format!(
                "The notebook has no trial {id} that yielded figures."
            ))
        })?;
        let made =
            History::new(cell, measure).map_err(|error| Trouble::Broken(error.to_string()))?;
        Ok(answer::page(&history::one(cell, &made, id)))
    })
    .await
}

static STYLE: LazyLock<(String, String)> = LazyLock::new(|| with_tag(page::style()));
static SCRIPT: LazyLock<(String, String)> = LazyLock::new(|| with_tag(page::script()));

fn with_tag(text: String) -> (String, String) {
    let digest = Sha256::digest(&text);
    let tag = digest[..12]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    (text, tag)
}

fn fixed(request: &Request<()>, kind: &str, (text, tag): &'static (String, String)) -> Response {
    answer::tagged(request.headers(), kind, tag, text.as_str())
}
