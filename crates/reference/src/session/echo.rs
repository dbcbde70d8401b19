//! TCP echo: the input is the reply.

use super::{Reply, Session, Then};
use crate::Date;

#[derive(Debug, Default)]
pub(crate) struct Echo;

impl Session for Echo {
    const DATED: bool = false;
    type Setup = ();

    fn new((): &()) -> Self {
        Self
    }

    /// TCP has no messages: what one read brings counts as one request.
    fn receive<'a>(&mut self, input: &'a [u8], _: &Date, _: &'a mut Vec<u8>) -> Reply<'a> {
        Reply {
            bytes: input,
            requests: 1,
            then: Then::Keep,
        }
    }
}
