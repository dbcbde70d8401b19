//! The techempower contract on axum, tokio-postgres with a deadpool, and askama.

use std::error::Error;
use std::future::IntoFuture;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, io};

use askama::Template;
use axum::extract::{Query, State};
use axum::http::header::{HeaderValue, SERVER};
use axum::http::StatusCode;
use axum::middleware::map_response;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use deadpool_postgres::{Client, Config, Pool, PoolConfig, Runtime};
use futures_util::future::try_join_all;
use rand::seq::IndexedRandom;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Builder;
use tokio::sync::OnceCell;
use tokio_postgres::{NoTls, Row};

const WORLDS: usize = 10_000;
const SELECT_WORLD: &str = "SELECT id, randomnumber FROM world WHERE id = $1";
const SELECT_CACHED: &str = "SELECT id, randomnumber FROM cachedworld";
const SELECT_FORTUNES: &str = "SELECT id, message FROM fortune";
// The planner keeps the order of the arrays, so that rows are locked by ascending id.
const UPDATE_WORLDS: &str = "UPDATE world SET randomnumber = new.number \
    FROM unnest($1::int[], $2::int[]) AS new (id, number) WHERE world.id = new.id";

#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct World {
    id: i32,
    random_number: i32,
}

impl From<Row> for World {
    fn from(row: Row) -> Self {
        Self {
            id: row.get(0),
            random_number: row.get(1),
        }
    }
}

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

struct Fortune {
    id: i32,
    message: String,
}

#[derive(Template)]
#[template(path = "fortunes.html")]
struct FortunesPage {
    fortunes: Vec<Fortune>,
}

#[derive(Deserialize)]
struct Parameters {
    queries: Option<String>,
    count: Option<String>,
}

struct App {
    pool: Pool,
    cached: OnceCell<Vec<World>>,
}

