//! The generator, as the lab sees it: something that carries out plans and can be steered meanwhile.

use crate::interrupt::Interrupt;
use prony_engine::descriptors::{self, TooFewDescriptors};
use prony_engine::{Control, Error, Nanos, Plan, Progress, clock};
use prony_record::{Observation, Window};
use std::sync::Arc;
use std::time::Duration;

/// Carries out loads. One implementation is this process' engine ([`Local`]); another machine's, and
/// those of tests, are others.
pub trait Generator: Send + Sync {
    /// Carries out a plan until it ends by itself, `controller` ends it, or the user interrupts it.
    ///
    /// # Errors
    /// When the plan cannot be carried out. A server that fails is not an error: its failures are
    /// counted.
    fn load(
        &self,
        plan: &Plan,
        interrupt: &Interrupt,
        controller: &mut dyn LoadController,
    ) -> Result<Observation, Error>;

    /// Makes sure that so many connections can be open at once.
    ///
    /// # Errors
    /// When they cannot.
    fn reserve(&self, connections: u64) -> Result<(), TooFewDescriptors> {
        descriptors::reserve(connections)
    }

    /// Does it send from this machine?
    fn is_here(&self) -> bool {
        true
    }

    /// Can it still carry out loads? Machines that were lost are reached again if they can be.
    ///
    /// # Errors
    /// Why not.
    fn reachable(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Hears how a load goes, and says when it is measured and when it ends.
pub trait LoadController {
    /// How long a load is measured that is measured as soon as it begins, in nanoseconds (`Nanos::MAX`: until its number
    /// of requests is reached). None: [`LoadControl::measure`] says it later. Said while the load runs, it may come too late for
    /// the first requests, which would then be sent and not counted among their number.
    fn at_once(&self) -> Option<Nanos> {
        None
    }

    /// The load begins at this time of the generator's clock, a moment from now.
    fn began(&mut self, start: Nanos, control: &dyn LoadControl);

    /// A window has ended.
    fn window(&mut self, window: &Window, control: &dyn LoadControl);
}

/// Measures a load from its first request on, for so long, and leaves it alone.
#[derive(Debug, Clone, Copy)]
pub struct Briefly(pub Duration);

impl LoadController for Briefly {
    fn at_once(&self) -> Option<Nanos> {
        Some(clock::nanos(self.0))
    }

    fn began(&mut self, _start: Nanos, _control: &dyn LoadControl) {}

    fn window(&mut self, _window: &Window, _control: &dyn LoadControl) {}
}

/// With what a load is steered.
pub trait LoadControl {
    /// How long the load has lasted, in nanoseconds.
    fn elapsed(&self) -> Nanos;

    /// Measures from `from` until `until`, in nanoseconds since the load's start. To be said once. When
    /// `from` is too close, both are put off by the same time; gives what it has become.
    fn measure(&self, from: Nanos, until: Nanos) -> (Nanos, Nanos);

    /// Ends the load; what was measured so far is kept.
    fn stop(&self);
}

impl LoadControl for Control {
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
    controller: &'a mut dyn LoadController,
    control: &'a Control,
}

impl Progress for Steered<'_> {
    fn began(&mut self, start: Nanos) {
        self.controller.began(start, self.control);
    }

    fn window(&mut self, window: &Window) {
        self.controller.window(window, self.control);
    }
}

impl Generator for Local {
    fn load(
        &self,
        plan: &Plan,
        interrupt: &Interrupt,
        controller: &mut dyn LoadController,
    ) -> Result<Observation, Error> {
        let control = Arc::new(
            controller
                .at_once()
                .map_or_else(Control::default, Control::at_once),
        );
        interrupt.guard(&control);
        let progress = Steered {
            controller,
            control: &control,
        };
        prony_engine::run(plan, &control, progress).map(|(seen, _)| seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_engine::{Dialogue, Target};
    use prony_record::Extent;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;
    use std::time::Duration;

    /// Hears of everything late, as on a busy machine.
    struct Slow;

    impl LoadController for Slow {
        fn at_once(&self) -> Option<Nanos> {
            Some(Nanos::MAX)
        }

        fn began(&mut self, _start: Nanos, _control: &dyn LoadControl) {
            thread::sleep(Duration::from_millis(50));
        }

        fn window(&mut self, _window: &Window, _control: &dyn LoadControl) {}
    }

    #[test]
    fn a_number_of_requests_is_exact_however_late_it_is_steered() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let target = Target::Tcp(listener.local_addr().unwrap());
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || {
                    let mut bytes = [0; 1_024];
                    while let Ok(n @ 1..) = stream.read(&mut bytes) {
                        let _ = stream.write_all(&bytes[..n]);
                    }
                });
            }
        });
        let mut plan = Plan::closed(target, Dialogue::Echo(b"hello\n".to_vec()), 3);
        plan.load.extent = Extent::Requests(60);
        let seen = Local.load(&plan, &Interrupt::default(), &mut Slow).unwrap();
        assert_eq!((seen.outcomes.ok, seen.outcomes.finished()), (60, 60));
        assert_eq!(seen.times.response.len(), 60);
    }
}
