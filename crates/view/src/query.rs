//! Query of an address: the part behind its question mark.

use url::form_urlencoded;

/// Keys and values in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads it. Whatever it is, it can be read: what is no text in it is replaced.
    pub fn of(text: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(text.unwrap_or_default().as_bytes());
        Self(pairs.into_owned().collect())
    }

    /// The first value of that key that is not empty.
    pub fn one(&self, key: &str) -> Option<&str> {
        let found = self
            .0
            .iter()
            .find(|(own, value)| own == key && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }

    /// All values of that key.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self.0.iter().filter(move |(own, _)| own == key);
        found.map(|(_, value)| value.as_str())
    }

    /// The same without that key.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        let rest = self.0.iter().filter(|(own, _)| own != key);
        Self(rest.cloned().collect())
    }

    /// The same with that key at its end.
    #[must_use]
    pub fn with(&self, key: &str, value: &str) -> Self {
        let mut more = self.without(key);
        more.0.push((key.to_owned(), value.to_owned()));
        more
    }

    /// A path with it.
    pub fn to(&self, path: &str) -> String {
        if self.0.is_empty() {
            return path.to_owned();
        }
        let mut text = form_urlencoded::Serializer::new(String::new());
        text.extend_pairs(&self.0);
        format!("{path}?{}", text.finish())
    }
}
