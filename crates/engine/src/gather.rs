//! Putting together what the workers of a load saw.

mod batches;
mod kept;

use crate::clock::{self, Nanos, SECOND};
use crate::control::Control;
use crate::load_error::{Cause, LoadError};
use crate::outcome::{Detail, Error, Progress, WorkerMessage};
use crate::plan::Plan;
use crate::protocol::{HeadBytes, PlainBytes};
use crate::recorder::{Record, Slice};
use crate::trace::Opening;
use crate::worker::WorkerReport;
use batches::Batches;
use kept::KeptWindow;
use prony_record::generator::per_request;
use prony_record::times::EffectiveSamples;
use prony_record::tls::Handshakes;
use prony_record::{
    Backlog, ByAddress, ByRequest, BySession, Ends, Generator, Grpc, Load, Observation, Pool, Quic,
    Tls, Transport, Window,
};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Puts together what the workers of a load tell: windows as they end, and reports at the end. The workers may
/// be threads of this process or of [others](crate::run_part).
pub struct Gather<'a> {
    plan: &'a Plan,
    workers: u32,
    ready: u32,
    transport: Transport,
    /// Windows that some, but not all, workers have finished, by index.
    partial: BTreeMap<u32, (u32, Slice)>,
    /// The windows that all have finished.
    whole: Vec<KeptWindow>,
    batches: Batches,
    /// Start and answers of each worker's windows, but for those that were cut short.
    paces: Vec<(Nanos, u64)>,
    reports: Vec<WorkerReport>,
    error: Option<Error>,
}

impl<'a> Gather<'a> {
    /// For a plan that so many workers carry out together.
    pub fn new(plan: &'a Plan, workers: u32) -> Self {
        Self {
            plan,
            workers,
            ready: 0,
            transport: Transport::Auto,
            partial: BTreeMap::new(),
            whole: Vec::new(),
            batches: Batches::new(),
            paces: Vec::new(),
            reports: Vec::new(),
            error: None,
        }
    }

    /// A worker tells something; `progress` hears of windows that all have finished. True when, with this, all
    /// of them are ready to begin.
    pub(crate) fn hear(
        &mut self,
        told: WorkerMessage,
        control: &Control,
        progress: &mut dyn Progress,
    ) -> bool {
        let ready = matches!(told, WorkerMessage::Ready);
        match told {
            WorkerMessage::Ready => self.ready += 1,
            WorkerMessage::Window(slice) => self.slice(*slice, control, progress),
            WorkerMessage::Done(transport, report) => {
                self.transport = transport;
                self.reports.push(*report);
            }
            WorkerMessage::Failed(error) => {
                control.stop();
                self.error.get_or_insert(error);
            }
        }
        ready && self.ready == self.workers
    }

    /// A worker has finished a window; `progress` hears of it when all have.
    fn slice(&mut self, slice: Slice, control: &Control, progress: &mut dyn Progress) {
        let answers = slice.outcomes.ok + slice.outcomes.wrong_answer;
        debug_assert_eq!(
            slice.response.len(),
            slice.outcomes.ok,
            "each right answer has its time"
        );
        if slice.length == self.window() {
            self.paces.push((slice.start, answers));
        }
        let index = slice.index;
        let parts = match self.partial.entry(index) {
            Entry::Vacant(entry) => entry.insert((1, slice)).0,
            Entry::Occupied(mut entry) => {
                let (parts, whole) = entry.get_mut();
                whole.merge(&slice);
                *parts += 1;
                *parts
            }
        };
        if parts == self.workers
            && let Some((_, whole)) = self.partial.remove(&index)
        {
            let start = control.started().unwrap_or(whole.start);
            progress.outcomes(&whole.outcomes);
            let kept = KeptWindow::of(&whole);
            progress.window(&kept.window(start, control.measured()));
            self.keep(&whole, kept);
        }
    }

    /// Resources that the workers used in a measurement of `length` nanoseconds, in which `finished` requests ended.
    fn generator(&self, length: Nanos, finished: u64) -> Generator {
        let length = length.max(1) as f64;
        let work = |report: &WorkerReport| report.cpu.saturating_sub(report.spin);
        let busiest = self
            .reports
            .iter()
            .max_by_key(|report| work(report) + report.kept_waiting);
        let work_ns = self.reports.iter().map(work).sum();
        Generator {
            cpu_us_per_request: per_request(work_ns, finished),
            busy: busiest.map_or(0, work) as f64 / length,
            waiting: busiest.map_or(0, |report| report.kept_waiting) as f64 / length,
            threads: self.workers,
            transport: self.transport,
            work_ns,
            spin_ns: self.reports.iter().map(|report| report.spin).sum(),
            clock_ns: Some(clock::cost()),
        }
    }

