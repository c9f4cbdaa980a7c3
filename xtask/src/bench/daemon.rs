//! A daemon in a repository of its own; both are removed after the measurement.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::Verb as _;
use switchboard_protocol::verb::system::GetStatus;
use switchboard_protocol::wire::{Answer, Call, Hello, WIRE_VERSION};
use tempfile::TempDir;

use crate::command::{command, output};

/// Time limit of a start.
const LIMIT: Duration = Duration::from_secs(20);

/// A repository with its own home folder.
#[derive(Debug)]
pub(crate) struct TestRepo {
    folder: TempDir,
    binary: PathBuf,
    /// Variables of the daemon, besides its home.
    env: Vec<(&'static str, PathBuf)>,
    /// Maximum number of open files of the daemon, if it is limited.
    descriptors: Option<u64>,
}

// === impl TestRepo ===

impl TestRepo {
    /// Creates a repository with one commit.
    pub(crate) fn new(binary: &Path) -> anyhow::Result<Self> {
        let test_repo = Self { folder: TempDir::new()?, binary: binary.to_owned(), env: Vec::new(), descriptors: None };
        for folder in ["home", "state", "repo"] {
            fs::create_dir(test_repo.folder.path().join(folder))?;
        }
        let git = |args: &[&str]| output(test_repo.at_home(&mut command("git", &test_repo.repo())).args(args));
        git(&["init", "--quiet", "--initial-branch=main"])?;
        let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
        git(&[who.as_slice(), &["commit", "--quiet", "--allow-empty", "--message=start"]].concat())?;
        Ok(test_repo)
    }

    /// Sets a variable for the processes of this repository.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: &Path) -> Self {
        self.env.push((name, value.to_owned()));
        self
    }

    /// Limits the number of open files of the daemons.
    #[must_use]
    pub(crate) fn limited_to(mut self, descriptors: u64) -> Self {
        self.descriptors = Some(descriptors);
        self
    }

    /// Keeps the folder for inspection.
    #[must_use]
    pub(crate) fn kept(mut self) -> Self {
        self.folder.disable_cleanup(true);
        self
    }

    /// Returns the path of the repository.
    pub(crate) fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    /// Returns a command of the binary in the repository.
    pub(crate) fn switchboard(&self) -> Command {
        let mut switchboard = match self.descriptors {
            None => command(&self.binary, &self.repo()),
            Some(most) => {
                let mut shell = command("sh", &self.repo());
                let line = format!("ulimit -n {most}; exec \"$0\" \"$@\"");
                shell.args(["-c", &line]).arg(&self.binary);
                shell
            }
        };
        self.at_home(&mut switchboard);
        switchboard
    }

    fn at_home<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let folder = self.folder.path();
        command
            .env("HOME", folder.join("home"))
            .env("XDG_STATE_HOME", folder.join("state"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("SWITCHBOARD_WORKER")
            .env("CI", "1")
            .envs(self.env.iter().cloned())
    }

    /// Starts a daemon and measures the time until it answers a first call.
    pub(crate) fn start(&self) -> anyhow::Result<(Daemon, Duration)> {
        let began = Instant::now();
        let child = self.switchboard().arg("up").stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut daemon = Daemon { child };
        loop {
            if let Some(pid) = self.ask() {
                let took = began.elapsed();
                if pid != u64::from(daemon.child.id()) {
                    bail!("process {pid} answered instead of {}", daemon.child.id());
                }
                return Ok((daemon, took));
            }
            if let Some(status) = daemon.child.try_wait()? {
                bail!("the daemon ended with {status}");
            }
            if began.elapsed() > LIMIT {
                bail!("the daemon is not ready after {} s", LIMIT.as_secs());
            }
            std::thread::sleep(Duration::from_micros(500));
        }
    }

    /// Returns the process id that a daemon answers with, if one answers.
    fn ask(&self) -> Option<u64> {
        let mut client = Client::connect(&self.repo(), "bench").ok()?;
        client.call(GetStatus::NAME, json!({}), None).ok()?.ok()?["pid"].as_u64()
    }

    /// Connects to the daemon under a name.
    ///
    /// # Errors
    /// When no daemon runs.
    pub(crate) fn connect(&self, name: &str) -> anyhow::Result<Client> {
        Client::connect(&self.repo(), name)
    }
}

/// A connection to a daemon's socket, for one call at a time.
#[derive(Debug)]
pub(crate) struct Client {
    lines: BufReader<UnixStream>,
    next: u64,
}

// === impl Client ===

impl Client {
    /// Connects to the daemon of a repository.
    ///
    /// # Errors
    /// When no daemon runs.
    pub(crate) fn connect(repo: &Path, name: &str) -> anyhow::Result<Self> {
        let folder = repo.join(".switchboard");
        let info: Value = serde_json::from_slice(&fs::read(folder.join("server_info.json"))?)?;
        let token = fs::read_to_string(folder.join("auth_token"))?.trim().to_owned();
        let stream = UnixStream::connect(info["socket"].as_str().context("no socket")?)?;
        stream.set_read_timeout(Some(LIMIT))?;
        let hello = Hello::Calls {
            v: WIRE_VERSION,
            token: Some(token),
            name: Some(name.to_owned()),
            ci: true,
            yes: true,
            folder: None,
        };
        let mut client = Self { lines: BufReader::new(stream), next: 0 };
        client.write(&serde_json::to_string(&hello)?)?;
        Ok(client)
    }

    /// Allows calls to take longer than a start.
    ///
    /// # Errors
    /// When the socket is gone.
    pub(crate) fn wait_longer(&mut self) -> anyhow::Result<()> {
        Ok(self.lines.get_ref().set_read_timeout(Some(3 * LIMIT))?)
    }

    /// Makes one call; returns the reply, or the daemon's refusal.
    ///
    /// # Errors
    /// When the connection breaks; then it is unknown whether the call was carried out.
    pub(crate) fn call(
        &mut self,
        verb: &str,
        args: Value,
        key: Option<String>,
    ) -> anyhow::Result<Result<Value, Failure>> {
        self.next += 1;
        let call = Call { id: self.next, verb: verb.to_owned(), args, key };
        self.write(&serde_json::to_string(&call)?)?;
        let mut line = String::new();
        if self.lines.read_line(&mut line)? == 0 {
            bail!("the daemon hung up");
        }
        let answer: Answer = serde_json::from_str(&line)?;
        match (answer.ok, answer.error) {
            (Some(reply), None) => Ok(Ok(reply)),
            (_, Some(failure)) => Ok(Err(failure)),
            (None, None) => Ok(Ok(Value::Null)),
        }
    }

    fn write(&mut self, line: &str) -> anyhow::Result<()> {
        Ok(self.lines.get_mut().write_all(format!("{line}\n").as_bytes())?)
    }
}

/// Makes one call that must succeed.
///
/// # Errors
/// When the daemon refuses it or is gone.
pub(crate) fn call(client: &mut Client, verb: &str, args: Value) -> anyhow::Result<Value> {
    client.call(verb, args, None)?.map_err(|failure| anyhow::anyhow!("{verb}: {}: {}", failure.code, failure.what))
}

/// A running daemon; killed when dropped.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
}

// === impl Daemon ===

impl Daemon {
    /// Kills the process as a crash would, and waits for its end.
    pub(crate) fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Returns the process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the daemon's memory in megabytes of a million bytes.
    pub(crate) fn resident_mb(&self) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kib: f64 = line.trim().trim_end_matches(" kB").parse().context("VmRSS")?;
        Ok(kib * 1024.0 / 1e6)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already; then only the status is collected.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
