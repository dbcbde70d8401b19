//! The anatomy of a request as Markdown: what it says, and the tables folded.

use crate::export::plain;
use maud::html;
use prony_report::table::UNLIMITED;
use prony_report::why::{self, WhyReport};
use prony_verdict::why::Anatomy;

/// The sentence of each server, and a fold with tables and what they rest on.
#[must_use]
pub fn markdown(anatomy: &Anatomy) -> String {
    let sentences = match anatomy.differences.is_empty() {
        true => anatomy
            .sides
            .iter()
            .map(|side| why::capital(&side.sentence))
            .collect(),
        false => (anatomy.differences.iter())
            .map(|against| format!("Why: {}", against.sentence))
            .collect::<Vec<_>>(),
    };
    let bold = sentences
        .iter()
        .map(|text| format!("**{}**\n\n", plain(text)));
    let tables = html! {
        @for side in anatomy.sides.iter().filter(|_| anatomy.differences.is_empty()) {
            pre { (why::of_one(side).fit(UNLIMITED)) }
        }
        @for against in &anatomy.differences {
            pre { (why::table(anatomy, against, UNLIMITED)) }
        }
        pre { (why::notes(anatomy)) }
    };
    format!(
        "{}<details><summary>The anatomy of a request</summary>\n\n{}\n</details>\n",
        bold.collect::<String>(),
        tables.into_string()
    )
}

/// The same of a server by itself, with how it was loaded.
#[must_use]
pub fn markdown_of(report: &WhyReport) -> String {
    format!(
        "### What a request costs {}\n\n{}\n<sub>{}</sub>\n",
        plain(&report.server),
        markdown(&report.why),
        plain(&why::conditions(report))
    )
}
