//! Contracts against servers that keep them, cheat or misbehave; and measurements, over made-up hosts and generators.

mod arena;
mod cheats;
mod contracts;
mod grpc;
mod honest;
mod hostile;
mod orchestration;
mod over;
mod shop;
mod sse;
mod support;
mod techempower;
mod websocket;
