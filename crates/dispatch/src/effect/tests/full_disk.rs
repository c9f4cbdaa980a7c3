//! Tests that what fails on a full disk is the disk's failure, and none of the change or of its set-up.

use switchboard_process::signal_files::Found;
use switchboard_protocol::finding::{CheckName, CheckVerdict};
use switchboard_protocol::run::way::When;
use switchboard_protocol::run::{CheckAsked, SetupCommand};
use switchboard_protocol::signal::SignalDone;

use super::super::judged::Judged;
use super::super::lint_fix::lint_fix;
use super::super::run_checks::run_checks;
use super::super::set_up::{MadeTree, TreeSetup, set_up};
use super::*;
use crate::port::Files;
use crate::port::files::Disk;

/// The disk, which is full by what it says; small files still find room.
struct Full;

impl Files for Full {
    fn make_folder(&self, path: &Path) -> Result<(), Error> {
        Disk.make_folder(path)
    }

    fn remove_empty_folder(&self, path: &Path) -> Result<(), Error> {
        Disk.remove_empty_folder(path)
    }

    fn is_folder(&self, path: &Path) -> bool {
        Disk.is_folder(path)
    }

    fn entries(&self, path: &Path) -> Result<Vec<PathBuf>, Error> {
        Disk.entries(path)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        Disk.write(path, bytes)
    }

    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, Error> {
        Disk.read(path)
    }

    fn signals(&self, folder: &Path) -> Result<Vec<Found>, Error> {
        Disk.signals(folder)
    }

    fn mark_signal(&self, folder: &Path, done: &SignalDone) -> Result<(), Error> {
        Disk.mark_signal(folder, done)
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        Disk.remove(path)
    }

    fn is_full(&self, _path: &Path) -> bool {
        true
    }
}

fn stand(task: &Value, setup: &[&str], verdict: CheckVerdict) -> Stand {
    let mut at = Stand::of_task(task, |plan| {
        let command =
            |script: &&str| SetupCommand { argv: ["sh", "-c", script].map(str::to_owned).to_vec(), lock: None };
        plan.setup = setup.iter().map(command).collect();
        plan.default_agent = AgentName::new("ann").ok();
        let driver = switchboard_protocol::frame::DriverSpec::Acp { argv: vec!["ann".to_owned()] };
        let choice = switchboard_protocol::verb::run::AgentChoice::new(AgentName::new("ann").unwrap(), driver);
        plan.agents.insert("ann".to_owned(), choice);
    });
    let answers = Arc::new(Answers::default());
    lock(&answers.reports).push(CheckReport::new(CheckName::Secretscan, verdict, "looked".to_owned()));
    let ports = &mut Arc::get_mut(&mut at.ctx.world).unwrap().ports;
    (ports.files, ports.checks) = (Arc::new(Full), answers);
    at
}

#[tokio::test]
async fn gates_that_refuse_a_change_on_a_full_disk_refuse_nothing_and_others_pass() {
    for (verdict, is_full) in [
        (CheckVerdict::Fail, true),
        (CheckVerdict::Error, true),
        (CheckVerdict::Pass, false),
        (CheckVerdict::Warn, false),
    ] {
        let at = stand(&json!({}), &[], verdict);
        let (commit, task, input) = (at.commits("a", "1"), task(), Digest::ZERO);
        let (commit, base) = (commit.as_str(), at.first.as_str());
        let judged = Judged { task: &task, attempt: 1, commit, base, tree_of: &task, declared: &[] };
        let checks = [CheckAsked { gate: "secretscan".to_owned(), input, when: When::Always }];

        let steps = run_checks(&at.ctx, judged, &checks).await;

        assert_eq!(steps.as_ref().err().is_some_and(Error::is_disk_full), is_full, "{verdict:?} {steps:?}");
    }
}

#[tokio::test]
async fn a_set_up_that_fails_on_a_full_disk_is_no_failure_of_its_command() {
    for (script, is_full) in [("exit 1", true), ("true", false)] {
        let at = stand(&json!({}), &[script], CheckVerdict::Pass);
        let path = at.makes_worktree(&at.first);
        let state = &at.ctx.world.config.state;
        let place = TreeSetup {
            mark: "wrk_1".to_owned(),
            ports: None,
            limit: Duration::from_secs(60),
            stamp: state.join("stamp"),
            log: state.join("log"),
            tree: MadeTree { path, is_new: true, is_clean: true },
        };

        let ended = set_up(&at.ctx, place, std::future::pending()).await;

        assert_eq!(ended.as_ref().err().is_some_and(Error::is_disk_full), is_full, "{ended:?}");
    }
}

#[tokio::test]
async fn nothing_is_fixed_by_a_linter_that_had_no_room() {
    let mut at = stand(&json!({}), &[], CheckVerdict::Pass);
    Arc::get_mut(&mut at.ctx.plan).unwrap().plan.switchboard =
        serde_json::from_value(json!({ "lint_fix": ["make", "tidy"] })).unwrap();
    let (commit, task) = (at.commits("a", "1"), task());
    let (commit, base) = (commit.as_str(), at.first.as_str());
    let judged = Judged { task: &task, attempt: 1, commit, base, tree_of: &task, declared: &[] };

    let fixed = lint_fix(&at.ctx, judged).await;

    assert!(fixed.as_ref().err().is_some_and(Error::is_disk_full), "{fixed:?}");
}
