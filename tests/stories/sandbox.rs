//! A repository with its own home, in which the binary runs. Nothing of the machine's user is read or written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::env::Env;
use switchboard_process::spawn::{Exit, Spawn};
use tempfile::TempDir;

/// The binary under test.
pub(super) const BINARY: &str = env!("CARGO_BIN_EXE_switchboard");

/// Time limit of a run on another thread.
const ASIDE: Duration = Duration::from_secs(180);

/// Commands that need a person; in a CI session `--yes` counts as one.
const DECIDES: [&str; 9] = ["answer", "approve", "call", "deny", "merge", "restore", "session", "token", "up"];

/// Stands for the program that runs our MCP bridge. Processes below that program are agents, and the stories are not.
pub(super) const MCP_CLIENT: [&str; 2] = ["timeout", "120"];

/// Result of a command.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) code: i32,
    pub(super) out: String,
    pub(super) err: String,
}

impl Done {
    /// Asserts an exit code.
    #[track_caller]
    pub(super) fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "out: {}\nerr: {}", self.out, self.err);
        self
    }

    /// Asserts that standard output or standard error contains some words.
    #[track_caller]
    pub(super) fn says(self, words: &str) -> Self {
        let is_said = self.out.contains(words) || self.err.contains(words);
        assert!(is_said, "nobody says {words:?}\nout: {}\nerr: {}", self.out, self.err);
        self
    }

    /// Returns standard output as one JSON value.
    #[track_caller]
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(self.out.trim()).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the only object in standard error.
    #[track_caller]
    pub(super) fn failure(&self) -> Value {
        serde_json::from_str(self.err.trim()).unwrap_or_else(|error| panic!("{error}: {}", self.err))
    }
}

/// A sandbox; when dropped, it ends its daemon and asserts that none of its processes still runs.
#[derive(Debug)]
pub(super) struct Sandbox {
    folder: TempDir,
    env: Env,
}

