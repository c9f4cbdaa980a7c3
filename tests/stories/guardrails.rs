//! Limits on a team's work: tasks of one purpose, roles that can't exceed their rights, workers that must make
//! progress, models that take over.

use serde_json::{Value, json};

use super::sandbox::{BINARY, Done, Sandbox};

const APPROVED: &str = r#"{"verdict":"APPROVED","risk":"low","issues":[],"checked":{"correctness":true,"edge_cases":true,"performance":true}}"#;

const PASSED: &str = r#"{"verdict":"PASS","added":[]}"#;

/// Makes an agent that is a command, with its work in each step in `cases`, `work` for the coder's. Each prompt is
/// kept.
fn agent(sandbox: &Sandbox, name: &str, cases: &[(&str, &str)]) {
    let script = sandbox.folder().join(format!("{name}.sh"));
    let mut text = "#!/bin/sh\ncat > \"$0.told.$SWITCHBOARD_TASK.${SWITCHBOARD_STEP:-work}\"\n".to_owned();
    text.push_str("say() { printf 'It is judged.\\n\\n```json\\n%s\\n```\\n' \"$1\"; }\n");
    text.push_str("case ${SWITCHBOARD_STEP:-work} in\n");
    for (step, line) in cases {
        text.push_str(&format!("{step}) {line} ;;\n"));
    }
    text.push_str("esac\n");
    std::fs::write(&script, text).unwrap();
    let command = json!(["sh", script]);
    sandbox
        .settings(&format!("[agents.{name}]\ndriver = \"exec\"\ncommand = {command}\nspends = false\nattempts = 3\n"));
}

/// Makes an agent that does its part in every step.
fn honest(sandbox: &Sandbox, work: &str) {
    let (approved, passed) = (format!("say '{APPROVED}'"), format!("say '{PASSED}'"));
    let secure = r#"{"verdict":"APPROVED","findings":[],"categories":["broken_access_control","cryptographic_failures","injection","insecure_design","security_misconfiguration","vulnerable_components","authentication_failures","integrity_failures","logging_failures","server_side_request_forgery"]}"#;
    let secure = format!("say '{secure}'");
    agent(sandbox, "ada", &[("work", work), ("security_review", &secure), ("*review", &approved), ("*", &passed)]);
}

fn told(sandbox: &Sandbox, task: &str, step: &str) -> String {
    std::fs::read_to_string(sandbox.folder().join(format!("ada.sh.told.{task}.{step}"))).unwrap()
}

fn task(id: &str, description: &str, files: &[&str]) -> Value {
    let phase: u64 = id[..1].parse().unwrap();
    json!({ "id": id, "phase": phase, "description": description, "acceptance": "it is there", "files_touched": files })
}

/// Runs a plan whose changes a team judges, without leading it.
fn team(sandbox: &Sandbox, path: &str, more: &[&str]) -> Done {
    let text = std::fs::read_to_string(path).unwrap();
    let mut plan: Value = serde_json::from_str(&text).unwrap();
    plan["x-switchboard"]["team"] = json!(true);
    std::fs::write(path, plan.to_string()).unwrap();
    let done = sandbox.switchboard(&[&["run", path, "--yes", "--merge", "--agent", "ada"], more].concat());
    std::fs::write(path, text).unwrap();
    done
}

/// Writes a role file of the user's.
pub(super) fn role(sandbox: &Sandbox, name: &str, lines: &str) {
    let folder = sandbox.folder().join("config/switchboard/roles");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.md")), format!("---\nname: {name}\n{lines}---\n")).unwrap();
}

#[test]
fn tasks_that_are_too_large_or_several_are_refused_all_at_once_with_what_to_do() {
    let sandbox = Sandbox::new();
    honest(&sandbox, "true");
    let mut vague = task("1.4", "Write the guide", &["guide.md"]);
    vague.as_object_mut().unwrap().remove("acceptance");
    let path = sandbox.plan(&json!([
        task("1.1", "Add the parser", &["a.sh", "b.sh", "c.sh"]),
        task("1.2", "Add the lexer and delete the scanner", &["a.sh"]),
        task("1.3", "Rename the crate", &["src"]),
        vague,
        task("1.5", "Implement tasks 1.1 and 1.2 as well", &["a.sh"]),
    ]));

    let refused = team(&sandbox, &path, &["--json"]).ends_with(2).failure();

    assert_eq!(refused["code"], "plan.task-size", "{refused}");
    let causes: Vec<_> = refused["cause"].as_array().unwrap().iter().map(|cause| cause.as_str().unwrap()).collect();
    for (found, remedy) in [
        ("task 1.1 touches 3 files", "split it"),
        ("task 1.2 joins two verbs", "make two tasks"),
        ("task 1.3 touches src, a folder", "name the files"),
        ("task 1.4 has no acceptance", "say in `acceptance`"),
        ("description of task 1.5 names 3 tasks", "delegate one task"),
    ] {
        let is_named = causes.iter().any(|cause| cause.contains(found) && cause.contains(remedy));
        assert!(is_named, "{found}: {causes:#?}");
    }
    sandbox.switchboard(&["run", &path, "--agent", "ada", "--dry-run"]).ends_with(0);
}

