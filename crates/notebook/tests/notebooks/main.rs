//! Notebooks: written, read, damaged and overseen.

mod notebook;
mod overview;
