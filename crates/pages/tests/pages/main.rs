//! Pages and exported files of made-up runs, and of one in format 1.

mod files;
mod format_1;
mod page;
mod sample;
