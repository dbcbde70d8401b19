//! `rate-is-connections`: httperf's `--rate` counts connections, not requests.

use super::{CheckInput, UnnamedFinding, time, warning, whole};
use crate::model::Tool;
use prony_checks::{CheckId, Explanation};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::RateIsConnections,
    cause: "httperf's --rate is connections per second, not requests. A rate that is too high to be sent turns into a single burst.",
    evidence: "--rate x --num-calls on the command line, compared with the rate of the output if there is one.",
    remedy: "Choose --rate so that rate x calls is the intended load, or use --wsess.",
};

/// Requests per second over sockets that no single CPU sends (some 6 µs of it are spent on each):
/// who asks httperf, which has one thread, for more has not meant that.
const IMPOSSIBLE: f64 = 200_000.0;
/// A rate that is missed by more than this was not the load.
const REACHED: f64 = 0.9;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for document in seen.documents {
        for command in document.commands.iter().filter(|command| !command.by_prony) {
            let Some((rate, calls)) = command.connection_rate() else {
                continue;
            };
            let asked = rate * calls as f64;
            let reached = document.outputs.iter().find_map(|output| {
                let own = output
                    .command
                    .as_ref()
                    .is_some_and(|own| own.line == command.line);
                (own && output.block.tool == Tool::Httperf).then_some(output.block.rate?.what.value)
            });
            let missed = match reached {
                Some(reached) => reached < REACHED * asked,
                None => asked > IMPOSSIBLE,
            };
            if !missed {
                continue;
            }
            let opened = command.connections().map_or(String::new(), |n| {
                let all = time(n as f64 / rate);
                format!(": the {n} connections are to be opened within {all}")
            });
            let reached = reached.map_or(String::new(), |reached| {
                format!(", of which {} were reached", whole(reached))
            });
            let text = format!(
                "--rate {rate} is connections per second, not requests{opened}, and with {calls} \
                 calls on each, this means {} requests per second{reached}. That is a burst, not a rate, \
                 and the figures depend on httperf's own limit as much as on the server's",
                whole(asked)
            );
            let lines = [command.line];
            remarks.push(warning(document, lines, text));
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of};

    const OUTPUT: &str = "Total: connections 500 requests 5000 replies 5000 test-duration 0.500 s\n\n\
        Request rate: 9990.5 req/s (0.1 ms/req)\n";

    #[test]
    fn a_rate_that_cannot_be_sent() {
        let command = "httperf --num-conns 1000 --num-calls 100 --rate 100000 --server h\n\n";
        let found = of(CheckId::RateIsConnections, command);
        assert_eq!(found[0].lines, [1]);
        let text = &found[0].finding.text;
        assert!(
            text.contains("10,000,000 requests") && text.contains("10.00 ms"),
            "{text}"
        );
    }

    #[test]
    fn a_rate_that_was_reached_or_missed() {
        let command = "httperf --num-conns 500 --num-calls 10 --rate 1000 --server h\n\n";
        assert_eq!(
            of(CheckId::RateIsConnections, &(command.to_owned() + OUTPUT)),
            []
        );
        let more = command.replace("1000", "2000") + OUTPUT;
        assert_eq!(of(CheckId::RateIsConnections, &more).len(), 1);
    }
}
