//! The script that fetches the public checkpoint, against a server of our own.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::thread;

use sha2::{Digest, Sha256};

/// What the server does with a request.
#[derive(Clone, Copy, PartialEq)]
enum Mood {
    /// Gives what is asked for.
    Right,
    /// Cuts the first answers short: so many of them.
    Broken(usize),
    /// Gives other bytes.
    Wrong,
    /// Has nothing.
    Missing,
}

struct Server {
    url: String,
    /// The offsets that were asked for.
    asked: Arc<Mutex<Vec<usize>>>,
}

/// Bytes without pattern.
fn content() -> Vec<u8> {
    (0..200_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
}

impl Server {
    fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), mood, &log);
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> Vec<usize> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, mood: Mood, log: &Mutex<Vec<usize>>) {
    let mut from = 0;
    for line in BufReader::new(stream.try_clone().unwrap()).lines() {
        let line = line.unwrap_or_default().to_ascii_lowercase();
        if let Some(range) = line.strip_prefix("range: bytes=") {
            from = range.trim_end_matches('-').parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let count = {
        let mut log = log.lock().unwrap();
        log.push(from);
        log.len()
    };
    let mut all = content();
    if mood == Mood::Wrong {
        all[100] ^= 1;
    }
    let total = all.len();
    let head = if mood == Mood::Missing {
        all.clear();
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned()
    } else {
        let body = all.split_off(from.min(total));
        all = body;
        let (status, range) = if from > 0 {
            ("206 Partial Content", format!("Content-Range: bytes {from}-{}/{total}\r\n", total - 1))
        } else {
            ("200 OK", String::new())
        };
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{range}Connection: close\r\n\r\n", all.len())
    };
    if let Mood::Broken(first) = mood
        && count <= first
    {
        all.truncate(50_000);
    }
    stream.write_all(head.as_bytes()).unwrap_or_default();
    stream.write_all(&all).unwrap_or_default();
}

/// A folder with the list of sums, and the script's run in it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let digest = Sha256::digest(content());
        let sum = digest.iter().fold(String::new(), |sum, byte| sum + &format!("{byte:02x}"));
        std::fs::write(folder.path().join("sums"), format!("{sum}  model.safetensors\n")).unwrap();
        Self(folder)
    }

    fn run(&self, server: &Server) -> Output {
        self.run_from(&server.url, "to")
    }

    fn run_from(&self, url: &str, folder: &str) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/fetch-gpt2.sh");
        let mut command = Command::new("bash");
        command.arg(script).arg(self.0.path().join(folder)).env("FETCH_URL", url).env("FETCH_PAUSE", "0");
        for proxy in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
            command.env_remove(proxy);
        }
        command.env("FETCH_SUMS", self.0.path().join("sums")).env("no_proxy", "127.0.0.1").output().unwrap()
    }

    fn file(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.0.path().join("to").join(name)).ok()
    }
}

/// Whether there is something to fetch with; says so where there is not.
fn able() -> bool {
    let there = |name: &str| Command::new(name).arg("--version").output().is_ok_and(|run| run.status.success());
    let able = there("bash") && there("curl");
    if !able {
        eprintln!("skipped: bash or curl is not installed");
    }
    able
}

#[test]
fn a_broken_transfer_goes_on_where_it_stopped() {
    if !able() {
        return;
    }
    let (server, place) = (Server::start(Mood::Broken(2)), Place::new());
    let run = place.run(&server);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(place.file("model.safetensors"), Some(content()));
    assert_eq!(place.file("model.safetensors.part"), None);
    assert_eq!(server.asked(), [0, 50_000, 100_000]);
    // What is there is kept, and nothing is asked for.
    assert!(place.run(&server).status.success());
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn another_run_goes_on_too() {
    if !able() {
        return;
    }
    let (server, place) = (Server::start(Mood::Right), Place::new());
    std::fs::create_dir(place.0.path().join("to")).unwrap();
    std::fs::write(place.0.path().join("to/model.safetensors.part"), &content()[..1234]).unwrap();
    assert!(place.run(&server).status.success());
    assert_eq!((server.asked(), place.file("model.safetensors")), (vec![1234], Some(content())));
    // A part that is whole needs nothing more.
    let whole = Place::new();
    std::fs::create_dir(whole.0.path().join("to")).unwrap();
    std::fs::write(whole.0.path().join("to/model.safetensors.part"), content()).unwrap();
    assert!(whole.run(&server).status.success());
    assert_eq!((server.asked().len(), whole.file("model.safetensors")), (1, Some(content())));
}

#[test]
fn wrong_bytes_are_never_moved_into_place() {
    if !able() {
        return;
    }
    for mood in [Mood::Wrong, Mood::Missing, Mood::Broken(100)] {
        let (server, place) = (Server::start(mood), Place::new());
        let run = place.run(&server);
        // So broken a server gives all in the end, piece by piece.
        assert_eq!(run.status.success(), matches!(mood, Mood::Broken(_)));
        assert_eq!(place.file("model.safetensors").is_some(), matches!(mood, Mood::Broken(_)));
    }
}

#[test]
fn a_file_that_is_there_and_differs_is_kept() {
    if !able() {
        return;
    }
    let (server, place) = (Server::start(Mood::Right), Place::new());
    std::fs::create_dir(place.0.path().join("to")).unwrap();
    std::fs::write(place.0.path().join("to/model.safetensors"), b"mine").unwrap();
    let run = place.run(&server);
    assert!(!run.status.success() && String::from_utf8_lossy(&run.stderr).contains("move it away first"));
    assert_eq!((place.file("model.safetensors"), server.asked().len()), (Some(b"mine".to_vec()), 0));
}

/// No network is no cut transfer: one line, at once, and no folder that nobody had.
#[test]
fn a_server_that_nobody_knows_is_asked_for_once() {
    if !able() {
        return;
    }
    let place = Place::new();
    std::fs::create_dir(place.0.path().join("old")).unwrap();
    for folder in ["new/er", "old/new", "old"] {
        let run = place.run_from("http://no-such-host.invalid", folder);
        let told = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(1), "{told}");
        let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("fetch-gpt2: ")).collect();
        assert_eq!(
            lines,
            [
                "fetch-gpt2: nothing was fetched: the name of the server in http://no-such-host.invalid is not known here. Is \
              there a network?"
            ]
        );
    }
    let left: Vec<_> = std::fs::read_dir(place.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "sums" || name == "old") && left.len() == 2, "{left:?}");
    assert_eq!(std::fs::read_dir(place.0.path().join("old")).unwrap().count(), 0);
}