    /// Whether what was due piled up in the measurement. Of sessions, which last as long as they do, that is not known.
    fn backlog(
        &self,
        windows: &[KeptWindow],
        (from, until): (Nanos, Nanos),
        seen: &Record,
    ) -> Backlog {
        if self
            .reports
            .iter()
            .any(|report| !report.by_session.is_empty())
        {
            return Backlog::default();
        }
        let seconds = |nanos: Nanos| nanos as f64 / SECOND as f64;
        let ends = windows.iter().map(KeptWindow::outstanding);
        let samples: Vec<_> = ends
            .filter(|(end, _)| (from + 1..=until).contains(end))
            .map(|(end, n)| (seconds(end - from), n))
            .collect();
        let service = &seen.times.service;
        let service = (!service.is_empty()).then(|| seconds(service.value_at_quantile(0.5)));
        Backlog::of(
            &self.plan.load,
            seconds(until.saturating_sub(from)),
            &samples,
            service,
        )
    }

    fn keep(&mut self, whole: &Slice, kept: KeptWindow) {
        self.whole.push(kept);
        self.batches.add(whole);
    }

    /// Length of a window that is not cut short.
    fn window(&self) -> Nanos {
        clock::nanos(self.plan.load.window.0)
    }

    /// Everything that was seen.
    ///
    /// # Errors
    /// The first error of a worker.
    pub fn observation(mut self, control: &Control) -> Result<(Observation, Detail), Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut record = Record::new();
        for report in &self.reports {
            record.merge(&report.record);
        }
        let (from, until) = measured(&self.reports);
        // A number of requests is done when the last one is, not when that is noticed.
        let until = match self.plan.requests() {
            Some(_) if record.last_finish > from => until.min(record.last_finish),
            _ => until,
        };
        let start = control.started().unwrap_or(from);
        let since = |at: Nanos| at.saturating_sub(start);
        let span = (since(from), since(until));
        // Workers that ended a little sooner than others have no part in the last windows.
        for (_, slice) in std::mem::take(&mut self.partial).into_values() {
            let kept = KeptWindow::of(&slice);
            self.keep(&slice, kept);
        }
        // Only now is it known when the measurement began and ended.
        let whole = std::mem::take(&mut self.whole);
        let windows: Vec<Window> = whole.iter().map(|it| it.window(start, span)).collect();
        let backlog = self.backlog(&whole, (from, until), &record);
        let mut times = record.times;
        times.effective = EffectiveSamples::of(&times.response, |value| {
            self.batches.beyond(value, from, until)
        });
        let finished = record.outcomes.finished();
        let observation = Observation {
            began_ns: span.0,
            measured_ns: until - from,
            times,
            outcomes: record.outcomes,
            ends: ends(record.ends, span.0, &self.plan.load),
            backlog,
            pool: pool(&self.reports),
            windows,
            generator: self.generator(until - from, finished),
            connected: self.reports.iter().map(|report| report.connected).sum(),
            per_connection: self
                .reports
                .iter()
                .flat_map(|r| r.answers.iter().copied())
                .collect(),
            bytes_received: record.bytes_received,
            bytes_sent: record.bytes_sent,
            sent_again: record.sent_again,
            stalled: record.stalled,
            idle_closed: record.idle_closed,
            idle: None,
            close_ignored: false,
            lost_segments: record.lost_segments,
            streams_allowed: streams_allowed(&self.reports),
            statuses: record.statuses,
            status_expected: self.plan.dialogue.expects_status(),
            body_bytes: record.body_bytes,
            errors: in_words(&record.errors),
            closed_after_answer: count(&record.errors, |error| {
                matches!(error.cause, Cause::ClosedAfterAnswer(_))
            }),
            without_port: count(&record.errors, LoadError::is_lack_of_ports),
            wrong_answers: record.wrong,
            unsolicited: record.unsolicited,
            by_request: by_request(&self.reports),
            by_session: by_session(&self.reports),
            streams: record.streams,
            good: self.plan.load.slo.map(|_| record.good),
            tls: tls(&self.reports, record.handshakes),
            grpc: grpc(&self.reports),
            quic: quic(&self.reports),
            by_host: Vec::new(),
            by_address: by_address(&self.reports),
        };
        let length = self.window();
        let inside =
            |&&(start, _): &&(Nanos, u64)| start >= from && start.saturating_add(length) <= until;
        let rate = |&(_, answers): &(Nanos, u64)| answers as f64 * SECOND as f64 / length as f64;
        let detail = Detail {
            from,
            until,
            errors: record.errors,
            worker_rates: self.paces.iter().filter(inside).map(rate).collect(),
            first_head: self
                .reports
                .iter()
                .map(|report| &report.first_head)
                .find(|head| !head.is_empty())
                .cloned()
                .unwrap_or_default(),
            heads: self
                .reports
                .iter()
                .map(|report| report.heads)
                .fold(HeadBytes::default(), HeadBytes::merge),
            plain: self
                .reports
                .iter()
                .filter_map(|report| report.plain)
                .reduce(PlainBytes::merge),
            opening: self
                .reports
                .iter()
                .map(|report| report.opening)
                .fold(Opening::default(), Opening::merge),
            trace: self
                .reports
                .into_iter()
                .flat_map(|report| report.trace)
                .collect(),
        };
        Ok((observation, detail))
    }
}

