//! Shims as processes: starts, inspects and ends them, and reads their journals while they are not connected.

use std::path::{Path, PathBuf};

use switchboard_process::env::Env;
use switchboard_process::file::{self, Mode, Sync as Synced};
use switchboard_process::fingerprint::Fingerprint;
use switchboard_process::lock::{self, Lock};
use switchboard_process::sandbox;
use switchboard_process::spawn::{Signal, Spawn, which};
use switchboard_process::task;
use switchboard_protocol::frame::{ABANDONED_FILE, Frame, MAX_FRAME_BYTES, WorkerSpec};
use switchboard_protocol::id::WorkerId;

use super::files::{Disk, Files as _};
use crate::Error;
use crate::error::io;
use crate::event::frame_number;
use crate::future::BoxFuture;

/// Number of frames read from a journal at once.
const PAGE: usize = 1000;

/// Environment variable that every process of a worker inherits.
const MARK: &str = "SWITCHBOARD_WORKER";

/// State of a worker's shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shim {
    /// It has not taken its lock yet.
    NotBegun,
    /// It is running.
    Alive,
    /// It ran and has ended.
    Gone,
}

/// Shims, identified by their workers' folders. All calls but `ended` block.
pub(crate) trait Shims: Send + Sync {
    /// Returns true if a program can be started.
    fn has_program(&self, program: &str) -> bool;
    /// Returns what this machine can't enforce of a constrained worker's sandbox, a sentence each.
    fn sandbox_gaps(&self) -> Vec<String>;
    /// Writes a worker's spec and starts its shim, which outlives us.
    fn launch(&self, spec: &WorkerSpec) -> Result<(), Error>;
    /// Returns the state of the shim of a folder.
    fn state(&self, folder: &Path) -> Shim;
    /// Prevents a shim that has not begun from ever beginning; returns false if it has begun meanwhile.
    fn forbid(&self, folder: &Path) -> Result<bool, Error>;
    /// Returns pid and start time of the shim of a folder, while it runs.
    fn process(&self, folder: &Path) -> Option<(u32, u64)>;
    /// Kills a shim's process group; returns true if there was one.
    fn kill(&self, folder: &Path) -> bool;
    /// Kills processes of a worker that outlived its shim; returns the number of those that don't end.
    fn kill_leftovers(&self, worker: &WorkerId) -> usize;
    /// Returns the frames of a folder's journal after the number `seen`, in order.
    fn frames_after(&self, folder: &Path, seen: i64) -> Result<Vec<Frame>, Error>;
    /// Returns when the running shim of a folder has ended.
    fn ended(&self, folder: &Path) -> BoxFuture<'static, ()>;
}

/// Shims as processes of our own binary.
pub(crate) struct Processes {
    binary: PathBuf,
}

// === impl Processes ===

impl Processes {
    pub(crate) fn new(binary: PathBuf) -> Self {
        Self { binary }
    }
}

impl Shims for Processes {
    fn has_program(&self, program: &str) -> bool {
        which(program).is_some()
    }

    fn sandbox_gaps(&self) -> Vec<String> {
        sandbox::supported().gaps(sandbox::Network::Own)
    }

    fn launch(&self, spec: &WorkerSpec) -> Result<(), Error> {
        let folder = Path::new(&spec.folder);
        Disk.make_folder(folder)?;
        let path = folder.join("spec.json");
        let spec = serde_json::to_vec(spec).map_err(crate::error::shape("spec.json"))?;
        // Only the shim reads it, and a power cut ends the shim too.
        file::replace(&path, &spec, Mode::Private, Synced::No).map_err(io(&path))?;
        let argv = [crate::plan::text(&self.binary), "shim".to_owned(), crate::plan::text(&path)];
        let shim = Spawn::new(argv).cwd(folder).env_only(Env::plain()).own_session();
        shim.detached(Some(&folder.join("shim.log")))?;
        Ok(())
    }

    fn state(&self, folder: &Path) -> Shim {
        // Checked before the holder: a shim may take its lock between the two checks, and it writes into the file only
        // once it has the lock.
        let has_begun = std::fs::metadata(folder.join("lock")).is_ok_and(|note| note.len() > 0);
        match (holder(folder), has_begun) {
            (Some(_), _) => Shim::Alive,
            (None, true) => Shim::Gone,
            (None, false) => Shim::NotBegun,
        }
    }

