//! The techempower contract on actix-web, sqlx and Handlebars.

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;
use std::{env, io};

use actix_web::error::ErrorInternalServerError;
use actix_web::http::header::{ContentType, SERVER};
use actix_web::http::KeepAlive;
use actix_web::middleware::DefaultHeaders;
use actix_web::web::{get, Data, Html, Json, Query};
use actix_web::{App, HttpResponse, HttpServer, Responder, Result};
use handlebars::Handlebars;
use rand::seq::IndexedRandom;
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{FromRow, PgConnection, PgPool};
use tokio::sync::OnceCell;

const WORLDS: usize = 10_000;
const SELECT_WORLD: &str = "SELECT id, randomnumber FROM world WHERE id = $1";
const SELECT_CACHED: &str = "SELECT id, randomnumber FROM cachedworld";
const SELECT_FORTUNES: &str = "SELECT id, message FROM fortune";
// The planner keeps the order of the arrays, so that rows are locked by ascending id.
const UPDATE_WORLDS: &str = "UPDATE world SET randomnumber = new.number \
    FROM unnest($1::int[], $2::int[]) AS new (id, number) WHERE world.id = new.id";

#[derive(Clone, FromRow, Serialize)]
struct World {
    id: i32,
    #[serde(rename = "randomNumber")]
    #[sqlx(rename = "randomnumber")]
    random_number: i32,
}

#[derive(FromRow, Serialize)]
struct Fortune {
    id: i32,
    message: String,
}

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

#[derive(Deserialize)]
struct Parameters {
    queries: Option<String>,
    count: Option<String>,
}

/// State of a worker, which shares nothing with the others.
struct State {
    pool: PgPool,
    cached: OnceCell<Vec<World>>,
    templates: Handlebars<'static>,
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let host = args.first().and_then(|host| host.parse::<IpAddr>().ok());
    let port = args.get(1).and_then(|port| port.parse::<u16>().ok());
    let workers = args.get(2).and_then(|workers| workers.parse().ok());
    let (Some(host), Some(port), Some(workers @ 1..)) = (host, port, workers) else {
        eprintln!("usage: actix-web-sqlx HOST PORT WORKERS");
        return ExitCode::from(2);
    };
    let served = database().and_then(|(options, most)| {
        let share = (most / workers as u32).max(1);
        Ok(run(SocketAddr::new(host, port), workers, options, share)?)
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn database() -> Result<(PgConnectOptions, u32), Box<dyn Error>> {
    let options = env::var("DATABASE_URL")?.parse()?;
    Ok((options, env::var("DATABASE_MAX_CONN")?.parse()?))
}

#[actix_web::main]
async fn run(
    addr: SocketAddr,
    workers: usize,
    options: PgConnectOptions,
    share: u32,
) -> io::Result<()> {
    let app = move || {
        // Connects when a connection is first needed.
        let pool = PgPoolOptions::new()
            .max_connections(share)
            .acquire_timeout(Duration::from_secs(5))
            // It would ask the database whether it is there before each use.
            .test_before_acquire(false)
            .connect_lazy_with(options.clone());
        let mut templates = Handlebars::new();
        templates
            .register_template_string("fortunes", include_str!("../fortunes.hbs"))
            .expect("the template has no mistake");
        let state = State {
            pool,
            cached: OnceCell::new(),
            templates,
        };
        App::new()
            .app_data(Data::new(state))
            .wrap(DefaultHeaders::new().add((SERVER, "Actix")))
            .route("/json", get().to(json))
            .route("/plaintext", get().to(plaintext))
            .route("/db", get().to(db))
            .route("/queries", get().to(queries))
            .route("/fortunes", get().to(fortunes))
            .route("/updates", get().to(updates))
            .route("/cached-queries", get().to(cached_queries))
    };
    HttpServer::new(app)
        .workers(workers)
        .backlog(4096)
        // Idle connections stay open: at a low rate, a time-out would look like a failure.
        .keep_alive(KeepAlive::Os)
        // The default action of SIGTERM ends it at once; actix would wait for connections.
        .disable_signals()
        .bind(addr)?
        .run()
        .await
}

async fn json() -> impl Responder {
    let message = "Hello, World!";
    Json(Message { message })
}

async fn plaintext() -> impl Responder {
    HttpResponse::Ok()
        .content_type(ContentType::plaintext())
        .body("Hello, World!")
}

async fn db(state: Data<State>) -> Result<impl Responder> {
    let mut connection = state.pool.acquire().await.map_err(failed)?;
    Ok(Json(select(&mut connection, random_id()).await?))
}

async fn queries(state: Data<State>, asked: Query<Parameters>) -> Result<impl Responder> {
    let ids = random_ids(number(&asked.queries));
    let mut connection = state.pool.acquire().await.map_err(failed)?;
    Ok(Json(select_all(&mut connection, &ids).await?))
}

async fn updates(state: Data<State>, asked: Query<Parameters>) -> Result<impl Responder> {
    let mut ids = random_ids(number(&asked.queries));
    ids.sort_unstable();
    let mut connection = state.pool.acquire().await.map_err(failed)?;
    let mut rows = select_all(&mut connection, &ids).await?;
    for row in &mut rows {
        row.random_number = random_id();
    }
    let numbers: Vec<i32> = rows.iter().map(|row| row.random_number).collect();
    sqlx::query(UPDATE_WORLDS)
        .bind(ids)
        .bind(numbers)
        .execute(&mut *connection)
        .await
        .map_err(failed)?;
    Ok(Json(rows))
}

async fn fortunes(state: Data<State>) -> Result<impl Responder> {
    let rows = sqlx::query_as(SELECT_FORTUNES).fetch_all(&state.pool).await;
    let mut fortunes: Vec<Fortune> = rows.map_err(failed)?;
    fortunes.push(Fortune {
        id: 0,
        message: "Additional fortune added at request time.".into(),
    });
    fortunes.sort_by(|a, b| a.message.cmp(&b.message));
    let page = state.templates.render("fortunes", &fortunes);
    Ok(Html::new(page.map_err(ErrorInternalServerError)?))
}

async fn cached_queries(state: Data<State>, asked: Query<Parameters>) -> Result<impl Responder> {
    let load = || sqlx::query_as(SELECT_CACHED).fetch_all(&state.pool);
    let cached: &Vec<World> = state.cached.get_or_try_init(load).await.map_err(failed)?;
    let mut rng = rand::rng();
    let rows = (0..number(&asked.count)).filter_map(|_| cached.choose(&mut rng).cloned());
    Ok(Json(rows.collect::<Vec<_>>()))
}

async fn select(connection: &mut PgConnection, id: i32) -> Result<World> {
    let row = sqlx::query_as(SELECT_WORLD).bind(id);
    row.fetch_one(connection).await.map_err(failed)
}

/// Each row by a statement of its own.
async fn select_all(connection: &mut PgConnection, ids: &[i32]) -> Result<Vec<World>> {
    let mut rows = Vec::with_capacity(ids.len());
    for &id in ids {
        rows.push(select(connection, id).await?);
    }
    Ok(rows)
}

fn failed(error: sqlx::Error) -> actix_web::Error {
    ErrorInternalServerError(error)
}

/// The parameter within 1 and 500; 1 when it is not a number.
fn number(parameter: &Option<String>) -> usize {
    let number = parameter.as_ref().and_then(|text| text.parse::<i64>().ok());
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