#[test]
fn a_phase_does_not_begin_before_the_one_before_it_or_without_the_roles_that_it_requires() {
    let sandbox = Sandbox::new();
    honest(&sandbox, "echo x > $SWITCHBOARD_TASK.sh");
    let phases = |required: &str| {
        json!([
            { "id": 1, "name": "one", "required_agents": [required], "tasks": [task("1.1", "Add it", &["1.1.sh"])] },
            { "id": 2, "name": "two", "tasks": [task("2.1", "Add it", &["2.1.sh"])] },
        ])
    };
    let refused = |required: &str, more: &[&str]| {
        let path = sandbox.trusted_phases(&json!({ "gates": ["-test_integrity"] }), &phases(required));
        let done = team(&sandbox, &path, &[more, &["--json"]].concat()).ends_with(2).failure();
        assert_eq!(done["code"], "plan.not-ready", "{done}");
        format!("{} {}", done["what"], done["hint"])
    };

    let unknown = refused("reviwer", &[]);
    assert!(unknown.contains("which does not exist") && unknown.contains("did you mean reviewer?"), "{unknown}");
    let idle = refused("story_docs", &[]);
    assert!(
        idle.contains("no step of a team's tasks has") && idle.contains("coder, reviewer, test_engineer"),
        "{idle}"
    );
    let early = refused("reviewer", &["--phase", "2"]);
    assert!(early.contains("task 1.1 of an earlier phase is not done") && early.contains("finish it"), "{early}");

    let path = sandbox.trusted_phases(&json!({ "gates": ["-test_integrity"] }), &phases("reviewer"));
    team(&sandbox, &path, &["--phase", "1", "--turbo"]).ends_with(0).says("review passed");
    team(&sandbox, &path, &["--phase", "2"]).ends_with(0).says("1 of 1 tasks merged");
}

#[test]
fn tiers_and_turbo_decide_who_judges_and_say_what_they_leave_out() {
    let sandbox = Sandbox::new();
    honest(&sandbox, "echo 'echo 2' > $(test $SWITCHBOARD_TASK = 1.1 && echo sum.sh || echo auth.sh)");
    let path = sandbox.trusted_plan_with(
        &json!({ "test": "true" }),
        &json!([task("1.1", "Return the sum", &["sum.sh"]), task("1.2", "Return the answer", &["auth.sh"])]),
    );

    let planned = team(&sandbox, &path, &["--turbo", "--dry-run"]).ends_with(0).out;
    let out = team(&sandbox, &path, &["--turbo"]).ends_with(0).out;

    for (step, why) in [
        ("step review is left out", "turbo: a change that is not critical has its gates only (task 1.1)"),
        ("steps second_review and second_tests are added", "of tier 3 (critical): auth.sh"),
    ] {
        assert!(planned.lines().any(|line| line.contains(step) && line.contains(why)), "{step}: {planned}");
    }
    let says = |task: &str, words: &str| out.lines().any(|line| line.starts_with(task) && line.contains(words));
    assert!(says("1.1", "review skipped") && says("1.1", "adversarial_tests skipped"), "{out}");
    assert!(out.contains("turbo: a change that is not critical"), "the reason is told: {out}");
    for step in ["review passed", "second_review passed", "security_review passed", "second_tests passed"] {
        assert!(says("1.2", step), "{step}: {out}");
    }
}

