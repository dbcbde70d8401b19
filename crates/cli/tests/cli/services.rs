//! Services of servers: a real PostgreSQL, and commands of the user's.

use crate::duel::with_common_rate;
use crate::support::{PRONY, Place, schema, valid};

/// At a rate that is low enough for a busy machine, and high enough for some requests in each segment.
const QUICK: [&str; 10] = [
    "--rounds", "2", "-d", "600ms", "--warmup", "50ms", "-c", "2", "--rate", "20",
];

const SCHEMA: &str = "create table item(id int primary key, name text);\n\
    insert into item select i, 'item ' || i from generate_series(1, 100) i;\n\
    create table starts(at timestamptz default now());\n\
    alter system set fsync = off;\n";

/// A server that asks its database by `psql`, which finds it by the variables. It refuses a database that another start of
/// it has seen. With a number, it kills the database at that request.
const APP: &str = r#"
import glob, http.server, os, signal, subprocess, sys

# Debian's on the PATH is a script that looks for this one, which takes longer than a query.
psql = (glob.glob("/usr/lib/postgresql/*/bin/psql") + ["psql"])[0]

def sql(text):
    return subprocess.run([psql, "-XAtqc", text], check=True, capture_output=True, text=True).stdout.strip()

assert os.environ["DATABASE_URL"] == os.environ["POSTGRES_URL"] == sys.argv[2], "the URL"
sql("insert into starts default values")
assert sql("select count(*) from starts") == "1", "somebody has used this database"
postmaster = int(sql("select pg_read_file('postmaster.pid')").split()[0])
kill_at = int(sys.argv[3]) if len(sys.argv) > 3 else 0
answered = 0

class App(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        global answered
        answered += 1
        if answered == kill_at:
            os.kill(postmaster, signal.SIGKILL)
        try:
            body = sql("select name from item where id = 7").encode()
        except subprocess.CalledProcessError:
            self.send_error(500)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), App).serve_forever()
"#;

fn place() -> Place {
    let place = Place::new();
    place.file("schema.sql", SCHEMA);
    place.file("app.py", APP);
    place
}

// Slow: starts PostgreSQL six times.
#[test]
fn every_start_has_a_fresh_database_whose_work_is_counted() {
    let place = place();
    let app = "python3 app.py {port} {postgres}";
    let line = [
        "duel",
        app,
        app,
        "--service",
        "postgres=schema.sql",
        "--json",
    ];
    let line = [&line[..], &QUICK].concat();
    let report = with_common_rate(|| place.prony(&line).with(0).json());
    valid(&schema("duel"), &report);
    for side in report["sides"].as_array().unwrap() {
        // The URL has a password.
        let command = side["command"].as_str().unwrap();
        assert!(command.ends_with(" {postgres}"), "{command}");
        let cost = &side["services"][0];
        assert_eq!(cost["name"], "postgres");
        let what = cost["what"].as_str().unwrap();
        assert!(what.starts_with("PostgreSQL "), "{what}");
        assert!(what.contains("fsync off"), "{what}");
        // A process of the database lives for one statement.
        assert!(cost["cpu_ns"].as_f64().unwrap() > 0.0, "{cost}");
        assert!(cost["statements"].as_f64().unwrap() > 0.0, "{cost}");
    }
    let quantities = report["comparisons"].to_string();
    assert!(quantities.contains("\"service-cpu\""), "{quantities}");
    assert!(quantities.contains("\"statements\""), "{quantities}");
    for how in [&["report"][..], &["export", "--format", "markdown"]] {
        let report = place.prony(how).with(0);
        assert!(report.stdout.contains("postgres: PostgreSQL "), "{report}");
    }
}

// Slow: copies prony for two agents; then starts PostgreSQL four times.
#[test]
fn services_have_a_machine_of_their_own() {
    let place = place();
    // A server on the same machine, but not on loopback: by the address of an interface.
    let app = APP.replace("\"127.0.0.1\"", "sys.argv[3]");
    place.file("app.py", &app.replace("len(sys.argv) > 3", "False"));
    let app = "python3 app.py {port} {postgres} {host}";
    let on = "--server-host a --service-host b --host a=env --host b=env --json";
    let line: Vec<&str> = ["duel", app, app, "--service", "postgres=schema.sql"]
        .into_iter()
        .chain(on.split(' '))
        .chain(QUICK)
        .collect();
    let report = with_common_rate(|| place.prony(&line).with(0).json());
    for side in report["sides"].as_array().unwrap() {
        let cost = &side["services"][0];
        assert_eq!(cost["name"], "postgres", "{side}");
        assert!(cost["cpu_ns"].as_f64().unwrap() > 0.0, "{cost}");
        assert!(cost["statements"].as_f64().unwrap() > 0.0, "{cost}");
    }
    for (options, why) in [
        ("--service-host b", "--service-host b needs --server-host"),
        (
            "--server-host a --service-host b --host a=env --host b=env",
            "the servers have no services",
        ),
    ] {
        let line = ["duel", "python3 app.py {port}", "python3 app.py {port} x"];
        let line: Vec<&str> = line.into_iter().chain(options.split(' ')).collect();
        let refused = place.refused(&line);
        assert!(refused.stderr.contains(why), "{refused}");
    }
}

// Slow: waits for its turn to load; then starts PostgreSQL.
#[test]
fn a_database_that_dies_is_the_cause() {
    let place = place();
    let app = "python3 app.py {port} {postgres} 20";
    let line = [
        "capacity",
        app,
        "--path",
        "/",
        "--service",
        "postgres=schema.sql",
    ];
    let done = place.prony(&[&line[..], &["-d", "100ms"]].concat()).with(1);
    assert!(
        done.stderr
            .contains("lost its postgres, which ended by signal 9"),
        "{done}"
    );
}

