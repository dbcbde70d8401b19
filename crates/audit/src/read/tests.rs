use super::*;

const MIXED: &str = "Echo\n====\n\ntest command\n------------\n\n::\n\n   ./client -c5 -o2 -h10 far\n\n\
    C++ epoll\n---------\n\nserver::\n\n   ./server_epoll\n\nresult::\n\n   \
    Throughput: 100.50 [#/sec]\n   Throughput: 101.50 [#/sec]\n\nwith forking.\n\nserver::\n\n   \
    ./server_epoll -f2\n\nresult::\n\n   $ sh bench.sh\n   Throughput: 200.50 [#/sec]\n   \
    $ sh bench.sh\n   Throughput: 201.50 [#/sec]\n";

#[test]
fn outputs_know_where_they_stand() {
    let document = read("x", MIXED);
    let seen: Vec<_> = document
        .outputs
        .iter()
        .map(|output| {
            let label = output.place.label.as_ref().map(|label| label.0.as_str());
            (
                output.block.first,
                output.place.headings.last().unwrap().0.as_str(),
                label,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (20, "C++ epoll", Some("./server_epoll")),
            (21, "C++ epoll", Some("./server_epoll")),
            (32, "C++ epoll", Some("./server_epoll -f2")),
            (34, "C++ epoll", Some("./server_epoll -f2")),
        ]
    );
    assert_eq!(document.commands.len(), 1);
    assert_eq!(document.commands[0].requests(), Some(100));
}

#[test]
fn a_command_belongs_to_the_output_below_it() {
    let run = "Running 1s test @ http://a/\n  1 threads and 1 connections\nRequests/sec: 5.00\nTransfer/sec: 1KB\n";
    let text = format!("# A\n```\n$ wrk -c1 http://a/\n{run}{run}```\n");
    let document = read("x", &text);
    assert_eq!(document.outputs.len(), 2);
    assert_eq!(document.outputs[0].command.as_ref().unwrap().line, 3);
    // It holds for all outputs of its block, and for none behind that.
    assert_eq!(document.outputs[1].command.as_ref().unwrap().line, 3);
    assert_eq!(document.outputs[1].place.label, None);
    let document = read(
        "x",
        &format!("{text}\nNow with a cache, and nothing else.\n\n```\n{run}```\n"),
    );
    assert_eq!(
        (
            document.outputs[2].command.is_some(),
            document.outputs[2].place.sentence
        ),
        (false, Some(14))
    );
}

#[test]
fn what_is_not_understood_is_kept() {
    let document = read(
        "x",
        "We saw 2200 req/sec.\nThen we saw 21287 req/sec.\nno figures\n",
    );
    let lines: Vec<usize> = document.unread.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [1, 2]);
    let unread = |json: &str| read("x.json", json).unread.len();
    assert_eq!(unread("{\"rps\": 12000, \"mine\": true}\n"), 1);
    let suite = "{\"rawData\": {\"json\": {\"a\": [{\"latencyAvg\": \"1.00ms\", \"totalRequests\": 9}]}}}\n";
    assert_eq!(unread(suite), 1);
    let result = "{\"requests\": 5000, \"throughput\": 500.0, \"duration\": 1e10, \"latencies\": {\"99th\": 1e6}}";
    let list = |n: usize| format!("[{}]\n", vec![result; n].join(",\n"));
    assert_eq!((unread(&list(200)), unread(&list(201))), (0, 1));
}

#[test]
fn prompts_name_nothing() {
    for line in [
        "me@box:~/wrk$ sh run.sh",
        "[root@box ~]# wrk",
        "PS C:\\x> wrk",
        "me@box:~$",
    ] {
        assert!(matches!(label(line), Label::Generic), "{line}");
    }
    assert!(matches!(label("nginx"), Label::Named(_)));
}
