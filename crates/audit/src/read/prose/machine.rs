//! Sentences and settings that say that client and server were one machine.

use super::{LOOKED_AT, MARKS};
use crate::read::command::{host_of, is_this_machine};
use crate::read::lines::without_markup;

/// Does a line say that this machine is loaded: `Base URL: http://localhost:3000`? That a server listens there does not.
pub(in crate::read) fn loads_this_machine(line: &str) -> bool {
    const SAID: [&str; 21] = [
        "url testée",
        "url testada",
        "url probada",
        "tested endpoint",
        "测试地址",
        "压测地址",
        "requests to",
        "requests against",
        "benchmarking",
        "load testing",
        "\"host",
        "\"url",
        "target",
        "target url",
        "target host",
        "target server",
        "base url",
        "base_url",
        "test url",
        "tested url",
        "url under test",
    ];
    let Some(at) = line.find("://") else {
        return composes_a_client(line);
    };
    let from = line[..at]
        .rfind(|c: char| !c.is_ascii_alphabetic())
        .map_or(0, |i| i + 1);
    let from = (from..=at)
        .find(|i| line.is_char_boundary(*i))
        .unwrap_or(at);
    let here = host_of(line[from..].split_whitespace().next().unwrap_or(""));
    if !here.is_some_and(is_this_machine) {
        return false;
    }
    let before = without_markup(&line[..from]).to_lowercase();
    let before = before.trim_end_matches(|c: char| !c.is_alphanumeric());
    SAID.iter().any(|said| {
        let rest = before.strip_suffix(said);
        rest.is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

/// `docker compose run --rm k6 …`: the containers of one file run on one machine, and this one loads the others.
fn composes_a_client(line: &str) -> bool {
    const CLIENTS: [&str; 16] = [
        "bench",
        "benchmark",
        "loadtest",
        "load-test",
        "loadgen",
        "k6",
        "wrk",
        "wrk2",
        "hey",
        "oha",
        "vegeta",
        "siege",
        "locust",
        "artillery",
        "bombardier",
        "gatling",
    ];
    let Some((_, rest)) = line.split_once("compose ") else {
        return false;
    };
    let mut words = rest.split_whitespace();
    line.contains("docker")
        && words.any(|word| word == "run")
        && words
            .find(|word| !word.starts_with('-'))
            .is_some_and(|name| CLIENTS.contains(&name))
}

/// Is a line what vegeta is to ask of this machine: `GET http://localhost:3000/posts/1`?
pub(in crate::read) fn asks_this_machine(line: &str) -> bool {
    const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    let mut words = line.split_whitespace();
    let (Some(method), Some(url), None) = (words.next(), words.next(), words.next()) else {
        return false;
    };
    METHODS.contains(&method) && url.contains("://") && host_of(url).is_some_and(is_this_machine)
}

/// Does a line say that client and server were one machine?
pub(in crate::read) fn is_of_one_machine(line: &str) -> bool {
    const SAID: [&str; 33] = [
        "on local vagrant",
        "on local vms",
        "server and client compete",
        "client and server compete",
        "localhost testing",
        "(loopback",
        "over loopback",
        "via loopback",
        "over the loopback",
        "ローカルホストから",
        "、ループバック",
        "ループバックで",
        "ループバック経由",
        "同じマシン",
        "同一マシン",
        "同一台",
        "测试环境为本地",
        "本机压测",
        "本机测试",
        "같은 머신",
        "동일한 머신",
        "동일 서버에서",
        "на одной машине",
        "на той же машине",
        "на одном компьютере",
        "на одном ноутбуке",
        "auf derselben maschine",
        "auf demselben rechner",
        "sur la même machine",
        "en la misma máquina",
        "en el mismo equipo",
        "na mesma máquina",
        "no mesmo computador",
    ];
    const LOCAL: [&str; 12] = [
        "ran locally",
        "running locally",
        "tested locally",
        "measured locally",
        "executed locally",
        "were run locally",
        "was run locally",
        "run locally on",
        "from a local machine",
        "on my local machine",
        "local development measurements",
        "same laptop",
    ];
    const ELSEWHERE: [&str; 43] = [
        "minha máquina",
        "meu notebook",
        "meu computador",
        "mi máquina",
        "mi portátil",
        "mi laptop",
        "mi equipo",
        "mi computadora",
        "mi pc",
        "mon pc",
        "mon ordinateur",
        "mon portable",
        "mon mac",
        "ma machine",
        "meinem rechner",
        "meinem laptop",
        "meinem notebook",
        "meinem pc",
        "meinem mac",
        "на ноутбуке",
        "моём ноутбуке",
        "моем ноутбуке",
        "моей машине",
        "本地电脑",
        "我的电脑",
        "我的笔记本",
        "ローカル環境",
        "ローカルマシン",
        "手元の",
        "로컬 환경",
        "로컬에서",
        "ambiente local",
        "entorno local",
        "máquina local",
        "equipo local",
        "environnement local",
        "machine locale",
        "lokalen rechner",
        "lokaler rechner",
        "lokalen maschine",
        "локальной машине",
        "本地环境",
        "本地机器",
    ];
    // Most lines have none of these words.
    const PARTS: [&str; 38] = [
        "compete",
        "minha ",
        "meu ",
        "mi ",
        "mon ",
        "ma ",
        "meinem ",
        "на ноут",
        "моём ",
        "моем ",
        "моей ",
        "我的",
        "ローカル",
        "手元",
        "로컬",
        "Local",
        "oopback",
        "ループバック",
        "local",
        "lokal",
        "локальн",
        "本地",
        "same",
        "single",
        "one ",
        "my own",
        "dersel",
        "demsel",
        "même",
        "mism",
        "mesm",
        "одно",
        "той же",
        "から",
        "同",
        "本",
        "같은",
        "동일",
    ];
    if !PARTS.iter().any(|part| line.contains(part)) {
        return false;
    }
    let lower = line.to_lowercase();
    if SAID.iter().any(|said| lower.contains(said)) {
        return true;
    }
    let of_results = |text: &str| {
        let results = ["result", "benchmark", "measured"];
        results.iter().any(|word| text.contains(word))
    };
    // What was done, and not what is to be done.
    const DONE: [&str; 38] = [
        "benchmark",
        "测试数据",
        "测试环境",
        "테스트 결과",
        "протестир",
        "foram feit",
        "压测",
        "計測",
        "測定",
        "ベンチ",
        "結果",
        "負荷",
        "측정",
        "결과",
        "벤치",
        "замер",
        "бенчмарк",
        "mesuré",
        "realizad",
        "executad",
        "ejecutad",
        "obtid",
        "obtenid",
        "resultad",
        "medid",
        "feitos",
        "hechas",
        "effectué",
        "réalisé",
        "exécuté",
        "résultat",
        "durchgeführt",
        "gemessen",
        "ergebnis",
        "проводил",
        "результат",
        "测试结果",
        "压测结果",
    ];
    if ELSEWHERE.iter().any(|said| lower.contains(said))
        && DONE.iter().any(|word| lower.contains(word))
    {
        return true;
    }
    // `Running locally on server`, above an output
    if ["running locally", "ran locally"]
        .iter()
        .any(|said| lower.trim_start().starts_with(said))
        && lower.len() < 60
    {
        return !is_denied(&lower);
    }
    let local = LOCAL.iter().filter_map(|said| lower.split_once(said));
    let mut local = local.map(|(before, _)| before);
    of_results(&lower) && local.any(|before| !is_denied(before))
        || lower.split(". ").any(|sentence| {
            let words: Vec<&str> = sentence
                .split_whitespace()
                .take(LOOKED_AT)
                .map(|word| word.trim_matches(['"', '\'', '*', '_', '`', '(']))
                .collect();
            one_machine(&words).is_some_and(|(only, clause)| {
                // What is said in the next clause denies something else.
                let clause = words[..clause].join(" ");
                !is_denied(&clause) && (says_both(&words) || only && of_results(sentence))
            })
        })
}

/// `on the same machine`, `on a single M2 laptop`: is it only said that there was one, and not that it was the same; and the
/// number of words up to the end of the clause that says it.
fn one_machine(words: &[&str]) -> Option<(bool, usize)> {
    const MACHINES: [&str; 15] = [
        "machine",
        "computer",
        "box",
        "laptop",
        "notebook",
        "macbook",
        "desktop",
        "workstation",
        "pc",
        "vm",
        "host",
        // One of these may be one of several on a machine.
        "server",
        "instance",
        "node",
        "vps",
    ];
    let (from, noun) = words.iter().enumerate().find_map(|(at, word)| {
        let machines = match *word {
            "same" => &MACHINES[..],
            "single" | "one" => &MACHINES[..11],
            "own" if at > 0 && words[at - 1] == "my" => &MACHINES[..11],
            _ => return None,
        };
        let noun = (at + 1..words.len().min(at + 4))
            .find(|i| machines.contains(&words[*i].trim_end_matches(MARKS)))?;
        // `the same for each machine`
        let joined = words[at + 1..noun].iter().all(|word| {
            !matches!(
                *word,
                "for" | "on" | "of" | "in" | "per" | "as" | "and" | "is"
            )
        });
        joined.then_some((at, noun))
    })?;
    let ends = |word: &str| word.ends_with([',', ';', ')', ':', '.', '!']);
    let ends_before = |word: &str| matches!(word, "so" | "which" | "hence" | "therefore" | "but");
    let clause = (noun..words.len())
        .find(|i| ends(words[*i]) || words.get(i + 1).is_none_or(|word| ends_before(word)))
        .map_or(words.len(), |i| i + 1);
    // `on a single machine`, `on one machine`, `on my own laptop`
    let on = (from.saturating_sub(2)..from).any(|i| words[i] == "on");
    Some((words[from] != "same" && on, clause))
}

/// Are both named, what loads and what is loaded, or everything?
fn says_both(words: &[&str]) -> bool {
    const LOAD: [&str; 23] = [
        "client",
        "clients",
        "generator",
        "generators",
        "tester",
        "wrk",
        "wrk2",
        "ab",
        "hey",
        "oha",
        "k6",
        "ghz",
        "h2load",
        "httperf",
        "bombardier",
        "autocannon",
        "vegeta",
        "locust",
        "jmeter",
        "gatling",
        "siege",
        "artillery",
        "fortio",
    ];
    const LOADED: [&str; 16] = [
        "server",
        "servers",
        "webserver",
        "app",
        "apps",
        "application",
        "service",
        "services",
        "api",
        "backend",
        "broker",
        "database",
        "proxy",
        "nginx",
        "sut",
        "target",
    ];
    const ALL: [&str; 4] = ["everything", "components", "processes", "containers"];
    let has = |names: &[&str]| {
        let parts = words
            .iter()
            .flat_map(|word| word.split(['/', '-', '+', '&']));
        parts
            .map(|word| word.trim_matches(MARKS))
            .any(|word| names.contains(&word))
    };
    let tool = words.iter().any(|word| word.starts_with("benchmark"))
        && words
            .iter()
            .any(|word| word.trim_end_matches(MARKS) == "tool");
    (has(&LOAD) || tool) && has(&LOADED) || has(&ALL)
}

/// Is something said not to be so, or only said of what could be: `should not run on`, `if both were on`?
pub(super) fn is_denied(clause: &str) -> bool {
    const DENIED: [&str; 21] = [
        "not ",
        "n't",
        "never",
        "different",
        "separate",
        "another",
        "second ",
        "other ",
        "would",
        "could",
        "should",
        "must ",
        "may ",
        "might ",
        "can ",
        "if ",
        "when ",
        "unless",
        "avoid",
        "instead of",
        "rather than",
    ];
    let clause = format!("{clause} ");
    DENIED.iter().any(|word| {
        let starts = |at: usize| at == 0 || !word.ends_with(' ') || clause[..at].ends_with(' ');
        clause.match_indices(word).any(|(at, _)| starts(at))
    })
}
