//! Signal files: pause, resume and stop while no daemon answers.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use switchboard_process::fingerprint::Fingerprint;
use switchboard_process::spawn::Spawn;

use super::sandbox::{BINARY, Sandbox, within};

/// Maximum wait for an expected state.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run whose worker calls one tool after the other until a file exists.
struct Stage {
    sandbox: Sandbox,
    run: String,
    /// Folder of the worker.
    worker: PathBuf,
}

// === impl Stage ===

impl Stage {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let go = sandbox.folder().join("go").display().to_string();
        let tool = json!({ "do": "shell", "argv": ["sh", "-c", format!("test -e {go} || sleep 0.2")] });
        let many: Vec<Value> =
            std::iter::repeat_n(tool, 500).chain([json!({ "do": "write", "path": "a", "content": "a" })]).collect();
        sandbox.script("ada", &json!([{ "steps": many }, { "turn": 2, "steps": many }, { "turn": 3, "steps": many }]));
        let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));
        sandbox.switchboard(&["up", "--detach"]).ends_with(0);
        let run = Spawn::new([BINARY, "run", &plan, "--agent", "ada", "--yes"]);
        run.cwd(sandbox.root()).env_only(sandbox.environment()).detached(None).unwrap();
        let is_at_work = || {
            let status = sandbox.call(&["get_status"]);
            status["runs"].as_array().is_some_and(|runs| !runs.is_empty())
                && sandbox.call(&["get_run"])["list"][0]["doing"] != json!(null)
        };
        assert!(within(PATIENCE, is_at_work));
        let shown = sandbox.call(&["show_task", "task=1.1"]);
        let text = |field: &str| shown[field].as_str().unwrap().to_owned();
        Self { run: text("run"), worker: PathBuf::from(text("folder")), sandbox }
    }

    /// Kills the daemon, and makes sure that no command can start another one: the client of the run would at once. So the
    /// daemon is halted first, and still holds its lock while the store is replaced.
    fn without_daemon(&self) -> Broken {
        let pid = self.sandbox.call(&["get_status"])["pid"].as_u64().unwrap();
        let daemon = Fingerprint::of(u32::try_from(pid).unwrap()).unwrap();
        let state = self.worker.ancestors().nth(4).unwrap().to_owned();
        assert!(daemon.signal(Signal::STOP));
        let (store, aside) = (state.join("store.db"), state.join("aside.db"));
        std::fs::rename(&store, &aside).unwrap();
        std::fs::create_dir(&store).unwrap();
        assert!(daemon.signal(Signal::KILL));
        assert!(within(PATIENCE, || !daemon.is_alive()), "the daemon does not die");
        Broken { store, aside }
    }

    /// Returns what the worker's shim has recorded, in order.
    fn pauses(&self) -> Vec<String> {
        let journal = std::fs::read_to_string(self.worker.join("frames.jsonl")).unwrap();
        let frames = journal.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        frames.filter_map(|frame| Some(frame["event"]["state"].as_str()?.to_owned())).collect()
    }

    fn signals(&self) -> PathBuf {
        self.worker.ancestors().nth(2).unwrap().join("signals")
    }
}

/// A repository in which no daemon can start.
struct Broken {
    store: PathBuf,
    aside: PathBuf,
}

// === impl Broken ===

impl Broken {
    fn mend(self) {
        std::fs::remove_dir_all(&self.store).unwrap();
        std::fs::rename(&self.aside, &self.store).unwrap();
    }
}

#[test]
fn a_worker_without_a_daemon_pauses_and_resumes_by_files_and_the_record_has_both() {
    let stage = Stage::new();
    let (sandbox, run) = (&stage.sandbox, stage.run.as_str());
    let broken = stage.without_daemon();

    let paused = sandbox.switchboard(&["pause", run]).ends_with(0).says("no daemon answers").says("signals/1.json");
    assert!(paused.out.contains("has carried it out"), "{}", paused.out);
    assert!(within(PATIENCE, || stage.pauses() == ["pausing", "paused"]), "{:?}", stage.pauses());
    std::fs::write(stage.signals().join("note.txt"), "stop").unwrap();
    std::fs::write(stage.signals().join("2.json"), r#"{"n":2,"type":"stopp","from":"x","at":1}"#).unwrap();
    let resumed = sandbox.switchboard(&["resume", run, "--json"]).ends_with(0).json();
    assert_eq!((&resumed["signals"], &resumed["not_read"]), (&json!([3]), &json!(["note.txt"])), "{resumed}");
    assert!(within(PATIENCE, || stage.pauses() == ["pausing", "paused", "resumed"]), "{:?}", stage.pauses());

    broken.mend();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    // A person's `run --resume` would end the pause, too, if it were faster than the last of the files.
    let is_recorded = || stage.signals().join("3.daemon.done.json").exists();
    assert!(within(PATIENCE, is_recorded), "the daemon does not record the signals");
    std::fs::write(sandbox.folder().join("go"), "").unwrap();
    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("1 of 1 tasks merged");
    let kinds = ["run_paused", "run_resumed"].map(|kind| {
        let events = sandbox.call(&["read_events", &format!("kinds:=[\"{kind}\"]")]);
        events["events"].as_array().unwrap().len()
    });
    assert_eq!(kinds, [1, 1], "each is recorded once");
    assert_eq!(stage.pauses(), ["pausing", "paused", "resumed"], "and not carried out again");
    let done = |n: u32| {
        let text = std::fs::read_to_string(stage.signals().join(format!("{n}.daemon.done.json"))).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()
    };
    assert_eq!(done(1).get("refused"), None);
    assert!(done(2)["refused"].as_str().unwrap().contains("did you mean stop?"), "{}", done(2));
    assert_eq!(done(3).get("refused"), None);
}

#[test]
fn a_run_that_was_stopped_by_a_file_stays_stopped_when_the_daemon_is_back() {
    let stage = Stage::new();
    let (sandbox, run) = (&stage.sandbox, stage.run.as_str());
    let broken = stage.without_daemon();

    let wrong = sandbox.switchboard(&["stop", "run_zz", "--json"]);
    assert_eq!(wrong.ends_with(1).failure()["code"], "io.denied", "why no daemon can be started");
    sandbox.switchboard(&["stop", run]).ends_with(0).says("signals/1.json");
    let is_over = || std::fs::read_to_string(stage.worker.join("frames.jsonl")).unwrap().contains("agent_exited");
    assert!(within(PATIENCE, is_over), "the agent is ended without a daemon");

    broken.mend();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let state = || sandbox.call(&["get_run"])["state"].as_str().unwrap().to_owned();
    assert!(within(PATIENCE, || state() == "stopped"), "{}", sandbox.call(&["get_run"]));
    assert_eq!(sandbox.call(&["get_run"])["list"][0]["state"], "stopped");
}
