//! Sessions: each connection is a user, who goes through the steps of one session after the other.
//!
//! Users belong to their places among the connections, so that a session goes on when the server closes
//! its connection between two steps. Without keep-alive a connection is made for one session, and ends
//! with it.

use super::flights::Flights;
use super::order::Order;
use super::template::Filler;
use super::user::{Take, Taking, Think, User};
use super::{Judged, Kind, Look, MILLION, Mix, judge_answer};
use crate::clock;
use crate::protocol::http::{HttpState, Keep};
use crate::protocol::{Answer, Booked, Ending, Events, Fault, Fifo, Pace, Session};
use prony_record::times::times;
use prony_record::{ByRequest, BySession, Distributions};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixSession {
    /// What it is called.
    pub name: String,
    /// Its weight among all sessions.
    pub weight: u32,
    /// Cookies are kept and sent.
    pub cookies: bool,
    /// The steps, at least one.
    pub steps: Vec<MixStep>,
}

/// A step of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixStep {
    /// The request, by its place in the mix.
    pub request: usize,
    /// What is taken from its answer.
    pub takes: Vec<Take>,
    /// The pause after it.
    pub think: Think,
}

/// A step, ready for use.
#[derive(Debug)]
struct Step {
    kind: usize,
    takings: Vec<Taking>,
    think: Think,
    /// The body of every answer is needed.
    body: bool,
}

/// A session, ready for use, with what was seen of it.
#[derive(Debug)]
struct Course {
    steps: Vec<Step>,
    cookies: bool,
    /// The tables that its steps use, each once.
    tables: Vec<usize>,
    seen: BySession,
}

/// Carries out the sessions of a [`Mix`] and judges every answer.
#[derive(Debug)]
pub struct Users {
    kinds: Vec<Kind>,
    courses: Vec<Course>,
    order: Order,
    filler: Filler,
    users: Vec<User>,
    /// Users with a session under way.
    active: u64,
    values: usize,
    sample: u32,
    keepalive: bool,
    dice: Xoshiro256PlusPlus,
}

/// What is remembered per connection.
#[derive(Debug, Default)]
pub struct UserConn {
    slot: u32,
    flights: Flights,
    state: HttpState,
    head: Vec<u8>,
    body: Vec<u8>,
    wrong: Option<String>,
}

/// Why a session ended.
enum Over {
    Completed,
    Failed(String),
}

impl Users {
    /// The part of `worker` (0-based) of so many. The same seed gives the same values in the same order.
    /// Without `keepalive` each session has a connection of its own.
    ///
    /// # Panics
    /// When a regular expression does not compile: the caller that builds a [`Mix`] has compiled it before.
    #[must_use]
    pub fn new(mix: &Mix, seed: u64, (worker, workers): (u32, u32), keepalive: bool) -> Self {
        let own = seed ^ u64::from(worker).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // The generator closes the connection itself, when the session is over.
        let request = |request: &super::MixRequest| {
            let open = super::MixRequest {
                keepalive: true,
                ..request.clone()
            };
            Kind::new(&open, mix)
        };
        let mut kinds: Vec<Kind> = mix.requests.iter().map(request).collect();
        let sum: f64 = mix.sessions.iter().map(|it| f64::from(it.weight)).sum();
        let course = |session: &MixSession| {
            let mut tables = Vec::new();
            let step = |step: &MixStep| {
                for table in kinds[step.request].template.take_tables() {
                    if !tables.contains(&table) {
                        tables.push(table);
                    }
                }
                let takings: Vec<Taking> = step.takes.iter().map(Taking::new).collect();
                Step {
                    kind: step.request,
                    body: takings.iter().any(Taking::in_body),
                    takings,
                    think: step.think,
                }
            };
            let steps = session.steps.iter().map(step).collect();
            Course {
                steps,
                cookies: session.cookies,
                tables,
                seen: BySession {
                    name: session.name.clone(),
                    share: f64::from(session.weight) / sum,
                    completed: 0,
                    failed: 0,
                    failures: BTreeMap::new(),
                    times: Distributions {
                        response: times(),
                        ..Distributions::default()
                    },
                },
            }
        };
        let courses: Vec<Course> = mix.sessions.iter().map(course).collect();
        let weights: Vec<u32> = mix.sessions.iter().map(|session| session.weight).collect();
        let takes = mix.sessions.iter().flat_map(|session| &session.steps);
        let last = takes.flat_map(|step| &step.takes).map(|take| take.value);
        Self {
            kinds,
            courses,
            order: Order::new(&weights, mix.shares, own),
            filler: Filler::new(mix.tables.clone(), own, worker, workers),
            users: Vec::new(),
            active: 0,
            values: last.max().map_or(0, |last| last + 1),
            sample: mix.sample,
            keepalive,
            dice: Xoshiro256PlusPlus::seed_from_u64(own.rotate_left(32)),
        }
    }

