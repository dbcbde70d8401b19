//! Observations of QUIC, in words.

use crate::show;
use prony_record::Quic;

/// Nobody sends so many bytes: servers announce more where they set no limit.
const UNLIMITED: u64 = 1 << 50;

/// Rows of a report, each with its name: datagrams, packets, handshakes of a special kind, the server's limits, cryptography.
#[must_use]
pub fn rows(quic: &Quic) -> Vec<(&'static str, String)> {
    let rows = [
        ("QUIC", Some(datagrams(quic))),
        ("packets", Some(packets(quic))),
        ("", special(quic)),
        ("announced", announced(quic)),
        ("cryptography", cryptography(quic)),
    ];
    let rows = rows.into_iter();
    rows.filter_map(|(name, text)| Some((name, text?)))
        .collect()
}

fn datagrams(quic: &Quic) -> String {
    format!(
        "{} datagrams ({}) sent in {} calls, {} ({}) received",
        show::count(quic.datagrams_sent),
        show::bytes(quic.bytes_sent as f64),
        show::count(quic.sends),
        show::count(quic.datagrams_received),
        show::bytes(quic.bytes_received as f64),
    )
}

fn packets(quic: &Quic) -> String {
    let mut parts = vec![match quic.packets_lost {
        0 => "none lost".into(),
        lost => {
            let share = 100.0 * lost as f64 / quic.packets_sent.max(1) as f64;
            format!("{} lost ({share:.2}%)", show::count(lost))
        }
    }];
    if let Some(rtt) = quic.rtt_ns() {
        parts.push(format!("round trip {}", show::time(rtt as f64)));
    }
    let counts = [
        (quic.blocked, "waits for room to send"),
        (quic.congestion_events, "times slowed down by congestion"),
        (quic.datagrams_marked, "received with a mark of congestion"),
        (quic.datagrams_dropped, "dropped by this host's kernel"),
    ];
    let counts = counts.into_iter().filter(|(number, _)| *number > 0);
    parts.extend(counts.map(|(number, what)| format!("{} {what}", show::count(number))));
    parts.join("; ")
}

/// Handshakes of a special kind.
fn special(quic: &Quic) -> Option<String> {
    let kinds = [
        (
            quic.early,
            "with requests before the handshake was done (0-RTT)",
        ),
        (
            quic.early_refused,
            "whose early requests the server refused",
        ),
        (
            quic.retried,
            "with a handshake repeated for a token (Retry)",
        ),
    ];
    let kinds = kinds.into_iter().filter(|(number, _)| *number > 0);
    let kinds: Vec<String> = kinds
        .map(|(number, kind)| format!("{} {kind}", show::count(number)))
        .collect();
    (!kinds.is_empty()).then(|| format!("connections: {}", kinds.join("; ")))
}

/// Limits that the server announced at the start of a connection.
fn announced(quic: &Quic) -> Option<String> {
    let limits = quic.announced?;
    let bytes = |bytes: u64| show::bytes(bytes as f64);
    let parts = [
        limits.streams.map(|n| match n {
            1 => "1 stream".into(),
            n => format!("{} streams", show::count(n)),
        }),
        limits
            .stream_window
            .filter(|&n| n < UNLIMITED)
            .map(|n| format!("{} a stream", bytes(n))),
        limits
            .window
            .filter(|&n| n < UNLIMITED)
            .map(|n| format!("{} a connection", bytes(n))),
        limits
            .datagram_bytes
            .map(|n| format!("datagrams of {}", bytes(n))),
        limits.idle_timeout_ms.filter(|&n| n > 0).map(|n| {
            let time = show::time(n as f64 * 1e6);
            format!("closed when idle for {time}")
        }),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn cryptography(quic: &Quic) -> Option<String> {
    let share = quic.crypto_share()?;
    Some(format!("{:.0}% of prony's CPU time", 100.0 * share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::quic::Announced;

    #[test]
    fn rows_say_only_what_there_was() {
        let quiet = Quic {
            connections: 2,
            datagrams_sent: 3,
            bytes_sent: 3_600,
            sends: 2,
            datagrams_received: 1,
            bytes_received: 1_200,
            rtt_sum_ns: 4_000_000,
            ..Quic::default()
        };
        let texts: Vec<_> = rows(&quiet).into_iter().map(|(_, text)| text).collect();
        let datagrams = "3 datagrams (3.52 KiB) sent in 2 calls, 1 (1.17 KiB) received";
        assert_eq!(texts, [datagrams, "none lost; round trip 2.00 ms"]);
    }

    #[test]
    fn everything_that_was_seen_is_said() {
        let busy = Quic {
            packets_sent: 200,
            packets_lost: 3,
            early: 5,
            early_refused: 1,
            retried: 2,
            blocked: 7,
            crypto_ns: 250,
            cpu_ns: 1_000,
            announced: Some(Announced {
                streams: Some(100),
                idle_timeout_ms: Some(30_000),
                ..Announced::default()
            }),
            ..Quic::default()
        };
        let rows = rows(&busy);
        let row = |name: &str| {
            let row = rows.iter().find(|(it, _)| *it == name);
            row.map(|(_, text)| text.as_str()).unwrap()
        };
        assert_eq!(row("packets"), "3 lost (1.50%); 7 waits for room to send");
        assert_eq!(
            row(""),
            "connections: 5 with requests before the handshake was done (0-RTT); 1 whose early requests \
             the server refused; 2 with a handshake repeated for a token (Retry)"
        );
        assert_eq!(row("announced"), "100 streams, closed when idle for 30.0 s");
        assert_eq!(row("cryptography"), "25% of prony's CPU time");
    }
}
