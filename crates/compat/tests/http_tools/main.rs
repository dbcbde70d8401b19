//! `ab`, `weighttp`, `httperf` and `h2load`, compared with the originals: the same lines with the same names
//! and units, and the same counts where they do not depend on the clock.
//!
//! Each case is compared with a golden file, which is a real output of the original (written with
//! `PRONY_GOLDEN=write`), and with the original itself where it is installed: without it the test
//! says so, and fails where `CI=true`.

mod ab;
mod descriptors;
mod h2;
mod h2load;
mod h3;
mod httperf;
mod support;
mod weighttp;
