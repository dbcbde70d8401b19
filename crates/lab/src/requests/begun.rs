//! The load under which the sessions of a file are carried out.

use prony_engine::protocol::Mix;
use prony_engine::protocol::mix::MixSession;
use prony_record::{Extent, Load};

/// Sessions that begin at a rate, or without keep-alive, have a connection each, on which there is room for the longest of
/// them. `load`'s rate and number speak of sessions. Of a mix without sessions it stays as it is.
#[must_use]
pub fn on_connections(load: Load, mix: &Mix) -> Load {
    let requests = |session: &MixSession| -> u32 {
        let each = session.steps.iter().map(|step| 1 + step.redirects);
        each.sum()
    };
    let Some(longest) = mix.sessions.iter().map(requests).max() else {
        return load;
    };
    if load.rate.is_none() && load.keepalive {
        return load;
    }
    Load {
        keepalive: false,
        calls: longest,
        ..load
    }
}

/// The same for a load that is compared with others, whose rate and number speak of requests, whatever is asked: so many
/// sessions begin as make that many requests, if all are completed, each on a connection of its own.
#[must_use]
pub fn for_requests(load: Load, mix: &Mix) -> Load {
    let Some(steps) = mean_steps(mix) else {
        return load;
    };
    // In a closed loop too: half of what a server can do there is a rate that it keeps.
    let mut load = on_connections(
        Load {
            keepalive: false,
            ..load
        },
        mix,
    );
    load.rate = load.rate.map(|rate| rate / steps);
    for stage in &mut load.stages {
        stage.from /= steps;
        stage.to /= steps;
    }
    if let Extent::Requests(n) = load.extent {
        load.extent = Extent::Requests((n as f64 / steps).ceil().max(1.0) as u64);
    }
    load
}

/// Steps of a session, by the sessions' weights; none without sessions.
fn mean_steps(mix: &Mix) -> Option<f64> {
    let weight = |all: &mut dyn Iterator<Item = f64>| all.sum::<f64>();
    let sessions = || mix.sessions.iter();
    let all = weight(&mut sessions().map(|one| f64::from(one.weight)));
    let steps = sessions().map(|one| f64::from(one.weight) * one.steps.len() as f64);
    (all > 0.0).then(|| weight(&mut { steps }) / all)
}

#[cfg(test)]
mod tests {
    use super::{for_requests, on_connections};
    use crate::requests::{ServerFacts, parse};
    use crate::source::Source;
    use prony_engine::protocol::Mix;
    use prony_record::{Extent, Load};
    use std::path::Path;

    fn mix(text: &str) -> Mix {
        let source = Source::new("it.toml", text.to_owned());
        parse(&source, Path::new(""), &ServerFacts::anywhere()).unwrap()
    }

    fn sessions() -> Mix {
        let step = |name: &str| format!("[[session.step]]\nname = '{name}'\npath = '/'\n");
        let long = format!(
            "[[session]]\nname = 'long'\n{}{}{}{}",
            step("a"),
            step("b"),
            step("c"),
            step("d")
        );
        let short = format!(
            "[[session]]\nname = 'short'\nweight = 3\n{}{}",
            step("e"),
            step("f")
        );
        mix(&(long + &short))
    }

    #[test]
    fn requests_stay_as_they_are() {
        let mix = mix("[[request]]\nname = 'a'\npath = '/'");
        let load = Load {
            rate: Some(1000.0),
            ..Load::default()
        };
        assert_eq!(for_requests(load.clone(), &mix), load);
        assert_eq!(on_connections(load.clone(), &mix), load);
    }

    #[test]
    fn a_rate_of_requests_becomes_one_of_sessions() {
        // One of four sessions has four steps, the others two: 2.5 in the mean.
        let load = Load {
            rate: Some(1000.0),
            extent: Extent::Requests(501),
            ..Load::default()
        };
        let begun = for_requests(load.clone(), &sessions());
        assert_eq!(begun.rate, Some(400.0));
        assert_eq!(begun.extent, Extent::Requests(201));
        assert_eq!((begun.keepalive, begun.calls), (false, 4));
        let begun = on_connections(load, &sessions());
        assert_eq!(
            (begun.rate, begun.extent),
            (Some(1000.0), Extent::Requests(501))
        );
        assert_eq!((begun.keepalive, begun.calls), (false, 4));
    }

    #[test]
    fn users_keep_their_connections_in_a_closed_loop() {
        let load = Load {
            extent: Extent::Requests(500),
            ..Load::default()
        };
        assert_eq!(on_connections(load.clone(), &sessions()), load);
        let compared = for_requests(load, &sessions());
        assert_eq!((compared.keepalive, compared.calls), (false, 4));
        assert_eq!(compared.extent, Extent::Requests(200));
    }
}
