//! Decisions of runs, duels, capacity searches and calibrations, over a host and a generator that are made up: no
//! sockets, no processes, no clock, milliseconds.

mod capacity;
mod checks;
mod duel;
mod fakes;
mod rigs;
mod run;
mod why;
