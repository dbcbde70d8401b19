//! A neighbour that uses its CPU.

use std::hint;
use std::io;

/// Never returns.
pub fn burn() -> io::Result<()> {
    loop {
        hint::spin_loop();
    }
}
