use super::*;
use prony_record::load::Protocol;
use std::collections::HashSet;
use std::path::Path;

fn catalog() -> Catalog {
    Catalog::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../servers")).unwrap()
}

const GOOD: &str = r#"
title = "T"
contract = "tcp-echo"
servers = ["cpp-epoll", "cpp-epoll@2", "go-copy"]
baseline = "cpp-epoll@2"
rounds = 5

[load]
connections = [1, 100]
duration = "1s"
"#;

fn parse(text: &str) -> Result<Experiment, String> {
    Experiment::parse("it", &Source::new("it.toml", text), &catalog(), &|_| None).map_err(
        |mistake| {
            let mut out = String::new();
            miette::NarratableReportHandler::new()
                .render_report(&mut out, &mistake)
                .unwrap();
            out
        },
    )
}

#[test]
fn each_round_has_every_cell_once_in_an_order_of_its_own() {
    let experiment = parse(GOOD).unwrap();
    assert_eq!(experiment.cells().len(), 6);
    let plan = experiment.plan(1);
    assert_eq!(plan.len(), 30);
    assert_eq!(plan, experiment.plan(1));
    assert_ne!(plan, experiment.plan(2));
    let mut orders = HashSet::new();
    for (round, block) in plan.chunks(6).enumerate() {
        assert!(block.iter().all(|&(r, _)| r == round as u32));
        let cells: Vec<Cell> = block.iter().map(|&(_, cell)| cell).collect();
        assert_eq!(cells.iter().collect::<HashSet<_>>().len(), 6);
        orders.insert(cells);
    }
    assert!(orders.len() > 1);
}

#[test]
fn a_star_is_every_other_server() {
    let experiment = parse(&GOOD.replace("\"go-copy\"", "\"*\"")).unwrap();
    let labels: Vec<String> = experiment.entrants.iter().map(Entrant::label).collect();
    assert_eq!(labels[..2], ["cpp-epoll", "cpp-epoll@2"]);
    assert!(labels.contains(&"go-copy".to_owned()) && labels.contains(&"java-nio".to_owned()));
    assert_eq!(
        labels
            .iter()
            .filter(|label| label.starts_with("cpp-epoll"))
            .count(),
        2
    );
    assert!(!experiment.entrants[5].named);
}

#[test]
fn mistakes_are_shown_in_their_place() {
    for (from, to, line, said) in [
        (
            "\"go-copy\"",
            "\"go-cpy\"",
            "line 4",
            "did you mean \"go-copy\"?",
        ),
        (
            "\"go-copy\"",
            "\"go-copy@x\"",
            "line 4",
            "a number of workers is expected",
        ),
        (
            "\"go-copy\"",
            "\"go-copy@0\"",
            "line 4",
            "at least 1 workers",
        ),
        ("\"go-copy\"", "\"cpp-epoll\"", "line 4", "named twice"),
        (
            "\"go-copy\"",
            "\"go-net-http\"",
            "line 4",
            "does not keep tcp-echo",
        ),
        ("\"tcp-echo\"", "\"udp-echo\"", "line 3", "unknown variant"),
        (
            "cpp-epoll@2\"\nrounds",
            "cpp-epoll@3\"\nrounds",
            "line 5",
            "does not take part",
        ),
        (
            "rounds = 5",
            "rounds = 0",
            "line 6",
            "must be from 1 to 10000",
        ),
        (
            "duration = \"1s\"",
            "duration = \"1 s\"",
            "line 10",
            "is not a duration",
        ),
        (
            "connections = [1, 100]",
            "connections = [1, 0]",
            "line 9",
            "connections must be at least 1",
        ),
        ("rounds = 5", "rounds = 5 5", "line 6", "expected"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let error = parse(&GOOD.replace(from, to)).unwrap_err();
        assert!(error.contains(said), "{from} → {to}: {error}");
        assert!(error.contains(line), "{from} → {to}: {error}");
    }
}

#[test]
fn every_experiment_that_ships_is_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Folders have the requests of experiments.
        if !path.is_file() {
            continue;
        }
        Experiment::find(path.to_str().unwrap(), &catalog(), &|_| None).unwrap();
    }
    let error = Experiment::find("quickstar", &catalog(), &|_| None).unwrap_err();
    let help = miette::Diagnostic::help(&error).unwrap().to_string();
    assert_eq!(help, "did you mean \"quickstart\"?");
}

