//! Results of a load by request, where it sends several.

use super::encoding;
use super::named::NameTable;
use crate::show;
pub use prony_record::by_request::RequestReport;

pub(super) fn named(all: &[RequestReport]) -> NameTable {
    let heads = vec![
        "request", "share", "p50", "p90", "p99", "max", "searched", "answers", "failed",
    ];
    let row = |one: &RequestReport| {
        let times = &one.response;
        vec![
            one.name.clone(),
            one.share
                .map_or("–".into(), |share| format!("{:.1}%", 100.0 * share)),
            show::time_within(times.p50, times.intervals.p50),
            show::time_within(times.p90, times.intervals.p90),
            show::time_within(times.p99, times.intervals.p99),
            show::time_or_dash(times.max),
            match one.searched {
                0 => "–".into(),
                n => show::count(n),
            },
            show::count(one.outcomes.ok),
            show::count(one.outcomes.failed()),
        ]
    };
    let searched = all.iter().map(|one| one.searched).sum();
    let encoded = encoding::line(all);
    let checked = (searched > 0).then(|| {
        let n = show::count(searched);
        let text = match encoded {
            None => format!(
                "status, headers and lengths of every answer; the bodies of {n} were searched"
            ),
            Some(_) => format!(
                "status and headers of every answer; the bodies of {n} were decoded and searched"
            ),
        };
        ("checked", text)
    });
    let wrong = all.iter().flat_map(|one| &one.wrong_answers);
    NameTable {
        heads,
        rows: all.iter().map(row).collect(),
        notes: checked
            .into_iter()
            .chain(encoded.map(|text| ("encoded", text)))
            .chain(wrong.map(|text| ("wrong", text.clone())))
            .collect(),
    }
}
