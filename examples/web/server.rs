//! The files of the page over HTTP on the loopback, and what the page posts.
//!
//! It knows the page's files and nothing else. `held.png` is answered when a result has been posted, and not before, so that
//! the page is loaded when there is something to see.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The files, with their types.
const FILES: [(&str, &str); 5] = [
    ("index.html", "text/html; charset=utf-8"),
    ("page.css", "text/css"),
    ("page.js", "text/javascript"),
    ("digits.js", "text/javascript"),
    ("digits_bg.wasm", "application/wasm"),
];

/// The most bytes that are taken of what is posted.
const MOST_POSTED: usize = 1 << 20;

/// A server on threads of its own, until the program ends.
pub struct Server {
    port: u16,
    posts: Arc<Posts>,
}

#[derive(Default)]
struct Posts {
    posted: Mutex<Option<String>>,
    is_there: Condvar,
}

impl Posts {
    fn posted(&self) -> MutexGuard<'_, Option<String>> {
        self.posted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Serves the files of a folder; port 0 is any that is free.
    ///
    /// # Errors
    /// The port is not to be had.
    pub fn start(folder: &Path, port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let server = Server { port: listener.local_addr()?.port(), posts: Arc::default() };
        let (folder, posts) = (folder.to_path_buf(), server.posts.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (folder, posts) = (folder.clone(), posts.clone());
                // Who hangs up in the middle is not answered.
                std::thread::spawn(move || answer(stream, &folder, &posts).ok());
            }
        });
        Ok(server)
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What was posted, if anything.
    pub fn posted(&self) -> Option<String> {
        self.posts.posted().clone()
    }
}

fn answer(mut stream: TcpStream, folder: &Path, posts: &Posts) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut words = request.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default().trim_start_matches('/');
    match (method, path) {
        ("POST", "result") => {
            let mut body = vec![0; length.min(MOST_POSTED)];
            reader.read_exact(&mut body)?;
            *posts.posted() = Some(String::from_utf8_lossy(&body).into_owned());
            posts.is_there.notify_all();
            respond(&mut stream, "204 No Content", "text/plain", &[])
        }
        ("GET", "held.png") => {
            let posted = posts.posted();
            drop(posts.is_there.wait_while(posted, |p| p.is_none()).unwrap_or_else(PoisonError::into_inner));
            respond(&mut stream, "404 Not Found", "text/plain", &[])
        }
        ("GET", _) => match file(folder, path) {
            Some((path, kind)) => respond(&mut stream, "200 OK", kind, &std::fs::read(path)?),
            None => respond(&mut stream, "404 Not Found", "text/plain", b"not a file of the page\n"),
        },
        _ => respond(&mut stream, "405 Method Not Allowed", "text/plain", &[]),
    }
}

fn file(folder: &Path, path: &str) -> Option<(PathBuf, &'static str)> {
    let name = if path.is_empty() { "index.html" } else { path };
    let (name, kind) = FILES.iter().find(|(file, _)| *file == name)?;
    Some((folder.join(name), kind))
}

fn respond(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(body)
}
