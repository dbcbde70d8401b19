//! Sampled stacks as a profile of pprof: what `go tool pprof` and continuous profilers read.

use flate2::Compression;
use flate2::write::GzEncoder;
use prony_verdict::why::ServerAnatomy;
use prost::Message;
use std::collections::HashMap;
use std::io::{self, Write};

/// Suffix that folded stacks put behind the name of a function of the kernel.
const KERNEL: &str = "_[k]";

/// The stacks of a server, in all rounds, as a gzipped `profile.proto`: samples, and the CPU time that they stand for.
/// `at_ns` is when they were taken, in nanoseconds since 1970.
///
/// # Errors
/// Never in practice: what is compressed is in memory.
pub fn pprof(side: &ServerAnatomy, at_ns: i64) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&profile(side, at_ns).encode_to_vec())?;
    gzip.finish()
}

fn profile(side: &ServerAnatomy, at_ns: i64) -> Profile {
    let mut names = Names::default();
    let period = i64::try_from(side.period_ns).unwrap_or(i64::MAX);
    let mut profile = Profile {
        sample_type: vec![
            names.value("samples", "count"),
            names.value("cpu", "nanoseconds"),
        ],
        mapping: [&side.name, "[kernel]"]
            .iter()
            .zip(1..)
            .map(|(file, id)| Mapping {
                id,
                filename: names.index(file),
                has_functions: true,
            })
            .collect(),
        time_nanos: at_ns,
        period_type: Some(names.value("cpu", "nanoseconds")),
        period,
        ..Profile::default()
    };
    let mut places: HashMap<&str, u64> = HashMap::new();
    for (stack, samples) in &side.stacks {
        // A folded stack begins with the outermost function, a sample with the innermost.
        let location_id = stack
            .rsplit(';')
            .map(|frame| {
                let next = places.len() as u64 + 1;
                *places.entry(frame).or_insert_with(|| {
                    profile.add(next, frame, &mut names);
                    next
                })
            })
            .collect();
        let samples = i64::try_from(*samples).unwrap_or(i64::MAX);
        profile.sample.push(Sample {
            location_id,
            value: vec![samples, samples.saturating_mul(period)],
        });
    }
    profile.string_table = names.all;
    profile
}

impl Profile {
    /// A function, and the one place of it that is known: addresses are not kept.
    fn add(&mut self, id: u64, frame: &str, names: &mut Names) {
        let (name, mapping_id) = match frame.strip_suffix(KERNEL) {
            Some(name) => (name, 2),
            None => (frame, 1),
        };
        let name = names.index(name);
        self.function.push(Function {
            id,
            name,
            system_name: name,
            filename: self.mapping[mapping_id as usize - 1].filename,
        });
        self.location.push(Location {
            id,
            mapping_id,
            line: vec![Line { function_id: id }],
        });
    }
}

/// The profile's texts, each once; the first is empty.
struct Names {
    all: Vec<String>,
    known: HashMap<String, i64>,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            all: vec![String::new()],
            known: HashMap::from([(String::new(), 0)]),
        }
    }
}

impl Names {
    fn index(&mut self, name: &str) -> i64 {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let index = self.all.len() as i64;
        self.all.push(name.to_owned());
        self.known.insert(name.to_owned(), index);
        index
    }

    fn value(&mut self, kind: &str, unit: &str) -> ValueType {
        ValueType {
            kind: self.index(kind),
            unit: self.index(unit),
        }
    }
}

/// `perftools.profiles.Profile`, as far as it is written here; the numbers of the fields are those of profile.proto.
#[derive(Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
}

/// Kind and unit of one value of each sample, as indices of texts.
#[derive(Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Message)]
struct Sample {
    /// The innermost first.
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Message)]
struct Mapping {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "5")]
    filename: i64,
    #[prost(bool, tag = "7")]
    has_functions: bool,
}

#[derive(Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
}

#[derive(Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use prony_record::anatomy::{Dissection, Dissections};
    use prony_verdict::why::anatomy;
    use std::io::Read;

    /// A stack with its samples and nanoseconds, the innermost function first, as read from the bytes.
    fn read(bytes: &[u8]) -> Vec<(Vec<String>, Vec<i64>)> {
        let mut plain = Vec::new();
        GzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
        let profile = Profile::decode(plain.as_slice()).unwrap();
        assert_eq!(profile.string_table[0], "");
        let named = |id: &u64| {
            let place = profile.location.iter().find(|place| place.id == *id);
            let place = place.unwrap();
            let function = place.line[0].function_id;
            let function = profile.function.iter().find(|one| one.id == function);
            let function = function.unwrap();
            let text = |index: i64| profile.string_table[index as usize].clone();
            format!("{} in {}", text(function.name), text(function.filename))
        };
        let stack = |sample: &Sample| {
            let names = sample.location_id.iter().map(named).collect();
            (names, sample.value.clone())
        };
        profile.sample.iter().map(stack).collect()
    }

    #[test]
    fn stacks_are_read_as_they_were_written() {
        let round = Dissection {
            samples: 40,
            period_ns: 1_000_000,
            stacks: [("main;serve", 30), ("main;serve;tcp_sendmsg_[k]", 10)]
                .map(|(stack, n)| (stack.to_owned(), n))
                .into(),
            ..Dissection::default()
        };
        let seen = Dissections {
            names: vec!["it".into()],
            rounds: vec![vec![round]],
            ..Dissections::default()
        };
        let side = &anatomy(&seen).sides[0];
        let found = read(&pprof(side, 5).unwrap());
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let expected: [(Vec<String>, Vec<i64>); 2] = [
            (names(&["serve in it", "main in it"]), vec![30, 30_000_000]),
            (
                names(&["tcp_sendmsg in [kernel]", "serve in it", "main in it"]),
                vec![10, 10_000_000],
            ),
        ];
        assert_eq!(found, expected);
    }
}
