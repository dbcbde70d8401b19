//! The data model of audited texts: outputs, tables and the figures in them.

mod block;
mod document;
mod table;
mod tool;

pub use block::{At, Block, FailedRequests, Latency};
pub use document::{Document, OutputContext, Ratio, ToolOutput};
pub use table::{Row, Table, TableCell};
pub use tool::Tool;

pub(crate) use table::{is_garbled, number};
