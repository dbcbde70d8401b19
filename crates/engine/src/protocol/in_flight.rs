//! The requests in flight on one connection, and how an answer is matched with its request.
//!
//! A session declares with its [token](super::Session::Token) whether answers come in the order of the
//! requests ([`Fifo`]) or in any ([`Tag`]). Both only hand out *places*: indices below the number
//! of requests that a connection may have in flight, where the worker keeps its times.

use std::fmt::Debug;

/// Identifier of a request in flight.
pub trait Token: Copy + Debug + PartialEq + Send + 'static {
    /// Keeps track of one connection's requests. `Default`: nothing is in flight.
    type InFlight: InFlight<Self>;
}

/// The requests in flight on one connection. `capacity` is how many there may be at once, at least
/// 1 and always the same for one connection.
pub trait InFlight<T>: Default {
    /// How many.
    fn len(&self) -> u32;

    /// Nothing is in flight.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The one that was sent first, and its place; none when nothing is in flight.
    fn oldest(&self) -> Option<(T, usize)>;

    /// The place of a request; None when it is not in flight. Of those that are answered in order, the oldest.
    fn place(&self, token: T) -> Option<usize>;

    /// All of them with their places, the one that was sent first before the others.
    fn all(&self, capacity: usize) -> impl Iterator<Item = (T, usize)>;

    /// Adds a request, of which there are fewer than `capacity`. Gives its token and its place.
    fn put(&mut self, capacity: usize) -> (T, usize);

    /// Takes out a request, which must be in flight. Gives its place.
    fn take(&mut self, token: T, capacity: usize) -> usize;
}

/// Answers come in the order of the requests: there is nothing to tell them apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fifo;

impl Token for Fifo {
    type InFlight = Ring;
}

/// A ring: what is in flight are the places from `first` on, modulo the capacity.
#[derive(Debug, Default)]
pub struct Ring {
    first: u32,
    len: u32,
}

impl InFlight<Fifo> for Ring {
    #[inline]
    fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    fn oldest(&self) -> Option<(Fifo, usize)> {
        (self.len > 0).then_some((Fifo, self.first as usize))
    }

    fn place(&self, _: Fifo) -> Option<usize> {
        (self.len > 0).then_some(self.first as usize)
    }

    fn all(&self, capacity: usize) -> impl Iterator<Item = (Fifo, usize)> {
        (self.first..self.first + self.len).map(move |at| (Fifo, at as usize % capacity))
    }

    #[inline]
    fn put(&mut self, capacity: usize) -> (Fifo, usize) {
        let at = (self.first + self.len) as usize;
        self.len += 1;
        (Fifo, if at >= capacity { at - capacity } else { at })
    }

    #[inline]
    fn take(&mut self, _: Fifo, capacity: usize) -> usize {
        let place = self.first as usize;
        self.first = if place + 1 == capacity {
            0
        } else {
            self.first + 1
        };
        self.len -= 1;
        place
    }
}

/// Answers come in any order: each request has a number from 0 that no other request in flight on
/// its connection has, below the number of requests that the connection may have in flight.
/// Numbers are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag(u32);

impl Tag {
    /// The number, to keep something per request in flight.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Token for Tag {
    type InFlight = Tags;
}

/// A doubly linked list of places in the order of sending. A tag is its place.
#[derive(Debug, Default)]
pub struct Tags {
    /// Places, as many as were ever in flight at once.
    places: Vec<ListNode>,
    free: Vec<u32>,
    first: Option<u32>,
    last: Option<u32>,
    len: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct ListNode {
    taken: bool,
    /// The requests that were sent before and after it.
    before: Option<u32>,
    after: Option<u32>,
}

impl InFlight<Tag> for Tags {
    #[inline]
    fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    fn oldest(&self) -> Option<(Tag, usize)> {
        self.first.map(|first| (Tag(first), first as usize))
    }

    fn place(&self, tag: Tag) -> Option<usize> {
        let place = self.places.get(tag.index())?;
        place.taken.then(|| tag.index())
    }

    fn all(&self, _: usize) -> impl Iterator<Item = (Tag, usize)> {
        let after = |at: &u32| self.places[*at as usize].after;
        std::iter::successors(self.first, after).map(|at| (Tag(at), at as usize))
    }

    fn put(&mut self, capacity: usize) -> (Tag, usize) {
        debug_assert!((self.len as usize) < capacity);
        let at = self.free.pop().unwrap_or_else(|| {
            self.places.push(ListNode::default());
            self.places.len() as u32 - 1
        });
        self.places[at as usize] = ListNode {
            taken: true,
            before: self.last,
            after: None,
        };
        match self.last {
            Some(last) => self.places[last as usize].after = Some(at),
            None => self.first = Some(at),
        }
        self.last = Some(at);
        self.len += 1;
        (Tag(at), at as usize)
    }

    fn take(&mut self, tag: Tag, _: usize) -> usize {
        let ListNode {
            taken,
            before,
            after,
        } = std::mem::take(&mut self.places[tag.index()]);
        assert!(taken, "{tag:?} is not in flight");
        match before {
            Some(before) => self.places[before as usize].after = after,
            None => self.first = after,
        }
        match after {
            Some(after) => self.places[after as usize].before = before,
            None => self.last = before,
        }
        self.free.push(tag.0);
        self.len -= 1;
        tag.index()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Debug;

    /// Carries out `steps` (an even number sends, an odd one takes out what `nth` picks among the
    /// requests in flight, oldest first) beside a plain list.
    fn agrees_with_a_list<T: Token + Debug>(
        capacity: usize,
        steps: &[u8],
        nth: impl Fn(u8, usize) -> usize,
    ) -> Result<(), TestCaseError> {
        let mut it = T::InFlight::default();
        let mut list: Vec<(T, usize)> = Vec::new();
        for &step in steps {
            if step % 2 == 0 && list.len() < capacity {
                let sent = it.put(capacity);
                prop_assert!(sent.1 < capacity, "{:?} of {}", sent, capacity);
                prop_assert!(list.iter().all(|other| other.1 != sent.1));
                list.push(sent);
            } else if !list.is_empty() {
                let (token, place) = list.remove(nth(step, list.len()));
                prop_assert_eq!(it.take(token, capacity), place);
            }
            prop_assert_eq!(it.len() as usize, list.len());
            prop_assert_eq!(it.is_empty(), list.is_empty());
            prop_assert_eq!(it.oldest(), list.first().copied());
            prop_assert_eq!(it.all(capacity).collect::<Vec<_>>(), list.clone());
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn a_ring_is_taken_from_in_order(
            capacity in 1usize..9,
            steps in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            agrees_with_a_list::<Fifo>(capacity, &steps, |_, _| 0)?;
        }

        #[test]
        fn tags_are_taken_from_in_any_order(
            capacity in 1usize..9,
            steps in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            agrees_with_a_list::<Tag>(capacity, &steps, |step, n| usize::from(step) % n)?;
        }
    }

    #[test]
    fn an_order_of_answers_needs_no_token() {
        assert_eq!(size_of::<Fifo>(), 0);
        assert_eq!(size_of::<Ring>(), 8);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    #[should_panic(expected = "Tag(0) is not in flight")]
    fn an_answer_to_nothing_is_a_mistake_of_the_session() {
        let mut it = Tags::default();
        let (tag, _) = it.put(2);
        it.take(tag, 2);
        it.take(tag, 2);
    }
}