#[test]
fn turbo_is_not_for_a_change_that_turns_out_to_be_critical() {
    let sandbox = Sandbox::new();
    honest(&sandbox, "mkdir -p src; echo 'echo 2' > src/auth.sh");
    let settings = json!({ "test": "true", "turbo": true });
    let path = sandbox.trusted_plan_with(&settings, &json!([task("1.1", "Return the sum", &[])]));

    let out = team(&sandbox, &path, &[]).ends_with(0).out;

    assert!(out.contains("review passed") && out.contains("security_review passed"), "{out}");
    assert!(!out.contains("tests skipped"), "{out}");
}

#[test]
fn the_user_changes_a_role_and_a_trusted_repository_narrows_it() {
    let sandbox = Sandbox::new();
    honest(&sandbox, "if test -e sum.sh; then rm sum.sh; echo 'echo 2' > add.sh; else echo 'echo 2' > sum.sh; fi");
    role(&sandbox, "coder", "tool_calls: 7\n");
    sandbox.write(".switchboard/roles/coder.md", "---\nname: coder\nwrite_except: sum.sh\n---\nKeep to add.sh.\n");
    let path =
        sandbox.trusted_plan_with(&json!({ "test": "true" }), &json!([task("1.1", "Add it", &["sum.sh", "add.sh"])]));

    let untrusted = sandbox.switchboard(&["roles", "--json"]).ends_with(0).json();
    let coder = |listed: &Value| {
        listed["roles"].as_array().unwrap().iter().find(|role| role["role"] == "coder").unwrap().clone()
    };
    assert_eq!((&coder(&untrusted)["origin"], &untrusted["untrusted_files"]), (&json!("user"), &json!(true)));
    assert_eq!(coder(&untrusted)["limits"]["tool_calls"], 7);
    team(&sandbox, &path, &["--dry-run"]).ends_with(0).says("role files of this repository don't count");

    sandbox.switchboard(&["trust", "--yes"]).ends_with(0).says("role file .switchboard/roles/coder.md");
    let trusted = sandbox.switchboard(&["roles", "--json"]).ends_with(0).json();
    assert_eq!(coder(&trusted)["origin"], "project", "{trusted}");
    sandbox.switchboard(&["roles"]).ends_with(0).says("not sum.sh");
    let out = team(&sandbox, &path, &[]).ends_with(0).out;

    assert!(out.contains("the coder may not change sum.sh: `sum.sh` leaves it out"), "{out}");
    assert!(told(&sandbox, "1.1", "work").contains("Keep to add.sh."), "the coder is told its role");
    assert_eq!(sandbox.read("add.sh"), "echo 2\n");
}

#[test]
fn a_role_file_that_is_wrong_or_asks_for_more_is_refused_with_its_line() {
    let sandbox = Sandbox::new();
    honest(&sandbox, "true");
    let path = sandbox.plan(&json!([task("1.1", "Add it", &["sum.sh"])]));
    let refused = || {
        let failure = team(&sandbox, &path, &["--dry-run", "--json"]).ends_with(2).failure();
        let text = |key: &str| failure[key].as_str().unwrap_or_default().to_owned();
        (text("code"), text("what"), text("where"), text("hint"))
    };

    role(&sandbox, "reviewer", "tool_cals: 7\n");
    let (code, what, place, hint) = refused();
    assert_eq!((code.as_str(), hint.as_str()), ("role.bad-file", "did you mean `tool_calls`?"), "{what}");
    assert!(place.ends_with("roles/reviewer.md:3"), "{place}");
    sandbox.switchboard(&["roles"]).ends_with(0).says("it has no key `tool_cals`; did you mean `tool_calls`?");
    sandbox.switchboard(&["run", &path, "--agent", "ada", "--dry-run"]).ends_with(0);

    role(&sandbox, "reviewer", "disabled: true\n");
    assert_eq!(refused().0, "role.disabled");
    role(&sandbox, "reviewer", "model: small\n");
    assert_eq!(refused().0, "agent.no-model");
    role(&sandbox, "reviewer", "temperature: 0.2\n");
    let (code, what, ..) = refused();
    assert!(code == "plan.no-effect" && what.contains("sets a temperature"), "{what}");
    role(&sandbox, "reviewer", "minutes: 10\n");
    role(&sandbox, "test_engineer", "rights: execute\n");
    let (code, what, ..) = refused();
    assert!(code == "plan.no-effect" && what.contains("may not read"), "{what}");
    role(&sandbox, "test_engineer", "minutes: 40\n");

    sandbox.write(".switchboard/roles/reviewer.md", "---\nname: reviewer\nminutes: 20\n---\n");
    sandbox.switchboard(&["trust", "--yes"]).ends_with(0);
    let (code, what, ..) = refused();
    assert!(code == "role.bad-file" && what.contains("20 in place of 10"), "{what}");
}

