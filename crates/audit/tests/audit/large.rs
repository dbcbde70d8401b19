//! Large texts: outputs of every tool over and over, and what is made to make a reader look at
//! everything again and again. The tests read each to its end.

/// Names and texts of the tools' outputs.
pub const OUTPUTS: [(&str, &str); 14] = [
    ("ab-keepalive.txt", include_str!("golden/ab-keepalive.txt")),
    ("ab.txt", include_str!("golden/ab.txt")),
    ("h2load.txt", include_str!("golden/h2load.txt")),
    ("hey.txt", include_str!("golden/hey.txt")),
    ("httperf.txt", include_str!("golden/httperf.txt")),
    ("k6.json", include_str!("golden/k6.json")),
    ("k6.txt", include_str!("golden/k6.txt")),
    ("oha.json", include_str!("golden/oha.json")),
    ("oha.txt", include_str!("golden/oha.txt")),
    ("weighttp-0.3.txt", include_str!("golden/weighttp-0.3.txt")),
    ("weighttp-0.5.txt", include_str!("golden/weighttp-0.5.txt")),
    ("wrk.txt", include_str!("golden/wrk.txt")),
    (
        "wrk2-uncorrected.txt",
        include_str!("golden/wrk2-uncorrected.txt"),
    ),
    ("wrk2.txt", include_str!("golden/wrk2.txt")),
];

/// Lines, or parts of lines, that begin something and never end it, or end it at once; and what the
/// checks compare with everything else.
const PARTS: [&str; 34] = [
    "{\"a\":[\n",
    "{\n",
    "<table>\n",
    "<tr><td",
    "|--|\n",
    "a|b\n|--|--|\n",
    "a,b\n1,2\n",
    "1,2\n",
    "a,b\n",
    "Summary:\n",
    "Thread Stats Stdev\n",
    "Running 1s test @ x\n",
    "Concurrency Level: 5\n\n",
    "Total: connections 5 requests\n",
    "Throughput: 5 [#/sec]\n$ x\n",
    "c4: 5\n",
    "c4: 5\nc4: 6\nc5: 7\n\n",
    "Latency distribution:\n",
    "http_reqs.....: 180 4.3/s\n",
    "spawning thread #1: 5 concurrent requests\n",
    "weighttp - webserver benchmarking tool\n{\n",
    "[a](b",
    "<a",
    "\u{1b}[",
    "wrk -c4 http://a/ ",
    "=",
    "# x\n",
    "A / B = 1\nThroughput: 5 [#/sec]\n",
    "5 % faster ",
    "1,234,",
    "9",
    "**a**\n",
    "Running 1s test @ http://a/\n1 threads and 1 connections\nRequests/sec: 5\nTransfer/sec: 1\n",
    "| | A | B |\n|--|--|--|\n| 1st | 2270.32 | 1877.48 |\n| 2nd | 1798.75 | 1987.68 |\n\n",
];

/// Texts of about `size` bytes each, with descriptive names.
pub fn texts(size: usize) -> Vec<(String, String)> {
    let repeated = |part: &str| part.repeat(size / part.len());
    let mut texts: Vec<(String, String)> = OUTPUTS
        .iter()
        .map(|(name, text)| ((*name).to_owned(), repeated(text)))
        .collect();
    let all: String = OUTPUTS.iter().map(|(_, text)| *text).collect();
    texts.push(("all outputs".to_owned(), repeated(&all)));
    texts.extend(
        PARTS
            .iter()
            .map(|part| (format!("{part:?}"), repeated(part))),
    );
    let nested = "{\"a\":[".repeat(100) + &"1,".repeat(size / 2);
    texts.push(("an array without an end".to_owned(), nested));
    let rows = repeated("| 1st | 2270.32 |\n");
    let table = format!("| | A |\n|--|--|\n{rows}");
    texts.push(("one table".to_owned(), table));
    // 80 bytes each, or nearly.
    let systems = (0..size / 80).map(|n| {
        format!(
            "# s{n}\nRunning 1s test @ http://h{n}/\n1 threads and 1 connections\n\
             Requests/sec: {n}\nTransfer/sec: 1\n"
        )
    });
    texts.push(("as many systems as fit".to_owned(), systems.collect()));
    texts
}
