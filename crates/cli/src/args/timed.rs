//! Times and shares on the command line.

use super::share::Share;
use prony_record::Span;

/// The length of a measurement or of a wait: longer than nothing; a plain number is in seconds.
pub fn length(text: &str) -> Result<Span, String> {
    match text.parse::<Span>() {
        Ok(span) if span.is_zero() => Err("must be longer than 0s".to_owned()),
        Ok(span) => Ok(span),
        Err(error) => Err(error.to_string()),
    }
}

/// A limit of a response time, with its unit: `--p99 10` would be seconds to one reader and milliseconds to another.
pub fn with_unit(text: &str) -> Result<Span, String> {
    match text.parse::<f64>() {
        Ok(_) => Err(format!(
            "{text:?} has no unit: write \"{text}ms\" for milliseconds or \"{text}s\" for seconds"
        )),
        Err(_) => text.parse::<Span>().map_err(|error| error.to_string()),
    }
}

/// A share in percent.
pub fn percent(text: &str) -> Result<Share, String> {
    match text.parse::<f64>() {
        Ok(share) if share != 0.0 => Err(format!(
            "{text:?} has no unit: write \"{text}%\" or \"{}%\"",
            share * 100.0
        )),
        _ => text.parse(),
    }
}

/// A share in percent that is more than the whole, as a factor above 1.
pub fn more_than_all(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text:?} is not a share above 100%: write something like \"200%\"");
    let percent = text.strip_suffix('%').ok_or_else(wrong)?;
    match percent.trim().parse::<f64>() {
        Ok(percent) if percent > 100.0 && percent <= 1_000.0 => Ok(percent / 100.0),
        Ok(percent) if percent > 1_000.0 => Err(format!(
            "{text:?} is too much: at most \"1000%\" can be tried"
        )),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_number_is_told_what_to_write() {
        assert_eq!(with_unit("10ms").unwrap().0.as_millis(), 10);
        let error = with_unit("10").unwrap_err();
        assert!(
            error.contains("\"10ms\"") && error.contains("\"10s\""),
            "{error}"
        );
        assert!(with_unit("0").is_err() && with_unit("x").is_err());
        assert_eq!(percent("0.1%"), Ok(Share(0.001)));
        assert_eq!(percent("0"), Ok(Share(0.0)));
        let error = percent("0.1").unwrap_err();
        assert!(error.contains("\"0.1%\" or \"10%\""), "{error}");
    }

    #[test]
    fn lengths_are_in_seconds_and_above_zero() {
        assert_eq!(length("10").unwrap().0.as_secs(), 10);
        assert_eq!(length("10ms").unwrap().0.as_millis(), 10);
        for text in ["0", "0s", "-1", "", "x"] {
            assert!(length(text).is_err(), "{text}");
        }
    }

    #[test]
    fn beyond_is_above_the_whole() {
        assert_eq!(more_than_all("200%"), Ok(2.0));
        for text in ["200", "100%", "90%", "2000%", "x%"] {
            assert!(more_than_all(text).is_err(), "{text}");
        }
    }
}
