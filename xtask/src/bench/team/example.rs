//! The cost of a team besides its agents: the example from start to end, the time between two steps, and the tokens of
//! its prompts.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchboard_process::env::Env;
use switchboard_protocol::frame::TASK_FILE;
use tempfile::TempDir;

use super::play::env_in;
use crate::bench::stats::{count, median};
use crate::command;

/// Tokens per character of text, as the context budgets of teams count them.
const TOKENS: f64 = 0.33;
/// Number of tasks whose steps are timed.
const TASKS: usize = 8;

/// Results of the measurement.
pub(super) struct Figures {
    pub(super) example_team_s: f64,
    pub(super) step_overhead_ms: f64,
    pub(super) prompt_tokens_coder: f64,
    pub(super) prompt_tokens_architect: f64,
    pub(super) team_tokens_over_plain: f64,
}

/// Measures all figures.
///
/// # Errors
/// When a run does not end as expected.
pub(super) fn measure(binary: &Path) -> anyhow::Result<Figures> {
    let (example_team_s, prompt_tokens_coder, prompt_tokens_architect) = example(binary)?;
    let (team, step_overhead_ms) = words(binary, true)?;
    let (plain, _) = words(binary, false)?;
    Ok(Figures {
        example_team_s,
        step_overhead_ms,
        prompt_tokens_coder,
        prompt_tokens_architect,
        team_tokens_over_plain: team / plain,
    })
}

/// A folder with a home, a repository and agents whose scripts keep their prompts.
struct Position {
    folder: TempDir,
    env: Env,
}

// === impl Position ===

impl Position {
    fn new() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("sbteam").tempdir()?;
        for name in ["home", "repo", "told"] {
            fs::create_dir(folder.path().join(name))?;
        }
        let env = env_in(folder.path());
        Ok(Self { folder, env })
    }

    fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    fn call(&self, argv: &[&str]) -> anyhow::Result<String> {
        let mut command = command::command(argv[0], &self.repo());
        command.args(&argv[1..]).env_clear().envs(self.env.iter());
        Ok(String::from_utf8_lossy(&command::output(&mut command)?).into_owned())
    }

    fn commit(&self) -> anyhow::Result<()> {
        self.call(&["git", "init", "--quiet", "--initial-branch=main"])?;
        self.call(&["git", "add", "--all"])?;
        let who = ["git", "-c", "user.name=Person", "-c", "user.email=person@localhost"];
        self.call(&[&who[..], &["commit", "--quiet", "--message", "The project"]].concat()).map(drop)
    }

    /// Makes agents with one script, which keeps its prompt and its answer in a file for each task and step.
    fn agents(&self, names: &[&str], work: &str) -> anyhow::Result<()> {
        let told = self.folder.path().join("told").display().to_string();
        let review = r#"{"verdict":"APPROVED","risk":"low","issues":[],"checked":{"correctness":true,"edge_cases":true,"performance":true}}"#;
        let script = format!(
            "#!/bin/sh\nfile={told}/$SWITCHBOARD_TASK.${{SWITCHBOARD_STEP:-work}}\ncat > \"$file\"\n\
             say() {{ printf '```json\\n%s\\n```\\n' \"$1\" | tee \"$file.said\"; }}\n\
             case ${{SWITCHBOARD_STEP:-work}} in\nwork) {work} ;;\n*review) say '{review}' ;;\n*) say '{{\"verdict\":\"PASS\",\"added\":[]}}' ;;\nesac\n"
        );
        let path = self.folder.path().join("agent.sh");
        fs::write(&path, script)?;
        let config = self.folder.path().join("config/switchboard");
        fs::create_dir_all(&config)?;
        let agent = |name: &&str| {
            format!(
                "[agents.{name}]\ndriver = \"exec\"\ncommand = [\"sh\", \"{}\"]\nspends = false\nattempts = 1\n",
                path.display()
            )
        };
        fs::write(config.join("config.toml"), names.iter().map(agent).collect::<String>())?;
        Ok(())
    }

    /// Runs a plan to its end, whatever the outcome.
    fn run(&self, binary: &Path, plan: &Value, flags: &[&str]) -> anyhow::Result<bool> {
        let path = self.folder.path().join("plan.json");
        fs::write(&path, plan.to_string())?;
        let (binary, path) = (binary.display().to_string(), path.display().to_string());
        self.call(&[&binary, "trust", &path, "--yes"])?;
        let words = [&[binary.as_str(), "run", &path, "--yes"], flags].concat();
        let mut command = command::command(words[0], &self.repo());
        command.args(&words[1..]).env_clear().envs(self.env.iter());
        Ok(command.output().context("the run")?.status.success())
    }

    fn down(&self, binary: &Path) {
        // Processes that are left end with the folder.
        let _ = self.call(&[&binary.display().to_string(), "down"]);
    }

    /// Returns the prompts of the agents, by the names of their files.
    fn prompts(&self) -> anyhow::Result<Vec<(String, String)>> {
        let files = fs::read_dir(self.folder.path().join("told"))?;
        let read = |file: std::io::Result<fs::DirEntry>| -> anyhow::Result<(String, String)> {
            let file = file?;
            Ok((file.file_name().to_string_lossy().into_owned(), fs::read_to_string(file.path())?))
        };
        files.map(read).collect()
    }
}