    /// Begins this session (by its place) from now on, and no other.
    pub fn only(&mut self, session: usize) {
        self.order = Order::only(session);
    }

    /// Is a session under way in this place?
    #[must_use]
    pub fn is_active(&self, slot: u32) -> bool {
        self.users
            .get(slot as usize)
            .is_some_and(|user| user.step > 0)
    }

    /// Why a session (by its place) has failed, if it has.
    #[must_use]
    pub fn failure(&self, session: usize) -> Option<&str> {
        let failures = &self.courses[session].seen.failures;
        failures.keys().next().map(String::as_str)
    }

    fn user(users: &mut Vec<User>, slot: u32) -> &mut User {
        let at = slot as usize;
        if users.len() <= at {
            users.resize_with(at + 1, User::default);
        }
        &mut users[at]
    }

    /// The answer to a step has come whole.
    fn answered(
        &mut self,
        conn: &mut UserConn,
        mut answer: Answer,
        surplus: Option<&Fault>,
        events: &mut impl Events<Fifo>,
    ) {
        let slot = conn.slot;
        let flight = conn.flights.oldest();
        let kind = &mut self.kinds[flight.kind as usize];
        let searched = flight.search;
        let how = Judged {
            wrong: conn.wrong.take(),
            body: (searched && !kind.head).then_some(conn.body.as_slice()),
            surplus,
        };
        let text = judge_answer(kind, how, &mut answer, flight.shown());
        let user = Self::user(&mut self.users, slot);
        let course = &self.courses[user.session];
        let step = &course.steps[user.step - 1];
        if course.cookies {
            user.keep_cookies(&conn.head);
        }
        let over = match &text {
            Some(_) => Some(Over::Failed(format!("{}: wrong answer", kind.name))),
            None => match user.take(&step.takings, &conn.head, &conn.body) {
                Some(missing) => Some(Over::Failed(format!("{}: {missing}", kind.name))),
                None => (user.step == course.steps.len()).then_some(Over::Completed),
            },
        };
        conn.flights.pop();
        conn.body.clear();
        conn.head.clear();
        let status = answer.status;
        let cut = answer.last && !self.keepalive && over.is_none();
        // A connection of its own ends with its session.
        answer.last |= over.is_some() && !self.keepalive;
        let booked = events.answered(Fifo, answer);
        kind.tally.answer(booked, status, text, searched);
        if user.begun == 0 {
            user.begun = clock::now().saturating_sub(booked.response);
        }
        let why = || format!("{}: the server closed the connection after it", kind.name);
        let over = over.or_else(|| cut.then(|| Over::Failed(why())));
        if let Some(over) = over {
            self.over(slot, over, booked);
        }
    }

    /// A session has ended, with this request.
    fn over(&mut self, slot: u32, over: Over, booked: Booked) {
        let user = &mut self.users[slot as usize];
        let seen = &mut self.courses[user.session].seen;
        user.step = 0;
        user.thought = false;
        self.active -= 1;
        if !booked.ended_inside {
            return;
        }
        match over {
            Over::Completed => {
                seen.completed += 1;
                let took = clock::now().saturating_sub(user.begun);
                seen.times.response.saturating_record(took);
            }
            Over::Failed(why) => seen.fail(why),
        }
    }
}

/// Looks at the parts of an answer, and keeps its head.
struct Both<'a> {
    look: Look<'a>,
    head: &'a mut Vec<u8>,
}

impl Keep for Both<'_> {
    fn head(&mut self, bytes: &[u8]) {
        self.look.head(bytes);
        self.head.clear();
        self.head.extend_from_slice(bytes);
    }

    fn body(&mut self, bytes: &[u8]) {
        self.look.body(bytes);
    }
}

impl Session for Users {
    type Conn = UserConn;
    type Token = Fifo;

    fn opened(
        &mut self,
        conn: &mut UserConn,
        slot: u32,
        _out: &mut Vec<u8>,
        events: &mut impl Events<Fifo>,
    ) {
        conn.slot = slot;
        events.ready();
    }

    /// One request at a time; no new session after the last row of a table that is used once.
    fn accepts(&self, conn: &UserConn) -> bool {
        conn.flights.is_empty() && (!self.filler.used_up() || self.is_active(conn.slot))
    }

