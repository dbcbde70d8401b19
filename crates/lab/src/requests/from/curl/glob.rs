//! Sets and ranges in URLs: `{a,b}`, `[1-3]`, `[01-10:2]`, `[a-c]`.

/// More URLs than this are a mistake.
const MOST: usize = 10_000;

/// The URLs that one stands for, in curl's order: the last set is the fastest.
///
/// # Errors
/// A set that has no end, or cannot be read.
pub(super) fn expanded(url: &str) -> Result<Vec<String>, String> {
    let mut all = vec![String::new()];
    let mut rest = url;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let wrong = |why: &str| format!("{url}: {why}; -g takes brackets as they are");
        let values = match c {
            '\\' if after.starts_with(['{', '}', '[', ']']) => {
                rest = &after[1..];
                vec![after[..1].to_owned()]
            }
            '{' => {
                let (inner, behind) = after
                    .split_once('}')
                    .ok_or_else(|| wrong("a set that has no end"))?;
                rest = behind;
                inner.split(',').map(str::to_owned).collect()
            }
            '[' => match after.split_once(']') {
                Some((inner, behind)) if is_ipv6(inner) => {
                    rest = behind;
                    vec![format!("[{inner}]")]
                }
                Some(("", behind)) => {
                    rest = behind;
                    vec!["[]".to_owned()]
                }
                Some((inner, behind)) => {
                    rest = behind;
                    range(inner).ok_or_else(|| wrong("a range that cannot be read"))?
                }
                None => return Err(wrong("a range that has no end")),
            },
            '}' | ']' => return Err(wrong("a bracket without its beginning")),
            c => {
                rest = after;
                vec![c.to_string()]
            }
        };
        if all.len().saturating_mul(values.len()) > MOST {
            return Err(wrong("more than 10,000 URLs"));
        }
        all = all
            .iter()
            .flat_map(|before| values.iter().map(move |value| format!("{before}{value}")))
            .collect();
    }
    Ok(all)
}

fn is_ipv6(inner: &str) -> bool {
    let address = inner.split('%').next().unwrap_or_default();
    address.parse::<std::net::Ipv6Addr>().is_ok()
}

/// `1-3`, `001-100`, `a-c`, each perhaps with a step.
fn range(inner: &str) -> Option<Vec<String>> {
    let (ends, step) = match inner.split_once(':') {
        Some((ends, step)) => (ends, step.parse().ok()?),
        None => (inner, 1_usize),
    };
    let (low, high) = ends.split_once('-')?;
    if step == 0 {
        return None;
    }
    if let (&[low], &[high]) = (low.as_bytes(), high.as_bytes())
        && low.is_ascii_alphabetic()
        && high.is_ascii_alphabetic()
    {
        let all = (low <= high).then(|| (low..=high).step_by(step))?;
        return Some(all.map(|byte| char::from(byte).to_string()).collect());
    }
    let width = if low.starts_with('0') { low.len() } else { 0 };
    let (low, high): (u64, u64) = (low.parse().ok()?, high.parse().ok()?);
    let all = (low <= high).then(|| (low..=high).step_by(step).take(MOST + 1))?;
    Some(all.map(|n| format!("{n:0width$}")).collect())
}

#[cfg(test)]
mod tests {
    use super::expanded;

    #[test]
    fn sets_and_ranges() {
        for (url, expected) in [
            ("h/a", vec!["h/a"]),
            ("h/[1-3]", vec!["h/1", "h/2", "h/3"]),
            ("h/{a,b}/[1-2]", vec!["h/a/1", "h/a/2", "h/b/1", "h/b/2"]),
            ("h/[08-10]", vec!["h/08", "h/09", "h/10"]),
            ("h/[1-9:4]", vec!["h/1", "h/5", "h/9"]),
            ("h/[a-e:2]", vec!["h/a", "h/c", "h/e"]),
            ("h/{one}", vec!["h/one"]),
            ("[::1]:80/", vec!["[::1]:80/"]),
            ("[fe80::1%25eth0]/a[]", vec!["[fe80::1%25eth0]/a[]"]),
            ("h/\\[1-3\\]", vec!["h/[1-3]"]),
        ] {
            assert_eq!(expanded(url).unwrap(), expected, "{url}");
        }
        for url in [
            "h/{a",
            "h/[1-",
            "h/[3-1]",
            "h/[x]",
            "h/}",
            "h/[1-99999]",
            "h/[1-3:0]",
        ] {
            assert!(expanded(url).is_err(), "{url}");
        }
    }
}
