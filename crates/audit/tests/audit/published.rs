//! Short documents with the flaws, and in the forms, of the five published benchmarks that prony runs
//! again: slides with HTML tables, an article with command lines and charts, a README with outputs
//! and ratios, a log of outputs under labels, and reStructuredText with bare throughputs. Each raises
//! what is wrong with it, in its lines, and nothing else.
//!
//! The texts themselves belong to others and are not part of the repository. To audit complete copies
//! in a folder: `PRONY_PUBLISHED_TEXTS=folder cargo test -p prony-audit --test audit -- --ignored`.

use prony_audit::{CheckId, Remark, Severity, audit};
use std::collections::BTreeSet;

fn remarks(name: &str, text: &str) -> Vec<Remark> {
    audit(&[(name.to_owned(), text.to_owned())]).remarks
}

/// The remarks as name, severity and lines, in order of their names.
fn told(remarks: &[Remark]) -> Vec<(CheckId, Severity, &[usize])> {
    let mut told: Vec<_> = remarks
        .iter()
        .map(|r| (r.finding.name, r.finding.severity, r.lines.as_slice()))
        .collect();
    told.sort_by_key(|(name, _, lines)| (*name, lines.first().copied()));
    told
}

const SLIDES: &str = "\
!SLIDE

- Total <span>8000</span> requests, __2000__ at once, _3_ times

_ab_ -c __2000__ -n <span>8000</span> http://example.com/echo

!SLIDE

### _Small_ two cores

<table>
  <thead><tr><th></th><th>Node.js</th><th>Thin</th></tr></thead>
  <tbody>
    <tr><td>1st</td><td>2270.32</td>
      <td>2582.19</td></tr>
    <tr><td>2nd</td><td>1798.75</td>
      <td>1720.71</td></tr>
    <tr><td>3rd</td><td>2603.82</td>
      <td>2609.27</td></tr>
    <tr class=\"ave\"><td>Ave</td><td>2224.297</td>
      <td>2304.06</td></tr>
  </tbody>
</table>

!SLIDE

### __Large__ eight cores

<table>
  <thead><tr><th></th><th>Node.js</th><th>Thin</th></tr></thead>
  <tbody>
    <tr><td>1st</td><td>2270.32</td>
      <td>2582.19</td></tr>
    <tr><td>2nd</td><td>1798.75</td>
      <td>1720.71</td></tr>
    <tr><td>3rd</td><td>2603.82</td>
      <td>2609.27</td></tr>
    <tr class=\"ave\"><td>Ave</td><td>2640.38</td>
      <td>2602.29</td></tr>
  </tbody>
</table>
";

#[test]
fn slides_with_a_copied_table() {
    let remarks = remarks("slides.md", SLIDES);
    assert_eq!(
        told(&remarks),
        [
            (
                CheckId::MeanDisagrees,
                Severity::Serious,
                &[32, 33, 34, 35, 36, 37, 38, 39][..]
            ),
            (
                CheckId::RepeatedRows,
                Severity::Serious,
                &[14, 16, 18, 32, 34, 36]
            ),
            (
                CheckId::SpreadExceedsEffect,
                Severity::Note,
                &[14, 15, 16, 17, 18, 19, 32, 33, 34, 35, 36, 37]
            ),
            (
                CheckId::SynRetransmit,
                Severity::Warning,
                &[5, 15, 18, 19, 33, 36, 37]
            ),
            (
                CheckId::TooShort,
                Severity::Warning,
                &[14, 16, 18, 32, 34, 36]
            ),
        ]
    );
    let wrong = &remarks
        .iter()
        .find(|r| r.finding.name == CheckId::MeanDisagrees);
    let text = &wrong.unwrap().finding.text;
    assert!(
        text.contains("Node.js 2640.38 where its figures give 2224.30"),
        "{text}"
    );
}

const ARTICLE: &str = "\
# One worker

I used `httperf`, and `weighttp` with threads:

    httperf --hog --num-conns 1000 --num-calls 100 --rate 100000 --server 127.0.0.1 --port 8000 --uri /

    weighttp -n 100000 -c 1000 -t 3 -k http://127.0.0.1:8000/

Here is the result:

![throughput for one worker](graph-1.png)

- `nginx` has better throughput. The results of the two are very different.
";

