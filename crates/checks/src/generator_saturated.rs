//! `generator-saturated`: the load generator had no time left, so its speed was measured.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::GeneratorSaturated,
    cause: "A thread of the load generator worked nearly all the time, or was ready to run and did not get a CPU. It could not have sent more requests, so the measured rate may be the generator's limit.",
    evidence: "CPU time of the generator's threads during the measurement, without the time spent waiting for answers, and the time in which they were ready to run while the kernel ran other tasks on their CPUs.",
    remedy: "Give the generator more threads and CPUs (-t, --cpus), stop other processes on its CPUs, or compare CPU time per request at a fixed rate, which needs no saturation: `prony duel` does that.",
};

/// A thread that works this share of its time cannot ask for more: what is left is the kernel's
/// time to put it to sleep and wake it up again.
const SATURATED: f64 = 0.95;
/// A server that uses this share of its CPUs is the bottleneck too, and then both are.
const SERVER_BUSY: f64 = 0.9;

/// A thread that was kept waiting for this share of its time was starved; less than this is the
/// odd turn of the kernel's own threads.
const STARVED: f64 = 0.1;

/// A smaller share of cryptography is not worth words.
const NOTABLE: f64 = 0.1;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    if seen.generator_taken() < SATURATED {
        return None;
    }
    let both = seen
        .server
        .is_some_and(|server| server.used >= SERVER_BUSY * server.cpus);
    let (severity, meaning) = if both {
        (
            Severity::Note,
            "the server was busy as well, so it is at most slightly faster than shown",
        )
    } else {
        (Severity::Warning, "the server may be faster than shown")
    };
    let (waited, remedy) = if seen.generator_waiting >= STARVED {
        let waited = format!(
            " and waited for a CPU for another {:.0}%",
            seen.generator_waiting * 100.0
        );
        (
            waited,
            "stop other processes on its CPUs, or give the generator its own CPUs",
        )
    } else {
        (
            String::new(),
            "give the generator more threads and CPUs, or compare CPU per request",
        )
    };
    let cryptography = match seen.quic.and_then(|quic| quic.crypto_share()) {
        Some(share) if share >= NOTABLE => format!(
            " ({:.0}% of its CPU time went into the cryptography of QUIC)",
            share * 100.0
        ),
        _ => String::new(),
    };
    let text = format!(
        "the busiest generator thread worked {:.0}% of the time{cryptography}{waited}: {meaning}; {remedy}",
        seen.generator_busy * 100.0
    );
    finding(CheckId::GeneratorSaturated, severity, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServerCpu;

    #[test]
    fn it_matters_less_when_the_server_is_busy_too() {
        let busy = Evidence {
            generator_busy: 0.99,
            ..Evidence::clean()
        };
        assert_eq!(check(&busy).unwrap().severity, Severity::Note);
        let idle = Evidence {
            server: Some(ServerCpu {
                cpus: 2.0,
                used: 1.0,
            }),
            ..busy
        };
        assert_eq!(check(&idle).unwrap().severity, Severity::Warning);
        assert_eq!(check(&Evidence::clean()), None);
    }

    #[test]
    fn cryptography_is_named_where_it_takes_much() {
        let text = |crypto_ns| {
            let seen = Evidence {
                generator_busy: 0.99,
                quic: Some(prony_record::Quic {
                    crypto_ns,
                    cpu_ns: 100,
                    ..Default::default()
                }),
                ..Evidence::clean()
            };
            check(&seen).unwrap().text
        };
        assert!(text(40).contains("(40% of its CPU time went into the cryptography of QUIC)"));
        assert!(!text(4).contains("cryptography"));
    }

    #[test]
    fn a_generator_that_does_not_get_its_cpu_is_saturated_too() {
        let starved = Evidence {
            generator_busy: 0.48,
            generator_waiting: 0.5,
            server: Some(ServerCpu {
                cpus: 1.0,
                used: 0.5,
            }),
            ..Evidence::clean()
        };
        let found = check(&starved).unwrap();
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.text.contains("waited for a CPU"), "{}", found.text);
        let little = Evidence {
            generator_waiting: 0.3,
            ..starved
        };
        assert_eq!(check(&little), None);
    }
}
