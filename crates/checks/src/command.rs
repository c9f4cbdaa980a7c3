//! Runs one program under limits: argv without a shell, a cleared environment, its own process group, a deadline,
//! and as much of its output as was asked for.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

mod ends;

pub(crate) use ends::Ends;

/// How often a program is asked whether it has ended while its output is silent.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How long output may still come after a program and its group are gone.
const DRAIN: Duration = Duration::from_millis(500);
/// What every program is given of our environment.
pub(crate) const PLAIN_ENV: &[&str] = &["PATH", "HOME", "LANG"];
/// What a build tool needs besides, to find its toolchain; nothing here carries a credential.
pub(crate) const TOOLCHAIN_ENV: &[&str] = &[
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "USER",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "JAVA_HOME",
    "GOPATH",
    "GOCACHE",
    "GOROOT",
    "GOTOOLCHAIN",
    "VIRTUAL_ENV",
    "PYENV_ROOT",
    "NVM_DIR",
    "DOTNET_ROOT",
];

/// What to run, and under which limits.
pub(crate) struct Job<'a> {
    pub(crate) program: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) cwd: &'a Path,
    pub(crate) pass_env: &'a [&'a str],
    pub(crate) set_env: &'a [(String, String)],
    pub(crate) time_limit: Duration,
    /// Bytes kept of each stream, half from its start and half from its end.
    pub(crate) keep: usize,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Exited(i32),
    Signalled(i32),
    TimedOut,
}

/// What a program did.
pub(crate) struct Outcome {
    pub(crate) ending: Ending,
    pub(crate) stdout: Ends,
    pub(crate) stderr: Ends,
    pub(crate) took: Duration,
}

/// Starts a program with pipes; the caller must end it with [`end`].
pub(crate) fn start(job: &Job<'_>, stdin: Stdio) -> io::Result<Child> {
    #[expect(clippy::disallowed_methods, reason = "the one spawn of this crate, with argv, environment and group")]
    let mut command = Command::new(job.program);
    command
        .args(job.args)
        .current_dir(job.cwd)
        .env_clear()
        .envs(job.set_env.iter().map(|(name, value)| (name, value)))
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    for name in job.pass_env {
        #[expect(clippy::disallowed_methods, reason = "an allow-list is handed on, nothing is read as a setting")]
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.spawn()
}

/// Kills what is left of a program's group and reaps the program.
pub(crate) fn end(child: &mut Child) -> io::Result<ExitStatus> {
    kill_group(child);
    child.wait()
}

/// Runs a program to its end or its limit. Whatever it leaves running in its group is killed.
pub(crate) fn run(job: &Job<'_>) -> io::Result<Outcome> {
    let started = Instant::now();
    let mut child = start(job, Stdio::null())?;
    let (done, streams) = mpsc::channel();
    let stdout = collect(child.stdout.take(), job.keep, &done);
    let stderr = collect(child.stderr.take(), job.keep, &done);
    drop(done);

    let status = wait(&mut child, &streams, started + job.time_limit);
    let reaped = end(&mut child);
    drain(&streams);

    let ending = match status? {
        Some(status) => ending_of(status),
        None => Ending::TimedOut,
    };
    reaped?;
    Ok(Outcome { ending, stdout: taken(&stdout), stderr: taken(&stderr), took: started.elapsed() })
}

/// Waits for the program; `None` at the deadline.
fn wait(child: &mut Child, streams: &Receiver<()>, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        if streams.recv_timeout(left.min(LOOK_AGAIN)) == Err(RecvTimeoutError::Disconnected) {
            thread::sleep(left.min(Duration::from_millis(1)));
        }
    }
}

/// Reads a stream to its end in the background, and says so by dropping its sender.
fn collect(stream: Option<impl Read + Send + 'static>, keep: usize, done: &mpsc::Sender<()>) -> Arc<Mutex<Ends>> {
    let ends = Arc::new(Mutex::new(Ends::new(keep)));
    let (into, done) = (Arc::clone(&ends), done.clone());
    if let Some(mut stream) = stream {
        thread::spawn(move || {
            let mut chunk = vec![0; 64 * 1024];
            while let Ok(read @ 1..) = stream.read(&mut chunk) {
                into.lock().unwrap_or_else(PoisonError::into_inner).push(&chunk[..read]);
            }
            drop(done);
        });
    }
    ends
}

/// Gives readers a moment for what is still in the pipes; a process that left the group may hold them open.
fn drain(streams: &Receiver<()>) {
    while streams.recv_timeout(DRAIN).is_ok() {}
}

fn taken(ends: &Mutex<Ends>) -> Ends {
    std::mem::take(&mut *ends.lock().unwrap_or_else(PoisonError::into_inner))
}

fn ending_of(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, Some(signal)) => Ending::Signalled(signal),
        (None, None) => Ending::Exited(-1),
    }
}

/// Ignores the result: the group may be gone already, which is what was wanted.
fn kill_group(child: &Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _gone = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Outcome {
        let args = ["-c".to_owned(), script.to_owned()];
        run(&Job {
            program: "sh",
            args: &args,
            cwd: Path::new("/"),
            pass_env: PLAIN_ENV,
            set_env: &[],
            time_limit: limit,
            keep: 1_000,
        })
        .unwrap()
    }

    #[test]
    fn tells_exit_codes_signals_and_both_streams_apart() {
        let outcome = shell("echo out; echo err >&2; exit 7", Duration::from_secs(20));

        assert_eq!(outcome.ending, Ending::Exited(7));
        assert_eq!((outcome.stdout.text(), outcome.stderr.text()), ("out\n".into(), "err\n".into()));
        assert_eq!(shell("kill -9 $$", Duration::from_secs(20)).ending, Ending::Signalled(9));
    }

    #[test]
    fn stops_a_program_and_its_children_at_the_limit() {
        let outcome = shell("sleep 600 & echo $!; sleep 600", Duration::from_millis(300));
        let child = outcome.stdout.text();

        assert_eq!(outcome.ending, Ending::TimedOut);
        assert!(goes_away(child.trim()), "{child}");
    }

    #[test]
    fn does_not_wait_for_what_a_program_leaves_behind() {
        let outcome = shell("sleep 600 & echo $!", Duration::from_secs(60));

        assert_eq!(outcome.ending, Ending::Exited(0));
        assert!(goes_away(outcome.stdout.text().trim()));
    }

    #[test]
    fn hands_on_no_more_of_the_environment_than_the_list() {
        let outcome = shell("env | cut -d= -f1 | sort | tr '\\n' ' '", Duration::from_secs(20));

        let names = outcome.stdout.text();
        assert!(
            names
                .split_whitespace()
                .all(|name| ["HOME", "LANG", "PATH", "PWD", "SHLVL", "_", "OLDPWD"].contains(&name)),
            "{names}"
        );
    }

    /// A killed process needs a moment, and may stay as a zombie until its new parent reaps it; that counts as gone.
    fn goes_away(pid: &str) -> bool {
        let is_gone = || {
            std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .map_or(true, |stat| stat.rsplit(')').next().unwrap_or("").trim_start().starts_with('Z'))
        };
        (0..1_000).any(|_| {
            is_gone() || {
                thread::sleep(Duration::from_millis(10));
                false
            }
        })
    }
}
