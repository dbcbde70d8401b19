//! A running view, asked over sockets as anybody could.

mod door;
mod live;
mod pages;
mod support;
