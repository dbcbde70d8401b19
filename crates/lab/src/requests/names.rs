//! The values that have names in a request or a session: those that its requests name themselves, and
//! those that its steps take from answers.

/// A name.
#[derive(Debug)]
struct Name {
    name: String,
    value: NameSource,
}

/// Value that a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NameSource {
    /// Value that a step takes from an answer, remembered in the name's place.
    Taken,
    /// Value that a request draws, remembered in the name's place.
    Drawn,
    /// The same row of a CSV file as everywhere: nothing has to be remembered.
    Row {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
}

/// All names, each with its place.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<Name>);

impl Names {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The names in the order of their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|one| &one.name)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds what is taken from an answer.
    pub(super) fn push(&mut self, name: String) {
        self.name(name, NameSource::Taken);
    }

    /// Adds a name, and gives its place.
    pub(super) fn name(&mut self, name: String, value: NameSource) -> usize {
        self.0.push(Name { name, value });
        self.0.len() - 1
    }

    /// Place of a name, and the value that it stands for; None for an unknown name.
    pub(super) fn get(&self, name: &str) -> Option<(usize, &NameSource)> {
        let at = self.0.iter().position(|one| one.name == name)?;
        Some((at, &self.0[at].value))
    }

    /// Does a request name a value so?
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|(_, it)| *it != NameSource::Taken)
    }
}
