//! Every server against real sockets. No test depends on speed; a server that hangs fails its
//! test after [`client::PATIENCE`].

mod ceiling_echo;
mod ceiling_http;
mod client;
mod clockwork;
