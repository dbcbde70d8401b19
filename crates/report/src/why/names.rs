//! Names of functions that fit into a table.

/// The most characters of a name.
const MOST: usize = 60;

/// The name without the arguments of its templates and its parameters, and, if it is still too long, without its middle.
/// Shorter names stay as they are: Go's `main.(*server).serve` and Rust's `<T as Trait>::f` need their brackets.
pub(super) fn short(name: &str) -> String {
    if name.chars().count() <= MOST {
        return name.to_owned();
    }
    let name = without(name.trim_end_matches(" const"), '<', '>');
    let name = match parameters(&name) {
        Some(at) => format!("{}(…)", &name[..at]),
        None => name,
    };
    let length = name.chars().count();
    if length <= MOST {
        return name;
    }
    let begin: String = name.chars().take(MOST / 2).collect();
    let end: String = name.chars().skip(length - MOST / 2 + 1).collect();
    format!("{begin}…{end}")
}

/// Replaces the text between each outermost pair of `open` and `close` by `…`. Characters of operators do not count as
/// brackets.
fn without(name: &str, open: char, close: char) -> String {
    let mut out = String::new();
    let mut depth = 0_usize;
    for c in name.chars() {
        let operator = ["operator", "operator<", "operator-"]
            .iter()
            .any(|begin| depth == 0 && out.ends_with(begin));
        match c {
            _ if operator => out.push(c),
            c if c == open => {
                if depth == 0 {
                    out.push(c);
                    out.push('…');
                }
                depth += 1;
            }
            c if c == close && depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    out.push(c);
                }
            }
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}

/// Where the list of parameters begins that ends the name, if one does.
fn parameters(name: &str) -> Option<usize> {
    let inner = name.strip_suffix(')')?;
    let mut depth = 1;
    for (at, c) in inner.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (at > 0).then_some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn templates_and_parameters_are_left_out_of_long_names() {
        for (name, shown) in [
            ("json_encode", "json_encode"),
            ("main.(*server).serve", "main.(*server).serve"),
            (
                "<app::Server as app::Serve>::serve",
                "<app::Server as app::Serve>::serve",
            ),
            (
                "std::vector<std::string, std::allocator<std::string> >::push_back(std::string const&)",
                "std::vector<…>::push_back(…)",
            ),
            (
                "v8::internal::StringStream::Add(v8::base::Vector<char const>, v8::base::Vector<int>)",
                "v8::internal::StringStream::Add(…)",
            ),
            (
                "app::Key::operator<(app::Key const&, app::Key const&, app::Key const&, int) const",
                "app::Key::operator<(…)",
            ),
        ] {
            assert_eq!(short(name), shown);
        }
        let long = "a".repeat(40) + &"b".repeat(40);
        assert_eq!(
            short(&long),
            format!("{}…{}", "a".repeat(30), "b".repeat(29))
        );
    }

    proptest! {
        #[test]
        fn no_name_is_too_long(name in "[a-z<>():é -]{0,200}") {
            prop_assert!(short(&name).chars().count() <= MOST);
        }
    }
}
