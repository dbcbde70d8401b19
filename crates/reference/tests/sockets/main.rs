//! Every server against real sockets. No test depends on how fast anything is; whoever hangs is
//! given up after [`client::PATIENCE`].

mod ceiling_echo;
mod ceiling_http;
mod client;
mod clockwork;