    fn ended(&self) -> bool {
        self.filler.used_up() && self.active == 0
    }

    fn rests(&self) -> bool {
        true
    }

    fn pace(&mut self, _conn: &mut UserConn, slot: u32) -> Pace {
        let user = Self::user(&mut self.users, slot);
        if user.step == 0 || user.thought {
            return Pace::Now;
        }
        user.thought = true;
        let think = self.courses[user.session].steps[user.step - 1].think;
        match think.draw(1.0 - self.dice.random::<f64>()) {
            0 => Pace::Now,
            rest => Pace::After(rest),
        }
    }

    fn request(&mut self, conn: &mut UserConn, slot: u32, _: Fifo, out: &mut Vec<u8>) {
        conn.slot = slot;
        let user = Self::user(&mut self.users, slot);
        if user.step == 0 {
            let session = self.order.next();
            user.begin(session, self.values);
            self.filler
                .take_rows(&self.courses[session].tables, &mut user.rows);
            self.active += 1;
        }
        let course = &self.courses[user.session];
        let step = &course.steps[user.step];
        let kind = &self.kinds[step.kind];
        let from = out.len();
        self.filler.set_rows(&course.tables, &user.rows);
        if course.cookies {
            user.write_cookies(&mut self.filler.cookies);
        }
        user.swap(&mut self.filler);
        kind.template.fill(&mut self.filler, out);
        user.swap(&mut self.filler);
        user.step += 1;
        user.thought = false;
        let search = kind.checks.searches()
            && (kind.tally.is_first() || self.dice.random_range(0..MILLION) < self.sample);
        conn.flights.push(step.kind as u32, search, &out[from..]);
    }

    fn received(
        &mut self,
        conn: &mut UserConn,
        slot: u32,
        bytes: &[u8],
        _out: &mut Vec<u8>,
        events: &mut impl Events<Fifo>,
    ) -> Result<(), Fault> {
        if conn.flights.is_empty() {
            return Err(Fault::Unsolicited { at: 0 });
        }
        let user = &self.users[slot as usize];
        let step = &self.courses[user.session].steps[user.step - 1];
        let flight = conn.flights.oldest();
        let kind = &mut self.kinds[flight.kind as usize];
        let mut both = Both {
            look: Look {
                checks: &mut kind.checks,
                wrong: &mut conn.wrong,
                body: (flight.search || step.body).then_some(&mut conn.body),
            },
            head: &mut conn.head,
        };
        let (used, answer) =
            kind.reader
                .read(&mut conn.state, bytes, kind.head, &kind.expect, &mut both)?;
        if let Some(answer) = answer {
            let surplus = (used < bytes.len()).then_some(Fault::Unsolicited { at: used });
            self.answered(conn, answer, surplus.as_ref(), events);
            if let Some(fault) = surplus {
                return Err(fault);
            }
        }
        Ok(())
    }

    fn end(&mut self, conn: &mut UserConn, _slot: u32, events: &mut impl Events<Fifo>) {
        if conn.flights.is_empty() {
            return;
        }
        let kind = &mut self.kinds[conn.flights.oldest().kind as usize];
        if let Some(answer) = kind.reader.end(&mut conn.state, &kind.expect) {
            self.answered(conn, answer, None, events);
        }
    }

    fn first_head(&self) -> &[u8] {
        let mut heads = self.kinds.iter().map(|kind| kind.reader.first_head());
        heads.find(|head| !head.is_empty()).unwrap_or_default()
    }

    #[cold]
    fn failed(&mut self, conn: &mut UserConn, _: Fifo, booked: Booked, ending: Ending) {
        if conn.flights.is_empty() {
            return;
        }
        let kind = conn.flights.oldest().kind as usize;
        conn.flights.pop();
        self.kinds[kind].tally.failed(booked, ending);
        let name = &self.kinds[kind].name;
        let why = match ending {
            Ending::Broken => "the answer breaks the protocol",
            Ending::Timeout => "took too long",
            Ending::Write | Ending::Read => "the connection broke",
            Ending::Unfinished => {
                // Neither completed nor failed: the load ended.
                let user = &mut self.users[conn.slot as usize];
                user.step = 0;
                self.active -= 1;
                return;
            }
        };
        let over = Over::Failed(format!("{name}: {why}"));
        self.over(conn.slot, over, booked);
    }

    fn by_request(&mut self) -> Vec<ByRequest> {
        self.kinds.iter_mut().map(Kind::seen).collect()
    }

    fn by_session(&mut self) -> Vec<BySession> {
        self.courses
            .iter()
            .map(|course| course.seen.clone())
            .collect()
    }
}
