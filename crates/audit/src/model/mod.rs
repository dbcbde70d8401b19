//! The data model of audited texts: outputs, tables and the figures in them.

mod block;
mod document;
mod table;
mod tool;

pub use block::{At, Block, Failed, Latency};
pub use document::{Document, Output, Place, Ratio};
pub use table::{Cell, Row, Table};
pub use tool::Tool;

pub(crate) use table::{is_garbled, number};
