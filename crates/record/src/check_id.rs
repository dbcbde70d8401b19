//! Names of the checks.
//!
//! Checks of measurements and checks of audits are one type: several look for the same fault in both, under one name,
//! and their findings are the same data. Recordings hold the words: a check that is renamed needs a migration of the
//! notebook.

use crate::word::words;

words! {
    /// Name of a check of a measurement or an audit.
    CheckId {
        /// The machines that sent a load, or a slow client beside it, saw different response times.
        AgentsDisagree = "agents-disagree",
        /// Latencies of requests that were never sent (audits only).
        BackFilled = "back-filled",
        /// The answers of compared systems are not of one size (audits only).
        BytesDiffer = "bytes-differ",
        /// The rate is that of something else.
        Ceiling = "ceiling",
        /// Reading the clock is expensive.
        ClockSlow = "clock-slow",
        /// The clock of a machine could not be read well enough.
        ClockUncertain = "clock-uncertain",
        /// The server keeps connections open that it is asked to close.
        CloseIgnored = "close-ignored",
        /// Server and generator share a CPU.
        CoLocated = "co-located",
        /// An open loop needed more connections than it may have.
        ConnectionsLimit = "connections-limit",
        /// Requests ended without an answer.
        Errors = "errors",
        /// The load stood still because the client's own window was used up.
        FlowControlStalls = "flow-control-stalls",
        /// The server's CPU did not run at its full speed.
        FrequencyVaries = "frequency-varies",
        /// A cell holds no number where one belongs (audits only).
        GarbledCell = "garbled-cell",
        /// The load generator had no time left, so its speed was measured.
        GeneratorSaturated = "generator-saturated",
        /// Runs of one system on several machines (audits only).
        HostsMixed = "hosts-mixed",
        /// The server closed connections that were idle.
        IdleClosed = "idle-closed",
        /// A column of response times is one divided by the rates (audits only).
        InverseLatency = "inverse-latency",
        /// An output is not of the load that its label or its command line names (audits only).
        LabelDisagrees = "label-disagrees",
        /// The network between server and generator was full.
        LinkSaturated = "link-saturated",
        /// Connections waited for the retransmission of a SYN.
        ListenOverflow = "listen-overflow",
        /// Rate, response time and number in flight contradict each other.
        LittlesLaw = "littles-law",
        /// A printed mean is not that of the figures beside it (audits only).
        MeanDisagrees = "mean-disagrees",
        /// Other programs used the CPUs.
        NoisyHost = "noisy-host",
        /// The rate was still changing.
        NotSteady = "not-steady",
        /// Server and generator are on different NUMA nodes.
        NumaCrossed = "numa-crossed",
        /// More workers than CPUs.
        Oversubscribed = "oversubscribed",
        /// Packets of QUIC were lost.
        PacketLoss = "packet-loss",
        /// Percentiles do not rise, or the mean beside them forbids them (audits only).
        PercentileOrder = "percentile-order",
        /// A database executed fewer statements than the answers need.
        QueriesMissing = "queries-missing",
        /// The rate that was set counts connections, not requests (audits only).
        RateIsConnections = "rate-is-connections",
        /// An open loop did not get the rate that it was to keep.
        RateMissed = "rate-missed",
        /// A printed ratio or rate is not that of its figures (audits only).
        RatioDisagrees = "ratio-disagrees",
        /// Most answers lead elsewhere.
        Redirects = "redirects",
        /// The same figures stand for two different things (audits only).
        RepeatedRows = "repeated-rows",
        /// Segments were lost and sent again.
        Retransmits = "retransmits",
        /// Trials of the same server differ by rig.
        RigsDiffer = "rigs-differ",
        /// The sum of all response times was divided by the number of those kept (audits only).
        SamplesCapped = "samples-capped",
        /// The generator itself sent requests late.
        ScheduleLag = "schedule-lag",
        /// A closed loop did not keep the server busy.
        ServerIdle = "server-idle",
        /// A side of a duel worked while it was not loaded.
        SideNotIdle = "side-not-idle",
        /// The client slept in the time that the rate is divided by (audits only).
        SleepInWindow = "sleep-in-window",
        /// Server and generator run on two threads of one core.
        SmtShared = "smt-shared",
        /// Two servers differ by less than each differs from itself.
        SpreadExceedsEffect = "spread-exceeds-effect",
        /// Not all machines began a load at the same time.
        StartSkew = "start-skew",
        /// Connecting took as long as TCP waits before it asks again (audits only).
        SynRetransmit = "syn-retransmit",
        /// A table has another rate than the output of the same system (audits only).
        TableDisagrees = "table-disagrees",
        /// The server had used up its limit of CPU time and had to wait.
        Throttled = "throttled",
        /// Requests that timed out are not in the distribution of response times (audits only).
        TimeOutsMissing = "time-outs-missing",
        /// Systems are compared that were run once or twice (audits only).
        TooFewRuns = "too-few-runs",
        /// Not enough answers for a 99th percentile.
        TooFewSamples = "too-few-samples",
        /// The measurement is too short to mean much.
        TooShort = "too-short",
        /// The kernel dropped datagrams for the generator.
        UdpBufferOverflow = "udp-buffer-overflow",
        /// Some connections were served much more often than others.
        UnevenConnections = "uneven-connections",
        /// Bytes came that no request had asked for.
        Unsolicited = "unsolicited",
        /// Answers came that were not what the contract says.
        WrongAnswers = "wrong-answers",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reports sort checks by their id, and show them in the order of their names.
    #[test]
    fn ids_sort_as_their_words_do() {
        assert!(CheckId::ALL.is_sorted_by(|a, b| a < b && a.word() < b.word()));
    }

    #[test]
    fn an_unknown_check_is_named() {
        let error = serde_json::from_str::<CheckId>(r#""nois""#).unwrap_err();
        assert!(
            error.to_string().contains("unknown variant `nois`"),
            "{error}"
        );
        let known = serde_json::from_str::<CheckId>(r#""noisy-host""#).unwrap();
        assert_eq!(known, CheckId::NoisyHost);
    }
}
