//! Sessions: each connection is a user, who goes through the steps of one session after the other.
//!
//! Users belong to their places among the connections, so that a session goes on when the server closes
//! its connection between two steps. Without keep-alive a connection is made for one session, and ends
//! with it.

use super::durations::Durations;
use super::kind::Kinds;
use super::order::KindOrder;
use super::redirect::is_redirect;
use super::template::Filler;
use super::user::{self, Take, Taking, Think, User};
use super::{Mix, MixConn};
use crate::clock::{self, Nanos};
use crate::protocol::http::unasked;
use crate::protocol::{
    Answer, AnswerProgress, Booked, Ending, Events, Fault, Fifo, Mismatch, NextSend, Session,
};
use prony_record::{ByRequest, BySession, Distributions};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixSession {
    /// Name of the session.
    pub name: String,
    /// Weight among all sessions.
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
    /// Values that are taken from the step's answer.
    pub takes: Vec<Take>,
    /// The pause after it.
    pub think: Think,
    /// Number of redirects in a row that are followed; 0: redirects are answers like others.
    pub redirects: u32,
}

/// A step, ready for use.
#[derive(Debug)]
struct SessionStep {
    kind: usize,
    takings: Vec<Taking>,
    think: Think,
    redirects: u32,
    /// The body of every answer is needed.
    body: bool,
}

/// A session, ready for use, with what was seen of it.
#[derive(Debug)]
struct Course {
    steps: Vec<SessionStep>,
    cookies: bool,
    /// The tables that its steps use, each once.
    tables: Vec<usize>,
    /// Durations of the completed sessions.
    completed: Durations,
    seen: BySession,
}

/// Carries out the sessions of a [`Mix`] and judges every answer.
#[derive(Debug)]
pub struct Users {
    pub(super) kinds: Kinds,
    courses: Vec<Course>,
    order: KindOrder,
    filler: Filler,
    users: Vec<User>,
    /// Users with a session under way.
    active: u64,
    values: usize,
    keepalive: bool,
}

/// State of a connection.
#[derive(Debug, Default)]
pub struct UserConn {
    slot: u32,
    pub(super) mix: MixConn,
}

