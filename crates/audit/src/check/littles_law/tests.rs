use super::super::testing::{CheckId, of, wrk};
use prony_checks::Severity;

#[test]
fn more_in_flight_than_connections() {
    let found = of(
        CheckId::LittlesLaw,
        &wrk(&[(" 2.00ms", "66.00ms"), ("3.90ms", " 1.84s")]),
    );
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].lines.as_slice(), found[0].finding.severity),
        ([4].as_slice(), Severity::Serious)
    );
    assert!(found[0].finding.text.contains("33.0 times"), "{found:?}");
    let little = of(CheckId::LittlesLaw, &wrk(&[(" 2.00ms", " 2.30ms")]));
    assert_eq!(little[0].finding.severity, Severity::Warning);
}

#[test]
fn a_rate_of_samples_is_judged_with_care() {
    let text = |ms: &str| {
        format!(
            "Bombarding http://10.0.0.2:80 with 100000 request(s) using 5100 connection(s)\nDone!\n\
             Statistics        Avg      Stdev        Max\n  Reqs/sec     36366.02   59859.52  721275.32\n  \
             Latency      {ms}   143.55ms      1.77s\n  HTTP codes:\n    \
             1xx - 0, 2xx - 100000, 3xx - 0, 4xx - 0, 5xx - 0\n    others - 0\n"
        )
    };
    assert_eq!(of(CheckId::LittlesLaw, &text("160.20ms")), []);
    assert_eq!(of(CheckId::LittlesLaw, &text("260.20ms")).len(), 1);
}

#[test]
fn ab_with_empty_places() {
    // 2825 per second of 80 ms each are 226 requests, of 2000.
    let text = "Concurrency Level:      2000\nTime taken for tests:   2.832 seconds\n\
        Complete requests:      8000\nRequests per second:    2825.00 [#/sec] (mean)\n\
        Time per request:       707.96 [ms] (mean)\n\nConnection Times (ms)\n              \
        min  mean[+/-sd] median   max\nConnect:        0    2   3.1      1      20\n\
        Total:          9   80  50.0     70    2812\n";
    let found = of(CheckId::LittlesLaw, text);
    assert_eq!(
        (found.len(), found[0].lines.as_slice()),
        (1, [10].as_slice())
    );
    assert!(
        found[0]
            .finding
            .text
            .contains("keep 226 in flight, of 2000"),
        "{found:?}"
    );
    assert_eq!(
        of(
            CheckId::LittlesLaw,
            &text.replace("   80  50.0", "  700  50.0")
        ),
        []
    );
}

#[test]
fn wrk_with_connections_that_were_never_answered() {
    // 32,000 per second of 0.66 ms each are 21 requests, of 64.
    let mean = (" 2.00ms", "660.00us");
    let found = of(CheckId::LittlesLaw, &wrk(&[mean]));
    let found: Vec<_> = found
        .iter()
        .map(|r| (r.lines.as_slice(), r.finding.severity, &r.finding.text))
        .collect();
    let [(lines, severity, text)] = found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((lines, severity), ([4].as_slice(), Severity::Warning));
    assert!(text.contains("keep 21 in flight, of 64"), "{text}");
    // Half of them and more may be wrk's own work.
    assert_eq!(
        of(CheckId::LittlesLaw, &wrk(&[(" 2.00ms", "  1.10ms")])),
        []
    );
    // What failed or was too late is told as that, and explains it.
    let late = "\n  Socket errors: connect 20, read 0, write 0, timeout 0\nRequests/sec";
    assert_eq!(
        of(CheckId::LittlesLaw, &wrk(&[mean, ("\nRequests/sec", late)])),
        []
    );
    // A script may delay requests; connections that are closed on purpose have to be opened.
    for how in ["-s delay.lua", "-H 'Connection: close'"] {
        let command = format!("    wrk -t4 -c64 -d30s {how} http://10.0.0.2:8000/\n\n");
        assert_eq!(
            of(CheckId::LittlesLaw, &(command + &wrk(&[mean]))),
            [],
            "{how}"
        );
    }
}

