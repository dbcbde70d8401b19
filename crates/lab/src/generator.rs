//! The generator, as the lab sees it: something that carries out plans and can be steered meanwhile.

use crate::interrupt::Interrupt;
use prony_engine::{Control, Error, Nanos, Plan, Progress};
use prony_record::{Observation, Window};
use std::sync::Arc;

/// Carries out loads. One implementation is this process' engine ([`Local`]); another machine's, and
/// those of tests, are others.
pub trait Generator {
    /// Carries out a plan until it ends by itself, `steer` ends it, or the user interrupts it.
    ///
    /// # Errors
    /// When the plan cannot be carried out. A server that fails is not an error: its failures are
    /// counted.
    fn load(
        &self,
        plan: &Plan,
        interrupt: &Interrupt,
        steer: &mut dyn Steer,
    ) -> Result<Observation, Error>;
}

/// Hears how a load goes, and says when it is measured and when it ends.
pub trait Steer {
    /// The load begins at this time of the generator's clock, a moment from now.
    fn began(&mut self, start: Nanos, wheel: &dyn Wheel);

    /// A window has ended.
    fn window(&mut self, window: &Window, wheel: &dyn Wheel);
}

/// With what a load is steered.
pub trait Wheel {
    /// How long the load has lasted, in nanoseconds.
    fn elapsed(&self) -> Nanos;

    /// Measures from `from` until `until`, in nanoseconds since the load's start. To be said once. When
    /// `from` is too close, both are put off by the same time; gives what it has become.
    fn measure(&self, from: Nanos, until: Nanos) -> (Nanos, Nanos);

    /// Ends the load; what was measured so far is kept.
    fn stop(&self);
}

impl Wheel for Control {
    fn elapsed(&self) -> Nanos {
        Self::elapsed(self).unwrap_or(0)
    }

    fn measure(&self, from: Nanos, until: Nanos) -> (Nanos, Nanos) {
        Self::measure(self, from, until)
    }

    fn stop(&self) {
        Self::stop(self);
    }
}

/// The engine in this process.
#[derive(Debug, Default)]
pub struct Local;

struct Steered<'a> {
    steer: &'a mut dyn Steer,
    control: &'a Control,
}

impl Progress for Steered<'_> {
    fn began(&mut self, start: Nanos) {
        self.steer.began(start, self.control);
    }

    fn window(&mut self, window: &Window) {
        self.steer.window(window, self.control);
    }
}

impl Generator for Local {
    fn load(
        &self,
        plan: &Plan,
        interrupt: &Interrupt,
        steer: &mut dyn Steer,
    ) -> Result<Observation, Error> {
        let control = Arc::new(Control::default());
        interrupt.guard(&control);
        let progress = Steered {
            steer,
            control: &control,
        };
        prony_engine::run(plan, &control, progress).map(|(seen, _)| seen)
    }
}
