//! PostgreSQL with its defaults, used through its own protocol over its Unix socket, with as many rows in a transaction
//! as our bus writes.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use super::clients::threads;
use super::workload::BODY;
use crate::bench::stats::rate;
use crate::command::command;

/// Time limit of a start.
const START: Duration = Duration::from_secs(30);

/// A server process, ended when dropped.
pub(super) struct Server {
    child: Child,
    socket: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; then only the status is collected.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Tables for the same three rows that our bus writes: the event, the message, the count of the inbox.
const TABLES: &str = "CREATE TABLE events (lsn bigserial PRIMARY KEY, kind text, subject text, facts text, body text, hash text);\
    CREATE TABLE messages (id text PRIMARY KEY, recipient text, state text, seq bigserial);\
    CREATE INDEX queue ON messages (recipient, state, seq);\
    CREATE TABLE counts (recipient text, number bigserial, bytes int);";

// === impl Server ===

impl Server {
    /// Starts a database in a folder, if one is installed; otherwise prints why not.
    pub(super) fn start(folder: &Path) -> anyhow::Result<Option<Self>> {
        let Some(bin) = installed() else {
            eprintln!("skipped: vs_postgres_64: no PostgreSQL is installed here");
            return Ok(None);
        };
        // The server refuses to run as root, and a socket's path must be short.
        let home = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp")?.keep();
        let data = folder.join("postgres");
        std::fs::create_dir(&data)?;
        let as_user = as_user(&[&home, &data, folder])?;
        let made = as_user(bin.join("initdb"))
            .arg("-D")
            .arg(&data)
            .args(["-A", "trust", "-U", "bench", "--no-instructions"])
            .stdout(Stdio::null())
            .status()?;
        anyhow::ensure!(made.success(), "initdb ended with {made}");
        let mut server = as_user(bin.join("postgres"));
        server.arg("-D").arg(&data).arg("-k").arg(&home).args(["-c", "listen_addresses=", "-c", "max_connections=100"]);
        let child = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let server = Self { child, socket: home.join(".s.PGSQL.5432") };
        let began = Instant::now();
        loop {
            match Client::connect(&server.socket).and_then(|mut client| client.ask(TABLES)) {
                Ok(()) => return Ok(Some(server)),
                Err(error) if began.elapsed() > START => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Returns the messages per second of many clients who each wait for their own commit.
    pub(super) fn rate(&self, many: usize, each: usize) -> anyhow::Result<f64> {
        let body = "x".repeat(BODY);
        let round = std::process::id();
        let began = Instant::now();
        let took = threads(many, |client| {
            let mut connection = Client::connect(&self.socket)?;
            for number in 0..each {
                let (id, to) =
                    (format!("{round}-{client}-{number}-{:?}", began.elapsed()), format!("agent-{}", number % 16));
                connection.ask(&format!(
                    "WITH e AS (INSERT INTO events (kind, subject, facts, body, hash) VALUES ('message_sent', '{to}', '{{}}', '{body}', '')), \
                     c AS (INSERT INTO counts (recipient, bytes) VALUES ('{to}', {BODY})) \
                     INSERT INTO messages (id, recipient, state) VALUES ('{id}', '{to}', 'ready')"
                ))?;
            }
            Ok(())
        })?;
        Ok(rate(many * each, took))
    }
}

/// Returns the folder with the programs of the newest installed server.
fn installed() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<PathBuf> = versions.flatten().map(|entry| entry.path().join("bin")).collect();
    found.retain(|bin| bin.join("initdb").exists());
    found.sort();
    found.pop()
}

/// Returns how to start one of its programs: if we are root, as another user who gets the folders.
fn as_user(folders: &[&Path]) -> anyhow::Result<impl Fn(PathBuf) -> Command + use<>> {
    let is_root = std::fs::metadata("/proc/self").map(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0)?;
    if is_root {
        for folder in folders {
            let given = command("chown", Path::new("/tmp")).arg("postgres").arg(folder).status()?;
            anyhow::ensure!(given.success(), "{} can't be given to postgres", folder.display());
        }
    }
    Ok(move |program: PathBuf| {
        if !is_root {
            return command(program, Path::new("/tmp"));
        }
        let mut setpriv = command("setpriv", Path::new("/tmp"));
        setpriv.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
        setpriv
    })
}

struct Client {
    stream: UnixStream,
}

// === impl Client ===

impl Client {
    fn connect(socket: &Path) -> anyhow::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(START))?;
        let mut client = Self { stream };
        let mut hello = 196_608_i32.to_be_bytes().to_vec();
        hello.extend_from_slice(b"user\0bench\0database\0postgres\0\0");
        let size = i32::try_from(hello.len() + 4)?.to_be_bytes();
        client.stream.write_all(&[size.as_slice(), &hello].concat())?;
        client.read_until_ready()?;
        Ok(client)
    }

    /// Runs a simple query in one transaction.
    fn ask(&mut self, query: &str) -> anyhow::Result<()> {
        let size = i32::try_from(query.len() + 5)?.to_be_bytes();
        self.stream.write_all(&[b"Q".as_slice(), &size, query.as_bytes(), b"\0"].concat())?;
        self.read_until_ready()
    }

    /// Reads until the server is ready for the next query.
    fn read_until_ready(&mut self) -> anyhow::Result<()> {
        let mut wrong = None;
        loop {
            let mut head = [0_u8; 5];
            self.stream.read_exact(&mut head)?;
            let size = i32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let mut rest = vec![0_u8; usize::try_from(size - 4).context("a size")?];
            self.stream.read_exact(&mut rest)?;
            match head[0] {
                b'E' => wrong = Some(String::from_utf8_lossy(&rest).into_owned()),
                b'Z' => break,
                _ => {}
            }
        }
        match wrong {
            Some(wrong) => bail!("PostgreSQL says {wrong}"),
            None => Ok(()),
        }
    }
}