#[test]
fn outputs_without_their_heads() {
    // 32,000 per second of 2 ms each are 64 requests.
    let bare = wrk(&[
        ("Running 30s test @ http://10.0.0.2:8000/\n", ""),
        ("4 threads and 64 connections\n", ""),
    ]);
    let text =
        |c: u32| format!("Each with `wrk -t2 -c{c} -d30s --latency <url>`.\n\n## alpha\n\n{bare}");
    assert_eq!(
        of(CheckId::LittlesLaw, &text(10))[0].finding.severity,
        Severity::Serious
    );
    assert_eq!(of(CheckId::LittlesLaw, &text(64)), []);
    // One of them has its head, so that the command line may be of that alone.
    let both = text(10) + "\n" + &wrk(&[]);
    assert_eq!(of(CheckId::LittlesLaw, &both), []);
}

#[test]
fn pipelines_of_known_depth_and_users() {
    // 4 ms at 32,000/s are 128 in flight; 64 connections with 16 each may have 1,024.
    let run = |depth: &str, ms: &str| {
        format!(
            "    wrk -t4 -c64 -d30s -s pipeline.lua http://10.0.0.2:8000/ -- {depth}\n\n{}",
            wrk(&[(" 2.00ms", ms), ("3.90ms", "9000.00ms")])
        )
    };
    assert_eq!(of(CheckId::LittlesLaw, &run("/ 16", " 4.00ms")), []);
    assert_eq!(of(CheckId::LittlesLaw, &run("16", "900.00ms")).len(), 1);
    assert_eq!(of(CheckId::LittlesLaw, &run("", "900.00ms")), []);
    let k6 = |users: u32| {
        format!(
            "     http_req_duration..............: avg=10ms min=1ms med=9ms max=1s p(90)=15ms p(95)=20ms\n     \
             http_reqs......................: 30000 1000.0/s\n     \
             iteration_duration.............: avg=100ms min=1ms med=90ms max=1s p(90)=150ms p(95)=200ms\n     \
             iterations.....................: 30000 1000.0/s\n     \
             vus_max........................: {users}     min={users}     max={users}\n"
        )
    };
    assert_eq!(of(CheckId::LittlesLaw, &k6(100)), []);
    assert_eq!(of(CheckId::LittlesLaw, &k6(50)).len(), 1);
}

#[test]
fn rounding_pipelining_and_open_loops_are_no_contradiction() {
    // hey prints four decimals: 0.0004 s may be 0.00035 s.
    let hey = "    hey -z 10s -c 16 http://10.0.0.2/\n\nSummary:\n  Total:\t10.0 secs\n  \
        Slowest:\t0.0175 secs\n  Average:\t0.0004 secs\n  Requests/sec:\t45000.0\n";
    assert_eq!(of(CheckId::LittlesLaw, hey), []);
    // Eight streams on each of ten connections: only the command line would tell.
    let h2load = "starting benchmark...\nspawning thread #0: 10 total client(s). 90000 total requests\n\
        Application protocol: h2\n\nfinished in 1.00s, 80000.00 req/s, 2.53MB/s\n\
        requests: 80000 total, 80000 started, 80000 done, 80000 succeeded, 0 failed, 0 errored, 0 timeout\n\
        time for request:       62us      5.94ms      1.00ms       110us    96.65%\n";
    assert_eq!(of(CheckId::LittlesLaw, h2load), []);
    let command = "    h2load -c10 -m8 -n80000 http://10.0.0.2/\n\n";
    assert_eq!(of(CheckId::LittlesLaw, &(command.to_owned() + h2load)), []);
    let shallow = command.replace("-m8", "-m1") + h2load;
    assert_eq!(of(CheckId::LittlesLaw, &shallow).len(), 1);
    let deep = [(" 2.00ms", "32.00ms"), ("3.90ms", "40.00ms")];
    assert_eq!(
        of(
            CheckId::LittlesLaw,
            &("# Pipelined\n".to_owned() + &wrk(&deep))
        ),
        []
    );
    let open = "    wrk2 -R32000 -c64 http://10.0.0.2/\n\n".to_owned() + &wrk(&deep);
    let open = open.replace(
        "  Thread Stats",
        "  Thread calibration: mean lat.: 1ms\n  Thread Stats",
    );
    assert_eq!(of(CheckId::LittlesLaw, &open), []);
}

