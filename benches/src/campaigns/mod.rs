//! Does it break? Long runs that look for a failure rather than for a figure.
//!
//! | campaign | question |
//! |---|---|
//! | [`hostile`] | is what hostile servers do told as it is? |
//! | [`faults`] | is anything lost or left behind when prony, or what it needs, fails? |
//! | [`hosts`] | what do generators on several machines cost, and do they act together? |
//! | [`soak`] | does anything grow, drift or get lost in a load of hours? |

pub mod faults;
pub mod hostile;
pub mod hosts;
pub mod soak;
