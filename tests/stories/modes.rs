//! Tasks with several workers: chains, debates, the best of several tries; and reports.

use serde_json::{Value, json};

use super::sandbox::Sandbox;

/// Makes a trusted plan of one task with these settings.
fn plan(sandbox: &Sandbox, plan_settings: &Value, settings: &Value) -> String {
    let task = json!({ "id": "1.1", "phase": 1, "description": "make it good", "x-switchboard": settings });
    sandbox.trusted_plan_with(plan_settings, &json!([task]))
}

fn shell(line: &str) -> Value {
    json!(["sh", "-c", line])
}

#[test]
fn a_chain_hands_tree_and_words_on_from_step_to_step_and_its_last_change_is_judged_and_merged() {
    let sandbox = Sandbox::new();
    let chain = json!([
        { "command": shell("echo one > a.txt; printf 'first $& {previous}'"), "prompt": "begin with {task}" },
        { "command": shell("cat > told.txt; cat a.txt > b.txt; rm a.txt; echo second"), "prompt": "<{previous}>" },
        { "command": shell("cat >> told.txt"), "prompt": "[{step:1}] [{previous}]" },
    ]);
    let path = plan(&sandbox, &json!({ "test": "test -e b.txt && test ! -e a.txt" }), &json!({ "chain": chain }));

    sandbox.switchboard(&["run", &path, "--dry-run"]).ends_with(0).says("1.1.s1").says("1.1.s2");
    let done = sandbox.switchboard(&["run", &path, "--yes", "--merge"]);
    done.ends_with(0).says("1 of 1 tasks merged");

    let told = sandbox.read("told.txt");
    assert!(told.contains("<first $& {previous}>"), "{told}");
    assert!(told.contains("[first $& {previous}] [second\n]"), "{told}");
    assert_eq!(sandbox.read("b.txt"), "one\n");
    assert_eq!(sandbox.git(&["branch", "--list", "switchboard-task/*"]), "", "nothing is left of its steps");
    sandbox.switchboard(&["show", "1.1.s1", "--answer"]).ends_with(0).says("first $& {previous}");
}

#[test]
fn a_chain_goes_on_at_the_step_that_failed() {
    let sandbox = Sandbox::new();
    let mended = sandbox.folder().join("mended");
    let line = format!("test -e {} || exit 3; echo two >> a.txt", mended.display());
    let once = sandbox.folder().join("once");
    let first = format!("echo one >> a.txt; echo run >> {}", once.display());
    let chain = json!([
        { "command": shell(&first), "prompt": "1" }, { "command": shell(&line), "prompt": "2 {previous}" },
    ]);
    let path = plan(&sandbox, &json!({}), &json!({ "chain": chain }));
    sandbox.switchboard(&["run", &path, "--yes"]).ends_with(1).says("1.1.s1").says("exit code 3");

    std::fs::write(&mended, "").unwrap();
    sandbox.switchboard(&["retry", "1.1"]).ends_with(0);
    sandbox.switchboard(&["run", "--resume"]).ends_with(0);

    assert_eq!(std::fs::read_to_string(&once).unwrap(), "run\n", "the first step is not done again");
    sandbox.switchboard(&["merge"]).ends_with(0);
    assert_eq!(sandbox.read("a.txt"), "one\ntwo\n");
}

#[test]
fn the_smallest_of_the_changes_that_pass_is_merged_and_the_others_are_kept() {
    let sandbox = Sandbox::new();
    let line = "case $SWITCHBOARD_TASK in *c1) seq 9 > x.txt;; *c2) echo bad > x.txt;; *) echo good > x.txt;; esac";
    let settings = json!({ "best_of": 3, "command": shell(line) });
    let path = plan(&sandbox, &json!({ "test": "! grep -q bad x.txt", "max_workers": 3 }), &settings);

    let done = sandbox.switchboard(&["run", &path, "--yes", "--merge"]);

    done.ends_with(0).says("1.1").says("takes the change of 1.1.c3, the best of 3").says("1 of 1 tasks merged");
    assert_eq!(sandbox.read("x.txt"), "good\n");
    let kept = sandbox.git(&["branch", "--list", "switchboard-task/*"]);
    assert!(kept.contains("1.1.c1") && kept.contains("1.1.c2"), "{kept}");
    sandbox.switchboard(&["clean", "--yes"]).ends_with(0);
}

