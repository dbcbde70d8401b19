use super::*;

#[test]
fn ratios() {
    let found = claim("Finatra / Finagle = 0.964027331", 9).unwrap();
    assert_eq!(
        found.about,
        About::Ratio("Finatra".into(), "Finagle".into())
    );
    assert_eq!((found.ratio.value, found.line), (0.964_027_331, 9));
    for line in [
        "a = b / c",
        "x / y = z",
        "1 / 2 = 0.5",
        "url = http://a/b=3",
        "=",
    ] {
        assert_eq!(claim(line, 1), None, "{line}");
    }
}

#[test]
fn differences() {
    for (line, ratio) in [
        ("A is 3 % faster than B", 1.03),
        ("so it is 25% slower.", 0.75),
        ("A is 2x faster", 2.0),
        // Of a range the lower end is claimed.
        ("A is 3–5x faster than B", 3.0),
        ("A is 3x-5x faster than B", 3.0),
        ("A is 20-30% faster", 1.2),
        ("A is 3-5 times faster", 3.0),
        ("2x to 5x faster", 2.0),
        ("2 to 5 times faster", 2.0),
        ("about 4 times slower, then", 0.25),
        (
            "Eine Verbesserung fast um Faktor 10, das kann sich sehen lassen",
            10.0,
        ),
        ("an improvement by a factor of 2.5.", 2.5),
        ("性能提升了 3 倍", 3.0),
    ] {
        let found = claim(line, 1).unwrap().ratio.value;
        assert!((found - ratio).abs() < 1e-9, "{line}: {found}");
    }
    for line in [
        "100% of requests",
        "3 % of more",
        "0 % faster",
        "10 x 3 faster",
    ] {
        assert_eq!(claim(line, 1), None, "{line}");
    }
}

#[test]
fn failures_in_sentences() {
    let found = |line| failure(line, 3).map(|f| (f.failed, f.of, f.timed_out));
    assert_eq!(found("3 of 200 requests failed."), Some((3, 200, false)));
    assert_eq!(
        found("it made 296 requests in 30 s, timeout 41"),
        Some((41, 296, true))
    );
    assert_eq!(
        found("5 out of 100 requests timed out"),
        Some((5, 100, true))
    );
    for line in [
        "0 of 200 requests failed",
        "3 requests, none failed",
        "timeout 30 for requests",
    ] {
        assert_eq!(found(line), None, "{line}");
    }
}

#[test]
fn what_a_line_says_was_sent() {
    for (line, requests) in [
        (
            "ab with 1 Million request with 10K concurrency on my laptop.",
            Some(1_000_000),
        ),
        (
            "**4. 5 benchmarks are launched, 50,000 calls, for each concurrencies (1, 5)**",
            Some(50_000),
        ),
        ("100k requests, 64 connections", Some(100_000)),
        (
            "It answers 50,000 requests per second with 64 connections",
            None,
        ),
        ("50,000 requests", None),
        (
            "batches of 1000 requests, one for each of the clients",
            None,
        ),
        ("up to 20 requests at a concurrency of 4", None),
    ] {
        assert_eq!(stated_requests(line), requests, "{line}");
    }
    for line in [
        "The server and client are on same machine.",
        "* ローカルホストからwrk 1thread",
        "- 测试环境为本地，配置4核心",
        "wrk 4 スレッド、100 接続、10 秒、ループバック。",
        "Benchmark results are from a local machine and should not be taken for more.",
        "Everything ran on one laptop (M2, 16 GB).",
        "- Load generator and app both ran on the same MacBook, so absolute numbers are not comparable.",
        "The benchmarks were run on a single Linux workstation.",
        "k6 and the API run on the same machine; do not read too much into it.",
        "All results were measured on one laptop.",
        "The benchmarking tool shared the same EC2 instance with the server.",
    ] {
        assert!(is_of_one_machine(line), "{line}");
    }
    for line in [
        "Client and server did not share the same machine",
        "All on the same machine",
        "These results are not from a local machine",
        "All frameworks were benchmarked on the same machine",
        "The client ran on one machine and the server on another.",
        "Do not run the client and the server on the same machine.",
        "If wrk and the server are on the same machine, they compete for CPU time.",
        "A single instance of the server was benchmarked with wrk.",
        "Both servers got the same settings on each machine",
        "The client opens one connection per host of the server",
        "Each server handles the same load as the machine of the client",
    ] {
        assert!(!is_of_one_machine(line), "{line}");
    }
}

#[test]
fn what_is_loaded() {
    for line in [
        "INFO[0000] 📍 Base URL: http://localhost:3000   source=console",
        "- **Target URL:** http://127.0.0.1/x (staging)",
        "| Target | `http://localhost:80` |",
        "BASE_URL=http://localhost",
    ] {
        assert!(loads_this_machine(line), "{line}");
    }
    for line in [
        "The server listens on http://localhost:3000",
        "Base URL: http://10.0.0.2/",
        "see http://localhost",
        "✓://",
    ] {
        assert!(!loads_this_machine(line), "{line}");
    }
}

