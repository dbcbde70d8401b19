//! Runs as files of other tools.

mod benchstat;
mod csv;
mod hdr;
mod markdown;
mod openmetrics;
mod pprof;

pub use benchstat::benchstat;
pub use csv::csv;
pub use hdr::{hgrm, hlog};
pub use markdown::{capacity_markdown, load_markdown, markdown, plain};
pub use openmetrics::openmetrics;
pub use pprof::pprof;

use crate::PageError;
use crate::material::Material;
use crate::raw::Raw;

/// The run as JSON, whole.
///
/// # Errors
/// When its data do not become JSON.
pub fn json(material: &Material) -> Result<String, PageError> {
    let mut text = serde_json::to_string_pretty(&Raw::whole(material))?;
    text.push('\n');
    Ok(text)
}
