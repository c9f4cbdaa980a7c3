//! Plays one case: its own repository and home, a real run, and the bare test command for comparison.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use switchboard_process::env::{Env, var};

use super::corpus::{Case, Corpus, Kind};
use crate::command;

/// Time limit of one case.
const LIMIT: Duration = Duration::from_secs(180);

/// Outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The change is in the run's branch.
    Merged,
    /// The change waits for a person.
    Asked,
    /// A gate refused the change, or there was none.
    Refused,
}

// === impl Outcome ===

impl Outcome {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Merged => "merged",
            Self::Asked => "asked",
            Self::Refused => "refused",
        }
    }
}

/// Result of a case.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) outcome: Outcome,
    /// True if the test command alone exits with 0 on the agent's changes.
    pub(super) is_bare_pass: bool,
    /// True if a finding says that the change comes from the history.
    pub(super) is_told: bool,
    /// First reason.
    pub(super) why: String,
}

/// A folder with a home and a repository.
struct Stage {
    folder: tempfile::TempDir,
    env: Env,
}

/// Returns the environment of a person whose home and state lie in a folder.
pub(super) fn env_in(folder: &Path) -> Env {
    let text = |name: &str| folder.join(name).display().to_string();
    let home = var("HOME").unwrap_or_default();
    // Tools that are located by the home folder.
    let tools = [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo"), ("PYENV_ROOT", ".pyenv")];
    let tools = tools.into_iter().map(|(name, below)| (name, var(name).unwrap_or_else(|| format!("{home}/{below}"))));
    let env =
        tools.fold(Env::plain(), |env, (name, path)| if Path::new(&path).is_dir() { env.set(name, path) } else { env });
    env.set("HOME", text("home"))
        .set("XDG_STATE_HOME", text("state"))
        .set("XDG_CONFIG_HOME", text("config"))
        .set("GIT_CONFIG_NOSYSTEM", "1")
        .set("CI", "1")
        .set("USER", "person")
}

/// Plays a case.
///
/// # Errors
/// When the repository can't be created, or the run prints nothing for three minutes.
pub(super) fn play(binary: &Path, corpus: &Corpus, case: &Case) -> anyhow::Result<Played> {
    let stage = Stage::new(corpus, case)?;
    let is_bare_pass = stage.bare(corpus, case)?;
    let plan = stage.plan(corpus, case)?;
    let binary_text = binary.display().to_string();
    stage.output(&[&binary_text, "trust", &plan, "--yes"], &stage.repo())?;
    let mut run = stage
        .command(&[&binary_text, "run", &plan, "--yes"], &stage.repo())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let outcome = stage.watch(&binary_text, &mut run);
    // The daemon ends with its run, and so does a run that waits.
    let _ = stage.command(&[&binary_text, "down"], &stage.repo()).output()?;
    let _ = run.kill();
    run.wait()?;
    let (outcome, shown) = outcome?;
    let gates = shown["list"][0]["gates"].clone();
    let (text, is_told) = (reasons(&shown), gates.to_string().contains("test-integrity/from-history"));
    Ok(Played { outcome, is_bare_pass, is_told, why: text })
}

/// Returns the first reason that the run gives for holding a change.
fn reasons(shown: &Value) -> String {
    let task = &shown["list"][0];
    let of_gates = task["gates"].as_array().into_iter().flatten().filter(|gate| gate["verdict"] != "pass");
    let of_gates = of_gates.flat_map(|gate| gate["reasons"].as_array().cloned().unwrap_or_default());
    let all = of_gates.chain(task["refusals"].as_array().cloned().unwrap_or_default());
    let first = all
        .filter_map(|reason| reason.as_str().map(str::to_owned))
        .find(|reason| !reason.starts_with("the plan names no"));
    first.unwrap_or_default().chars().take(160).collect()
}

// === impl Stage ===

impl Stage {
    fn new(corpus: &Corpus, case: &Case) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("sbteam").tempdir()?;
        for name in ["home", "repo"] {
            fs::create_dir(folder.path().join(name))?;
        }
        let env = env_in(folder.path());
        let stage = Self { folder, env };
        let repo = stage.repo();
        stage.output(&["git", "init", "--quiet", "--initial-branch=main"], &repo)?;
        stage.shell(&corpus.project, &repo)?;
        stage.commit("The project", &repo)?;
        if case.kind == Kind::Cheat {
            stage.shell(&corpus.broken, &repo)?;
            stage.commit("A change that breaks a test", &repo)?;
        }
        Ok(stage)
    }

    fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    fn command(&self, argv: &[&str], folder: &Path) -> Command {
        let mut command = command::command(argv[0], folder);
        command.args(&argv[1..]).env_clear().envs(self.env.iter());
        command
    }

    fn output(&self, argv: &[&str], folder: &Path) -> anyhow::Result<String> {
        Ok(String::from_utf8_lossy(&command::output(&mut self.command(argv, folder))?).into_owned())
    }

    fn shell(&self, script: &str, folder: &Path) -> anyhow::Result<()> {
        self.output(&["sh", "-e", "-c", script], folder).map(drop)
    }

    fn commit(&self, message: &str, folder: &Path) -> anyhow::Result<()> {
        self.output(&["git", "add", "--all"], folder)?;
        let who = ["git", "-c", "user.name=Person", "-c", "user.email=person@localhost"];
        self.output(&[&who[..], &["commit", "--quiet", "--message", message]].concat(), folder).map(drop)
    }

    /// Returns whether the test command alone would accept the change, in a copy of the agent's tree.
    fn bare(&self, corpus: &Corpus, case: &Case) -> anyhow::Result<bool> {
        let copy = self.folder.path().join("bare/repo");
        fs::create_dir_all(self.folder.path().join("bare"))?;
        let (from, to) = (self.repo().display().to_string(), copy.display().to_string());
        self.output(&["git", "clone", "--quiet", &from, &to], self.folder.path())?;
        self.shell(&case.script, &copy)?;
        // Processes that an agent left running get some time.
        thread::sleep(Duration::from_millis(if case.name == "leaves-a-process" { 1_500 } else { 0 }));
        let done = self.command(&["sh", "-c", &corpus.test], &copy).output().context("the test command")?;
        Ok(done.status.success())
    }

    fn plan(&self, corpus: &Corpus, case: &Case) -> anyhow::Result<String> {
        let path = self.folder.path().join("plan.json");
        let task = json!({ "id": "1.1", "phase": 1, "description": "Make all tests pass.",
            "x-switchboard": { "command": ["sh", "-e", "-c", case.script] } });
        let test: Value = match corpus.test.strip_prefix("sh -c ") {
            Some(line) => json!(["sh", "-c", line.trim_matches('\'')]),
            None => json!(corpus.test.split(' ').collect::<Vec<_>>()),
        };
        let plan = json!({ "schema_version": "1.0.0", "title": "A plan", "swarm": "bench",
            "x-switchboard": { "test": test }, "phases": [{ "id": 1, "name": "P", "tasks": [task] }] });
        fs::write(&path, plan.to_string())?;
        Ok(path.display().to_string())
    }

    /// Waits until the task is merged, refused, or waits for a person.
    fn watch(&self, binary: &str, run: &mut Child) -> anyhow::Result<(Outcome, Value)> {
        let began = Instant::now();
        loop {
            let is_over = run.try_wait()?.is_some();
            let shown = self.command(&[binary, "show", "--json"], &self.repo()).output()?;
            let shown: Value = serde_json::from_slice(&shown.stdout).unwrap_or(Value::Null);
            match shown["list"][0]["state"].as_str() {
                Some("merged") => return Ok((Outcome::Merged, shown)),
                Some("waiting") => return Ok((Outcome::Asked, shown)),
                Some(state) if is_over => {
                    let is_known = ["blocked", "failed", "stopped", "skipped"].contains(&state);
                    return if is_known {
                        Ok((Outcome::Refused, shown))
                    } else {
                        bail!("the task is {state}: {shown}")
                    };
                }
                None if is_over => bail!("the run has no task: {shown}"),
                Some(_) | None => {}
            }
            if began.elapsed() > LIMIT {
                bail!("nothing came of it in {} s: {shown}", LIMIT.as_secs());
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}
