//! How long does an audit take? Outputs of every tool, everything at once, and texts that are made to
//! make a reader look at everything again and again: a megabyte of each. No input is to take more
//! than [`BOUND`].

use crate::error::{Error, Result};
use crate::spread::Spread;
use crate::table::Table;
use serde::Serialize;
use std::fmt;
use std::hint::black_box;
use std::time::Instant;

#[path = "../../crates/audit/tests/audit/large.rs"]
mod large;

/// The aim, in milliseconds per MiB.
const BOUND: f64 = 100.0;
/// A text's size.
const SIZE: usize = 1 << 20;

/// How long texts took.
#[derive(Debug, Serialize)]
pub struct Audits {
    bound_ms_per_mib: f64,
    texts: Vec<Timed>,
}

/// One text: reading it, looking for what is wrong, and writing that down; and taking its figures.
#[derive(Debug, Serialize)]
struct Timed {
    text: String,
    bytes: usize,
    remarks: usize,
    audit_ms_per_mib: Spread,
    import_ms_per_mib: Spread,
}

impl Timed {
    fn worst(&self) -> f64 {
        self.audit_ms_per_mib.max.max(self.import_ms_per_mib.max)
    }
}

pub fn run(rounds: u32) -> Result<Audits> {
    let mut texts = Vec::new();
    for (name, text) in large::texts(SIZE) {
        let mib = text.len() as f64 / SIZE as f64;
        let bytes = text.len();
        let named = [("text.md".to_owned(), text)];
        let mut remarks = 0;
        let (mut audits, mut imports) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let start = Instant::now();
            let audit = prony_audit::audit(&named);
            black_box(audit.text(100));
            audits.push(start.elapsed().as_secs_f64() * 1e3 / mib);
            remarks = audit.remarks.len();
            let start = Instant::now();
            black_box(prony_audit::import(&named));
            imports.push(start.elapsed().as_secs_f64() * 1e3 / mib);
        }
        let none = || Error::Unusable("no rounds".to_owned());
        texts.push(Timed {
            text: name,
            bytes,
            remarks,
            audit_ms_per_mib: Spread::of(audits).ok_or_else(none)?,
            import_ms_per_mib: Spread::of(imports).ok_or_else(none)?,
        });
    }
    Ok(Audits {
        bound_ms_per_mib: BOUND,
        texts,
    })
}

/// Names of texts are cut to this many characters.
const NAME: usize = 44;

impl fmt::Display for Audits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["text, 1 MiB of it", "remarks", "audit, ms", "import, ms"]);
        for timed in &self.texts {
            table.row([
                timed.text.chars().take(NAME).collect(),
                timed.remarks.to_string(),
                timed.audit_ms_per_mib.show(1),
                timed.import_ms_per_mib.show(1),
            ]);
        }
        write!(f, "{table}")?;
        let worst = self
            .texts
            .iter()
            .max_by(|a, b| a.worst().total_cmp(&b.worst()));
        let Some(worst) = worst else { return Ok(()) };
        let kept = if worst.worst() <= BOUND {
            "within"
        } else {
            "BEYOND"
        };
        writeln!(
            f,
            "The longest: {:.1} ms per MiB, of {}: {kept} the {BOUND:.0} ms that none is to take.",
            worst.worst(),
            worst.text,
        )
    }
}