#[test]
fn a_refused_change_goes_back_with_gate_reason_fix_and_where_it_begins() {
    let sandbox = Sandbox::new();
    honest(&sandbox, "if test -e sum.sh; then echo 'echo 2' > sum.sh; else echo 'echo 3' > sum.sh; fi");
    let test = "test \"$(sh sum.sh)\" = 2";
    // The gate's command runs the file itself, which this test does not cover.
    let settings = json!({ "test": test, "gates": ["-test_integrity"] });
    let path = sandbox.trusted_plan_with(&settings, &json!([task("1.1", "Return the sum", &["sum.sh"])]));

    let out = team(&sandbox, &path, &[]).ends_with(0).out;

    let line = out.lines().find(|line| line.contains("RETRY #1/3")).unwrap_or_else(|| panic!("{out}"));
    for field in ["FAILED GATE: test_runner", "REASON: ", "REQUIRED FIX: ", "RESUME AT: work"] {
        assert!(line.contains(field), "{field}: {line}");
        assert!(told(&sandbox, "1.1", "work").contains(&format!("\n{field}")), "{field} is told");
    }
}

#[test]
fn an_excuse_is_no_reason_to_approve() {
    let sandbox = Sandbox::new();
    let excuse = APPROVED.replace("\"issues\":[]", r#""issues":[{"severity":"info","message":"No logic changes"}]"#);
    let count = "n=$(($(cat \"$0.n\" 2>/dev/null || echo 0) + 1)); echo $n > \"$0.n\"";
    let review = format!("{count}; if test $n = 1; then say '{excuse}'; else say '{APPROVED}'; fi");
    let passed = format!("say '{PASSED}'");
    agent(&sandbox, "ada", &[("work", "echo 'echo 2' > sum.sh"), ("review", &review), ("*", &passed)]);
    let path =
        sandbox.trusted_plan_with(&json!({ "test": "true" }), &json!([task("1.1", "Return the sum", &["sum.sh"])]));

    let out = team(&sandbox, &path, &[]).ends_with(0).out;

    assert!(out.contains("\"No logic changes\" is no reason"), "{out}");
    assert!(told(&sandbox, "1.1", "review").contains("run the gates"), "the next one is told what to do instead");
}

/// Makes an agent that speaks ACP: `ada` with a script for each model that it may be given.
fn scripted(sandbox: &Sandbox, models: &[(&str, Value)]) {
    let folder = sandbox.folder().join("scripts");
    std::fs::create_dir_all(&folder).unwrap();
    for (model, work) in models {
        let say = |step: &str, answer: &str| json!({ "step": step, "steps": [{ "do": "say", "text": format!("```json\n{answer}\n```") }] });
        let sections = json!({ "sections": [
            say("review", APPROVED), say("tests", PASSED), say("adversarial_tests", PASSED), { "steps": work },
        ] });
        std::fs::write(folder.join(format!("{model}.json")), sections.to_string()).unwrap();
    }
    let line = format!("exec {BINARY} script-agent {}/${{1:-own}}.json", folder.display());
    let command = json!(["sh", "-c", line, "agent"]);
    sandbox.settings(&format!(
        "[agents.ada]\ndriver = \"acp\"\ncommand = {command}\nscripted = true\nspends = false\nmodel_args = [\"{{model}}\"]\n"
    ));
}

#[test]
fn a_fallback_model_takes_over_where_one_can_not_be_reached_and_no_attempt_is_spent() {
    let sandbox = Sandbox::new();
    let write = json!([{ "do": "write", "path": "sum.sh", "content": "echo 2\n" }]);
    let busy = json!([{ "do": "fail", "message": "HTTP 529 overloaded" }]);
    scripted(&sandbox, &[("own", write.clone()), ("busy", busy.clone()), ("full", busy), ("good", write)]);
    role(&sandbox, "coder", "model: busy\nfallback_models: full, good\n");
    let path =
        sandbox.trusted_plan_with(&json!({ "test": "true" }), &json!([task("1.1", "Return the sum", &["sum.sh"])]));

    let out = team(&sandbox, &path, &[]).ends_with(0).out;

    for line in [
        "could not reach its model, and goes on",
        "busy failed for now, full is asked",
        "full failed for now, good is asked",
    ] {
        assert!(out.contains(line), "{line}: {out}");
    }
    assert!(!out.contains("attempt 2"), "{out}");
    assert_eq!(sandbox.read("sum.sh"), "echo 2\n");
}

#[test]
fn models_that_stay_away_hold_the_task_for_a_person_after_as_many_errors_as_the_settings_say() {
    let sandbox = Sandbox::new();
    scripted(&sandbox, &[("own", json!([{ "do": "fail", "message": "HTTP 503 Service Unavailable" }]))]);
    sandbox.settings("[team]\ntransient_errors = 1\n");
    let path =
        sandbox.trusted_plan_with(&json!({ "test": "true" }), &json!([task("1.1", "Return the sum", &["sum.sh"])]));

    let out = team(&sandbox, &path, &[]).out;

    assert!(out.contains("is asked again: there is no fallback model"), "{out}");
    assert!(out.contains("models failed 2 times in a row") && out.contains("[agent.unavailable]"), "{out}");
}

#[test]
fn a_worker_that_turns_in_circles_is_warned_about_and_stopped() {
    let sandbox = Sandbox::new();
    let look = json!({ "do": "shell", "argv": ["ls"] });
    let turns = (0..12).map(|_| look.clone()).chain([json!({ "do": "hang" })]).collect::<Vec<_>>();
    scripted(&sandbox, &[("own", json!(turns))]);
    sandbox.settings("attempts = 1\n");
    let path =
        sandbox.trusted_plan_with(&json!({ "test": "true" }), &json!([task("1.1", "Return the sum", &["sum.sh"])]));

    let out = team(&sandbox, &path, &[]).out;

    assert!(out.contains("was called 8 times with the same arguments"), "{out}");
    assert!(out.contains("is stopped: `execute` was called 10 times"), "{out}");
    assert!(out.contains("[worker.halted]") && out.contains("is blocked"), "{out}");
    let log = sandbox.switchboard(&["log", "1.1"]).ends_with(0).out;
    assert!(log.contains("is stopped: `execute` was called 10 times"), "{log}");
}

#[test]
fn a_worker_ends_at_the_calls_that_its_role_file_allows() {
    let sandbox = Sandbox::new();
    let reads = (0..6).map(|n| json!({ "do": "shell", "argv": ["echo", n.to_string()] }));
    let reads = reads.chain([json!({ "do": "hang" })]).collect::<Vec<_>>();
    scripted(&sandbox, &[("own", json!(reads))]);
    sandbox.settings("attempts = 1\n");
    role(&sandbox, "coder", "tool_calls: 4\nwarn_at: 50\n");
    let path =
        sandbox.trusted_plan_with(&json!({ "test": "true" }), &json!([task("1.1", "Return the sum", &["sum.sh"])]));

    let out = team(&sandbox, &path, &[]).out;

    assert!(out.contains("coder has used 2 of 4 calls"), "{out}");
    assert!(out.contains("is stopped: coder has used 4 of 4 calls"), "{out}");
}

#[test]
fn a_coder_that_leaves_its_task_is_told_once_before_its_turn_counts_and_may_take_that_back() {
    let sandbox = Sandbox::new();
    let say = |step: &str, answer: &str| json!({ "step": step, "steps": [{ "do": "say", "text": format!("```json\n{answer}\n```") }] });
    let write = |path: &str| json!({ "do": "write", "path": path, "content": "echo 2\n" });
    sandbox.script(
        "ada",
        &json!([
            say("review", APPROVED), say("tests", PASSED), say("adversarial_tests", PASSED),
            { "turn": 1, "steps": [write("sum.sh"), write("extra.sh"), write("more.sh")] },
            { "turn": 2, "steps": [{ "do": "shell", "argv": ["rm", "extra.sh", "more.sh"] }] },
        ]),
    );
    let path =
        sandbox.trusted_plan_with(&json!({ "test": "true" }), &json!([task("1.1", "Return the sum", &["sum.sh"])]));

    let out = team(&sandbox, &path, &[]).ends_with(0).out;

    assert_eq!(out.matches("is not in the task's files_touched").count(), 1, "{out}");
    assert!(out.contains("extra.sh is not in the task's files_touched") && !out.contains("attempt 2"), "{out}");
    let task = sandbox.switchboard(&["show", "1.1", "--json"]).ends_with(0).json();
    assert_eq!(task["task"]["attempts"], 1, "{task:#}");
    assert_eq!(sandbox.read("sum.sh"), "echo 2\n");
}
