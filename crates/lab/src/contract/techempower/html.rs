//! A page with one table, as browsers read it: the case of names, attributes, white space, comments and left-out ends of
//! elements make no difference.

/// Content of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// The page begins with `<!DOCTYPE html>`.
    pub doctype: bool,
    /// Text of its title.
    pub title: String,
    /// Number of tables.
    pub tables: usize,
    /// Rows of all tables.
    pub rows: Vec<Vec<Cell>>,
}

/// Cell of a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cell {
    /// The cell is a heading, `<th>`.
    pub heading: bool,
    /// Text with its character references decoded, without white space around it.
    pub text: String,
}

/// Place of text within a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    Title,
    Cell,
}

struct Reader {
    page: Page,
    place: Place,
    text: String,
    heading: bool,
}

impl Page {
    /// Reads a page.
    ///
    /// # Errors
    /// In words: an element within a cell, which means that its text was not escaped; or a tag without its end.
    pub fn read(html: &str) -> Result<Self, String> {
        let mut reader = Reader {
            page: Self::default(),
            place: Place::Outside,
            text: String::new(),
            heading: false,
        };
        let mut rest = html.trim_start_matches('\u{feff}');
        while let Some(at) = rest.find('<') {
            reader.text.push_str(&rest[..at]);
            rest = reader.markup(&rest[at..])?;
        }
        reader.text.push_str(rest);
        reader.end_of_cell();
        Ok(reader.page)
    }
}

impl Reader {
    /// Reads what begins with `<`, and gives what follows it.
    fn markup<'a>(&mut self, at: &'a str) -> Result<&'a str, String> {
        if let Some(comment) = at.strip_prefix("<!--") {
            let end = comment.find("-->").ok_or("a comment without its end")?;
            return Ok(&comment[end + 3..]);
        }
        let after = &at[1..];
        let (closes, name) = match after.strip_prefix('/') {
            Some(name) => (true, name),
            None => (false, after),
        };
        let starts = |c: char| c.is_ascii_alphabetic() || (c == '!' && !closes);
        if !name.starts_with(starts) {
            // No tag: a sign in a text.
            self.text.push('<');
            return Ok(after);
        }
        let end = end_of_tag(name).ok_or_else(|| format!("a tag without its end: {}", cut(at)))?;
        let (inside, rest) = (&name[..end], &name[end + 1..]);
        let is_end = |c: char| c.is_whitespace() || c == '/';
        let tag = inside.split(is_end).next().unwrap_or_default();
        let tag = tag.to_ascii_lowercase();
        if let Some(declared) = inside.strip_prefix('!') {
            let words: Vec<String> = declared
                .split_whitespace()
                .map(str::to_ascii_lowercase)
                .collect();
            let first = self.text.trim().is_empty() && self.page == Page::default();
            self.page.doctype |= first && words == ["doctype", "html"];
            return Ok(rest);
        }
        self.tag(&tag, closes)?;
        // Their content is no text.
        match tag.as_str() {
            "script" | "style" if !closes => Ok(after_element(rest, &tag)),
            _ => Ok(rest),
        }
    }

    fn tag(&mut self, tag: &str, closes: bool) -> Result<(), String> {
        match (tag, closes) {
            ("table" | "thead" | "tbody" | "tfoot" | "tr" | "body" | "html", _)
            | ("td" | "th", _) => self.end_of_cell(),
            _ if self.place == Place::Cell => {
                let slash = if closes { "/" } else { "" };
                return Err(format!(
                    "the element <{slash}{tag}> after {:?}",
                    cut(&self.text)
                ));
            }
            ("title", true) if self.place == Place::Title => {
                self.page.title = decoded(self.text.trim());
                self.place = Place::Outside;
            }
            _ => {}
        }
        match (tag, closes) {
            ("table", false) => self.page.tables += 1,
            ("tr", false) => self.page.rows.push(Vec::new()),
            ("td" | "th", false) => {
                self.heading = tag == "th";
                self.begin(Place::Cell);
            }
            ("title", false) => self.begin(Place::Title),
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, place: Place) {
        self.place = place;
        self.text.clear();
    }

    fn end_of_cell(&mut self) {
        if self.place == Place::Cell {
            let cell = Cell {
                heading: self.heading,
                text: decoded(self.text.trim()),
            };
            match self.page.rows.last_mut() {
                Some(row) => row.push(cell),
                None => self.page.rows.push(vec![cell]),
            }
            self.place = Place::Outside;
        }
    }
}