#[test]
fn an_article_with_charts() {
    let remarks = remarks("article.md", ARTICLE);
    assert_eq!(
        told(&remarks),
        [(CheckId::RateIsConnections, Severity::Warning, &[5][..])]
    );
}

/// An execution as a README shows it: command line, output.
fn execution(name: &str, requests: u64, mean: &str, errors: u64) -> String {
    format!(
        "##### {name}\n\n```\n[~/wrk]$ ./wrk -t16 -c400 -d60s -s post.lua http://localhost:8888/f    *[master]\n\
         Running 1m test @ http://localhost:8888/f\n  16 threads and 400 connections\n  \
         Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
         Latency    {mean}   10.51ms 268.47ms   97.55%\n    \
         Req/Sec     2.39k   437.70     3.41k    90.66%\n  \
         {requests} requests in 1.00m, 667.01MB read\n  \
         Socket errors: connect 0, read {errors}, write 0, timeout 0\n\
         Requests/sec:  {:.2}\nTransfer/sec:     11.11MB\n```\n\n",
        requests as f64 / 60.0
    )
}

#[test]
fn a_readme_with_ratios_within_the_spread() {
    let runs = [
        (2_285_670, "11.14ms", 594, 2_204_590, "10.90ms", 637),
        (2_293_522, "10.50ms", 682, 2_286_147, "10.50ms", 663),
        (2_182_630, "11.00ms", 632, 2_337_786, "10.30ms", 635),
    ];
    let mut text = "# Overhead\n\n".to_owned();
    for (n, (a, a_mean, a_errors, b, b_mean, b_errors)) in runs.into_iter().enumerate() {
        text += &format!("### Results - Execution {}\n\n", n + 1);
        text += &execution("Finagle", a, a_mean, a_errors);
        text += &execution("Finatra", b, b_mean, b_errors);
        let ratio = b as f64 / a as f64;
        text += &format!("##### Difference\n\nFinatra / Finagle = {ratio:.9}\n\n");
    }
    let remarks = remarks("README.md", &text);
    let names: Vec<CheckId> = told(&remarks).iter().map(|(name, ..)| *name).collect();
    assert_eq!(
        names,
        [
            CheckId::BackFilled,
            CheckId::CoLocated,
            CheckId::Errors,
            CheckId::SpreadExceedsEffect
        ]
    );
    let of = |name: CheckId| remarks.iter().find(|r| r.finding.name == name).unwrap();
    // The mean time between two requests is 10.5 ms: one mean lies visibly above its own.
    let lines: Vec<&str> = text.lines().collect();
    let mean = |line: &usize| lines[line - 1].contains("11.14ms");
    assert!(
        of(CheckId::BackFilled).lines.iter().all(mean),
        "{remarks:?}"
    );
    let errors = of(CheckId::Errors);
    assert_eq!(errors.lines.len(), 6);
    assert!(
        errors
            .lines
            .iter()
            .all(|line| lines[line - 1].contains("Socket errors"))
    );
    let spread = of(CheckId::SpreadExceedsEffect);
    assert_eq!(spread.finding.severity, Severity::Serious);
    for claim in ["0.96452", "0.99678", "1.07108"] {
        assert!(spread.finding.text.contains(claim), "{claim}: {spread:?}");
    }
    assert!(spread.finding.text.contains("5.1 %") && spread.finding.text.contains("6.0 %"));
    // A ratio that is not that of its figures would be named.
    let wrong = text.replace("Finatra / Finagle = 0.96", "Finatra / Finagle = 0.97");
    let raised = audit(&[("README.md".to_owned(), wrong)]).remarks;
    let raised: BTreeSet<CheckId> = raised.iter().map(|r| r.finding.name).collect();
    assert!(raised.contains(&CheckId::RatioDisagrees), "{raised:?}");
}

/// An output under a label.
fn labelled(
    label: &str,
    (threads, connections): (u32, u32),
    host: &str,
    rate: f64,
    rest: &Rest<'_>,
) -> String {
    let interval = f64::from(connections) / rate * 1e3;
    format!(
        "{label}\nRunning 2m test @ http://{host}:8080/weather/Paris/\n  \
         {threads} threads and {connections} connections\n  \
         Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
         Latency    {:.2}ms    3.71ms   {:.2}ms   {}\n    \
         Req/Sec     2.29k   165.76     2.51k    96.58%\n  \
         Latency Distribution\n     50%    {:.2}ms\n     99%    {:.2}ms\n  \
         {:.0} requests in 2.00m, {:.2}MB read\n{}Requests/sec:  {rate:.2}\n\
         Transfer/sec:    377.78KB\n\n\n",
        interval * rest.times,
        (interval * rest.times * 40.0).min(1_840.0),
        rest.share,
        interval * 0.9,
        interval * rest.times * 10.0,
        rate * 120.0,
        rate * 120.0 * 170.0 / 1_048_576.0,
        rest.errors,
    )
}

/// Odd parts of an output: its mean as a multiple of the one that Little's law allows, a cell, and a line of errors.
struct Rest<'a> {
    times: f64,
    share: &'a str,
    errors: &'a str,
}

const GOOD: Rest<'_> = Rest {
    times: 1.0,
    share: "99.28%",
    errors: "",
};

#[test]
fn a_log_of_gateways_at_their_upstream() {
    let (one, two) = ("gate-1.example", "gate-2.example");
    let late = Rest {
        times: 33.0,
        errors: "  Socket errors: connect 0, read 0, write 0, timeout 33\n",
        ..GOOD
    };
    let garbled = Rest {
        share: "99.79%0.",
        ..GOOD
    };
    let mut text = "# Install\n\n*Benchmark \"just Nginx\":*\n\nc1-t1:   7600\nc8-t8:  32500\nc64-t8: 48000\n\n\
        # Results\n\nAll benchmarks last 120 s.\n\n## Spray\n\n```\n"
        .to_owned();
    text += &labelled("c1-t1", (1, 1), one, 2275.56, &GOOD);
    text += &labelled("c8-t8", (8, 8), two, 14_429.86, &GOOD);
    text += &labelled("c64-t8", (8, 64), one, 45_667.17, &GOOD);
    text += "```\n\n## Play\n\n```\n";
    text += &labelled("c1-t1", (1, 1), one, 2364.03, &GOOD);
    text += &labelled("c8-t8", (8, 8), one, 15_634.33, &garbled);
    text += &labelled("c64-t8", (8, 64), one, 47_885.84, &GOOD);
    text += &labelled("c256-t8", (8, 128), one, 47_885.28, &late);
    text += "```\n";
    let remarks = remarks("wrk.md", &text);
    let lines: Vec<&str> = text.lines().collect();
    let of = |name: CheckId| -> (Severity, Vec<&str>) {
        let found: Vec<&Remark> = remarks.iter().filter(|r| r.finding.name == name).collect();
        let [only] = found[..] else {
            panic!("{name}: {found:?} of {remarks:?}");
        };
        let texts = only.lines.iter().map(|line| lines[line - 1].trim());
        (only.finding.severity, texts.collect())
    };
    let rate = |rate: &str| format!("Requests/sec:  {rate}");
    let (severity, at) = of(CheckId::Ceiling);
    assert_eq!(severity, Severity::Serious);
    assert_eq!(at, [rate("45667.17"), rate("47885.84"), rate("47885.28")]);
    assert_eq!(
        of(CheckId::LabelDisagrees),
        (
            Severity::Serious,
            vec!["c256-t8", "8 threads and 128 connections"]
        )
    );
    let (severity, at) = of(CheckId::LittlesLaw);
    assert_eq!((severity, at.len()), (Severity::Serious, 1));
    assert!(at[0].starts_with("Latency    88.21ms"), "{at:?}");
    assert_eq!(of(CheckId::GarbledCell).1.len(), 1);
    assert_eq!(of(CheckId::HostsMixed).1.len(), 3);
    assert_eq!(of(CheckId::TooFewRuns).0, Severity::Warning);
    assert_eq!(of(CheckId::Errors).1, of(CheckId::TimeOutsMissing).1);
    let names: BTreeSet<CheckId> = remarks.iter().map(|r| r.finding.name).collect();
    let expected = [
        CheckId::BackFilled,
        CheckId::Ceiling,
        CheckId::Errors,
        CheckId::GarbledCell,
        CheckId::HostsMixed,
        CheckId::LabelDisagrees,
        CheckId::LittlesLaw,
        CheckId::TimeOutsMissing,
        CheckId::TooFewRuns,
    ];
    assert_eq!(names, BTreeSet::from(expected));
}

const ECHOES: &str = "\
Echo servers in some languages
==============================

test command
------------

bench.sh does kick client 3 times with following option.

::

   ./client -c50 -o2 -h10000 far

C++ epoll
---------

server::

   ./server_epoll

result::

   Throughput: 117036.86 [#/sec]
   Throughput: 118702.63 [#/sec]
   Throughput: 119129.38 [#/sec]

with forking.

server::

   ./server_epoll -f2

result::

   $ sh bench.sh
   Throughput: 146602.29 [#/sec]
   Throughput: 149537.38 [#/sec]
   Throughput: 149737.19 [#/sec]

Python 2.7.2 + gevent
---------------------

server::

   ~/python2.7/bin/python server_gevent.py

result for gevent 0.13.6::

   Throughput: 17751.24 [#/sec]
   Throughput: 17607.05 [#/sec]
   Throughput: 17537.34 [#/sec]
";

#[test]
fn a_list_of_echo_servers() {
    let found = remarks("README.rst", ECHOES);
    let lines = [22, 23, 24, 35, 36, 37, 48, 49, 50];
    assert_eq!(
        told(&found),
        [(CheckId::SleepInWindow, Severity::Serious, &lines[..])]
    );
    let text = &found[0].finding.text;
    assert!(text.contains("117,037 is really 132,550"), "{text}");
    assert!(text.contains("149,737 is really 176,107"), "{text}");
    // A server whose runs differ by more than it differs from its neighbour.
    let wide = ECHOES.replace("117036.86", "149036.86");
    let found = remarks("README.rst", &wide);
    let names: Vec<CheckId> = told(&found).iter().map(|(name, ..)| *name).collect();
    assert_eq!(
        names,
        [CheckId::SleepInWindow, CheckId::SpreadExceedsEffect]
    );
}

/// A finding of one of the whole texts: the number that its file's name begins with, the finding's
/// name and severity, and its lines.
type Expected = (&'static str, CheckId, Severity, &'static [usize]);

const WHOLE: [Expected; 24] = [
    (
        "000",
        CheckId::RepeatedRows,
        Severity::Serious,
        &[178, 184, 190, 196, 202, 231, 236, 241, 246, 251],
    ),
    (
        "000",
        CheckId::MeanDisagrees,
        Severity::Serious,
        &[
            232, 233, 234, 235, 237, 238, 239, 240, 242, 243, 244, 245, 247, 248, 249, 250, 252,
            253, 254, 255, 257, 258, 259, 260,
        ],
    ),
    (
        "000",
        CheckId::SynRetransmit,
        Severity::Warning,
        &[152, 181, 199, 200, 205, 206, 234, 249, 250, 254, 255],
    ),
    (
        "000",
        CheckId::TooShort,
        Severity::Warning,
        &[
            179, 182, 185, 188, 191, 194, 197, 200, 203, 206, 232, 235, 237, 240, 242, 245, 247,
            250, 252, 255,
        ],
    ),
    (
        "000",
        CheckId::SpreadExceedsEffect,
        Severity::Note,
        &[
            179, 180, 181, 182, 185, 186, 187, 188, 191, 192, 193, 194, 197, 198, 199, 200, 203,
            204, 205, 206, 232, 233, 234, 235, 237, 238, 239, 240, 242, 243, 244, 245, 247, 248,
            249, 250, 252, 253, 254, 255,
        ],
    ),
    ("001", CheckId::RateIsConnections, Severity::Warning, &[30]),
    (
        "002",
        CheckId::SpreadExceedsEffect,
        Severity::Serious,
        &[56, 71, 77, 96, 111, 117, 136, 151, 157],
    ),
    (
        "002",
        CheckId::BackFilled,
        Severity::Warning,
        &[52, 67, 92, 107, 147],
    ),
    (
        "002",
        CheckId::Errors,
        Severity::Warning,
        &[55, 70, 95, 110, 135, 150],
    ),
    (
        "002",
        CheckId::LittlesLaw,
        Severity::Warning,
        &[67, 107, 147],
    ),
    (
        "002",
        CheckId::CoLocated,
        Severity::Note,
        &[48, 49, 63, 64, 88, 89, 103, 104, 128, 129, 143, 144],
    ),
    (
        "003",
        CheckId::LittlesLaw,
        Severity::Serious,
        &[
            117, 133, 149, 165, 181, 197, 212, 229, 244, 279, 295, 311, 343, 359, 376, 393, 477,
            493, 509, 525, 541,
        ],
    ),
    (
        "003",
        CheckId::Ceiling,
        Severity::Serious,
        &[205, 221, 237, 252, 351, 368, 385, 402, 501, 517, 533, 550],
    ),
    (
        "003",
        CheckId::LabelDisagrees,
        Severity::Serious,
        &[389, 391],
    ),
    (
        "003",
        CheckId::LabelDisagrees,
        Severity::Serious,
        &[537, 539],
    ),
    (
        "003",
        CheckId::HostsMixed,
        Severity::Warning,
        &[
            114, 130, 146, 162, 178, 194, 209, 226, 241, 260, 276, 292, 308, 324, 340, 356, 373,
            390,
        ],
    ),
    (
        "003",
        CheckId::BackFilled,
        Severity::Warning,
        &[
            117, 133, 149, 165, 181, 197, 212, 229, 244, 279, 295, 311, 343, 359, 376, 393, 445,
            461, 477, 493, 509, 525, 541,
        ],
    ),
    (
        "003",
        CheckId::TooFewRuns,
        Severity::Warning,
        &[
            125, 141, 157, 173, 189, 205, 221, 237, 271, 287, 303, 319, 335, 351, 368, 385, 421,
            437, 453, 469, 485, 501, 517, 533,
        ],
    ),
    (
        "003",
        CheckId::Errors,
        Severity::Warning,
        &[220, 367, 384, 401, 549],
    ),
    ("003", CheckId::GarbledCell, Severity::Warning, &[311]),
    (
        "003",
        CheckId::TimeOutsMissing,
        Severity::Warning,
        &[367, 384, 401, 549],
    ),
    (
        "004",
        CheckId::SleepInWindow,
        Severity::Serious,
        &[
            49, 50, 51, 61, 62, 63, 75, 76, 77, 89, 90, 91, 93, 94, 95, 112, 113, 114, 131, 132,
            133, 145, 146, 147, 155, 156, 157, 169, 170, 171, 179, 180, 181, 193, 194, 195, 207,
            208, 209, 221, 222, 223, 236, 237, 238, 251, 252, 253, 266, 267, 268, 281, 282, 283,
            295, 296, 297, 301, 302, 303, 312, 313, 314, 327, 328, 329,
        ],
    ),
    ("004", CheckId::TooShort, Severity::Warning, &[208, 209]),
    (
        "004",
        CheckId::SpreadExceedsEffect,
        Severity::Note,
        &[
            49, 50, 51, 61, 62, 63, 75, 76, 77, 89, 90, 91, 93, 94, 95, 112, 113, 114, 131, 132,
            133, 145, 146, 147, 155, 156, 157, 169, 170, 171, 179, 180, 181, 193, 194, 195, 207,
            208, 209, 221, 222, 223, 236, 237, 238, 251, 252, 253, 281, 282, 283, 312, 313, 314,
        ],
    ),
];

#[test]
#[ignore = "needs the texts, which belong to others: PRONY_PUBLISHED_TEXTS says where they are"]
fn the_whole_texts_raise_this_and_nothing_else() {
    let folder =
        std::env::var_os("PRONY_PUBLISHED_TEXTS").expect("PRONY_PUBLISHED_TEXTS is a folder");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert_eq!(files.len(), 5);
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let found = remarks(name, &std::fs::read_to_string(&path).unwrap());
        let expected: Vec<&Expected> = WHOLE.iter().filter(|e| name.starts_with(e.0)).collect();
        let mut left: Vec<&Remark> = found.iter().collect();
        for &&(_, finding, severity, lines) in &expected {
            let fits = |r: &&Remark| {
                r.finding.name == finding && r.finding.severity == severity && r.lines == lines
            };
            let at = left.iter().position(fits);
            left.remove(at.unwrap_or_else(|| panic!("{name}: no {finding} {lines:?}: {found:#?}")));
        }
        assert_eq!(left, Vec::<&Remark>::new(), "{name}");
    }
}
