//! Description of the load that was requested, in words.

use super::LoadReport;
use crate::show;
use prony_record::stages;

impl LoadReport {
    /// The target rate of an open loop, and connections whose number changes: what each is called, and its text.
    pub fn asked(&self) -> Vec<(&'static str, String)> {
        let rate = self
            .rate
            .map(|rate| ("target rate", self.target_rate(rate)));
        let connections = self.mean_connections().map(|mean| {
            let shown = stages::shown(&self.connection_stages);
            ("connections", format!("{shown}: {mean:.1} on average"))
        });
        let grown = self.grown().map(|opened| {
            let first = self.connections;
            (
                "connections",
                format!("{first} at first, {opened} in the end: the rate needs them"),
            )
        });
        let header = self
            .proxy_protocol
            .map(|version| ("PROXY header", version.to_string()));
        let all = rate.into_iter().chain(connections).chain(grown);
        all.chain(header).collect()
    }

    /// The connections of an open loop in the end, where it opened more than at first.
    fn grown(&self) -> Option<u32> {
        let opened = self.pool?.opened;
        (opened > self.connections).then_some(opened)
    }

    fn target_rate(&self, rate: f64) -> String {
        let mean = show::rate(rate);
        match (&self.replay, self.stages.as_slice()) {
            (Some(replay), _) => format!("{replay}: {mean} on average"),
            (None, []) if !self.sessions.is_empty() => {
                format!("{rate} sessions/s {}", self.arrival)
            }
            (None, []) => format!("{mean} {}", self.arrival),
            (None, stages) => {
                let shown = stages::shown(stages);
                format!("{shown}: {mean} on average, {}", self.arrival)
            }
        }
    }

    /// The mean number of connections, where it changes.
    fn mean_connections(&self) -> Option<f64> {
        let changes = !self.connection_stages.is_empty() && self.seconds > 0.0;
        changes.then(|| stages::due_in(&self.connection_stages, self.seconds) / self.seconds)
    }

    /// The rate of right answers and the connections, to be read after what was loaded: `gives 40.1 k/s over 64 connections`.
    pub fn reached(&self) -> String {
        let connections = match (self.mean_connections(), self.grown()) {
            (Some(mean), _) => format!("{mean:.1} connections on average"),
            (None, Some(opened)) => format!("up to {opened} connections"),
            (None, None) if self.connections == 1 => "1 connection".to_owned(),
            (None, None) => format!("{} connections", self.connections),
        };
        let rate = self.headline();
        match self.rate.filter(|_| self.sessions.is_empty()) {
            // At a rate, what the server could give is not known.
            Some(asked) => format!(
                "answers {rate} of {} asked over {connections}",
                show::rate(asked)
            ),
            None => format!("gives {rate} over {connections}"),
        }
    }
}
