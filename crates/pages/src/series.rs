//! How a server looks: the same colour, shape and dash in every chart of a run.
//!
//! No two of the first 48 look the same, and none is told by its colour alone: colours repeat with
//! another shape and another dash. The colours themselves are in the style sheet, so that light, dark
//! and print each have theirs.

/// Colours of the style sheet: classes `c0` to `c7`.
pub const COLOURS: usize = 8;
/// Shapes of marks.
pub const SHAPES: usize = 6;

/// The servers of a run in the order in which they got their looks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series {
    labels: Vec<String>,
}

/// A look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesStyle {
    /// The colour: 0 to 7.
    pub colour: usize,
    /// The shape: 0 to 5.
    pub shape: usize,
}

impl Series {
    /// Gives each label a look, the first it is named.
    pub fn new(labels: impl IntoIterator<Item = String>) -> Self {
        let mut all: Vec<String> = Vec::new();
        for label in labels {
            if !all.contains(&label) {
                all.push(label);
            }
        }
        Self { labels: all }
    }

    /// A label's look; that of the first for an unknown one.
    pub fn look(&self, label: &str) -> SeriesStyle {
        let place = self.labels.iter().position(|known| known == label);
        let place = place.unwrap_or(0);
        SeriesStyle {
            colour: place % COLOURS,
            // The shape also changes from one to the next: 8 colours and 6 shapes repeat together
            // only after 24, and then the round's number shifts them.
            shape: (place + place / 24) % SHAPES,
        }
    }
}

impl SeriesStyle {
    /// The class of its colour.
    pub fn class(self) -> String {
        format!("c{}", self.colour)
    }

    /// The dashes of its lines, for `stroke-dasharray`.
    pub const fn dash(self) -> &'static str {
        match self.shape {
            0 => "none",
            1 => "7 3",
            2 => "2 2.5",
            3 => "9 3 2 3",
            4 => "4 2",
            _ => "12 3",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn forty_eight_servers_look_different() {
        let labels: Vec<String> = (0..48).map(|i| format!("s{i}")).collect();
        let series = Series::new(labels.clone());
        let looks: HashSet<(usize, usize)> = labels
            .iter()
            .map(|label| series.look(label))
            .map(|look| (look.colour, look.shape))
            .collect();
        assert_eq!(looks.len(), 48);
    }

    #[test]
    fn a_label_that_is_named_twice_has_one_look() {
        let series = Series::new(["a", "b", "a", "c"].map(String::from));
        assert_eq!(series.look("c").colour, 2);
    }
}
