//! Results of a load by address, where its connections were spread over several.

use super::named::NameTable;
use crate::show;
use prony_record::AddressShare;

pub(super) fn named(all: &[AddressShare]) -> NameTable {
    let heads = vec!["address", "conns", "answers", "failed", "p50", "p99"];
    let time = |ns: Option<u64>| ns.map_or("–".into(), |ns| show::time(ns as f64));
    let row = |one: &AddressShare| {
        vec![
            one.address.clone(),
            show::count(one.connections),
            show::count(one.answers),
            show::count(one.failed),
            time(one.p50_ns),
            time(one.p99_ns),
        ]
    };
    let note = |one: &AddressShare| {
        let error = one.error.as_ref()?;
        let failed = match one.not_connected {
            1 => format!("a connection could not be made: {error}"),
            n => format!(
                "{} connections could not be made, the last: {error}",
                show::count(n)
            ),
        };
        Some(("unreachable", format!("{}: {failed}", one.address)))
    };
    NameTable {
        heads,
        rows: all.iter().map(row).collect(),
        notes: all.iter().filter_map(note).collect(),
    }
}