#[test]
fn how_often() {
    assert_eq!(
        repetitions("bench.sh does kick client 3 times with"),
        Some(3)
    );
    assert_eq!(repetitions("the average of 10 runs."), Some(10));
    assert_eq!(
        repetitions("RPS is the median of the three measured samples; latency"),
        Some(3)
    );
    assert_eq!(repetitions("averaged over 5 separate test runs"), Some(5));
    assert_eq!(repetitions("a median of 3 ms, with 10 users"), None);
    assert_eq!(repetitions("the mean of 10 connections"), None);
    assert_eq!(repetitions("it ran 1 times, and 12 minutes"), None);
    assert_eq!(repetitions("a page generated 100 times"), None);
}

#[test]
fn charts_and_logos() {
    for line in [
        "![Fig1](a.png)",
        "  ![](assets/measuring-graph-1.png)",
        "<p><img src=\"rps.svg\"></p>",
        ".. image:: throughput.png",
    ] {
        assert!(is_chart(line), "{line}");
    }
    for line in [
        "![logo](logo.png)",
        "[![build](ci.svg)](x)",
        "a chart",
        "<img src=face.png>",
    ] {
        assert!(!is_chart(line), "{line}");
    }
}

#[test]
fn one_machine_in_other_words() {
    for line in [
        "- Testes realizados em ambiente local (Ubuntu 20.04)",
        "Las pruebas fueron ejecutadas en un entorno local.",
        "Die Messungen wurden auf einem lokalen Rechner durchgeführt",
    ] {
        assert!(is_of_one_machine(line), "{line}");
    }
    for line in [
        "Para rodar os testes em ambiente local:",
        "Cómo levantar el entorno local",
    ] {
        assert!(!is_of_one_machine(line), "{line}");
    }
    for line in [
        "- **Environment:** Docker Desktop on macOS (M1)",
        "OS: Windows 11 + WSL2",
        "| Host | MacBook Air, Docker Desktop |",
    ] {
        assert!(is_of_a_desktop(line), "{line}");
    }
    for line in [
        "Requirements: Docker Desktop 4",
        "Docker Engine 24 with Make (Windows via WSL2).",
        "Environment: bare metal, not Docker Desktop",
    ] {
        assert!(!is_of_a_desktop(line), "{line}");
    }
    assert!(asks_this_machine("GET http://localhost:3000/posts/1"));
    for line in [
        "GET http://10.0.0.2/",
        "GET /posts",
        "GET http://localhost/ is slow",
    ] {
        assert!(!asks_this_machine(line), "{line}");
    }
}

#[test]
fn failures_in_chinese() {
    let found = failure("• 方案一测试：50000个请求，503个失败请求。", 7).unwrap();
    assert_eq!((found.failed, found.of, found.line), (503, 50_000, 7));
    assert_eq!(failure("50000个请求，0个失败请求", 7), None);
    assert_eq!(failure("失败的请求", 7), None);
}

#[test]
fn pictures_of_results() {
    assert!(is_of_results("![Benchmark Results](assets/all.png)"));
    for line in [
        "![Build](https://x/benchmark/actions/workflows/ci.svg)",
        "![run](results.gif)",
        "![diagram](a.png)",
    ] {
        assert!(!is_of_results(line), "{line}");
    }
}

#[test]
fn laptops_are_no_servers() {
    for line in [
        "> Hardware: `MacBook Pro (13-inch, 2020)`",
        "CPU: Apple M2, 8 cores",
        "- All benchmarks performed on MacBook Pro (Retina, 15-inch), 2 GHz",
        "I ran some benchmarks using `wrk` on a quad core laptop with 8GB of RAM.",
        "On Apple M1 Pro (macOS) with logging disabled:",
    ] {
        assert!(is_of_a_desktop(line), "{line}");
    }
    for line in [
        "The client ran on a MacBook Pro.",
        "You should not run this on a laptop.",
        "Works on a MacBook Pro as well.",
        "Tests ran on EC2, and were started on my laptop",
    ] {
        assert!(!is_of_a_desktop(line), "{line}");
    }
    for line in [
        "Running locally on server",
        "Los resultados obtenidos en mi portátil:",
        "手元の Mac でベンチマークを取った",
        "Результаты замеров на ноутбуке",
    ] {
        assert!(is_of_one_machine(line), "{line}");
    }
    assert!(loads_this_machine("  \"Host\": \"https://localhost:444\","));
}

#[test]
fn requests_of_a_sentence() {
    assert_eq!(
        stated_requests("Experiments on 50,000 requests, 4 shards:"),
        Some(50_000)
    );
    assert_eq!(
        stated_requests("Benchmark (for 2 vCPUs, 1k requests):"),
        Some(1_000)
    );
    assert_eq!(
        stated_requests("It has handled 50,000 requests since"),
        None
    );
    assert_eq!(
        stated_connections("- 100 concurrent connections"),
        Some(100)
    );
    assert_eq!(
        stated_connections("- 100 connections may be too many"),
        None
    );
}
