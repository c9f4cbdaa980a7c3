//! A disk that fills up in the middle of a run: the run pauses with the reason, everything is kept, and it continues
//! once there is room.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use switchboard_process::spawn::Spawn;

use super::sandbox::{Sandbox, within};

/// Maximum wait for an expected state.
const PATIENCE: Duration = Duration::from_secs(60);

/// A small file system, which only root can mount.
struct SmallDisk(PathBuf);

// === impl SmallDisk ===

impl SmallDisk {
    /// Mounts the file system; returns `None` where nothing can be mounted.
    fn mount(at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let place = at.display().to_string();
        let done = Spawn::new(["mount", "-t", "tmpfs", "-o", "size=16m", "none", &place]).output();
        if done.is_ok_and(|output| output.succeeded()) {
            return Some(Self(at.to_owned()));
        }
        eprintln!("no small disk can be mounted here: nothing is tested");
        None
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }

    /// Makes a shell line that leaves no room on the disk.
    fn fill(&self) -> String {
        format!("dd if=/dev/zero of={} bs=4k 2>/dev/null; true", self.ballast().display())
    }

    fn make_room(&self) {
        std::fs::remove_file(self.ballast()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let place = self.0.display().to_string();
        // Lazily: a process whose current folder is below it would make the unmount fail.
        drop(Spawn::new(["umount", "--lazy", &place]).output());
    }
}

fn task(id: &str, depends: &[&str], line: &str) -> serde_json::Value {
    json!({ "id": id, "phase": 1, "description": "d", "depends": depends,
        "x-switchboard": { "command": ["sh", "-c", line] } })
}

/// Asserts that the newest run is paused for the disk, and that nothing of it was given up.
#[track_caller]
fn is_paused(sandbox: &Sandbox) {
    let is_paused = || sandbox.call(&["get_run"])["paused"] == "disk";
    assert!(within(PATIENCE, is_paused), "{}", sandbox.call(&["get_run"]));
    let given_up = sandbox.call(&["read_events", "kinds:=[\"task_blocked\", \"task_refused\", \"run_finished\"]"]);
    assert_eq!(given_up["events"], json!([]));
}

/// Makes room and lets the run continue to its end.
#[track_caller]
fn goes_on(sandbox: &Sandbox, disk: &SmallDisk, merged: &str) {
    disk.make_room();
    let run = sandbox.call(&["get_run"])["run"].as_str().unwrap().to_owned();
    sandbox.switchboard(&["resume", &run]).ends_with(0);
    sandbox.switchboard(&["run", "--resume", &run]).ends_with(0).says(merged);
    sandbox.switchboard(&["verify"]).ends_with(0).says("hash chain verified");
}

#[test]
fn a_run_that_finds_no_room_for_a_work_tree_pauses_and_goes_on_once_there_is_some() {
    let sandbox = Sandbox::new();
    let Some(disk) = SmallDisk::mount(&sandbox.folder().join("trees")) else { return };
    sandbox.run(["sh", "-c", &disk.fill()], sandbox.folder(), "").ends_with(0);
    let plan = sandbox.trusted_plan(&json!([task("1.1", &[], "echo x > one")]));
    let trees = disk.0.canonicalize().unwrap().display().to_string();

    let run = sandbox.run_aside(&[&plan, "--yes", "--worktrees", &trees]);
    is_paused(&sandbox);
    let ended = run.join().unwrap().ends_with(4);
    ended.says("the disk is full").says("switchboard resume run_");

    goes_on(&sandbox, &disk, "1 of 1 tasks merged");
}

#[test]
fn a_change_that_can_not_be_captured_for_want_of_room_is_kept_until_there_is_some() {
    let sandbox = Sandbox::empty();
    let Some(disk) = SmallDisk::mount(&sandbox.root()) else { return };
    sandbox.git(&["init", "--quiet", "--initial-branch=main"]);
    sandbox.write(".gitignore", "/ballast\n");
    sandbox.write("src/lib.rs", "//! A crate.\n");
    sandbox.commit("start");
    let line = format!("head -c 100000 /dev/urandom | base64 > one; {}", disk.fill());
    let plan = sandbox.trusted_plan(&json!([task("1.1", &[], &line), task("1.2", &["1.1"], "wc -c < one > two")]));

    let run = sandbox.run_aside(&[&plan, "--yes"]);
    is_paused(&sandbox);
    run.join().unwrap().ends_with(4);

    goes_on(&sandbox, &disk, "2 of 2 tasks merged");
    let branch = sandbox.call(&["get_run"])["branch"].as_str().unwrap().to_owned();
    let size = sandbox.git(&["cat-file", "-s", &format!("{branch}:one")]);
    assert_eq!(sandbox.git(&["show", &format!("{branch}:two")]).trim(), size.trim());
    drop(sandbox.switchboard(&["down"]));
}

#[test]
fn a_gate_that_fails_on_a_full_disk_judges_again_once_there_is_room_and_spends_no_attempt() {
    let sandbox = Sandbox::new();
    let Some(disk) = SmallDisk::mount(&sandbox.folder().join("trees")) else { return };
    let mark = sandbox.folder().join("mark").display().to_string();
    let test = format!("if test -e {mark}; then exit 0; fi; touch {mark}; {}; exit 1", disk.fill());
    let plan = sandbox.trusted_plan_with(&json!({ "test": test }), &json!([task("1.1", &[], "echo x > one")]));
    let trees = disk.0.canonicalize().unwrap().display().to_string();

    let run = sandbox.run_aside(&[&plan, "--yes", "--worktrees", &trees]);
    is_paused(&sandbox);
    run.join().unwrap().ends_with(4);

    goes_on(&sandbox, &disk, "1 of 1 tasks merged");
    assert_eq!(sandbox.call(&["get_run"])["list"][0]["attempts"], 1);
}

#[test]
fn a_rebase_that_finds_no_room_is_done_once_there_is_some_and_spends_no_attempt() {
    let sandbox = Sandbox::empty();
    let Some(disk) = SmallDisk::mount(&sandbox.root()) else { return };
    sandbox.git(&["init", "--quiet", "--initial-branch=main"]);
    sandbox.write(".gitignore", "/ballast\n");
    sandbox.write("src/lib.rs", "//! A crate.\n");
    sandbox.commit("start");
    let mark = |name: &str| sandbox.folder().join(name).display().to_string();
    let (go, full) = (mark("go"), mark("full"));
    // The gate of the second change fills the disk once the first is merged, so that the rebase finds it full.
    let test = format!(
        "if test -e {full} || ! test -e two; then exit 0; fi; touch {full}; \
         while [ ! -e {go} ]; do sleep 0.05; done; {}; exit 0",
        disk.fill()
    );
    let line = |name: &str| format!("head -c 20000 /dev/urandom | base64 > {name}");
    let plan = sandbox.trusted_plan_with(
        &json!({ "test": test, "gates": ["+test_runner"] }),
        &json!([task("1.1", &[], &line("one")), task("1.2", &[], &line("two"))]),
    );

    let run = sandbox.run_aside(&[&plan, "--yes", "--max-workers", "2"]);
    let is_first_merged = || sandbox.call(&["get_run"])["list"][0]["state"] == "merged";
    let is_begun = || sandbox.call(&["get_status"])["runs"].as_array().is_some_and(|runs| !runs.is_empty());
    assert!(within(PATIENCE, is_begun) && within(PATIENCE, is_first_merged), "{}", sandbox.call(&["get_run"]));
    std::fs::write(&go, "").unwrap();
    is_paused(&sandbox);
    run.join().unwrap().ends_with(4);
    let log = sandbox.switchboard(&["log"]).ends_with(0).out;
    assert!(!log.contains("rebased"), "{log}");

    goes_on(&sandbox, &disk, "2 of 2 tasks merged");
    assert_eq!(sandbox.call(&["get_run"])["list"][1]["attempts"], 1);
    drop(sandbox.switchboard(&["down"]));
}

#[test]
fn a_run_whose_budget_is_spent_when_the_disk_is_full_merges_what_it_has_and_then_wants_a_higher_ceiling() {
    let sandbox = Sandbox::empty();
    let Some(disk) = SmallDisk::mount(&sandbox.root()) else { return };
    sandbox.git(&["init", "--quiet", "--initial-branch=main"]);
    sandbox.write(".gitignore", "/ballast\n");
    sandbox.write("src/lib.rs", "//! A crate.\n");
    sandbox.commit("start");
    let line = format!("head -c 100000 /dev/urandom | base64 > one; {}", disk.fill());
    let plan = sandbox.trusted_plan(&json!([task("1.1", &[], &line), task("1.2", &["1.1"], "echo y > two")]));

    // Commands report no cost: each counts as its reservation.
    let run = sandbox.run_aside(&[&plan, "--yes", "--budget", "1", "--reserve", "0.6"]);
    is_paused(&sandbox);
    run.join().unwrap().ends_with(4);
    let run = sandbox.call(&["get_run"])["run"].as_str().unwrap().to_owned();

    disk.make_room();
    sandbox.switchboard(&["resume", &run]).ends_with(0);
    sandbox.switchboard(&["run", "--resume", &run]).ends_with(4);
    let held = sandbox.call(&["get_run"]);
    assert_eq!((&held["merged"], &held["paused"]), (&json!(1), &json!("budget")), "{held}");
    let refused = sandbox.switchboard(&["resume", &run, "--json"]).ends_with(2).failure();
    assert_eq!(refused["code"], "dispatch.budget", "{refused}");

    sandbox.switchboard(&["budget", &run, "--budget", "3", "--yes"]).ends_with(0);
    sandbox.switchboard(&["run", "--resume", &run]).ends_with(0).says("2 of 2 tasks merged");
    drop(sandbox.switchboard(&["down"]));
}