    fn forbid(&self, folder: &Path) -> Result<bool, Error> {
        if !folder.exists() {
            return Ok(true);
        }
        // A shim looks for this file once it has the lock.
        match Lock::take(&folder.join("lock"), "abandoned") {
            Ok(_lock) => Disk.write(&folder.join(ABANDONED_FILE), &[]).map(|()| true),
            Err(switchboard_process::Error::Held { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn process(&self, folder: &Path) -> Option<(u32, u64)> {
        holder(folder).map(|shim| (shim.pid, shim.start))
    }

    fn kill(&self, folder: &Path) -> bool {
        let Some(shim) = holder(folder) else { return false };
        // Processes that it held as a subreaper are swept at the next boot.
        shim.signal_group(Signal::KILL) || shim.signal(Signal::KILL)
    }

    fn kill_leftovers(&self, worker: &WorkerId) -> usize {
        switchboard_process::orphans::kill_marked(MARK, worker.as_str()).len()
    }

    fn frames_after(&self, folder: &Path, seen: i64) -> Result<Vec<Frame>, Error> {
        let path = folder.join("frames.jsonl");
        let mut frames = Vec::new();
        let mut from = 0;
        loop {
            let batch = switchboard_process::journal::read::<Frame>(&path, from, MAX_FRAME_BYTES, PAGE, |frame| {
                frame_number(frame) > seen
            })?;
            from = batch.next;
            frames.extend(batch.entries);
            if !batch.is_cut {
                return Ok(frames);
            }
        }
    }

    fn ended(&self, folder: &Path) -> BoxFuture<'static, ()> {
        let folder = folder.to_owned();
        Box::pin(async move {
            let shim = task::spawn_blocking(move || holder(&folder)).await;
            if let Ok(Some(shim)) = shim {
                shim.ended().await;
            }
        })
    }
}

/// Returns the shim that holds a folder's lock.
fn holder(folder: &Path) -> Option<Fingerprint> {
    Some(lock::holder(&folder.join("lock")).ok().flatten()?.fingerprint())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use switchboard_process::lock::Holder;
    use switchboard_process::spawn::Child;
    use switchboard_protocol::frame::WorkerLimits;

    use super::*;
    use crate::tests::comes;

    #[test]
    fn a_shim_that_has_not_its_lock_yet_has_not_begun_and_one_that_is_given_up_never_does() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, shims) = (folder.path(), Processes::new("/none".into()));
        assert_eq!(shims.state(folder), Shim::NotBegun);
        // As a shim leaves it between opening and taking its lock.
        std::fs::write(folder.join("lock"), "").unwrap();
        assert_eq!(shims.state(folder), Shim::NotBegun);

        let begun = Lock::take(&folder.join("lock"), "").unwrap();
        assert_eq!((shims.state(folder), shims.forbid(folder).unwrap()), (Shim::Alive, false));
        assert!(!folder.join(ABANDONED_FILE).exists());
        drop(begun);
        // A process that another test starts just now also holds the lock's file until it executes its program.
        let is_gone = || shims.state(folder) == Shim::Gone;
        let waits = std::iter::repeat_n(std::time::Duration::from_millis(10), 500);
        assert!(is_gone() || waits.map(std::thread::sleep).any(|()| is_gone()), "{:?}", shims.state(folder));

        assert!(shims.forbid(folder).unwrap() && folder.join(ABANDONED_FILE).exists());
        assert!(shims.forbid(&folder.join("none")).unwrap(), "without a folder nothing can begin");
    }
    fn frame(epoch: u32, seq: u64) -> Frame {
        let event = serde_json::json!({ "kind": "session_opened", "session": "s" });
        let frame =
            serde_json::json!({ "v": 1, "worker": "wrk_1", "epoch": epoch, "seq": seq, "ts": 7, "event": event });
        serde_json::from_value(frame).unwrap()
    }

    #[test]
    fn a_journal_is_read_after_a_number_however_long_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, shims) = (folder.path(), Processes::new("/none".into()));
        assert!(shims.frames_after(folder, 0).unwrap().is_empty(), "without a journal");
        let most = PAGE as u64 + 10;
        let lines = (1..=most).map(|seq| serde_json::to_string(&frame(1, seq)).unwrap() + "\n");
        std::fs::write(folder.join("frames.jsonl"), lines.collect::<String>()).unwrap();

