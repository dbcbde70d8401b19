//! Script of a clockwork server.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::{Error, ParseError};
use prony_record::Span;

/// When requests are answered. The rules are [`Timeline`](super::Timeline)'s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplyScript {
    /// How long a request takes.
    pub delay: Delay,
    /// When nothing is answered.
    pub stall: Option<Stall>,
    /// Whether requests, from whatever connection, are served one at a time in order of arrival: the
    /// delay is then a service time, and requests wait for one another (a G/G/1 queue; M/D/1 with
    /// Poisson arrivals and a constant delay).
    pub queue: bool,
    /// Answers are streams of events, over HTTP/1.1: the first comes when a reply would, and the stream ends with the last.
    pub events: Option<EventScript>,
    /// Decides the random delays: the same seed, the same sequence.
    pub seed: u64,
}

/// Events of a stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EventScript {
    /// How many there are, at least 1.
    pub number: u32,
    /// How long after the one before it each comes.
    pub gap: Delay,
}

impl Default for ReplyScript {
    /// Everything is answered at once.
    fn default() -> Self {
        Self {
            delay: Delay::None,
            stall: None,
            queue: false,
            events: None,
            seed: 0,
        }
    }
}

impl ReplyScript {
    /// Whether the script means something; what is read from text always does.
    ///
    /// # Errors
    ///
    /// [`Error::Options`] if a uniform delay's `min` exceeds its `max`, a bimodal one's share is not
    /// from 0 to 1, or a stall is not shorter than its period.
    pub fn check(&self) -> Result<(), Error> {
        self.delay.check()?;
        if let Some(events) = self.events {
            events.gap.check()?;
            if events.number == 0 {
                return Err(Error::Options("a stream has at least one event"));
            }
        }
        match self.stall {
            Some(stall) if stall.length >= stall.every => {
                Err(Error::Options("a stall must be shorter than its period"))
            }
            _ => Ok(()),
        }
    }
}

impl Delay {
    fn check(self) -> Result<(), Error> {
        match self {
            Self::Uniform { min, max } if min > max => {
                Err(Error::Options("a uniform delay's least exceeds its most"))
            }
            Self::Bimodal { slow_share, .. } if !(0.0..=1.0).contains(&slow_share) => Err(
                Error::Options("a bimodal delay's share must be from 0 to 1"),
            ),
            _ => Ok(()),
        }
    }
}

/// How long a request takes. Written `none`, `1ms`, `uniform:1ms..3ms`, `bimodal:1ms,10ms,0.1` or `exponential:2ms`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delay {
    /// No time.
    None,
    /// Always this long.
    Constant(Duration),
    /// Any number of nanoseconds from `min` to `max`, both included, equally likely.
    Uniform {
        /// The shortest.
        min: Duration,
        /// The longest, not below `min`.
        max: Duration,
    },
    /// One of two.
    Bimodal {
        /// How long most take.
        fast: Duration,
        /// How long the others take.
        slow: Duration,
        /// The probability of `slow`, 0 to 1.
        slow_share: f64,
    },
    /// Exponentially distributed, with this mean.
    Exponential(Duration),
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => f.write_str("none"),
            Self::Constant(delay) => Span(delay).fmt(f),
            Self::Uniform { min, max } => write!(f, "uniform:{}..{}", Span(min), Span(max)),
            Self::Bimodal {
                fast,
                slow,
                slow_share,
            } => write!(f, "bimodal:{},{},{slow_share}", Span(fast), Span(slow)),
            Self::Exponential(mean) => write!(f, "exponential:{}", Span(mean)),
        }
    }
}

impl FromStr for Delay {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let error = |expected| move || ParseError::new("delay", text, expected);
        if text == "none" {
            return Ok(Self::None);
        }
        let Some((shape, numbers)) = text.split_once(':') else {
            return duration(text).map(Self::Constant).ok_or_else(error(
                "none, a duration such as 1ms, uniform:MIN..MAX, bimodal:FAST,SLOW,SHARE or exponential:MEAN",
            ));
        };
        match shape {
            "uniform" => uniform(numbers).ok_or_else(error(
                "uniform:MIN..MAX, MIN not above MAX, such as uniform:1ms..3ms",
            )),
            "bimodal" => bimodal(numbers).ok_or_else(error(
                "bimodal:FAST,SLOW,SHARE, SHARE from 0 to 1, such as bimodal:1ms,10ms,0.1",
            )),
            "exponential" => {
                let mean = duration(numbers).map(Self::Exponential);
                mean.ok_or_else(error("exponential:MEAN, such as exponential:2ms"))
            }
            _ => Err(error(
                "uniform:MIN..MAX, bimodal:FAST,SLOW,SHARE or exponential:MEAN",
            )()),
        }
    }
}