#[test]
fn numbers_of_workers() {
    let of = |text| workers(text, 12);
    assert_eq!(of("3"), Some(vec![3]));
    assert_eq!(of("N"), Some(vec![12]));
    assert_eq!(of("1..3"), Some(vec![1, 2, 3]));
    assert_eq!(of("7..N"), Some(vec![7, 8, 12]));
    assert_eq!(of("1..64").unwrap()[6..], [7, 8, 16, 32, 64]);
    for wrong in ["", "x", "1..", "3..2", "1..n", "1..99999", "-1"] {
        assert_eq!(of(wrong), None, "{wrong}");
    }
    let labels: Vec<String> = parse(&GOOD.replace("\"go-copy\"", "\"go-copy@1..3\""))
        .unwrap()
        .entrants
        .iter()
        .map(Entrant::label)
        .collect();
    assert_eq!(labels[2..], ["go-copy", "go-copy@2", "go-copy@3"]);
}

#[test]
fn several_loads_have_labels_of_their_own() {
    let (head, _) = GOOD.split_once("[load]").unwrap();
    let two = format!("{head}[[loads]]\nname = \"ab\"\n[[loads]]\nconnections = [1, 2]\n");
    let labels: Vec<String> = parse(&two)
        .unwrap()
        .loads
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(labels, ["ab", "c1", "c2"]);
    let same = parse(&two.replace("name = \"ab\"", "connections = 2")).unwrap_err();
    assert!(same.contains("c2 is the label of two loads"), "{same}");
    let both = parse(&format!("{two}[load]\nconnections = 3\n")).unwrap_err();
    assert!(both.contains("either one load or several"), "{both}");
}

#[test]
fn only_gateways_need_an_upstream() {
    let weather = "title = \"T\"\ncontract = \"weather\"\nservers = [\"spray\"]\n";
    let error = parse(weather).unwrap_err();
    assert!(error.contains("a gateway needs an upstream"), "{error}");
    let error = parse(&format!("{weather}upstream = \"spray\"\n")).unwrap_err();
    assert!(
        error.contains("there is no upstream of this name"),
        "{error}"
    );
    let error = parse(&format!("upstream = \"nginx-weather\"\n{GOOD}")).unwrap_err();
    assert!(
        error.contains("servers of tcp-echo ask no upstream"),
        "{error}"
    );
    let with = weather.replace("[\"spray\"]", "[\"nginx-weather\", \"spray\"]");
    let experiment = parse(&format!("{with}upstream = \"nginx-weather\"\n")).unwrap();
    assert_eq!(experiment.upstream.unwrap().name, "nginx-weather");
    let contracts: Vec<Contract> = experiment.entrants.iter().map(|e| e.contract).collect();
    assert_eq!(contracts, [Contract::WeatherUpstream, Contract::Weather]);
}

#[test]
fn figures_may_be_imported() {
    let text = "title = 'T'\ncontract = 'tcp-echo'\nservers = ['cpp-epoll']\npublished = 'mine'\n";
    let source = Source::new("it.toml", text);
    let imported = |name: &str| (name == "mine").then(|| Source::new("mine", "title = 'Mine'"));
    let experiment = Experiment::parse("it", &source, &catalog(), &imported).unwrap();
    assert_eq!(experiment.published.unwrap().text(), "title = 'Mine'");
    let error = Experiment::parse("it", &source, &catalog(), &|_| None).unwrap_err();
    assert!(
        miette::Report::new(error)
            .downcast_ref::<crate::source::Mistake>()
            .is_some()
    );
}

#[test]
fn an_experiment_inside_the_program_brings_its_requests_along() {
    let parse = |name: &str, text: &str, folder: Folder<'_>| {
        let source = Source::new(name, text);
        Experiment::parse_in(("shop", &source), folder, &catalog(), &|_| None)
    };
    let file = shipped::inside().get_file("shop.toml").unwrap();
    let text = file.contents_utf8().unwrap();
    let inside = parse("shop.toml", text, Folder::Program(shipped::inside())).unwrap();
    let disk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let outside = parse("shop.toml", text, Folder::Disk(&disk)).unwrap();
    let requests =
        |experiment: &Experiment| experiment.loads[0].requests.as_ref().unwrap().mix.clone();
    assert_eq!(requests(&inside), requests(&outside));
    assert!(
        requests(&inside)
            .tables
            .iter()
            .any(|table| table.name == "items.csv")
    );
    let missing = text.replace("shop/requests.toml", "shop/none.toml");
    let error = parse("shop.toml", &missing, Folder::Program(shipped::inside())).unwrap_err();
    let shown = format!("{:?}", miette::Report::new(error));
    assert!(
        shown.contains("there is no shop/none.toml in this program"),
        "{shown}"
    );
}

#[test]
fn the_contract_http_needs_requests() {
    let text = GOOD.replace("tcp-echo", "http");
    let said = parse(&text).unwrap_err();
    assert!(
        said.contains("line 3") && said.contains("http needs requests"),
        "{said}"
    );
}

const OVER: &str = r#"
title    = "T"
contract = "static-file"
servers  = ["nginx", "lighttpd", "nghttpd"]