        let after = |seen| shims.frames_after(folder, frame_number(&frame(1, seen))).unwrap();
        let numbers = |frames: Vec<Frame>| frames.into_iter().map(|frame| frame.seq).collect::<Vec<_>>();
        assert_eq!(numbers(after(0)), (1..=most).collect::<Vec<_>>());
        assert_eq!(numbers(after(most - 2)), [most - 1, most]);
        assert!(after(most).is_empty());
    }

    #[test]
    fn the_process_of_a_shim_is_that_which_holds_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, shims) = (folder.path(), Processes::new("/none".into()));
        assert_eq!((shims.process(folder), shims.kill(folder)), (None, false), "nobody holds it");

        let _lock = Lock::take(&folder.join("lock"), "").unwrap();

        let us = Fingerprint::of(std::process::id()).unwrap();
        assert_eq!(shims.process(folder), Some((us.pid, us.start)));
    }

    #[tokio::test]
    async fn a_worker_is_launched_with_its_spec_in_a_folder_of_the_users_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let base = tempfile::tempdir().unwrap();
        let (binary, folder) = (base.path().join("switchboard"), base.path().join("workers/wrk_1"));
        let program = "#!/bin/sh\necho \"$*\"\ncp \"$2\" draft\nmv draft \"$1\"\n";
        file::replace(&binary, program.as_bytes(), Mode::Program, Synced::No).unwrap();
        let spec = serde_json::json!({ "v": 1, "worker": "wrk_1", "run": "run_1", "task": "1.1", "agent": "ann",
            "attempt": 1, "driver": { "driver": "exec", "argv": ["make"] }, "cwd": "/tree", "folder": folder,
            "socket": "/socket", "token": "t", "env": [], "prompt": "do it", "mail": [], "mcp": null,
            "limits": WorkerLimits::default() });
        let spec: WorkerSpec = serde_json::from_value(spec).unwrap();

        Processes::new(binary).launch(&spec).unwrap();

        let copy = folder.join("shim");
        assert!(comes(|| copy.exists()).await, "it has started in its folder");
        assert_eq!(serde_json::from_slice::<WorkerSpec>(&std::fs::read(copy).unwrap()).unwrap(), spec);
        let path = folder.join("spec.json");
        let said = std::fs::read_to_string(folder.join("shim.log")).unwrap();
        assert_eq!(said, format!("shim {}\n", path.display()));
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
    }

    #[test]
    fn a_program_is_there_if_the_path_has_it() {
        let shims = Processes::new("/none".into());

        assert!(shims.has_program("sh") && !shims.has_program("no-such-program"));
    }

    /// Takes the lock of a folder in the name of a process.
    fn holds(folder: &Path, process: &Fingerprint) -> Lock {
        let lock = Lock::take(&folder.join("lock"), "").unwrap();
        let Fingerprint { pid, start, boot } = process.clone();
        let note = Holder { pid, start, boot, extra: String::new() };
        std::fs::write(lock.path(), serde_json::to_vec(&note).unwrap()).unwrap();
        lock
    }

    fn start(script: &str, worker: &str) -> Child {
        let env = Env::plain().set(MARK, worker);
        Spawn::new(["sh", "-c", script]).env_only(env).own_session().ends_with_us().piped().unwrap()
    }

    /// Returns the process whose pid is the first line of a child's output.
    async fn told(child: &mut Child) -> Fingerprint {
        use tokio::io::AsyncBufReadExt as _;
        let mut line = String::new();
        let mut output = tokio::io::BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).await.unwrap();
        Fingerprint::of(line.trim().parse().unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_shim_is_killed_with_its_group_or_alone_if_it_leads_none() {
        let shims = Processes::new("/none".into());
        // The shell leads a group, and its child does not.
        for of_shell in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let mut shell = start("sleep 1000 & echo $!; wait", "wrk_1");
            let (child, leader) = (told(&mut shell).await, shell.fingerprint().unwrap());
            let shim = if of_shell { &leader } else { &child };
            let _lock = holds(folder.path(), shim);
            assert_eq!(shims.state(folder.path()), Shim::Alive);

            assert!(shims.kill(folder.path()));

            assert!(comes(|| !shim.is_alive() && !child.is_alive()).await);
            assert!(!shims.kill(folder.path()), "it is gone");
        }
    }

    #[test]
    fn the_end_of_a_shim_is_waited_for() {
        // With one thread for blocking work, that of the test comes after what was begun before.
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let shim = start("exec sleep 1000", "wrk_1");
            let _lock = holds(folder.path(), &shim.fingerprint().unwrap());
            let shims = Processes::new("/none".into());
            let mut ended = shims.ended(folder.path());

            for _ in 0..2 {
                tokio::select! {
                    biased;
                    () = &mut ended => panic!("it is alive"),
                    () = std::future::ready(()) => {}
                }
                tokio::task::spawn_blocking(|| {}).await.unwrap();
            }

            assert!(shims.kill(folder.path()));
            tokio::time::timeout(Duration::from_secs(60), ended).await.expect("it has ended");
            shims.ended(&folder.path().join("none")).await;
        });
    }

    #[tokio::test]
    async fn what_a_worker_has_left_is_killed_and_what_others_run_is_not() {
        let (own, other) = (WorkerId::from_bits(71), WorkerId::from_bits(72));
        let script = "sleep 1000 & echo $!; wait";
        let (mut dead, mut live) = (start(script, own.as_str()), start(script, other.as_str()));
        let (left, kept) = (told(&mut dead).await, told(&mut live).await);

        assert_eq!(Processes::new("/none".into()).kill_leftovers(&own), 0);

        assert!(!left.is_alive() && kept.is_alive());
    }
}
