//! Whole duels, simulated.

mod attacker;
mod giving_up;