/// Why a session ended.
enum SessionEnd {
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
        let mut open = mix.clone();
        for request in &mut open.requests {
            request.keepalive = true;
        }
        let kinds = Kinds::new(&open, own);
        let sum: f64 = mix.sessions.iter().map(|it| f64::from(it.weight)).sum();
        let course = |session: &MixSession| {
            let mut tables = Vec::new();
            let step = |step: &MixStep| {
                for &table in kinds.get(step.request).template.tables() {
                    if !tables.contains(&table) {
                        tables.push(table);
                    }
                }
                let takings: Vec<Taking> = step.takes.iter().map(Taking::new).collect();
                SessionStep {
                    kind: step.request,
                    body: takings.iter().any(Taking::in_body),
                    takings,
                    think: step.think,
                    redirects: step.redirects,
                }
            };
            let steps = session.steps.iter().map(step).collect();
            Course {
                steps,
                cookies: session.cookies,
                tables,
                completed: Durations::new(),
                seen: BySession {
                    name: session.name.clone(),
                    share: f64::from(session.weight) / sum,
                    completed: 0,
                    failed: 0,
                    failures: BTreeMap::new(),
                    times: Distributions::default(),
                },
            }
        };
        let courses: Vec<Course> = mix.sessions.iter().map(course).collect();
        let weights: Vec<u32> = mix.sessions.iter().map(|session| session.weight).collect();
        let takes = mix.sessions.iter().flat_map(|session| &session.steps);
        let places = kinds.places();
        let last = takes.flat_map(|step| &step.takes).map(|take| take.value);
        Self {
            kinds,
            courses,
            order: KindOrder::new(&weights, mix.shares, own),
            filler: Filler::new(open.tables, own, worker, workers),
            users: Vec::new(),
            active: 0,
            values: last.max().map_or(0, |last| last + 1).max(places),
            keepalive,
        }
    }

    /// Begins this session (by its place) from now on, and no other.
    pub fn only(&mut self, session: usize) {
        self.order = KindOrder::only(session);
    }

    /// The next `{{seq}}` is this, instead of 1.
    pub fn count_from(&mut self, n: u64) {
        self.filler.count_from(n);
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

    /// Is the body of the answer to the step in flight needed in any case?
    pub(super) fn needs_body(&self, conn: &UserConn) -> bool {
        let user = &self.users[conn.slot as usize];
        self.courses[user.session].steps[user.step - 1].body
    }

    /// The request in flight, which is this text, was not processed: it is what the user sends next.
    #[cold]
    pub(super) fn send_again(&mut self, conn: &mut UserConn, slot: u32, text: &[u8]) {
        let (_, own) = Kinds::take_back(&mut conn.mix);
        let user = Self::user(&mut self.users, slot);
        user.next = text.to_vec();
        user.own = own;
    }

    /// The answer to a step has come whole.
    pub(super) fn answered(
        &mut self,
        conn: &mut UserConn,
        mut answer: Answer,
        surplus: Option<&Fault>,
        events: &mut impl Events<Fifo>,
    ) {
        let slot = conn.slot;
        let user = Self::user(&mut self.users, slot);
        let course = &self.courses[user.session];
        let step = &course.steps[user.step - 1];
        // An answer that was broken off leads nowhere.
        let whole = !matches!(answer.wrong, Some(Mismatch::Stated(_)));
        let redirect = match step.redirects > 0 && whole && is_redirect(answer.status) {
            true => {
                let location = user::field(&conn.mix.head, "location").next();
                location.map(<[u8]>::to_vec)
            }
            false => None,
        };
        let kinds = &self.kinds;
        kinds.tell_end(&mut conn.mix, events);
        let judged = kinds.judge(&mut conn.mix, &mut answer, surplus, redirect.is_some());
        let name = &kinds.get(judged.kind).name;
        if course.cookies {
            user.keep_cookies(&conn.mix.head);
        }
        let mut over = match (&judged.wrong, redirect) {
            (Some(_), _) => Some(SessionEnd::Failed(format!("{name}: wrong answer"))),
            (None, Some(location)) => {
                user.own = Kinds::own(&conn.mix);
                let followed =
                    user.follow(step.redirects, answer.status, &location, course.cookies);
                followed
                    .err()
                    .map(|why| SessionEnd::Failed(format!("{name}: {why}")))
            }
            (None, None) => match user.take(&step.takings, &conn.mix.head, &conn.mix.body) {
                Some(missing) => Some(SessionEnd::Failed(format!("{name}: {missing}"))),
                None => (user.step == course.steps.len()).then_some(SessionEnd::Completed),
            },
        };
        if answer.last && !self.keepalive && over.is_none() {
            over = Some(SessionEnd::Failed(format!(
                "{name}: the server closed the connection after it"
            )));
        }
        // A connection of its own ends with its session.
        answer.last |= over.is_some() && !self.keepalive;
        conn.mix.head.clear();
        let booked = events.answered(Fifo, answer);
        self.kinds.book(&mut conn.mix, judged, booked);
        if user.begun == 0 {
            user.begun = clock::now().saturating_sub(booked.response);
        }
        if let Some(over) = over {
            self.over(slot, over, booked);
        }
    }

    /// A session has ended, with this request.
    fn over(&mut self, slot: u32, over: SessionEnd, booked: Booked) {
        let user = &mut self.users[slot as usize];
        let course = &mut self.courses[user.session];
        user.step = 0;
        user.thought = false;
        user.next.clear();
        self.active -= 1;
        if !booked.ended_inside {
            return;
        }
        match over {
            SessionEnd::Completed => {
                course.seen.completed += 1;
                let took = clock::now().saturating_sub(user.begun);
                course.completed.add(booked.window, took);
            }
            SessionEnd::Failed(why) => course.seen.fail(why),
        }
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
        conn.mix.flights.is_empty()
            && !conn.mix.closing
            && (!self.filler.used_up() || self.is_active(conn.slot))
    }

    fn ended(&self) -> bool {
        self.filler.used_up() && self.active == 0
    }

    fn rests(&self) -> bool {
        true
    }

    fn pace(&mut self, _conn: &mut UserConn, slot: u32) -> NextSend {
        let user = Self::user(&mut self.users, slot);
        if user.step == 0 || user.thought || !user.next.is_empty() {
            return NextSend::Now;
        }
        user.thought = true;
        let think = self.courses[user.session].steps[user.step - 1].think;
        match think.draw(1.0 - self.kinds.draw()) {
            0 => NextSend::Now,
            rest => NextSend::After(rest),
        }
    }

    fn request(&mut self, conn: &mut UserConn, slot: u32, _: Fifo, out: &mut Vec<u8>) {
        conn.slot = slot;
        let user = Self::user(&mut self.users, slot);
        let from = out.len();
        if !user.next.is_empty() {
            out.extend_from_slice(&user.next);
            user.sent.clear();
            user.sent.append(&mut user.next);
            let step = &self.courses[user.session].steps[user.step - 1];
            let own = user.own.take();
            return Kinds::sent_on(&mut conn.mix, step.kind, &out[from..], own);
        }
        if user.step == 0 {
            let session = self.order.next();
            user.begin(session, self.values);
            self.filler
                .take_rows(&self.courses[session].tables, &mut user.rows);
            self.active += 1;
        }
        let course = &self.courses[user.session];
        let step = &course.steps[user.step];
        self.filler.set_rows(&course.tables, &user.rows);
        if course.cookies {
            user.write_cookies(&mut self.filler.cookies);
        }
        user.swap(&mut self.filler);
        let kind = self.kinds.get(step.kind);
        kind.template.fill_with_rows(&mut self.filler, out);
        let request = &out[from..];
        self.kinds
            .sent(&mut conn.mix, step.kind, request, &mut self.filler);
        user.swap(&mut self.filler);
        user.step += 1;
        user.thought = false;
        if step.redirects > 0 {
            user.followed = 0;
            user.sent.clear();
            user.sent.extend_from_slice(&out[from..]);
        }
    }

    fn received(
        &mut self,
        conn: &mut UserConn,
        slot: u32,
        bytes: &[u8],
        _out: &mut Vec<u8>,
        events: &mut impl Events<Fifo>,
    ) -> Result<(), Fault> {
        if conn.mix.flights.is_empty() {
            return Err(unasked(bytes));
        }
        let user = &self.users[slot as usize];
        let step = &self.courses[user.session].steps[user.step - 1];
        let (used, answer) = self.kinds.read(&mut conn.mix, bytes, true, step.body)?;
        if self.kinds.tell(&mut conn.mix, events)
            && answer.is_none()
            && let Some(answer) = self.kinds.hang_up(&mut conn.mix)
        {
            self.answered(conn, answer, None, events);
            return Ok(());
        }
        if let Some(answer) = answer {
            let surplus = (used < bytes.len()).then_some(Fault::Unsolicited { at: used });
            self.answered(conn, answer, surplus.as_ref(), events);
            if let Some(fault) = surplus {
                return Err(fault);
            }
        } else if conn.mix.begins() {
            events.begun(Fifo);
        }
        Ok(())
    }

    fn end(&mut self, conn: &mut UserConn, _slot: u32, events: &mut impl Events<Fifo>) {
        if let Some(answer) = self.kinds.end(&mut conn.mix) {
            self.answered(conn, answer, None, events);
        }
    }

    fn streams(&self) -> bool {
        self.kinds.streams()
    }

    fn listens(&self, conn: &UserConn, _: Fifo) -> Option<Nanos> {
        self.kinds.listens(&conn.mix)
    }

    fn hang_up(
        &mut self,
        conn: &mut UserConn,
        _: u32,
        _: Fifo,
        _: &mut Vec<u8>,
        events: &mut impl Events<Fifo>,
    ) -> bool {
        let answer = self.kinds.hang_up(&mut conn.mix);
        let done = answer.is_some();
        if let Some(answer) = answer {
            self.answered(conn, answer, None, events);
        }
        done
    }

    fn first_head(&self) -> &[u8] {
        self.kinds.first_head()
    }

    fn progress(&self, conn: &UserConn, _: Fifo) -> AnswerProgress {
        conn.mix.progress()
    }

    #[cold]
    fn failed(&mut self, conn: &mut UserConn, _: Fifo, booked: Booked, ending: Ending) {
        let Some(kind) = self.kinds.failed(&mut conn.mix, booked, ending) else {
            return;
        };
        let why = match ending {
            Ending::Broken => "the answer breaks the protocol",
            Ending::Timeout => "took too long",
            Ending::Write | Ending::Read => "the connection broke",
            Ending::Unfinished => {
                // Neither completed nor failed: the load ended.
                let user = &mut self.users[conn.slot as usize];
                user.step = 0;
                user.next.clear();
                self.active -= 1;
                return;
            }
        };
        let over = SessionEnd::Failed(format!("{}: {why}", kind.name));
        self.over(conn.slot, over, booked);
    }

    fn by_request(&mut self) -> Vec<ByRequest> {
        self.kinds.seen()
    }

    fn by_session(&mut self) -> Vec<BySession> {
        let seen = |course: &Course| BySession {
            times: course.completed.seen(),
            ..course.seen.clone()
        };
        self.courses.iter().map(seen).collect()
    }
}