/// The fewest streams that a server has allowed on a connection.
/// Errors by their text, as records have them.
fn in_words(errors: &BTreeMap<LoadError, u64>) -> BTreeMap<String, u64> {
    let mut texts = BTreeMap::new();
    for (error, n) in errors {
        *texts.entry(error.to_string()).or_default() += n;
    }
    texts
}

/// How often such errors occurred.
fn count(errors: &BTreeMap<LoadError, u64>, such: impl Fn(&LoadError) -> bool) -> u64 {
    let those = errors.iter().filter(|(error, _)| such(error));
    those.map(|(_, n)| n).sum()
}

fn streams_allowed(reports: &[WorkerReport]) -> Option<u32> {
    reports.iter().filter_map(|it| it.streams_allowed).min()
}

/// Results of all workers, by kind of request.
fn by_request(reports: &[WorkerReport]) -> Vec<ByRequest> {
    let mut all = Vec::new();
    for report in reports {
        prony_record::by_request::merge(&mut all, &report.by_request);
    }
    all
}

/// Results of all workers, by address.
fn by_address(reports: &[WorkerReport]) -> Vec<ByAddress> {
    let mut all = Vec::new();
    for report in reports {
        prony_record::by_address::merge(&mut all, &report.by_address);
    }
    all
}

/// Results of all workers, by session.
fn by_session(reports: &[WorkerReport]) -> Vec<BySession> {
    let mut all = Vec::new();
    for report in reports {
        prony_record::by_session::merge(&mut all, &report.by_session);
    }
    all
}

/// The share of the requests that crossed an end of the measurement. Where the measurement began with the load it is 0: nothing was
/// in flight at the beginning to balance what was in flight at the end.
fn ends(seen: Ends, began: Nanos, load: &Load) -> Ends {
    match (began, load.rate) {
        (0, _) => Ends::default(),
        // Due times are spread anyway, and where they are not kept more and more are in flight.
        (_, Some(_)) => Ends { right: 0.0, ..seen },
        (_, None) => seen,
    }
}

/// The connections of all workers of an open loop.
fn pool(reports: &[WorkerReport]) -> Pool {
    let mut all = Pool::default();
    for pool in reports.iter().filter_map(|report| report.pool.as_ref()) {
        all.join(pool);
    }
    all
}

/// gRPC counts of all workers together; None where no worker used gRPC.
fn grpc(reports: &[WorkerReport]) -> Option<Grpc> {
    let mut seen = reports.iter().filter_map(|report| report.grpc.as_ref());
    let mut all = seen.next()?.clone();
    for grpc in seen {
        all.merge(grpc);
    }
    Some(all)
}

/// QUIC counts of all workers together; None where no worker spoke it.
fn quic(reports: &[WorkerReport]) -> Option<Quic> {
    let mut seen = reports.iter().filter_map(|report| report.quic.as_ref());
    let mut all = *seen.next()?;
    for quic in seen {
        all.merge(quic);
    }
    Some(all)
}

/// TLS counts of all workers together, with the handshakes `measured`; None where no worker used TLS.
fn tls(reports: &[WorkerReport], measured: Handshakes) -> Option<Tls> {
    let mut seen = reports.iter().filter_map(|report| report.tls.as_ref());
    let mut all = seen.next()?.clone();
    for tls in seen {
        all.merge(tls);
    }
    all.measured = measured;
    Some(all)
}

/// When the measurement began and ended, of all workers together.
fn measured(reports: &[WorkerReport]) -> (Nanos, Nanos) {
    let measured = reports.iter().map(|report| report.measured);
    measured
        .clone()
        .filter(|(from, until)| from < until)
        .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
        .unwrap_or_else(|| {
            // Stopped before anything was measured: each worker says when it saw that.
            let at = measured.map(|(_, until)| until).max().unwrap_or(0);
            (at, at)
        })
}