fn tokens(text: &str) -> f64 {
    (count(text.chars().count()) * TOKENS).ceil()
}

/// Returns the seconds of `run --example team`, and the tokens of the longest prompt of a coder and of the architect in
/// it.
fn example(binary: &Path) -> anyhow::Result<(f64, f64, f64)> {
    let place = Position::new()?;
    let temp = place.folder.path().join("tmp");
    fs::create_dir(&temp)?;
    let place = Position { env: place.env.clone().set("TMPDIR", temp.display().to_string()), ..place };
    let began = Instant::now();
    let out = place.call(&[&binary.display().to_string(), "run", "--example", "team", "--yes"]);
    let took = began.elapsed().as_secs_f64();
    place.down(binary);
    out.context("run --example team")?;
    let coder = longest(&temp, |task, role| role.is_none() && !task.starts_with("docs-"))?;
    let architect = longest(&temp, |_, role| role == Some("architect"))?;
    Ok((took, coder, architect))
}

/// Returns the tokens of the longest worker prompt that a rule selects by task and role; the folders of workers lie
/// below `folder`.
fn longest(folder: &Path, is_meant: impl Fn(&str, Option<&str>) -> bool) -> anyhow::Result<f64> {
    let mut longest = 0.0_f64;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.file_name() == "spec.json" {
                let spec: Value = serde_json::from_slice(&fs::read(entry.path())?)?;
                let of = |name: &str| {
                    let mut all = spec["env"].as_array()?.iter();
                    all.find(|entry| entry[0] == name).and_then(|entry| entry[1].as_str())
                };
                if is_meant(of("SWITCHBOARD_TASK").unwrap_or_default(), of("SWITCHBOARD_ROLE")) {
                    longest = longest.max(tokens(&fs::read_to_string(folder.join(TASK_FILE))?));
                }
            }
        }
    }
    ensure!(longest > 0.0, "nobody was told anything");
    Ok(longest)
}

/// Returns the tokens of all prompts and answers of a small plan's agents, and the median milliseconds between the end
/// of a judge's turn and the next judge.
fn words(binary: &Path, is_team: bool) -> anyhow::Result<(f64, f64)> {
    let place = Position::new()?;
    fs::write(place.repo().join("README.md"), "# Sums\n")?;
    place.commit()?;
    place.agents(&["ada", "ben", "cem"], "echo \"echo $SWITCHBOARD_TASK\" > \"sum$SWITCHBOARD_TASK.sh\"; say done")?;
    let task = |number: usize| {
        let id = format!("1.{number}");
        let file = format!("sum{id}.sh");
        json!({ "id": id, "phase": 1, "description": format!("Print the number of the task from {file}"), "acceptance": "it is printed",
                "files_touched": [file], "x-switchboard": { "agent": "ada" } })
    };
    let tasks: Vec<_> = (1..=TASKS).map(task).collect();
    let plan = json!({ "schema_version": "1.0.0", "title": "Sums", "swarm": "bench", "x-switchboard": { "max_workers": 1, "team": is_team },
        "phases": [{ "id": 1, "name": "P", "tasks": tasks }] });
    let flags = ["--role", "reviewer=ben", "--role", "test_engineer=cem", "--role", "explorer=ben"];
    let is_done = place.run(binary, &plan, if is_team { &flags } else { &[] })?;
    let log = |number: usize| place.call(&[&binary.display().to_string(), "log", &format!("1.{number}"), "--json"]);
    let between = match is_team {
        true => (1..=TASKS).map(log).collect::<anyhow::Result<Vec<_>>>()?.iter().flat_map(|log| between(log)).collect(),
        false => vec![0.0],
    };
    place.down(binary);
    ensure!(is_done, "the run of {} did not succeed", if is_team { "a team" } else { "one agent" });
    ensure!(!between.is_empty(), "no two steps follow each other");
    Ok((place.prompts()?.iter().map(|(_, text)| tokens(text)).sum(), median(between)))
}

/// Returns the milliseconds from the end of each turn to the start of the next worker of the task, if no gate judges
/// between them.
fn between(log: &str) -> Vec<f64> {
    let (mut ended, mut between) = (None, Vec::new());
    for line in log.lines() {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        let (kind, at) = (event["kind"].as_str().unwrap_or_default(), event["ts"].as_f64());
        match kind {
            "turn_ended" => ended = at,
            "gate_reported" => ended = None,
            "worker_intended" => between.extend(ended.take().zip(at).map(|(before, at)| at - before)),
            _ => {}
        }
    }
    between
}
