//! Real repository for tests.

use std::path::Path;

use switchboard_process::env::Env;
use switchboard_process::git::{Git, Oid, Repo};
use switchboard_process::spawn::Spawn;

/// Repository in its own folder.
pub(crate) struct Repository {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) repo: Repo,
    env: Env,
}

// === impl Repository ===

impl Repository {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let env =
            Env::empty().inherit(["PATH"]).set("HOME", base.display().to_string()).set("GIT_CONFIG_NOSYSTEM", "1");
        git(&env, &base, &["init", "-q", "-b", "main"]);
        let repo = Git::find(env.clone()).unwrap().discover(&base).unwrap();
        Self { folder, repo, env }
    }

    /// Makes an empty commit on the branch that is checked out.
    pub(crate) fn commit(&self, message: &str) -> Oid {
        git(&self.env, self.folder.path(), &["commit", "-q", "--allow-empty", "-m", message]);
        self.repo.head_commit().unwrap()
    }

    /// Commits all files of a work tree.
    pub(crate) fn commit_in(&self, tree: &Path, message: &str) -> Oid {
        git(&self.env, tree, &["add", "--all"]);
        git(&self.env, tree, &["commit", "-q", "--allow-empty", "-m", message]);
        Oid::parse(git(&self.env, tree, &["rev-parse", "HEAD"]).trim()).unwrap()
    }

    /// Makes the tree in this folder stand at its commit, on no branch.
    pub(crate) fn detach(&self, tree: &Path) {
        git(&self.env, tree, &["checkout", "-q", "--detach"]);
    }

    /// Returns the message of a commit.
    pub(crate) fn log(&self, commit: &Oid) -> String {
        git(&self.env, self.folder.path(), &["log", "-1", "--format=%B", commit.as_str()])
    }
}

fn git(env: &Env, folder: &Path, args: &[&str]) -> String {
    let argv = ["git", "-c", "user.name=U", "-c", "user.email=u@example.com"].iter().chain(args).copied();
    let done = Spawn::new(argv).env_only(env.clone()).cwd(folder).output().unwrap();
    assert!(done.succeeded(), "git {args:?}: {}", done.stderr.text());
    done.stdout.text()
}
