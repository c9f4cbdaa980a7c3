//! A repository in a temporary folder, and a snapshot of everything in it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use switchboard_process::env::Env;
use switchboard_process::git::{Author, Git, Oid, Repo, Worktree};
use switchboard_process::spawn::Spawn;
use switchboard_protocol::time::Millis;
use tempfile::TempDir;

pub(crate) struct Fixture {
    pub(crate) folder: TempDir,
    pub(crate) root: PathBuf,
    pub(crate) env: Env,
}

impl Fixture {
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let root = base.join("user");
        fs::create_dir_all(base.join("home")).unwrap();
        fs::create_dir_all(&root).unwrap();
        let env = Env::empty()
            .inherit(["PATH"])
            .set("HOME", base.join("home").to_str().unwrap())
            .set("GIT_CONFIG_NOSYSTEM", "1");
        let fixture = Self { folder, root, env };
        fixture.run(&["init", "-q", "-b", "main"]);
        fixture
    }

    /// Makes a repository with one commit of `a.txt` and `dir/b.txt`.
    pub(crate) fn new() -> Self {
        let fixture = Self::empty();
        fixture.write("a.txt", "one\n");
        fixture.write("dir/b.txt", "two\n");
        fixture.commit("start");
        fixture
    }

    pub(crate) fn run(&self, args: &[&str]) -> String {
        self.run_in(&self.root, args)
    }

    pub(crate) fn run_in(&self, cwd: &Path, args: &[&str]) -> String {
        let base = ["git", "-c", "user.name=User", "-c", "user.email=user@example.com"];
        let argv = base.iter().chain(args).copied();
        let output = Spawn::new(argv).env_only(self.env.clone()).cwd(cwd).output().unwrap();
        assert!(output.succeeded(), "git {args:?}: {} {}", output.exit, output.stderr.text());
        output.stdout.text().trim_end().to_owned()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.root, path, text);
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    pub(crate) fn commit(&self, message: &str) -> Oid {
        self.run(&["add", "-A"]);
        self.run(&["commit", "-q", "-m", message]);
        Oid::parse(&self.run(&["rev-parse", "HEAD"])).unwrap()
    }

    pub(crate) fn git(&self) -> Git {
        Git::find(self.env.clone()).unwrap()
    }

    pub(crate) fn repo(&self) -> Repo {
        self.git().discover(&self.root).unwrap()
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("trees")
    }

    pub(crate) fn worktree(&self, name: &str) -> (Repo, Worktree, Oid) {
        let repo = self.repo();
        let at = repo.head_commit().unwrap();
        let worktree = repo.worktree_add(&self.base().join(name), &format!("switchboard/{name}"), &at, &[]).unwrap();
        (repo, worktree, at)
    }

    /// Makes a commit on top of `parent` whose tree has these files changed; `None` deletes one. Made outside of the user's tree.
    pub(crate) fn commit_on(&self, parent: &Oid, files: &[(&str, Option<&str>)]) -> Oid {
        let repo = self.repo();
        let name = format!("made-{}", fs::read_dir(self.folder.path()).unwrap().count());
        let path = self.folder.path().canonicalize().unwrap().join(&name);
        let worktree = repo.worktree_add(&path, &name, parent, &[]).unwrap();
        for (file, text) in files {
            match text {
                Some(text) => write(&path, file, text),
                None => fs::remove_file(path.join(file)).unwrap(),
            }
        }
        worktree.capture(&name, parent, &author(), "change").unwrap().unwrap().commit
    }

    /// Returns all files of the user's tree, the index, `HEAD` and the references, byte for byte, without our own references.
    pub(crate) fn snapshot(&self) -> BTreeMap<String, Vec<u8>> {
        let mut all = BTreeMap::new();
        collect(&self.root, &self.root, &mut all);
        all.retain(|path, _| {
            !path.starts_with(".git/objects") && !path.starts_with(".git/worktrees") && !path.contains("/made-")
        });
        all.retain(|path, _| !path.contains("switchboard/"));
        all
    }
}

pub(crate) fn author() -> Author {
    Author {
        name: "Coder <1>".to_owned(),
        email: "coder@switchboard".to_owned(),
        at: Millis::parse("2026-03-01T10:00:00Z").unwrap(),
    }
}

pub(crate) fn write(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn collect(root: &Path, folder: &Path, all: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let kind = fs::symlink_metadata(&path).unwrap();
        if kind.is_dir() {
            collect(root, &path, all);
        } else if kind.is_symlink() {
            all.insert(name, fs::read_link(&path).unwrap().to_str().unwrap().into());
        } else {
            let mut content = fs::read(&path).unwrap();
            content.push(u8::from(kind.permissions().mode() & 0o111 != 0));
            all.insert(name, content);
        }
    }
}
