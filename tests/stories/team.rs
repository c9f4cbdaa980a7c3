//! A team: the author of a change does not review or test it, and nothing is merged without passing both.

use serde_json::json;

use super::sandbox::Sandbox;

/// Makes the answer of a reviewer.
fn review(verdict: &str, rest: &str) -> String {
    format!(
        r#"{{"verdict":"{verdict}","risk":"low","issues":[],"checked":{{"correctness":true,"edge_cases":true,"performance":true}}{rest}}}"#
    )
}

/// Makes agents with one script in the sandbox: each case of `cases` is the work in a step, `work` the coder's.
fn agents(sandbox: &Sandbox, names: &[&str], cases: &[(&str, &str)]) {
    let script = sandbox.folder().join("agent.sh");
    let mut text = "#!/bin/sh\ncat > \"$0.told.$SWITCHBOARD_TASK.${SWITCHBOARD_STEP:-work}\"\n".to_owned();
    text.push_str("say() { printf 'It is judged.\\n\\n```json\\n%s\\n```\\n' \"$1\"; }\n");
    text.push_str("case ${SWITCHBOARD_STEP:-work} in\n");
    for (step, line) in cases {
        text.push_str(&format!("{step}) {line} ;;\n"));
    }
    text.push_str("esac\n");
    std::fs::write(&script, text).unwrap();
    let agent = |name: &&str| {
        format!(
            "[agents.{name}]\ndriver = \"exec\"\ncommand = [\"sh\", \"{}\"]\nspends = false\nattempts = 3\n",
            script.display()
        )
    };
    sandbox.settings(&names.iter().map(agent).collect::<String>());
}

fn told(sandbox: &Sandbox, step: &str) -> String {
    std::fs::read_to_string(sandbox.folder().join(format!("agent.sh.told.1.1.{step}"))).unwrap()
}

fn plan(sandbox: &Sandbox, test: &str) -> String {
    let task = json!({ "id": "1.1", "phase": 1, "description": "Return the sum", "acceptance": "1 and 1 is 2",
        "files_touched": ["sum.sh"] });
    sandbox.trusted_plan_with(&json!({ "test": test, "team": true }), &json!([task]))
}

const TESTS: &str = r#"{"verdict":"PASS","added":[{"file":"tests/sum.sh","names":["sum"]}]}"#;

fn team(path: &str) -> Vec<&str> {
    vec!["run", path, "--yes", "--merge", "--agent", "ada", "--role", "reviewer=ben", "--role", "test_engineer=cem"]
}

#[test]
fn a_change_is_reviewed_and_tested_by_others_and_merged_with_the_tests() {
    let sandbox = Sandbox::new();
    let approved = format!("say '{}'", review("APPROVED", ""));
    let tests = format!("mkdir -p tests; echo 'test $(sh sum.sh) = 2' > tests/sum.sh; say '{TESTS}'");
    let adversarial = r#"say '{"verdict":"PASS","added":[]}'"#;
    agents(
        &sandbox,
        &["ada", "ben", "cem"],
        &[
            ("work", "echo 'echo 2' > sum.sh"),
            ("review", &approved),
            ("tests", &tests),
            ("adversarial_tests", adversarial),
        ],
    );
    let path = plan(&sandbox, "test ! -e tests/sum.sh || sh -e tests/sum.sh");

    let done = sandbox.switchboard(&team(&path));

    let out = done.ends_with(0).out;
    for line in [
        "impact skipped",
        "review passed",
        "security_review skipped",
        "tests passed",
        "adversarial_tests passed with a warning",
    ] {
        assert!(out.contains(line), "{line}: {out}");
    }
    let log = sandbox.switchboard(&["log", "1.1"]).ends_with(0).out;
    for said in [&out, &log] {
        assert!(said.contains("adversarial_tests adds nothing to the change"), "{said}");
        assert!(!said.contains("not done"), "a step that may leave the change as it is has passed: {said}");
    }
    let timeline = sandbox.switchboard(&["timeline"]).ends_with(0).out;
    assert!(timeline.contains("adversarial_tests passed"), "{timeline}");
    assert_eq!(sandbox.read("tests/sum.sh"), "test $(sh sum.sh) = 2\n");
    assert!(sandbox.git(&["log", "--format=%an"]).contains("ada"), "the change stays that of who made it");
    let review = told(&sandbox, "review");
    assert!(
        review.contains("You are the reviewer") && review.contains("+echo 2") && review.contains("1 and 1 is 2"),
        "{review}"
    );
    let shown = sandbox.switchboard(&["show", "1.1", "--json"]).ends_with(0).json();
    let judged = shown["task"]["judged"].as_array().unwrap();
    let judged: Vec<_> = judged.iter().map(|step| (step["gate"].as_str(), step["verdict"].as_str())).collect();
    let verdicts = [
        ("impact", "skipped"),
        ("review", "pass"),
        ("security_review", "skipped"),
        ("tests", "pass"),
        ("adversarial_tests", "warn"),
    ];
    assert_eq!(judged, verdicts.map(|(step, verdict)| (Some(step), Some(verdict))), "{shown}");
}