fn duration(text: &str) -> Option<Duration> {
    text.parse().ok().map(|Span(duration)| duration)
}

fn uniform(text: &str) -> Option<Delay> {
    let (min, max) = text.split_once("..")?;
    let (min, max) = (duration(min)?, duration(max)?);
    (min <= max).then_some(Delay::Uniform { min, max })
}

fn bimodal(text: &str) -> Option<Delay> {
    let (fast, rest) = text.split_once(',')?;
    let (slow, share) = rest.split_once(',')?;
    let slow_share = share.parse().ok()?;
    (0.0..=1.0).contains(&slow_share).then_some(Delay::Bimodal {
        fast: duration(fast)?,
        slow: duration(slow)?,
        slow_share,
    })
}

/// When nothing is answered: for `length` from each whole multiple of `every` since the script's
/// origin, the origin itself excepted. Written `length/every`, such as `100ms/1s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// From the beginning of one stall to that of the next.
    pub every: Duration,
    /// How long each lasts, less than `every`.
    pub length: Duration,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Span(self.length), Span(self.every))
    }
}

impl FromStr for Stall {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let stall = text.split_once('/').and_then(|(length, every)| {
            let length = duration(length)?;
            let every = duration(every)?;
            (length < every).then_some(Self { every, length })
        });
        stall.ok_or_else(|| {
            ParseError::new(
                "stall",
                text,
                "LENGTH/EVERY, LENGTH the shorter, such as 100ms/1s",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let ms = Duration::from_millis;
        for (text, delay) in [
            ("none", Delay::None),
            ("1ms", Delay::Constant(ms(1))),
            (
                "uniform:1ms..3ms",
                Delay::Uniform {
                    min: ms(1),
                    max: ms(3),
                },
            ),
            (
                "bimodal:1ms,10ms,0.1",
                Delay::Bimodal {
                    fast: ms(1),
                    slow: ms(10),
                    slow_share: 0.1,
                },
            ),
        ] {
            assert_eq!(text.parse(), Ok(delay));
            assert_eq!(delay.to_string(), text);
        }
        assert_eq!("exponential:2ms".parse(), Ok(Delay::Exponential(ms(2))));
        assert_eq!(Delay::Exponential(ms(2)).to_string(), "exponential:2ms");
        let stall = Stall {
            every: ms(1_000),
            length: ms(100),
        };
        assert_eq!("100ms/1s".parse(), Ok(stall));
        assert_eq!(stall.to_string(), "100ms/1s");
    }

    #[test]
    fn scripts_that_mean_nothing_are_found() {
        let ms = Duration::from_millis;
        let stall = |every, length| ReplyScript {
            stall: Some(Stall { every, length }),
            ..ReplyScript::default()
        };
        let delay = |delay| ReplyScript {
            delay,
            ..ReplyScript::default()
        };
        assert!(ReplyScript::default().check().is_ok());
        assert!(stall(ms(2), ms(1)).check().is_ok());
        for script in [
            stall(ms(1), ms(1)),
            stall(ms(0), ms(0)),
            delay(Delay::Uniform {
                min: ms(2),
                max: ms(1),
            }),
            delay(Delay::Bimodal {
                fast: ms(1),
                slow: ms(2),
                slow_share: f64::NAN,
            }),
        ] {
            assert!(script.check().is_err(), "{script:?}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_advice() {
        for text in [
            "",
            "1parsec",
            "uniform:3ms..1ms",
            "uniform:1ms",
            "bimodal:1ms,2ms",
            "bimodal:1ms,2ms,1.5",
            "bimodal:1ms,2ms,NaN",
            "normal:1ms",
        ] {
            assert!(text.parse::<Delay>().is_err(), "{text}");
        }
        for text in ["", "1s", "1s/1s", "2s/1s", "0s/0s"] {
            assert!(text.parse::<Stall>().is_err(), "{text}");
        }
        assert_eq!(
            "1s/100ms".parse::<Stall>().unwrap_err().to_string(),
            "`1s/100ms` is not a stall: expected LENGTH/EVERY, LENGTH the shorter, such as 100ms/1s"
        );
    }
}
