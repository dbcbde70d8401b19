//! Lists of words that names are looked for in.

/// Words and phrases in small letters, set apart by a comma and a space.
#[derive(Clone, Copy)]
pub(crate) struct Words(pub &'static str);

impl Words {
    /// Is a word, or a whole name, among them?
    pub fn has(self, word: &str) -> bool {
        self.0.split(", ").any(|own| own == word)
    }

    /// Is a word of a text among them?
    pub fn any_of(self, text: &str) -> bool {
        words(text).any(|word| self.has(word))
    }

    /// Does a text have one of them in it, be it as a part of a word?
    pub fn within(self, text: &str) -> bool {
        self.0.split(", ").any(|own| text.contains(own))
    }

    /// Does a text begin with one of them?
    pub fn begin(self, text: &str) -> bool {
        self.0.split(", ").any(|own| text.starts_with(own))
    }
}

/// The words of a text: letters and digits in a row.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

/// Does a heading only say that results follow, and not of what?
pub(crate) fn is_generic(heading: &str) -> bool {
    const WORDS: Words = Words(
        "and, benchmark, benchmarking, benchmarks, bench, data, details, figures, for, http, \
        load, log, logs, measurement, measurements, my, number, numbers, of, on, our, output, \
        outputs, performance, raw, report, result, results, run, some, summary, test, tests, \
        the, value, values",
    );
    let heading = heading.to_lowercase();
    words(&heading).all(|word| WORDS.has(word))
}
