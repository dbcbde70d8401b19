//! The `prony` command from end to end, as a user meets it: real processes, real sockets, a
//! notebook and a catalog of each test's own.
//!
//! What is asserted are results, messages and counts, never speed; times only bound how long
//! something may take before it counts as hanging.

mod addresses;
mod around;
#[cfg(feature = "audit")]
mod audit;
mod capacity;
mod changing;
mod ci;
mod compat;
mod compressed;
mod dependencies;
mod descriptors;
mod docs;
mod duel;
mod echo_client;
mod experiment;
mod failing;
mod first_byte;
mod from_a_suite;
mod gates;
mod generated_code;
mod grpc;
mod help;
mod hosts;
mod http;
mod http2;
mod http3;
mod images;
mod import;
mod input;
mod inputs;
mod interrupt;
mod json_schema;
mod left_out;
mod limits;
mod live;
mod lives;
mod load;
mod manners;
mod names;
mod orphans;
mod outside;
mod over;
mod pages;
mod pipes;
mod proxies;
mod published;
mod replay;
mod requests;
mod schemas;
mod servers;
mod services;
mod sessions;
mod setup;
mod sharing;
mod streams;
mod support;
mod terminal;
mod tls;
mod tried;
mod unasked;
mod unkept;
mod usage;
#[cfg(feature = "view")]
mod view;
mod websocket;
mod why;
mod words;
mod workers;