impl Sandbox {
    /// Creates a folder that is no repository.
    pub(super) fn empty() -> Self {
        let folder = tempfile::Builder::new().prefix("sb").tempdir().unwrap();
        for name in ["home", "repo", "tmp"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let text = |name: &str| folder.path().join(name).display().to_string();
        let env = Env::plain()
            .set("HOME", text("home"))
            .set("XDG_STATE_HOME", text("state"))
            .set("XDG_CONFIG_HOME", text("config"))
            // Agents leave files in it, and the example its scratch folder.
            .set("TMPDIR", text("tmp"))
            .set("GIT_CONFIG_NOSYSTEM", "1")
            .set("SWITCHBOARD_LINGER_MS", "50")
            // The stories have no terminal: they are a CI session.
            .set("CI", "1")
            .set("USER", "person");
        Self { folder, env }
    }

    /// Creates a repository on `main` with some files and one commit.
    pub(super) fn new() -> Self {
        let sandbox = Self::empty();
        sandbox.git(&["init", "--quiet", "--initial-branch=main"]);
        sandbox.write("README.md", "# A repository\n");
        sandbox.write("src/lib.rs", "//! A crate.\n\npub fn one() -> u32 {\n    1\n}\n");
        sandbox.commit("start");
        sandbox
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Sets a variable for every later command.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.env = self.env.clone().set(name, value);
    }

    pub(super) fn unset(&mut self, name: &str) {
        self.env = self.env.clone().without(name);
    }

    /// Returns the environment of every command.
    pub(super) fn environment(&self) -> Env {
        self.env.clone()
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Runs git and returns what it prints.
    #[track_caller]
    pub(super) fn git(&self, args: &[&str]) -> String {
        let who = ["git", "-c", "user.name=Person", "-c", "user.email=person@localhost"];
        let done = self.run(who.iter().chain(args).copied(), &self.root(), "");
        done.ends_with(0).out
    }

    pub(super) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// Runs the binary in the repository.
    pub(super) fn switchboard(&self, args: &[&str]) -> Done {
        self.switchboard_with(args, "")
    }

    /// Runs the binary with something on its standard input.
    pub(super) fn switchboard_with(&self, args: &[&str], input: &str) -> Done {
        let is_bridge = args.first() == Some(&"mcp") && args.get(1) != Some(&"install");
        let before: &[&str] = if is_bridge { &MCP_CLIENT } else { &[] };
        let yes = args.first().is_some_and(|command| DECIDES.contains(command)).then_some("--yes");
        self.run(before.iter().copied().chain([BINARY]).chain(args.iter().copied()).chain(yes), &self.root(), input)
    }

    /// Runs `switchboard run` on another thread, with a daemon that outlives it.
    pub(super) fn run_aside(&self, args: &[&str]) -> JoinHandle<Done> {
        let up = self.switchboard(&["up", "--detach"]);
        assert!(up.code == 0 || up.err.contains("daemon.running"), "{up:?}");
        let argv = [BINARY, "run"].iter().chain(args).copied();
        let spawn = Spawn::new(argv).cwd(self.root()).env_only(self.env.clone()).wall(ASIDE);
        std::thread::spawn(move || {
            let output = spawn.output().unwrap();
            let code = output.exit.code().unwrap_or(-1);
            Done { code, out: output.stdout.text(), err: output.stderr.text() }
        })
    }

    /// Runs any command in a folder.
    pub(super) fn run<'a>(&self, argv: impl IntoIterator<Item = &'a str>, folder: &Path, input: &str) -> Done {
        let spawn = Spawn::new(argv).cwd(folder).env_only(self.env.clone()).wall(Duration::from_secs(120));
        let output = spawn.input(input).output().unwrap();
        let code = match output.exit {
            Exit::Exited(code) => code,
            Exit::Signalled(signal) => 128 + signal,
        };
        Done { code, out: output.stdout.text(), err: output.stderr.text() }
    }

    /// Calls a verb and returns its reply.
    #[track_caller]
    pub(super) fn call(&self, args: &[&str]) -> Value {
        self.switchboard(&[&["call"], args].concat()).ends_with(0).json()
    }

    /// Returns the first open question, once there is one.
    #[track_caller]
    pub(super) fn question(&self) -> Value {
        self.question_within(Duration::from_secs(30))
    }

    /// Returns the first open question, within a time limit.
    #[track_caller]
    pub(super) fn question_within(&self, limit: Duration) -> Value {
        let mut need = Value::Null;
        let is_asked = || {
            need = self.call(&["list_needs"])["needs"][0].clone();
            !need.is_null()
        };
        assert!(within(limit, is_asked), "nobody asks");
        need
    }

    /// Adds a scripted agent to the user's settings; `sections` have the form of scripts.
    pub(super) fn script(&self, name: &str, sections: &Value) {
        let file = self.folder.path().join(format!("{name}.json"));
        fs::write(&file, json!({ "sections": sections }).to_string()).unwrap();
        let command = json!([BINARY, "script-agent", file]);
        self.settings(&format!(
            "[agents.{name}]\ndriver = \"acp\"\ncommand = {command}\nscripted = true\nspends = false\n"
        ));
    }

    /// Adds text to the user's settings.
    pub(super) fn settings(&self, text: &str) {
        let file = self.folder.path().join("config/switchboard/config.toml");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let before = fs::read_to_string(&file).unwrap_or_default();
        fs::write(file, before + text).unwrap();
    }

    /// Replaces a text in the user's settings.
    pub(super) fn change_settings(&self, from: &str, to: &str) {
        let file = self.folder.path().join("config/switchboard/config.toml");
        let before = fs::read_to_string(&file).unwrap();
        assert!(before.contains(from), "{before}");
        fs::write(file, before.replace(from, to)).unwrap();
    }

    /// Writes a plan outside of the repository, so that the repository stays unchanged; returns its path.
    pub(super) fn plan(&self, tasks: &Value) -> String {
        let plan = json!({ "schema_version": "1.0.0", "title": "A plan", "swarm": "story",
            "phases": [{ "id": 1, "name": "P", "tasks": tasks }] });
        self.plan_text(&plan.to_string())
    }

    pub(super) fn plan_text(&self, text: &str) -> String {
        let path = self.folder.path().join("plan.json");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Writes a plan whose commands are trusted.
    pub(super) fn trusted_plan(&self, tasks: &Value) -> String {
        self.trusted_plan_with(&json!({}), tasks)
    }

    /// Writes a plan with these settings, whose commands are trusted.
    pub(super) fn trusted_plan_with(&self, settings: &Value, tasks: &Value) -> String {
        self.trusted_phases(settings, &json!([{ "id": 1, "name": "P", "tasks": tasks }]))
    }

    /// Writes a plan with these settings and phases, whose commands are trusted.
    pub(super) fn trusted_phases(&self, settings: &Value, phases: &Value) -> String {
        let plan = json!({ "schema_version": "1.0.0", "title": "A plan", "swarm": "story", "x-switchboard": settings,
            "phases": phases });
        let plan = self.plan_text(&plan.to_string());
        self.switchboard(&["trust", &plan, "--yes"]).ends_with(0);
        plan
    }

    /// Returns everything in the work tree but `.switchboard` and `.git`, the index, and the commit of the branch.
    pub(super) fn state_of_user(&self) -> BTreeMap<String, Vec<u8>> {
        let root = self.root();
        let mut found = BTreeMap::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                if name == ".git" || name == ".switchboard" {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.insert(name, fs::read(path).unwrap());
                }
            }
        }
        for name in [".git/index", ".git/HEAD", ".git/refs/heads/main"] {
            found.insert(name.to_owned(), fs::read(root.join(name)).unwrap());
        }
        found
    }

    /// Returns processes whose command line names this sandbox.
    pub(super) fn processes(&self) -> Vec<u32> {
        processes_naming(&self.folder.path().display().to_string())
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let down = self.switchboard(&["down"]);
        if std::thread::panicking() {
            eprintln!("down: {down:?}");
            return;
        }
        // Shims end a moment after their last frame is acknowledged.
        let is_over = within(Duration::from_secs(20), || self.processes().is_empty());
        assert!(is_over, "these still run: {:?}\n{down:?}", self.processes().iter().map(described).collect::<Vec<_>>());
    }
}

/// Describes a process from `/proc`: id, state, parent and command line.
fn described(pid: &u32) -> String {
    let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let (status, line) = (read("status"), read("cmdline"));
    let status = String::from_utf8_lossy(&status);
    let shown = status.lines().filter(|line| line.starts_with("State") || line.starts_with("PPid"));
    format!("{pid} {:?} {}", shown.collect::<Vec<_>>(), String::from_utf8_lossy(&line).replace('\0', " "))
}

/// Returns processes whose command line or work folder contains some words.
pub(super) fn processes_naming(words: &str) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let names = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let folder = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        let is_us = *pid == std::process::id();
        !is_us && (String::from_utf8_lossy(&line).contains(words) || folder.display().to_string().contains(words))
    };
    pids.filter(names).collect()
}

/// Returns whether a condition becomes true within a time limit; polls every few milliseconds.
pub(super) fn within(limit: Duration, mut is_true: impl FnMut() -> bool) -> bool {
    let deadline = switchboard_process::clock::Deadline::after(limit);
    while !is_true() {
        if deadline.has_passed() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}
