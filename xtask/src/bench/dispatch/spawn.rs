//! The start of a worker compared with its unavoidable part: a work tree and two processes, measured alternately.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchboard_process::clock;

use crate::bench::daemon::{Client, TestRepo, call};
use crate::bench::stats::{median, rounded};
use crate::command::{command, output};

/// Number of starts that are timed.
const STARTS: usize = 25;
/// Number of starts before these.
const WARM: usize = 3;
/// Number of files in the repository.
const FILES: usize = 200;
/// Time limit of a worker's start.
const LIMIT: Duration = Duration::from_secs(30);
/// Shell command that prints the time of day with a builtin, before anything else.
const STAMP: &str = "echo $EPOCHREALTIME > \"$0\"";

/// Results of the measurement.
pub(super) struct Spawn {
    pub(super) ratio: f64,
    pub(super) details: Value,
}

/// Measures the time from the request of a run with one task until its agent's first instruction ÷ that of `git
/// worktree add` and two such processes.
///
/// # Errors
/// When the daemon or git fails.
pub(super) fn measure(binary: &Path) -> anyhow::Result<Spawn> {
    let repo = TestRepo::new(binary)?;
    fill(&repo)?;
    let (_daemon, _) = repo.start()?;
    let mut client = repo.connect("person")?;
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for number in 0..WARM + STARTS {
        let stamp = repo.repo().with_file_name(format!("stamp-{number}"));
        let (worker, git) = (worker(&mut client, number, &stamp)?, plain_start(&repo, number)?);
        if number >= WARM {
            ours.push(worker);
            plain.push(git);
        }
    }
    let (ours, plain) = (median(ours), median(plain));
    let details =
        json!({ "worker_ms": rounded(ours * 1e3), "plain_ms": rounded(plain * 1e3), "starts": STARTS, "files": FILES });
    Ok(Spawn { ratio: ours / plain, details })
}

fn fill(repo: &TestRepo) -> anyhow::Result<()> {
    let root = repo.repo();
    for number in 0..FILES {
        let folder = root.join(format!("src/part-{}", number % 10));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("file-{number}.txt")), format!("file {number}\n").repeat(50))?;
    }
    output(command("git", &root).args(["add", "--all"]))?;
    let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    output(command("git", &root).args(who).args(["commit", "--quiet", "--message=files"]))?;
    Ok(())
}

/// Returns the seconds from the request to the agent's first instruction. Waits for the end of the run.
fn worker(client: &mut Client, number: usize, stamp: &Path) -> anyhow::Result<f64> {
    let plan = json!({ "schema_version": "1.0.0", "title": format!("Start {number}"), "swarm": "bench", "phases": [{ "id": 1, "name": "P",
        "tasks": [{ "id": "1.1", "phase": 1, "description": "start" }] }] });
    let driver = json!({ "driver": "exec", "argv": ["bash", "-c", STAMP, stamp] });
    let agents = json!([{ "name": "starter", "driver": driver, "attempts": 1 }]);
    #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 have 41 bits")]
    let began = clock::now().0 as f64 / 1e3;
    let reply =
        call(client, "start_run", json!({ "plan": plan.to_string(), "agents": agents, "default_agent": "starter" }))?;
    let run = reply["run"].as_str().context("no run")?.to_owned();
    let until = Instant::now() + LIMIT;
    while call(client, "get_run", json!({ "run": run }))?["state"] == "running" {
        ensure!(Instant::now() < until, "the run does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    let text = std::fs::read_to_string(stamp)?;
    let first: f64 = text.trim().replace(',', ".").parse().context("a time of day")?;
    Ok(first - began)
}

/// Returns the seconds for a work tree and two processes.
fn plain_start(repo: &TestRepo, number: usize) -> anyhow::Result<f64> {
    let tree = repo.repo().with_file_name(format!("tree-{number}"));
    let began = Instant::now();
    output(
        command("git", &repo.repo()).args(["worktree", "add", "--quiet", "-b", &format!("plain-{number}")]).arg(&tree),
    )?;
    for _ in 0..2 {
        let mut shell = command("bash", &tree);
        shell.args(["-c", STAMP, "/dev/null"]).stdout(Stdio::null());
        ensure!(shell.status()?.success(), "bash fails");
    }
    Ok(began.elapsed().as_secs_f64())
}