#[test]
fn a_service_is_what_a_command_starts() {
    let place = Place::new();
    let ready = format!("http:{}", "/");
    let queue = format!("queue={PRONY} serve http-echo --listen :{{port}}");
    let server = format!(
        "sh -c 'test \"$QUEUE_URL\" = \"$0\" && exec {PRONY} serve http-echo --listen :{{port}}' {{queue}}"
    );
    let line = [
        "duel",
        &server,
        &server,
        "--service",
        &queue,
        "--ready",
        &ready,
    ];
    let done = place.prony(&[&line[..], &QUICK, &["--path", "/"]].concat());
    let done = done.with(0);
    let table = done.stdout.lines().filter(|line| line.contains(" queue "));
    assert_eq!(table.count(), 2, "{done}");
}

/// A server that asks Redis in its own protocol.
const KEYS: &str = r#"
import http.server, os, socket, sys

host, port = os.environ["REDIS_URL"].removeprefix("redis://").removesuffix("/0").split(":")

class App(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        with socket.create_connection((host, int(port))) as redis:
            redis.sendall(b"GET greeting\r\n")
            answer = redis.makefile("rb")
            body = answer.read(int(answer.readline()[1:]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), App).serve_forever()
"#;

// Slow: a duel of two rounds, and starts of Redis.
#[test]
fn redis_begins_with_the_keys_of_a_file() {
    let place = Place::new();
    place.file("keys.py", KEYS);
    place.file("keys.txt", "SET greeting hello\n");
    place.file("wrong.txt", "SETT greeting hello\n");
    let app = "python3 keys.py {port}";
    let line = ["duel", app, app, "--service", "redis=keys.txt"];
    let body = ["--path", "/", "--expect-body", "hello"];
    let done = place.prony(&[&line[..], &QUICK, &body].concat()).with(0);
    assert!(done.stdout.contains("redis: Redis "), "{done}");
    let line = [
        "capacity",
        app,
        "--path",
        "/",
        "--service",
        "redis=wrong.txt",
    ];
    let failed = place.fails(&line).with(1);
    let why = "service redis: its seed: ERR unknown command";
    assert!(failed.stderr.contains(why), "{failed}");
}

#[test]
fn an_experiment_names_services() {
    let place = place();
    place.file("catalog/app/app.py", APP);
    place.file(
        "catalog/app/server.toml",
        "title = 'App'\nlanguage = 'Python'\nmodel = 'threads'\ncontracts = ['http']\nrun = 'python3 {src}/app.py {port} {postgres}'\n\
         [services.postgres]\n",
    );
    place.file(
        "items.toml",
        "[[request]]\nname = 'item'\npath = '/'\nexpect = { body = 'item 7', statements = 1 }\n",
    );
    place.file(
        "items.exp.toml",
        "title = 'Items'\ncontract = 'http'\nrequests = 'items.toml'\nservers = ['app']\nrounds = 1\n\
         [services.postgres]\nseed = 'schema.sql'\n[load]\nconnections = 2\nduration = '500ms'\nwarmup = '100ms'\nweight = 1\n",
    );
    let line = ["run", "items.exp.toml", "--json", "--html", "page.html"];
    let done = place.prony(&line).with(0);
    let report = done.json();
    valid(&schema("run"), &report);
    let cell = &report["cells"][0];
    assert_eq!(cell["services"][0]["name"], "postgres", "{cell:#}");
    let page = std::fs::read_to_string(place.path().join("page.html")).unwrap();
    assert_eq!(report["composite"]["servers"][0]["server"], "app", "{done}");
    assert!(
        page.contains("geometric mean of throughput ratios"),
        "{done}"
    );
    assert!(
        page.contains("Costs of services per request, load "),
        "{done}"
    );
    // Two statements were needed for each answer, and one is executed.
    place.file(
        "items.toml",
        "[[request]]\nname = 'item'\npath = '/'\nexpect = { body = 'item 7', statements = 2 }\n",
    );
    let done = place.prony(&["run", "items.exp.toml"]).with(0);
    assert!(done.stdout.contains("queries-missing"), "{done}");
}

#[test]
fn what_is_not_right_with_a_service_is_said_in_a_line() {
    let place = place();
    place.file("wrong.sql", "select 1;\nselect * from nothing;\n");
    let app = "python3 app.py {port} {postgres}";
    for (arguments, why) in [
        (
            &["--service", "postgres=none.sql"][..],
            "none.sql: No such file",
        ),
        (
            &["--service", "postgers"],
            "service postgers needs a command line",
        ),
        (&["--service", "redis"], "{postgres} is not a placeholder"),
        (
            &["--service", "postgres", "--service", "postgres=schema.sql"],
            "another service of this name",
        ),
        (
            &["--service", "postgres", "--ready", "http:/"],
            "--ready http:/: of which service?",
        ),
        (&["--ready", "tcp"], "--service"),
    ] {
        let line = [&["duel", app, app][..], arguments].concat();
        let wrong = place.refused(&line);
        assert!(wrong.stderr.contains(why), "{wrong}");
    }
    let running = ["capacity", "http://127.0.0.1:9/", "--service", "redis"];
    let wrong = place.refused(&running);
    assert!(
        wrong
            .stderr
            .contains("--service is about starting a server"),
        "{wrong}"
    );
    let line = [
        "capacity",
        app,
        "--path",
        "/",
        "--service",
        "postgres=wrong.sql",
    ];
    let failed = place.fails(&line).with(1);
    let why = "service postgres: its seed: line 2: ERROR:  relation \"nothing\" does not exist";
    assert!(failed.stderr.contains(why), "{failed}");
}