#[test]
fn what_a_reviewer_refuses_goes_back_with_its_reasons() {
    let sandbox = Sandbox::new();
    let rejected = review("REJECTED", r#","required_fix":"say what it is""#);
    let approved = review("APPROVED", "");
    let reviewed = format!("if grep -q sum sum.sh; then say '{approved}'; else say '{rejected}'; fi");
    agents(
        &sandbox,
        &["ada", "ben", "cem"],
        &[
            ("work", "if test -e sum.sh; then echo '# the sum' >> sum.sh; else echo 'echo 2' > sum.sh; fi"),
            ("review", &reviewed),
            ("*", r#"say '{"verdict":"PASS","added":[]}'"#),
        ],
    );
    let path = plan(&sandbox, "true");

    let out = sandbox.switchboard(&team(&path)).ends_with(0).out;

    assert!(out.contains("review failed") && out.contains("required fix: say what it is"), "{out}");
    assert_eq!(sandbox.read("sum.sh"), "echo 2\n# the sum\n");
    assert!(told(&sandbox, "work").contains("required fix: say what it is"), "the next attempt is told");
}

#[test]
fn a_reviewer_that_writes_or_says_nothing_of_the_form_is_asked_again_and_never_believed() {
    let sandbox = Sandbox::new();
    let approved = review("APPROVED", "");
    let count = "n=$(($(cat \"$0.n\" 2>/dev/null || echo 0) + 1)); echo $n > \"$0.n\"";
    let reviewed = format!(
        "{count}; case $n in 1) echo 'Looks good to me, approved!';; 2) echo x > mine.txt; say '{approved}';; *) say '{approved}';; esac"
    );
    agents(
        &sandbox,
        &["ada", "ben", "cem"],
        &[("work", "echo 'echo 2' > sum.sh"), ("review", &reviewed), ("*", r#"say '{"verdict":"PASS","added":[]}'"#)],
    );
    let path = plan(&sandbox, "true");

    let out = sandbox.switchboard(&team(&path)).ends_with(0).out;

    assert!(
        out.contains("the answer can't be used") && out.contains("may change nothing, and changed mine.txt"),
        "{out}"
    );
    assert!(told(&sandbox, "review").contains("may change nothing"), "the next one is told what was wrong");
    assert!(!std::path::Path::new(&sandbox.root()).join("mine.txt").exists());
}

#[test]
fn a_test_engineer_that_hides_a_change_from_git_is_asked_again_and_never_believed() {
    let sandbox = Sandbox::new();
    let approved = format!("say '{}'", review("APPROVED", ""));
    let count = "n=$(($(cat \"$0.n\" 2>/dev/null || echo 0) + 1)); echo $n > \"$0.n\"";
    let hides = "git update-index --skip-worktree sum.sh; echo 'echo 9' > sum.sh";
    let tests = format!("{count}; if test $n = 1; then {hides}; fi; say '{{\"verdict\":\"PASS\",\"added\":[]}}'");
    agents(
        &sandbox,
        &["ada", "ben", "cem"],
        &[
            ("work", "echo 'echo 2' > sum.sh"),
            ("review", &approved),
            ("tests", &tests),
            ("*", r#"say '{"verdict":"PASS","added":[]}'"#),
        ],
    );
    let path = plan(&sandbox, "true");

    let out = sandbox.switchboard(&team(&path)).ends_with(0).out;

    assert!(out.contains("may change tests only, and changed sum.sh"), "{out}");
    assert_eq!(sandbox.read("sum.sh"), "echo 2\n");
}

#[test]
fn tests_that_fail_send_the_change_back_whatever_the_test_engineer_says() {
    let sandbox = Sandbox::new();
    let approved = format!("say '{}'", review("APPROVED", ""));
    let tests = format!("mkdir -p tests; echo 'test $(sh sum.sh) = 2' > tests/sum.sh; say '{TESTS}'");
    agents(
        &sandbox,
        &["ada", "ben", "cem"],
        &[
            ("work", "if test -e tests/sum.sh; then echo 'echo 2' > sum.sh; else echo 'echo 3' > sum.sh; fi"),
            ("review", &approved),
            ("tests", &tests),
            ("*", r#"say '{"verdict":"PASS","added":[]}'"#),
        ],
    );
    let path = plan(&sandbox, "test ! -e tests/sum.sh || sh -e tests/sum.sh");

    let out = sandbox.switchboard(&team(&path)).ends_with(0).out;

    assert!(out.contains("test_runner failed"), "{out}");
    assert_eq!(sandbox.read("sum.sh"), "echo 2\n");
}

#[test]
fn a_coder_may_not_write_tests_outside_of_its_files_and_a_test_engineer_may() {
    let sandbox = Sandbox::new();
    let approved = format!("say '{}'", review("APPROVED", ""));
    let work = "if ! test -e sum.sh; then echo 'echo 2' > sum.sh; mkdir -p tests; echo 'true # own' > tests/sum.sh; \
        elif grep -q own tests/sum.sh; then rm -r tests; else echo '# mended' >> sum.sh; fi";
    let tests = format!("mkdir -p tests; echo 'test $(sh sum.sh) = 2' > tests/sum.sh; say '{TESTS}'");
    let attack = r#"if grep -q mended sum.sh; then say '{"verdict":"PASS","added":[]}'; else
        say '{"verdict":"FAIL","added":[],"failures":[{"name":"mended","message":"it is not mended"}]}'; fi"#;
    agents(
        &sandbox,
        &["ada", "ben", "cem"],
        &[("work", work), ("review", &approved), ("tests", &tests), ("adversarial_tests", attack)],
    );
    let path = plan(&sandbox, "test ! -e tests/sum.sh || sh -e tests/sum.sh");

    let out = sandbox.switchboard(&team(&path)).ends_with(0).out;

    assert!(out.contains("tests/sum.sh is not in the task's files_touched"), "{out}");
    assert_eq!(out.matches("scope failed").count(), 1, "the test engineer's file is no violation: {out}");
    assert_eq!(sandbox.read("tests/sum.sh"), "test $(sh sum.sh) = 2\n");
    assert_eq!(sandbox.read("sum.sh"), "echo 2\n# mended\n");
    let merged = out.lines().find(|line| line.contains(" merged ")).unwrap_or_default();
    assert!(merged.contains("ada"), "the change is that of who made it: {out}");
}

#[test]
fn a_retry_at_a_review_leaves_the_name_of_who_made_the_change_alone() {
    let sandbox = Sandbox::new();
    let approved = review("APPROVED", "");
    let count = "n=$(($(cat \"$0.n\" 2>/dev/null || echo 0) + 1)); echo $n > \"$0.n\"";
    let reviewed = format!("{count}; if test $n -gt 3; then say '{approved}'; else echo 'Looks good to me'; fi");
    agents(
        &sandbox,
        &["ada"],
        &[("work", "echo 'echo 2' > sum.sh"), ("review", &reviewed), ("*", r#"say '{"verdict":"PASS","added":[]}'"#)],
    );
    let path = plan(&sandbox, "true");
    let blocked = sandbox.switchboard(&["run", &path, "--yes", "--agent", "ada"]);
    assert!(blocked.out.contains("step review got 3 answers that can't be used"), "{}", blocked.out);
    assert!(told(&sandbox, "review").contains("end with one block of the schema"), "the remedy is told, too");

    sandbox.switchboard(&["retry", "1.1"]).ends_with(0);
    let out = sandbox.switchboard(&["run", "--resume"]).ends_with(0).out;

    assert!(!out.contains("coordinator -> coordinator"), "{out}");
    let log = sandbox.switchboard(&["log", "1.1"]).ends_with(0).out;
    let reviews = log.lines().filter(|line| line.ends_with("starts review as reviewer") && line.contains(": ada-"));
    assert_eq!(reviews.count(), 4, "the reviewer has a name of its own: {log}");
    let listed = sandbox.call(&["list_messages", "agent=coordinator"]);
    let messages = listed["messages"].as_array().unwrap();
    let to_itself = |one: &&serde_json::Value| one["sender"] == "coordinator" && one["recipient"] == "coordinator";
    assert!(!messages.is_empty() && !messages.iter().any(|one| to_itself(&one)), "{listed}");
}

#[test]
fn roles_that_are_nobodys_or_do_not_exist_are_named_before_anything_starts() {
    let sandbox = Sandbox::new();
    agents(&sandbox, &["ada"], &[("work", "true")]);
    let path = plan(&sandbox, "true");

    let misspelt = sandbox.switchboard(&["run", &path, "--yes", "--agent", "ada", "--role", "reviwer=ada"]);
    misspelt.ends_with(2).says("did you mean reviewer?");
    let alone = sandbox.folder().join("alone.json");
    let text = std::fs::read_to_string(&path).unwrap().replace("\"team\":true", "\"team\":false");
    std::fs::write(&alone, text).unwrap();
    let alone = alone.display().to_string();
    let without = sandbox.switchboard(&["run", &alone, "--yes", "--agent", "ada", "--role", "reviewer=ada"]);
    without.ends_with(2).says("add --team");
    let unknown = sandbox.switchboard(&["run", &path, "--yes", "--agent", "ada", "--role", "reviewer=nobody"]);
    unknown.ends_with(5).says("nobody");

    // Every task has an agent, and one of the roles has none.
    agents(&sandbox, &["ben"], &[("work", "true")]);
    let text = std::fs::read_to_string(&path).unwrap().replace("\"team\":true", "\"team\":true,\"agent\":\"ada\"");
    std::fs::write(&alone, text).unwrap();
    let roles = ["--role", "reviewer=ben", "--role", "test_engineer=ben"];
    let open = sandbox.switchboard(&[&["run", &alone, "--dry-run"], roles.as_slice()].concat());
    open.ends_with(4).says("nobody is named for the team's explorer (--role explorer=NAME)");
}

#[test]
fn a_role_that_no_step_has_or_that_is_named_twice_is_refused_by_flag_settings_and_request() {
    let sandbox = Sandbox::new();
    agents(&sandbox, &["ada"], &[("work", "true")]);
    let path = plan(&sandbox, "true");
    let tried = |more: &[&str]| {
        let flags = ["run", &path, "--yes", "--agent", "ada", "--json"];
        sandbox.switchboard(&[&flags, more].concat()).ends_with(2).failure()
    };

    let useless = tried(&["--role", "docs=ada"]);
    assert_eq!(useless["hint"], "a team has: reviewer, test_engineer, designer, explorer", "{useless}");
    assert_eq!(tried(&["--role", "coder=ada"])["what"], "the coder is each task's own agent");
    let twice = tried(&["--role", "reviewer=ada", "--role", "Reviewer=ben"]);
    assert_eq!(twice["what"], "--role names two agents for the reviewer: ada and ben");
    let request = |roles: &str, team: bool| {
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.replace("\"team\":true", &format!("\"team\":{team}"));
        let words = ["call", "start_run", &format!("plan:={}", json!(text)), roles, "dry_run:=true", "--json"];
        sandbox.switchboard(&words).ends_with(2).failure()
    };
    let asked = request(r#"roles:=[{"role":"docs"}]"#, true);
    assert_eq!((&asked["code"], &asked["where"]), (&json!("request.bad-args"), &json!("roles")), "{asked}");
    assert_eq!(request(r#"roles:=[{"role":"reviewer"}]"#, false)["where"], "roles");
    let led = sandbox.switchboard(&[
        "run",
        &path,
        "--yes",
        "--team",
        "--agent",
        "ada",
        "--role",
        "critic_hallucination_verifier=ada",
        "--json",
    ]);
    let led = led.ends_with(2).failure();
    assert_eq!(
        led["hint"], "a team has: reviewer, test_engineer, designer, explorer, architect, critic, sme, docs",
        "{led}"
    );

    sandbox.settings("[roles.painter]\nagent = \"ada\"\n");
    let file = tried(&[]);
    assert_eq!(file["code"], "config.bad-value", "{file}");
    assert!(file["where"].as_str().unwrap().ends_with("config.toml"), "{file}");
    sandbox.change_settings("[roles.painter]", "[roles.test_engineer]\n[roles.test-engineer]");
    assert_eq!(tried(&[])["what"], "two sections under [roles] are for the test_engineer");
}

#[test]
fn a_repository_gives_itself_no_role_trusted_or_not() {
    let sandbox = Sandbox::new();
    agents(&sandbox, &["ada"], &[("work", "true")]);
    let path = plan(&sandbox, "true");
    sandbox.write(".switchboard/config.toml", "[roles.reviewer]\nagent = \"ada\"\n");
    let run = ["run", &path, "--yes", "--agent", "ada", "--json"];

    let untrusted = sandbox.switchboard(&run).ends_with(2).failure();
    let trust = sandbox.switchboard(&["trust", "--yes", "--json"]).ends_with(2).failure();

    for refused in [untrusted, trust] {
        assert_eq!(refused["code"], "config.syntax", "{refused}");
        assert_eq!(refused["what"], "a repository can't set [roles]: they are the user's own");
        assert!(refused["where"].as_str().unwrap().ends_with(".switchboard/config.toml"), "{refused}");
    }
}

#[test]
fn tests_that_refuse_a_change_stay_and_the_next_attempt_has_to_pass_them() {
    let sandbox = Sandbox::new();
    let approved = format!("say '{}'", review("APPROVED", ""));
    // The second attempt removes the test, the third one passes it.
    let work = r#"if ! test -e tests/attack.sh; then echo 'echo 2' > sum.sh;
        elif test -e "$0.once"; then echo '# mended' >> sum.sh;
        else touch "$0.once"; rm -r tests; echo '# other' >> sum.sh; fi"#;
    let attack = r#"if grep -q mended sum.sh; then say '{"verdict":"PASS","added":[]}'; else
        mkdir -p tests; echo 'grep -q mended sum.sh' > tests/attack.sh
        say '{"verdict":"FAIL","added":[{"file":"tests/attack.sh","names":["mended"]}],"failures":[{"name":"mended","message":"it is not mended"}]}'; fi"#;
    agents(
        &sandbox,
        &["ada", "ben", "cem"],
        &[
            ("work", work),
            ("review", &approved),
            ("tests", r#"say '{"verdict":"PASS","added":[]}'"#),
            ("adversarial_tests", attack),
        ],
    );
    let path = plan(&sandbox, "for one in tests/*.sh; do test ! -e $one || sh -e $one || exit 1; done");

    let out = sandbox.switchboard(&team(&path)).ends_with(0).out;

    assert!(out.contains("adversarial_tests failed") && out.contains("it is not mended"), "{out}");
    assert!(out.contains("tests/attack.sh") && out.contains("the test file was deleted"), "{out}");
    assert_eq!(sandbox.read("sum.sh"), "echo 2\n# mended\n", "{out}");
    assert_eq!(sandbox.read("tests/attack.sh"), "grep -q mended sum.sh\n");
    assert!(told(&sandbox, "work").contains("the change has to pass the tests that refuse it"), "it is told why");
}

#[test]
fn a_test_that_passes_without_the_change_and_adds_no_case_is_asked_for_again() {
    let mut sandbox = Sandbox::new();
    let home = switchboard_process::env::var("HOME").unwrap_or_default();
    let pyenv = switchboard_process::env::var("PYENV_ROOT").unwrap_or_else(|| format!("{home}/.pyenv"));
    sandbox.set("PYENV_ROOT", &pyenv);
    let test = |name: &str, body: &str| {
        format!(
            "import unittest\n\nfrom sum import total\n\n\nclass {name}(unittest.TestCase):\n    def test_{name}(self):\n        {body}\n"
        )
    };
    sandbox.write("sum.py", "def total(a, b):\n    return a - b\n");
    sandbox.write("test_sum.py", &test("Old", "self.assertEqual(total(3, 0), 3)"));
    sandbox.write(".gitignore", "__pycache__/\n");
    sandbox.commit("A project");
    let approved = format!("say '{}'", review("APPROVED", ""));
    std::fs::write(sandbox.folder().join("useless.py"), test("New", "total(1, 1)")).unwrap();
    std::fs::write(sandbox.folder().join("useful.py"), test("New", "self.assertEqual(total(1, 1), 2)")).unwrap();
    let tests = r#"if test -e "$0.once"; then cp "$(dirname "$0")/useful.py" test_new.py; else touch "$0.once"; cp "$(dirname "$0")/useless.py" test_new.py; fi
        say '{"verdict":"PASS","added":[{"file":"test_new.py","names":["test_New"]}]}'"#;
    agents(
        &sandbox,
        &["ada", "ben", "cem"],
        &[
            ("work", "sed -i 's/a - b/a + b/' sum.py"),
            ("review", &approved),
            ("tests", tests),
            ("*", r#"say '{"verdict":"PASS","added":[]}'"#),
        ],
    );
    let task = json!({ "id": "1.1", "phase": 1, "description": "Return the sum", "acceptance": "1 and 1 is 2",
        "files_touched": ["sum.py"] });
    let path =
        sandbox.trusted_plan_with(&json!({ "test": ["python3", "-m", "unittest"], "team": true }), &json!([task]));

    let out = sandbox.switchboard(&team(&path)).ends_with(0).out;

    assert!(out.contains("the answer can't be used") && out.contains("passes without the change"), "{out}");
    assert!(told(&sandbox, "tests").contains("asserts nothing"), "the next one is told what was wrong");
    assert!(sandbox.read("test_new.py").contains("assertEqual(total(1, 1), 2)"));
    let shown = sandbox.switchboard(&["show", "1.1", "--json"]).ends_with(0).out;
    assert!(shown.contains("of 1 new tests 1 fail without the change"), "{shown}");
}

#[test]
fn who_a_changed_contract_affects_is_analysed_before_the_review_which_is_told() {
    let sandbox = Sandbox::new();
    let report = r"STRUCTURE: one file\nPATTERNS: none\nCOMPLEXITY INDICATORS: none\nRUNTIME/BEHAVIORAL CONCERNS: none\nOBSERVED CHANGES:\n- total(a, b): BREAKING\nCONSUMERS_AFFECTED: shop.py\nRELEVANT CONSTRAINTS: none\nFOLLOW-UP CANDIDATE AREAS: none\nDOMAINS: none";
    let analysis = format!(
        r#"say '{{"report":"{report}","changes":[{{"change":"total(a, b)","file":"sum.py","class":"BREAKING","consumers":["shop.py:3"]}}]}}'"#
    );
    let approved = format!("say '{}'", review("APPROVED", ""));
    agents(
        &sandbox,
        &["ada", "ben", "cem", "eve"],
        &[
            ("work", r"printf 'def total(a, b):\n    return a + b\n' > sum.py"),
            ("impact", &analysis),
            ("review", &approved),
            ("*", r#"say '{"verdict":"PASS","added":[]}'"#),
        ],
    );
    let task = json!({ "id": "1.1", "phase": 1, "description": "Return the sum", "acceptance": "1 and 1 is 2",
        "files_touched": ["sum.py"] });
    let path = sandbox.trusted_plan_with(&json!({ "test": "true", "team": true }), &json!([task]));

    let done = sandbox.switchboard(&[&team(&path)[..], &["--role", "explorer=eve"]].concat());

    done.ends_with(0).says("impact passed").says("1 of 1 tasks merged");
    let asked = told(&sandbox, "impact");
    for words in
        ["You are the explorer", "Integration impact analysis", "sum.py: what others may call: +`def total(a, b):`"]
    {
        assert!(asked.contains(words), "{words}: {asked}");
    }
    let review = told(&sandbox, "review");
    for words in
        ["- BREAKING: sum.py: total(a, b); consumers: shop.py:3\n", "Nobody has verified it: confirm or refute it"]
    {
        assert!(review.contains(words), "{words}: {review}");
    }
    let shown = sandbox.switchboard(&["show", "1.1"]).ends_with(0).out;
    assert!(shown.contains("BREAKING: sum.py: total(a, b)"), "what breaks somebody is shown: {shown}");
}
