//! Numbers as people write them: `1k` connections, a rate of `2.5k`, `1M` requests.

use std::num::NonZero;

const MULTIPLES: [(char, f64); 3] = [('k', 1e3), ('M', 1e6), ('G', 1e9)];

/// A number above zero, with `k`, `M` or `G` for thousands, millions and thousands of millions.
pub fn rate(text: &str) -> Result<f64, String> {
    let wrong =
        || format!("{text:?} is not a rate: expected requests per second, such as 500 or 2.5k");
    let number = scaled(text).ok_or_else(wrong)?;
    match number > 0.0 && number.is_finite() {
        true => Ok(number),
        false => Err(wrong()),
    }
}

/// How many times as much: `2`, `0.5`, `x2` or `×2`.
pub fn times(text: &str) -> Result<f64, String> {
    let wrong =
        || format!("{text:?} is not a multiple: expected a number above 0, such as 2 or 0.5");
    let number = text.strip_prefix(['x', '×']).unwrap_or(text);
    let number = scaled(number).ok_or_else(wrong)?;
    match (1e-6..=1e6).contains(&number) {
        true => Ok(number),
        false => Err(wrong()),
    }
}

/// A whole number from 1 on, with the same letters.
pub fn count<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let wrong = || format!("{text:?} is not a whole number above 0, such as 64, 10k or 1M");
    let number = match text.parse::<NonZero<u64>>() {
        Ok(number) => number.get(),
        // Letters stand for multiples of 1,000, so what they leave behind is whole, or wrong.
        Err(_) => match scaled(text) {
            Some(number) if number >= 1.0 && number.fract() == 0.0 && number < 1e18 => {
                number as u64
            }
            _ => return Err(wrong()),
        },
    };
    T::try_from(number).map_err(|_| format!("{text} is more than can be"))
}

fn scaled(text: &str) -> Option<f64> {
    let (number, scale) = match MULTIPLES.iter().find(|(letter, _)| text.ends_with(*letter)) {
        Some((letter, scale)) => (text.strip_suffix(*letter)?, *scale),
        None => (text, 1.0),
    };
    let plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number: f64 = number.parse().ok().filter(|_| plain)?;
    Some(number * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_write_them() {
        assert_eq!(rate("2.5k"), Ok(2_500.0));
        assert_eq!(rate("0.5"), Ok(0.5));
        assert_eq!(count::<u32>("1k"), Ok(1_000));
        assert_eq!(count::<u64>("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(count::<u64>("1.5M"), Ok(1_500_000));
        for text in ["", "k", "0", "-1", "+1k", "1kk", "1 k", "inf", "nan", "1e3"] {
            assert!(rate(text).is_err(), "{text}");
        }
        assert_eq!((times("x2"), times("×0.5")), (Ok(2.0), Ok(0.5)));
        assert!(times("0").is_err() && times("2x").is_err());
        for text in ["", "0", "0k", "1.5", "0.0001k", "-4", "many", "5G9"] {
            assert!(count::<u32>(text).is_err(), "{text}");
        }
        assert!(count::<u32>("5G").is_err(), "more than a u32 holds");
    }
}
