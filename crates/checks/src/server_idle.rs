//! `server-idle`: a closed loop did not keep the server busy.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::ServerIdle,
    cause: "The closed loop kept enough requests in flight and the generator had time to spare, yet the server's CPUs were not busy: the server was waiting for something.",
    evidence: "CPU time of the server's processes, compared with the CPUs that it may use.",
    remedy: "Look for a lock, a timer, a pool that is too small, a slow upstream, or an acknowledgement that is delayed by 40 ms (Nagle's algorithm: set TCP_NODELAY).",
};

/// A server that is the bottleneck uses nearly all of its CPUs.
const BUSY: f64 = 0.75;
/// Requests in flight per CPU that should keep any server busy.
const ENOUGH_IN_FLIGHT: f64 = 8.0;
/// When the generator has no time left, that explains it.
const GENERATOR_BUSY: f64 = 0.9;
/// Other programs that used this share of the CPUs kept the server from running.
const OTHERS: f64 = 0.05;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let server = seen.server?;
    let applies = seen.closed_loop
        && seen.depth() >= ENOUGH_IN_FLIGHT * server.cpus
        // Connections that are made anew, or rest, or have failed, have nothing in flight meanwhile.
        && seen.keepalive
        && !seen.rests
        && !seen.broke()
        && seen.generator_taken() < GENERATOR_BUSY
        && seen.others_busy.is_none_or(|busy| busy < OTHERS)
        && seen.ok > 0;
    if !applies || server.used >= BUSY * server.cpus {
        return None;
    }
    let of = match server.cpus {
        cpus if cpus > 1.0 => format!("{:.2} of its {cpus:.0} CPUs", server.used),
        _ => format!("{:.2} CPUs", server.used),
    };
    let network = match seen.generators.is_empty() {
        true => "",
        false => ", or the network to the generators",
    };
    let text = format!(
        "{:.0} requests were always in flight, yet the server used only {of}: it was waiting for something, such as a \
         lock, a timer, a delayed acknowledgement or another server{network}",
        seen.depth(),
    );
    finding(CheckId::ServerIdle, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServerCpu;

    #[test]
    fn a_server_kept_from_running_by_others_is_not_idle() {
        let kept = Evidence {
            server: Some(ServerCpu {
                cpus: 1.0,
                used: 0.2,
            }),
            others_busy: Some(0.5),
            ..Evidence::clean()
        };
        assert_eq!(check(&kept), None);
    }

    /// Other causes of a server that is not busy.
    #[test]
    fn what_else_leaves_a_server_idle() {
        let idle = || Evidence {
            server: Some(ServerCpu {
                cpus: 1.0,
                used: 0.3,
            }),
            ..Evidence::clean()
        };
        assert!(check(&idle()).is_some());
        let others: [(&str, Evidence); 4] = [
            (
                "connections are made anew",
                Evidence {
                    keepalive: false,
                    ..idle()
                },
            ),
            (
                "users think",
                Evidence {
                    rests: true,
                    ..idle()
                },
            ),
            (
                "connections fail",
                Evidence {
                    socket_errors: 50_000,
                    ..idle()
                },
            ),
            (
                "the server allows one stream",
                Evidence {
                    connections: 1,
                    pipeline: 1,
                    ..idle()
                },
            ),
        ];
        for (cause, seen) in others {
            assert_eq!(check(&seen), None, "{cause}");
        }
        let far = Evidence {
            generators: vec![crate::OneGenerator::default()],
            ..idle()
        };
        let text = check(&far).unwrap().text;
        assert!(text.contains("the network to the generators"), "{text}");
    }

    #[test]
    fn an_idle_server_in_a_closed_loop() {
        assert_eq!(check(&Evidence::clean()), None);
        let idle = Evidence {
            server: Some(ServerCpu {
                cpus: 1.0,
                used: 0.3,
            }),
            ..Evidence::clean()
        };
        assert!(check(&idle).is_some());
        assert_eq!(
            check(&Evidence {
                closed_loop: false,
                ..idle.clone()
            }),
            None
        );
        assert_eq!(
            check(&Evidence {
                generator_busy: 0.99,
                ..idle.clone()
            }),
            None
        );
        assert_eq!(
            check(&Evidence {
                connections: 1,
                ..idle
            }),
            None
        );
    }
}
