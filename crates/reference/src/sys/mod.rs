//! The system calls that `std` does not offer. All unsafe code outside the io_uring model is here.

mod buffers;
mod clock;
mod limits;
mod poller;
mod signals;
mod socket;

pub(crate) use buffers::Buffers;
pub(crate) use clock::monotonic_ns;
pub(crate) use limits::raise_open_files;
pub(crate) use poller::{Interest, PollEvents, Poller};
pub(crate) use signals::stop_on_signals;
pub(crate) use socket::{
    Accepted, Sharing, accept, bind_datagrams, is_passing, listen, listener_is_broken,
    out_of_descriptors,
};
