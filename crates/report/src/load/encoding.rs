//! In which content codings the answers of a load came.

use super::request::RequestReport;
use crate::show;
use prony_record::Encoded;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The codings of all requests with their shares, the most frequent first, and how long a body was with and without
/// them; none where no body was to be decoded.
pub(super) fn line(all: &[RequestReport]) -> Option<String> {
    let mut codings = BTreeMap::new();
    for (name, encoded) in all.iter().flat_map(|one| &one.encodings) {
        encoded.count(name, &mut codings);
    }
    let mut sum = Encoded::default();
    codings.values().for_each(|one| sum.add(one));
    if sum.answers == 0 {
        return None;
    }
    let mut shares: Vec<(&String, &Encoded)> = codings.iter().collect();
    shares.sort_by_key(|(_, one)| Reverse(one.answers));
    let share = |(name, one): (&String, &Encoded)| {
        // Several codings have commas between them.
        let name = name.replace(", ", "+");
        format!("{name} {}", percent(one.answers, sum.answers))
    };
    let shares: Vec<String> = shares.into_iter().map(share).collect();
    let mean = |bytes: u64| show::bytes(bytes as f64 / sum.decoded as f64);
    let sizes = match sum.decoded {
        0 => String::new(),
        _ => format!(
            "; a decoded body has {}, {} of it on the wire",
            mean(sum.decoded_bytes),
            mean(sum.wire_bytes)
        ),
    };
    Some(format!(
        "{}{sizes} (of {} looked at)",
        shares.join(", "),
        show::count(sum.answers)
    ))
}

/// A share in whole percent, of which no more is said than there is: some are never none, and not all never all.
fn percent(n: u64, all: u64) -> String {
    let percent = 100.0 * n as f64 / all as f64;
    match percent.round() as u64 {
        100 if n < all => "> 99%".into(),
        0 if n > 0 => "< 1%".into(),
        whole => format!("{whole}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::ByRequest;

    fn seen(all: &[(&str, [u64; 4])]) -> Vec<RequestReport> {
        let one = |&(name, [answers, decoded, wire_bytes, decoded_bytes]): &(&str, [u64; 4])| {
            let encoded = Encoded {
                answers,
                decoded,
                wire_bytes,
                decoded_bytes,
            };
            ByRequest {
                name: "a".into(),
                encodings: BTreeMap::from([(name.into(), encoded)]),
                ..ByRequest::default()
            }
        };
        RequestReport::all(&all.iter().map(one).collect::<Vec<_>>())
    }

    #[test]
    fn codings_are_told_with_shares_and_mean_lengths() {
        for (all, expected) in [
            (&[][..], None),
            (
                &[("identity", [3, 0, 0, 0])][..],
                Some("identity 100% (of 3 looked at)"),
            ),
            (
                &[
                    ("identity", [1, 0, 0, 0]),
                    ("gzip", [600, 600, 614_400, 3_072_000]),
                    ("gzip", [603, 600, 614_400, 3_072_000]),
                ],
                Some(
                    "gzip > 99%, identity < 1%; a decoded body has 5.00 KiB, 1.00 KiB of it on the wire \
                     (of 1,204 looked at)",
                ),
            ),
            (
                &[("gzip, br", [1, 1, 10, 40]), ("br", [3, 3, 30, 120])],
                Some(
                    "br 75%, gzip+br 25%; a decoded body has 40.0 B, 10.0 B of it on the wire (of 4 looked at)",
                ),
            ),
        ] {
            assert_eq!(line(&seen(all)).as_deref(), expected);
        }
    }
}