#[test]
fn agents_of_different_names_try_the_same_task_and_nobody_has_to_do_it_himself() {
    let sandbox = Sandbox::new();
    let agent = |name: &str, line: &str| {
        format!("[agents.{name}]\ndriver = \"exec\"\ncommand = [\"sh\", \"-c\", \"{line}\"]\nspends = false\n")
    };
    sandbox.settings(&[agent("long", "seq 5 > x.txt"), agent("short", "echo 1 > x.txt")].concat());
    let path = plan(&sandbox, &json!({}), &json!({ "best_of": ["long", "short"] }));

    let done = sandbox.switchboard(&["run", &path, "--yes", "--merge"]);

    done.ends_with(0).says("takes the change of 1.1.c2, the best of 2");
    assert_eq!(sandbox.read("x.txt"), "1\n");
    let authors = sandbox.git(&["log", "--format=%an"]);
    assert!(authors.contains("short"), "its author is who wrote it: {authors}");
}

#[test]
fn a_debate_has_rounds_in_which_nobody_knows_what_is_said_beside_him() {
    let sandbox = Sandbox::new();
    let speak = "cat > /dev/null; echo I am $SWITCHBOARD_TASK";
    let participants = json!([
        { "command": shell(speak), "prompt": "You are for it." },
        { "command": shell("cat > heard.txt; grep -c 'I am' heard.txt; exit 0") },
        { "command": shell("exit 5") },
    ]);
    let settings = json!({ "command": shell("cat > told.txt"),
        "debate": { "participants": participants, "rounds": 2, "quorum": 2 } });
    let path = plan(&sandbox, &json!({ "max_workers": 4 }), &settings);

    let done = sandbox.switchboard(&["run", &path, "--yes", "--merge"]);

    done.ends_with(0).says("1 of 1 tasks merged");
    let told = sandbox.read("told.txt");
    assert!(told.contains("--- round 1, participant:\nI am 1.1.r1.p1\n"), "{told}");
    assert!(told.contains("--- round 1, participant-2:\n0\n"), "nobody had spoken: {told}");
    assert!(told.contains("--- round 2, participant-2:\n1\n"), "one had spoken in round 1: {told}");
    assert!(told.contains("--- round 2, participant-3: no reply\n"), "{told}");
    assert!(!std::path::Path::new(&sandbox.root()).join("heard.txt").exists(), "what a participant leaves is not kept");
}

#[test]
fn a_debate_ends_with_the_round_in_which_all_agree() {
    let sandbox = Sandbox::new();
    let speak = "cat > /dev/null; echo $SWITCHBOARD_TASK; case $SWITCHBOARD_TASK in *r1*) ;; *) echo '[agree]';; esac";
    let participants =
        json!([{ "command": shell(speak) }, { "command": shell(speak) }, { "command": shell("exit 5") }]);
    let settings = json!({ "command": shell("cat"), "result": "report",
        "debate": { "participants": participants, "rounds": 5, "quorum": 2 } });
    let path = plan(&sandbox, &json!({ "max_workers": 4 }), &settings);

    let done = sandbox.switchboard(&["run", &path, "--yes"]);

    let out = done.ends_with(0).out;
    assert_eq!(out.matches("is not held: all agree").count(), 3 * 2, "{out}");
    let told = sandbox.switchboard(&["show", "1.1", "--answer"]).ends_with(0).out;
    assert!(told.contains("--- round 2, participant-2:\n1.1.r2.p2\n[agree]\n"), "{told}");
    assert!(told.contains("All who replied in round 2 agreed") && !told.contains("--- round 3"), "{told}");
    let page = sandbox.call(&["read_events", "subject=worker/", "limit:=1000"]);
    let workers = page["events"].as_array().unwrap();
    let equipped = workers.iter().filter(|event| event["kind"] == "worker_equipped").count();
    assert_eq!(equipped, 2 * 3 + 1, "nobody works in the rounds that are not held: {workers:?}");
    sandbox.switchboard(&["verify"]).ends_with(0);
}