#[test]
fn a_table_with_hardly_anything_in_flight() {
    let text = |tool: &str, time: &str| {
        format!(
            "    {tool} http://10.0.0.2/\n\n| server | req/s | avg latency |\n|--|--|--|\n| alpha | 84000 | {time} |\n\
             | beta | 42000 | 2.4 ms |\n"
        )
    };
    let found = of(CheckId::LittlesLaw, &text("bombardier -c 100", "0.12 ms"));
    assert_eq!(found[0].lines, [5]);
    assert_eq!(
        of(CheckId::LittlesLaw, &text("bombardier -c 100", "1.19 ms")),
        []
    );
    // Users of k6 may wait, and autocannon cuts times to whole milliseconds.
    assert_eq!(
        of(CheckId::LittlesLaw, &text("k6 run -u 100 x.js", "0.12 ms")),
        []
    );
    assert_eq!(
        of(CheckId::LittlesLaw, &text("autocannon -c 100", "0.12 ms")),
        []
    );
}

#[test]
fn tools_that_measure_less_than_requests_wait() {
    let text = |ms: &str| {
        format!(
            "Running 5s test @ http://10.0.0.2:3004\n100 connections with 10 pipelining factor\n\n\
             Stat         Avg     Stdev   Max\nLatency (ms) {ms}    11.56   218.03\nReq/Sec      23472.8 3568.24 25550\n\
             Bytes/Sec    5.05 MB 793 kB  5.52 MB\n\n117k requests in 5s, 25.4 MB read\n"
        )
    };
    assert_eq!(of(CheckId::LittlesLaw, &text("4.15"))[0].lines, [5]);
    assert_eq!(of(CheckId::LittlesLaw, &text("41.5")), []);
}

#[test]
fn a_command_line_in_the_heading_of_a_table() {
    let table = |connections: u32| {
        format!(
            "#### 执行```wrk -t1 -c{connections} -d300s http://10.0.0.2:8080/ping```\n|框架|qps|平均响应时间|\n|--|--|--|\n|a|33.8K|4.53ms|\n\
             |b|101.2K|0.9ms|\n\n"
        )
    };
    let both = format!(
        "{}{}",
        table(100),
        table(1_000)
            .replace("4.53", "29.0")
            .replace("0.9ms", "9.1ms")
    );
    assert_eq!(of(CheckId::LittlesLaw, &both)[0].lines, [4]);
}

#[test]
fn most_connections_of_h2load_wait() {
    let text = |mean: &str| {
        format!(
            "starting benchmark...\nspawning thread #0: 100 total client(s). 90000 total requests\nApplication protocol: h2\n\n\
             finished in 600.00s, 166.53 req/s, 2.53KB/s\n\
             requests: 90000 total, 90000 started, 90000 done, 90000 succeeded, 0 failed, 0 errored, 0 timeout\n\
             time for request:    44.84ms       1.27s    {mean}     53.29ms    81.02%\n"
        )
    };
    let command = "    h2load -c100 -m1 http://10.0.0.2/\n\n";
    assert_eq!(
        of(
            CheckId::LittlesLaw,
            &(command.to_owned() + &text("116.58ms"))
        )
        .len(),
        1
    );
    assert_eq!(
        of(
            CheckId::LittlesLaw,
            &(command.to_owned() + &text("590.00ms"))
        ),
        []
    );
}