/// Position of the `>` that ends a tag; one in a quoted value does not.
fn end_of_tag(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '"' | '\'') if tag[..at].trim_end().ends_with('=') => quote = Some(c),
            (None, '>') => return Some(at),
            _ => {}
        }
    }
    None
}

/// Rest of a page after the end tag of an element that holds no text.
fn after_element<'a>(rest: &'a str, tag: &str) -> &'a str {
    let lower = rest.to_ascii_lowercase();
    let end = lower.find(&format!("</{tag}"));
    end.map_or("", |end| &rest[end..])
}

/// Text with its character references decoded: numbers, and the five names of XML. Others stay as they are.
fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let reference = &rest[at + 1..];
        let end = reference.find(';');
        let found = end.and_then(|end| Some((character(&reference[..end])?, end)));
        rest = match found {
            Some((c, end)) => {
                out.push(c);
                &reference[end + 1..]
            }
            None => {
                out.push('&');
                reference
            }
        };
    }
    out.push_str(rest);
    out
}

/// Character of a reference, which stands between `&` and `;`.
fn character(reference: &str) -> Option<char> {
    let number = match reference.strip_prefix('#') {
        Some(number) => number,
        None => {
            return match reference {
                "lt" => Some('<'),
                "gt" => Some('>'),
                "amp" => Some('&'),
                "quot" => Some('"'),
                "apos" => Some('\''),
                _ => None,
            };
        }
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    char::from_u32(code.ok()?)
}

/// The beginning of a text, for a message.
fn cut(text: &str) -> String {
    text.trim().chars().take(30).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(html: &str) -> Vec<Vec<String>> {
        let rows = Page::read(html).unwrap().rows.into_iter();
        rows.map(|row| row.into_iter().map(|cell| cell.text).collect())
            .collect()
    }

    #[test]
    fn a_page_is_read_as_browsers_read_it() {
        let plain = "<!DOCTYPE html><html><head><title>F</title></head><body><table>\
            <tr><th>id</th><th>message</th></tr><tr><td>1</td><td>a &lt;b&gt;</td></tr>\
            </table></body></html>";
        let page = Page::read(plain).unwrap();
        assert!(page.doctype && page.title == "F" && page.tables == 1);
        assert!(page.rows[0][0].heading && !page.rows[1][0].heading);
        let expected = [vec!["id", "message"], vec!["1", "a <b>"]];
        assert_eq!(texts(plain), expected);
        let loose = "\u{feff}\n<!doctype HTML>\r\n<html lang=en><meta charset=\"utf-8\"><TITLE >\nF\n</Title>\
            <style>td > b { color: red }</style><script>if (1 < 2) '<td>'</script>\n<body>\n\
            <table class='a>b'>\n <thead><TR><th>id<th>message\n <tbody><tr>\n  <td> 1\n  <!-- <td>no</td> -->\
            <td>\n a &#60;b&#x3E;\n </table>";
        assert_eq!(texts(loose), expected);
        let page = Page::read(loose).unwrap();
        assert!(page.doctype && page.title == "F" && page.tables == 1);
    }

    #[test]
    fn an_element_in_a_cell_is_refused() {
        let page = |text: &str| Page::read(&format!("<table><tr><td>{text}</td></tr></table>"));
        let error = page("x<script>alert(1)</script>").unwrap_err();
        assert_eq!(error, "the element <script> after \"x\"");
        for wrong in ["<i>x</i>", "<!-- ", "</span>", "<br>"] {
            assert!(page(wrong).is_err(), "{wrong}");
        }
        // No tag, but a sign that nobody mistakes.
        assert_eq!(page("1 < 2").unwrap().rows[0][0].text, "1 < 2");
    }

    #[test]
    fn references_are_decoded_once() {
        for (text, expected) in [
            ("&lt;&gt;&amp;&quot;&apos;", "<>&\"'"),
            ("&#39;&#x27;&#X27;", "'''"),
            ("&amp;lt;", "&lt;"),
            (
                "a & b &unknown; &#xffffff; &",
                "a & b &unknown; &#xffffff; &",
            ),
            ("&#36895;さ", "速さ"),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
    }

    #[test]
    fn a_page_without_a_doctype_or_table() {
        let page = Page::read("hello <!doctype html> world").unwrap();
        assert!(!page.doctype && page.tables == 0 && page.rows.is_empty());
        assert!(Page::read("<table").is_err());
    }
}
