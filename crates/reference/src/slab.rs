//! A table of connections whose keys do not outlive what they name.

/// Names one value of a [`Slab`]; after its removal it names nothing, even if the place is reused.
///
/// An event about a connection can be on its way while the connection is being closed and its
/// place taken by the next one. The generation in the key tells the two apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    index: u32,
    generation: u32,
}

/// Generations wrap after 2^24 reuses of one place, so that a key fits into 56 bits.
const GENERATIONS: u32 = 1 << 24;

impl Key {
    /// The key as a number below 2^56, for the kernel to hand back.
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The key that [`Self::to_bits`] gave, whatever the top 8 bits hold.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self {
            index: bits as u32,
            generation: (bits >> 32) as u32 % GENERATIONS,
        }
    }
}

struct SlabEntry<T> {
    generation: u32,
    value: Option<T>,
}

pub(crate) struct Slab<T> {
    places: Vec<SlabEntry<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.places.len()
    }

    pub(crate) fn insert(&mut self, value: T) -> Key {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(SlabEntry {
                generation: 0,
                value: None,
            });
            self.places.len() as u32 - 1
        });
        let place = &mut self.places[index as usize];
        place.value = Some(value);
        Key {
            index,
            generation: place.generation,
        }
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let place = self.places.get_mut(key.index as usize)?;
        if place.generation == key.generation {
            place.value.as_mut()
        } else {
            None
        }
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let place = self.places.get_mut(key.index as usize)?;
        if place.generation != key.generation {
            return None;
        }
        let value = place.value.take()?;
        place.generation = (place.generation + 1) % GENERATIONS;
        self.free.push(key.index);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_dies_with_its_value() {
        let mut slab = Slab::new();
        let first = slab.insert("first");
        assert_eq!(slab.remove(first), Some("first"));
        assert!(slab.is_empty());
        let second = slab.insert("second");
        assert_eq!(slab.get_mut(first), None);
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.get_mut(second), Some(&mut "second"));
        assert_eq!(Key::from_bits(second.to_bits() | 0xff << 56), second);
    }
}