#[test]
fn a_verdict_takes_what_a_participant_has_left_and_the_other_proposals_stay_in_their_branches() {
    let sandbox = Sandbox::new();
    let propose = |words: &str| shell(&format!("cat > /dev/null; echo {words} > done.txt; echo I have done it"));
    let participants =
        json!([{ "command": propose("bad") }, { "command": propose("good") }, { "command": shell("echo no") }]);
    let decide = "if grep -q 'was refused'; then echo '[take: participant-2]'; else echo '[take: participant]'; fi";
    let settings = json!({ "command": shell(decide), "attempts": 2,
        "debate": { "participants": participants, "rounds": 1, "quorum": 2 } });
    let path = plan(&sandbox, &json!({ "max_workers": 4, "test": "! grep -q bad done.txt" }), &settings);

    let done = sandbox.switchboard(&["run", &path, "--yes", "--merge"]);

    done.ends_with(0).says("1 of 1 tasks merged");
    assert_eq!(sandbox.read("done.txt"), "good\n", "the first choice was refused by the gates");
    let kept = sandbox.git(&["branch", "--list", "switchboard-task/*"]);
    assert!(kept.contains("1.1.r1.p1") && kept.contains("1.1.r1.p2") && !kept.contains("p3"), "{kept}");
    let clean = sandbox.switchboard(&["clean", "--yes"]).ends_with(0);
    clean.says("1.1.r1.p1");
}

#[test]
fn a_verdict_that_takes_what_is_not_there_is_held_for_a_person() {
    let sandbox = Sandbox::new();
    let participants = json!([{ "command": shell("echo for") }, { "command": shell("echo against") }]);
    let settings =
        json!({ "command": shell("echo '[take: nobody]'"), "debate": { "participants": participants, "rounds": 1 } });
    let path = plan(&sandbox, &json!({ "max_workers": 4 }), &settings);

    let done = sandbox.switchboard(&["run", &path, "--yes"]);

    done.ends_with(1).says("the verdict takes the change of nobody, and nobody left one");
}

#[test]
fn a_report_is_what_the_worker_says_and_changes_nothing() {
    let sandbox = Sandbox::new();
    let line = "echo left > left.txt; printf 'the answer is \\033[31m42\\033[0m\\n'";
    let path = plan(&sandbox, &json!({}), &json!({ "result": "report", "command": shell(line) }));

    let done = sandbox.switchboard(&["run", &path, "--yes"]);

    done.ends_with(0).says("is done").says("1.1 says:").says("the answer is 42");
    sandbox.switchboard(&["show", "1.1"]).ends_with(0).says("state     done").says("the answer is 42");
    let reply = sandbox.switchboard(&["call", "show_task", "task=1.1", "answer_from=4"]);
    reply.ends_with(0).says("answer is 42");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn settings_that_do_not_go_together_are_refused_before_anything_starts() {
    let sandbox = Sandbox::new();
    let path = plan(&sandbox, &json!({}), &json!({ "best_of": 2, "result": "report", "command": shell("true") }));

    sandbox.switchboard(&["run", &path, "--yes"]).ends_with(2).says("plan.mode");
    sandbox.switchboard(&["explain", "plan.mode"]).ends_with(0);
}

#[test]
fn a_phase_a_slice_or_a_task_of_a_plan_is_run_alone() {
    let sandbox = Sandbox::new();
    let task = |id: &str, phase: u64, depends: &[&str], slice: &str| {
        json!({ "id": id, "phase": phase, "description": "d", "depends": depends,
            "x-switchboard": { "slice": slice, "command": shell(&format!("echo x > {id}.txt")) } })
    };
    let path = sandbox.trusted_phases(&json!({}), &json!([
        { "id": 1, "name": "P", "tasks": [task("1.1", 1, &[], "api"), task("1.2", 1, &[], "ui"), task("1.3", 1, &["1.2"], "ui")] },
        { "id": 2, "name": "Q", "tasks": [task("2.1", 2, &[], "end")] },
    ]));
    let run = |flags: &[&str]| sandbox.switchboard(&[&["run", &path, "--yes", "--merge"], flags].concat());

    run(&["--task", "1.3"]).ends_with(2).says("plan.scope-depends").says("1.2");
    run(&["--phase", "1", "--slice", "apj"]).ends_with(2).says("plan.unknown-scope").says("did you mean api?");
    run(&["--task", "1.1"]).ends_with(0).says("1 of 1 tasks merged").says("3 tasks of the plan are left out");
    run(&["--phase", "1", "--slice", "ui"]).ends_with(0).says("2 of 2 tasks merged");
    run(&["--phase", "2"]).ends_with(0).says("1 of 1 tasks merged").says("earlier phases");

    let files: Vec<_> = ["1.1", "1.2", "1.3", "2.1"].iter().map(|id| sandbox.read(&format!("{id}.txt"))).collect();
    assert_eq!(files, ["x\n"; 4]);
}
