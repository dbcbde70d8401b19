//! News of the notebook, for all listeners.
//!
//! Another process writes the notebook, so it has to be asked: SQLite's `data_version`, once a second,
//! by one task, and only while a page listens. What has changed is read only when something has; but
//! that a process has died is nothing that it writes, so those that are marked as running are looked
//! for each time.

use crate::page::state::RunState;
use crate::shelf::Shelf;
use prony_notebook::{Notebook, NotebookError, Overview, Wanted};
use serde::Serialize;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// How often it looks. A trial takes seconds.
const EVERY: Duration = Duration::from_secs(1);
/// After so long without news a listener is sent a comment, so that nothing in between takes the connection for dead.
const SILENCE: Duration = Duration::from_secs(15);
/// The most runs marked as running that are told of.
const TOLD: u32 = 20;

/// The state of what is under way.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Pulse {
    /// Grows with every change of the notebook that was seen.
    pub number: u64,
    /// The latest run, and those marked as running, the latest first.
    pub runs: Vec<Beat>,
}

/// A run in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Beat {
    /// Number of the run.
    pub id: i64,
    /// State of the run, in words.
    pub state: &'static str,
    /// Trials of the run so far.
    pub trials: u64,
}

impl Beat {
    fn of(run: &Overview) -> Self {
        Self {
            id: run.id.0,
            state: RunState::of(run).words(),
            trials: run.trials,
        }
    }
}

/// Where one can listen.
#[derive(Debug, Clone)]
pub struct Live(watch::Sender<Arc<Pulse>>);

impl Live {
    /// Begins to look. Needs a runtime to run in.
    pub fn begin(shelf: Arc<Shelf>) -> Self {
        let live = Self(watch::Sender::new(Arc::default()));
        tokio::spawn(live.clone().look(shelf));
        live
    }

    /// The state at once, and again whenever it has changed.
    pub fn events(&self) -> EventStream {
        let mut pulses = self.0.subscribe();
        pulses.mark_changed();
        EventStream(Box::pin(following(pulses)))
    }

    async fn look(self, shelf: Arc<Shelf>) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut poller = None;
        loop {
            ticks.tick().await;
            if self.0.receiver_count() == 0 {
                continue;
            }
            let shelf = Arc::clone(&shelf);
            let looked = tokio::task::spawn_blocking(move || {
                let mut poller = match poller {
                    Some(poller) => poller,
                    None => Poller::open(&shelf)?,
                };
                let pulse = poller.look()?;
                Ok::<_, NotebookError>((poller, pulse))
            });
            // A notebook that cannot be read now is opened anew the next time; a page that asks for a
            // page is told what is wrong with it.
            poller = match looked.await {
                Ok(Ok((poller, pulse))) => {
                    self.0.send_if_modified(|last| {
                        let new = **last != pulse;
                        if new {
                            *last = Arc::new(pulse);
                        }
                        new
                    });
                    Some(poller)
                }
                _ => None,
            };
        }
    }
}

type Pulses = watch::Receiver<Arc<Pulse>>;
/// An event as it is sent, and where the next comes from.
type Following = dyn Future<Output = Option<(String, Pulses)>> + Send;

/// Events for one listener, as an event stream of the HTML standard (server-sent events).
pub struct EventStream(Pin<Box<Following>>);

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}

impl EventStream {
    /// The next event; none when nobody looks any more.
    pub fn next(&mut self, context: &mut Context<'_>) -> Poll<Option<String>> {
        let next = ready!(self.0.as_mut().poll(context));
        Poll::Ready(next.map(|(text, pulses)| {
            self.0 = Box::pin(following(pulses));
            text
        }))
    }
}

async fn following(mut pulses: Pulses) -> Option<(String, Pulses)> {
    let text = match timeout(SILENCE, pulses.changed()).await {
        Err(_) => ":\n\n".to_owned(),
        Ok(changed) => {
            changed.ok()?;
            let pulse = Arc::clone(&pulses.borrow_and_update());
            let data = serde_json::to_string(&*pulse).expect("plain data");
            format!("event: notebook\nid: {}\ndata: {data}\n\n", pulse.number)
        }
    };
    Some((text, pulses))
}

/// A connection of its own, since SQLite counts changes for each connection, and what it saw last.
struct Poller {
    notebook: Notebook,
    version: Option<i64>,
    number: u64,
    runs: Vec<Overview>,
}

impl Poller {
    fn open(shelf: &Shelf) -> Result<Self, NotebookError> {
        Ok(Self {
            notebook: Notebook::open_to_read(shelf.path())?,
            version: None,
            number: 0,
            runs: Vec::new(),
        })
    }

    fn look(&mut self) -> Result<Pulse, NotebookError> {
        // Asked before reading: what is written in between is seen again the next time.
        let version = Some(self.notebook.data_version()?);
        if version != self.version {
            let latest = Wanted {
                limit: 1,
                ..Wanted::default()
            };
            let running = Wanted {
                unfinished: true,
                limit: TOLD,
                ..Wanted::default()
            };
            self.runs = self.notebook.overviews(&latest)?;
            let running = self.notebook.overviews(&running)?;
            let more = running.into_iter().filter(|run| !self.runs.contains(run));
            let more: Vec<Overview> = more.collect();
            self.runs.extend(more);
            self.version = version;
            self.number += 1;
        }
        Ok(Pulse {
            number: self.number,
            runs: self.runs.iter().map(Beat::of).collect(),
        })
    }
}