/// Any error of the pool, the driver or the template is the server's.
struct Failure(Box<dyn Error + Send + Sync>);

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, self.0.to_string()).into_response()
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let host = args.first().and_then(|host| host.parse::<IpAddr>().ok());
    let port = args.get(1).and_then(|port| port.parse::<u16>().ok());
    let workers = args.get(2).and_then(|workers| workers.parse().ok());
    let (Some(host), Some(port), Some(workers @ 1..)) = (host, port, workers) else {
        eprintln!("usage: rust-axum-postgres HOST PORT WORKERS");
        return ExitCode::from(2);
    };
    match run(SocketAddr::new(host, port), workers) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(addr: SocketAddr, workers: usize) -> Result<(), Box<dyn Error>> {
    let mut config = Config::new();
    config.url = Some(env::var("DATABASE_URL")?);
    config.pool = Some(PoolConfig::new(env::var("DATABASE_MAX_CONN")?.parse()?));
    // Connects when a connection is first needed.
    let app = App {
        pool: config.create_pool(Some(Runtime::Tokio1), NoTls)?,
        cached: OnceCell::new(),
    };
    let router = Router::new()
        .route("/json", get(json))
        .route("/plaintext", get(|| async { "Hello, World!" }))
        .route("/db", get(db))
        .route("/queries", get(queries))
        .route("/fortunes", get(fortunes))
        .route("/updates", get(updates))
        .route("/cached-queries", get(cached_queries))
        .layer(map_response(named))
        .with_state(Arc::new(app));
    // One worker needs none of the machinery that steals tasks between threads.
    let mut runtime = match workers {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(workers).enable_all().build()?;
    runtime.block_on(async {
        // A task of its own, because the future given to block_on runs on the main thread:
        // each connection would have to be handed over from there to a worker.
        Ok(tokio::spawn(axum::serve(listen(addr)?, router).into_future()).await??)
    })
}

fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = match addr {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    // Accepted sockets inherit this on Linux.
    socket.set_nodelay(true)?;
    socket.bind(addr)?;
    socket.listen(4096)
}

async fn named(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(SERVER, HeaderValue::from_static("axum"));
    response
}

async fn json() -> Json<Message> {
    let message = "Hello, World!";
    Json(Message { message })
}

async fn db(State(app): State<Arc<App>>) -> Result<Json<World>, Failure> {
    let client = app.pool.get().await?;
    let statement = client.prepare_cached(SELECT_WORLD).await?;
    let row = client.query_one(&statement, &[&random_id()]).await?;
    Ok(Json(row.into()))
}

async fn queries(
    State(app): State<Arc<App>>,
    Query(asked): Query<Parameters>,
) -> Result<Json<Vec<World>>, Failure> {
    let client = app.pool.get().await?;
    let rows = read(&client, &random_ids(number(asked.queries))).await?;
    Ok(Json(rows))
}

async fn updates(
    State(app): State<Arc<App>>,
    Query(asked): Query<Parameters>,
) -> Result<Json<Vec<World>>, Failure> {
    let mut ids = random_ids(number(asked.queries));
    ids.sort_unstable();
    let client = app.pool.get().await?;
    let mut rows = read(&client, &ids).await?;
    for row in &mut rows {
        row.random_number = random_id();
    }
    let numbers: Vec<i32> = rows.iter().map(|row| row.random_number).collect();
    let statement = client.prepare_cached(UPDATE_WORLDS).await?;
    client.execute(&statement, &[&ids, &numbers]).await?;
    Ok(Json(rows))
}

async fn fortunes(State(app): State<Arc<App>>) -> Result<Html<String>, Failure> {
    let client = app.pool.get().await?;
    let statement = client.prepare_cached(SELECT_FORTUNES).await?;
    let rows = client.query(&statement, &[]).await?;
    let mut fortunes: Vec<Fortune> = rows
        .iter()
        .map(|row| Fortune {
            id: row.get(0),
            message: row.get(1),
        })
        .collect();
    fortunes.push(Fortune {
        id: 0,
        message: "Additional fortune added at request time.".into(),
    });
    fortunes.sort_by(|a, b| a.message.cmp(&b.message));
    Ok(Html(FortunesPage { fortunes }.render()?))
}

async fn cached_queries(
    State(app): State<Arc<App>>,
    Query(asked): Query<Parameters>,
) -> Result<Json<Vec<World>>, Failure> {
    let cached = app.cached.get_or_try_init(|| load(&app.pool)).await?;
    let mut rng = rand::rng();
    let rows = (0..number(asked.count)).filter_map(|_| cached.choose(&mut rng).cloned());
    Ok(Json(rows.collect()))
}

async fn load(pool: &Pool) -> Result<Vec<World>, Failure> {
    let rows = pool.get().await?.query(SELECT_CACHED, &[]).await?;
    Ok(rows.into_iter().map(World::from).collect())
}

/// Selects each row by a statement of its own; all of them are sent before a result is awaited.
async fn read(client: &Client, ids: &[i32]) -> Result<Vec<World>, Failure> {
    let statement = client.prepare_cached(SELECT_WORLD).await?;
    let selects = ids.iter().map(|id| {
        let statement = &statement;
        async move { client.query_one(statement, &[id]).await }
    });
    let rows = try_join_all(selects).await?;
    Ok(rows.into_iter().map(World::from).collect())
}

/// The parameter within 1 and 500; 1 when it is not a number.
fn number(parameter: Option<String>) -> usize {
    let number = parameter.and_then(|text| text.parse::<i64>().ok());
    number.unwrap_or(1).clamp(1, 500) as usize
}

fn random_id() -> i32 {
    rand::random_range(1..=WORLDS as i32)
}

/// Distinct ones.
fn random_ids(count: usize) -> Vec<i32> {
    let indices = rand::seq::index::sample(&mut rand::rng(), WORLDS, count);
    indices.iter().map(|index| index as i32 + 1).collect()
}
