//! Tests of the audit as a whole, in one binary.

mod corpus;
mod examples;
mod golden;
mod honest;
mod large;
mod property;
mod published;
