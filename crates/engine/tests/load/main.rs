//! The load generator against real sockets: honest servers, and every kind of bad one.
//!
//! What is asserted are counts and invariants, never speed; times only bound how long something
//! may take before it counts as hanging.

mod addresses;
mod breaking;
mod calls;
mod connections;
mod grpc;
mod h2;
mod h2_server;
mod h3;
mod h3_server;
mod hostile;
mod invariants;
mod leaks;
mod mix_h2;
mod open_loop;
mod own;
mod parts;
mod population;
mod property;
mod proxy;
mod servers;
mod session;
mod sessions;
mod sizes;
mod sources;
mod steering;
mod support;
mod tls;
mod tls_hostile;
mod tls_server;
mod unasked;
mod words;
mod ws;
mod ws_hostile;
mod ws_server;
