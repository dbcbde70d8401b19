//! A running view, asked over sockets as any client could.

mod door;
mod live;
mod pages;
mod support;