[load]
over = ["plain", "h2"]
"#;

/// The servers of each load, by its label.
fn by_load(experiment: &Experiment) -> Vec<(String, Vec<&str>)> {
    let of = |(at, load): (usize, &ExperimentLoad)| {
        let cells = experiment.cells().into_iter();
        let names = cells
            .filter(|cell| cell.load == at)
            .map(|cell| experiment.entrants[cell.entrant].server.name.as_str());
        (load.to_string(), names.collect())
    };
    experiment.loads.iter().enumerate().map(of).collect()
}

#[test]
fn servers_take_part_in_what_they_speak() {
    let mut experiment = parse(OVER).unwrap();
    let expected = [
        ("c64".to_owned(), vec!["nginx", "lighttpd"]),
        ("c64 h2".to_owned(), vec!["nginx", "nghttpd"]),
    ];
    assert_eq!(by_load(&experiment), expected);
    assert_eq!(experiment.plan(1).len(), 12);
    // Asked otherwise on the command line.
    assert_eq!(
        experiment.speak(&[Protocol::H2c, Protocol::Tls]).unwrap(),
        ["lighttpd"]
    );
    let expected = [
        ("c64 h2c".to_owned(), vec!["nginx", "nghttpd"]),
        ("c64 tls".to_owned(), vec!["nginx"]),
    ];
    assert_eq!(by_load(&experiment), expected);
    let error = experiment.speak(&[]).unwrap_err();
    assert!(error.contains("no server of it speaks"), "{error}");
}

#[test]
fn what_cannot_be_spoken_is_shown_in_its_place() {
    for (from, to, line, said) in [
        ("\"plain\", ", "", "line 4", "lighttpd speaks plain alone"),
        (
            "static-file",
            "tcp-echo",
            "line 4",
            "does not keep tcp-echo",
        ),
    ] {
        let error = parse(&OVER.replace(from, to)).unwrap_err();
        assert!(error.contains(said), "{from} → {to}: {error}");
        assert!(error.contains(line), "{from} → {to}: {error}");
    }
    let echo = GOOD.replace("[load]\n", "[load]\nover = 'tls'\n");
    let error = parse(&echo).unwrap_err();
    assert!(
        error.contains("tcp-echo is spoken in one way alone"),
        "{error}"
    );
    // A star leaves out those that speak nothing of it.
    let star = OVER
        .replace("\"lighttpd\", \"nghttpd\"", "\"*\"")
        .replace("\"plain\", ", "");
    let experiment = parse(&star).unwrap();
    let names: Vec<&str> = experiment
        .entrants
        .iter()
        .map(|it| it.server.name.as_str())
        .collect();
    assert!(
        names.contains(&"caddy") && !names.contains(&"lighttpd"),
        "{names:?}"
    );
}

#[test]
fn levels_may_be_those_that_were_published() {
    let error = parse(GOOD).unwrap().as_published().unwrap_err();
    assert_eq!(error, "no load of it has as_published");
    let text = format!(
        "{}\n[[loads]]\nname = 'one'\nas_published = {{ connections = [2, 3], duration = '15s' }}\n\
         [[loads]]\nname = 'two'\n[[loads]]\nname = 'three'\nas_published = {{ only = true }}\n",
        GOOD.split_once("[load]").unwrap().0
    );
    let mut experiment = parse(&text).unwrap();
    let labels = |experiment: &Experiment| -> Vec<String> {
        experiment.loads.iter().map(ToString::to_string).collect()
    };
    assert_eq!(labels(&experiment), ["one", "two"]);
    experiment.as_published().unwrap();
    assert_eq!(labels(&experiment), ["one c2", "one c3", "two", "three"]);
    assert_eq!(experiment.title, "T, as published");
    let wrong = parse(&text.replace("[2, 3]", "0")).unwrap_err();
    assert!(wrong.contains("connections must be at least 1"), "{wrong}");
}

#[test]
fn published_rows_of_arena_are_of_its_loads_as_published() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/arena.toml");
    let mut arena = Experiment::find(folder.to_str().unwrap(), &catalog(), &|_| None).unwrap();
    arena.as_published().unwrap();
    let loads: HashSet<String> = arena.loads.iter().map(ToString::to_string).collect();
    let published: prony_record::published::Published = arena.published.unwrap().parse().unwrap();
    published.check().unwrap();
    for row in &published.row {
        let load = row.load.as_ref().unwrap();
        assert!(loads.contains(load), "{}: {load}", row.label);
        let cpu = row.cpu_us_per_request.unwrap();
        assert!((1.0..100_000.0).contains(&cpu), "{}: {cpu}", row.label);
    }
    assert!(published.row.len() > 100);
}
