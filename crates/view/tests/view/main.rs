//! A running view, asked over sockets as any client could.

mod door;
mod live;
mod pages;
#[path = "../../../pages/tests/pages/sample/mod.rs"]
mod sample;
mod support;
