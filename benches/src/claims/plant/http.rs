//! A weather gateway that is all right, and an upstream that is slow.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Status and JSON.
type Answer = (u16, Vec<u8>);

/// A request: what of it matters here.
struct Request {
    target: String,
    keepalive: bool,
}

/// Serves with a thread per connection, and something of its own for each.
fn serve<A: FnMut(&str) -> Answer>(
    address: SocketAddr,
    new: impl Fn() -> A + Send + Sync + 'static,
) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    let new = Arc::new(new);
    for stream in listener.incoming() {
        let (stream, new) = (stream?, Arc::clone(&new));
        // A client that broke off is no concern of a plant.
        thread::spawn(move || converse(stream, new()));
    }
    Ok(())
}

fn converse(stream: TcpStream, mut answer: impl FnMut(&str) -> Answer) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = BufReader::new(stream.try_clone()?);
    let mut output = stream;
    while let Some(request) = read(&mut input)? {
        let (status, body) = answer(&request.target);
        let connection = if request.keepalive {
            "keep-alive"
        } else {
            "close"
        };
        let head = format!(
            "HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: {connection}\r\n\r\n",
            body.len()
        );
        output.write_all(&[head.as_bytes(), &body].concat())?;
        if !request.keepalive {
            break;
        }
    }
    Ok(())
}

/// The next request, which has no body; nothing when the client has no more.
fn read(input: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let target = words.nth(1).unwrap_or_default().to_owned();
    let mut keepalive = words.next() == Some("HTTP/1.1");
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 || line.trim().is_empty() {
            return Ok(Some(Request { target, keepalive }));
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("connection")
        {
            keepalive = !value.trim().eq_ignore_ascii_case("close");
        }
    }
}

/// One answer per millisecond, over all clients.
pub fn upstream(address: SocketAddr, docroot: PathBuf) -> io::Result<()> {
    let turn = Arc::new(Mutex::new(()));
    serve(address, move || {
        let (turn, file) = (Arc::clone(&turn), docroot.join("weather.json"));
        move |target| {
            if target != "/weather.json" {
                return (404, b"{}".to_vec());
            }
            let _held = turn.lock().unwrap_or_else(PoisonError::into_inner);
            thread::sleep(Duration::from_millis(1));
            match std::fs::read(&file) {
                Ok(body) => (200, body),
                Err(_) => (404, b"{}".to_vec()),
            }
        }
    })
}

/// Asks its upstream anew for every request, over a connection that it keeps.
pub fn gateway(address: SocketAddr, upstream: String) -> io::Result<()> {
    serve(address, move || {
        let upstream = upstream.clone();
        let mut kept = None;
        move |target| {
            if !target.starts_with("/weather/") {
                return (404, b"{}".to_vec());
            }
            let told = ask(&upstream, &mut kept)
                .and_then(|body| serde_json::from_slice::<Value>(&body).map_err(io::Error::other));
            let (status, body) = match told {
                Ok(weather) if weather["cod"] == 200 => (200, short(&weather)),
                Ok(failure) => (400, json!({"error": failure["message"]})),
                Err(error) => (502, json!({"error": error.to_string()})),
            };
            (status, body.to_string().into_bytes())
        }
    })
}

fn short(weather: &Value) -> Value {
    let temp = weather["main"]["temp"].as_f64().unwrap_or_default();
    json!({"code": weather["weather"][0]["id"], "temp": temp as i64})
}

fn ask(upstream: &str, kept: &mut Option<BufReader<TcpStream>>) -> io::Result<Vec<u8>> {
    if let Some(connection) = kept
        && let Ok(body) = exchange(upstream, connection)
    {
        return Ok(body);
    }
    // None yet, or it was closed meanwhile.
    let stream = TcpStream::connect(upstream)?;
    stream.set_nodelay(true)?;
    exchange(upstream, kept.insert(BufReader::new(stream)))
}

fn exchange(upstream: &str, connection: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let request = format!("GET /weather.json HTTP/1.1\r\nHost: {upstream}\r\n\r\n");
    connection.get_mut().write_all(request.as_bytes())?;
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        if connection.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body)?;
    Ok(body)
}
