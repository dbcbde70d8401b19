//! Figures that the documents claim, each of which can be measured again.
//!
//! | benchmark | question |
//! |---|---|
//! | [`peers`] | how much does prony cost, compared with a bare loop, wrk, h2load and ab? |
//! | [`over`] | and over TLS, HTTP/2 and WebSocket? |
//! | [`others`] | what do other load generators say of the same server? |
//! | [`send_delay`] | does it send when it should? |
//! | [`memory`] | what does a connection cost? |
//! | [`truth`] | does it report what happened? |
//! | [`compat`] | what does another tool's command line cost? |
//! | [`verdicts`] | how often is a difference between identical servers reported? |
//! | [`power`] | is a known slowdown found? |
//! | [`busy`] | is more work ever called an improvement, on a busy machine too? |
//! | [`referee`] | are verdicts right of servers that are slow, or wait for something? |
//! | [`apps`] | are default options enough for real applications? |
//! | [`attribution`] | does it say what is wrong? |
//! | [`why`] | does `duel --why` name what makes a server cost more? |
//! | [`pairing`] | do comparisons scatter less if both sides are loaded at once, or laid out anew? |
//! | [`capacity`] | does a capacity search repeat, and does it say when it cannot know? |
//! | [`view`] | how soon does `prony view` answer, with many trials in the notebook? |
//! | [`instructions`] | does a change of the load loop make it more expensive? |
//!
//! Helpers of these: [`bare`] has the bare loops, [`external`] the other load generators, and [`plant`] the servers with
//! a known fault.

pub mod apps;
pub mod attribution;
pub mod bare;
pub mod busy;
pub mod capacity;
pub mod compat;
pub mod external;
pub mod instructions;
pub mod memory;
pub mod others;
pub mod over;
pub mod pairing;
pub mod peers;
pub mod plant;
pub mod power;
pub mod referee;
pub mod send_delay;
pub mod streams;
pub mod truth;
pub mod verdicts;
pub mod view;
pub mod why;
