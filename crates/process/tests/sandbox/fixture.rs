//! A project's state, a worker's tree beside it, and a child that tries something.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use switchboard_process::env::Env;
use switchboard_process::sandbox::{Network, Sandbox};
use switchboard_process::spawn::Spawn;
use tempfile::TempDir;

use super::child::{TRIED, TRY};

pub(super) struct Fixture {
    folder: TempDir,
    pub(super) sandbox: Sandbox,
}

impl Fixture {
    /// Makes a state folder with a store and a worker's tree in it; the sandbox opens the tree, and the child's own program.
    pub(super) fn new() -> Self {
        // Sandboxed processes see /tmp as an empty folder. If the build is there, forbidden files are missing, not refused: see `is_refused`.
        Self::at(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    pub(super) fn in_tmp() -> Self {
        Self::at(tempfile::tempdir_in("/tmp").unwrap())
    }

    fn at(folder: TempDir) -> Self {
        let state = folder.path().join("state");
        let tree = state.join("worktrees/run/task");
        fs::create_dir_all(&tree).unwrap();
        fs::create_dir(state.join("keys")).unwrap();
        for file in ["store.db", "store.db-wal", "keys/root.key"] {
            fs::write(state.join(file), "secret").unwrap();
        }
        fs::write(tree.join("own.txt"), "mine").unwrap();
        let mut sandbox = Sandbox { write: vec![tree], closed: vec![state], ..Sandbox::system() };
        sandbox.read.push(program());
        Self { folder, sandbox }
    }

    pub(super) fn state(&self, name: &str) -> PathBuf {
        self.folder.path().join("state").join(name)
    }

    pub(super) fn tree(&self, name: &str) -> PathBuf {
        self.state("worktrees/run/task").join(name)
    }

    /// Turns name spaces off, so that only Landlock restricts the child.
    pub(super) fn on_the_machines_network(mut self) -> Self {
        self.sandbox.network = Network::Host;
        self
    }

    /// Returns true if an error is the expected one; if the state is in a hidden folder, it may be missing instead.
    pub(super) fn is_refused(&self, errno: Errno, expected: &[Errno]) -> bool {
        expected.contains(&errno) || self.is_hidden() && errno == Errno::NOENT
    }

    /// Returns true if the folder of the state is hidden from sandboxed processes.
    pub(super) fn is_hidden(&self) -> bool {
        let hidden = ["/tmp", "/var/tmp", "/run", "/dev/shm"];
        let folder = self.folder.path().canonicalize().unwrap();
        hidden.iter().any(|above| folder.starts_with(above))
    }

    /// Returns the result of a sandboxed child's attempt.
    #[track_caller]
    pub(super) fn tries(&self, what: &[&str]) -> Result<(), Errno> {
        tries(Some(&self.sandbox), what)
    }
}

/// Returns the result of a child's attempt; without a sandbox, to show that it would succeed otherwise.
#[track_caller]
pub(super) fn tries(sandbox: Option<&Sandbox>, what: &[&str]) -> Result<(), Errno> {
    let argv =
        [text(&program()), "--exact".into(), "child::try_what_the_environment_says".into(), "--nocapture".into()];
    let mut spawn = Spawn::new(argv).env_only(Env::empty().set(TRY, what.join("\n"))).wall(Duration::from_secs(60));
    if let Some(sandbox) = sandbox {
        spawn = spawn.sandbox(sandbox.clone()).cwd(&sandbox.write[0]);
    }
    let output = spawn.output().unwrap();
    let (out, err) = (output.stdout.text(), output.stderr.text());
    let line = out.lines().find_map(|line| line.strip_prefix(TRIED));
    match line.unwrap_or_else(|| panic!("{what:?}: {out}{err}")).trim().parse().unwrap() {
        0 => Ok(()),
        errno => Err(Errno::from_raw_os_error(errno)),
    }
}

fn program() -> PathBuf {
    std::env::current_exe().unwrap()
}

pub(super) fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
