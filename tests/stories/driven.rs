//! A run that a team leads: from a request or a plan through the modes to the end of its last phase.

use std::time::Duration;

use serde_json::{Value, json};

use super::sandbox::{BINARY, Done, Sandbox, within};

/// Report of an explorer that fulfils its contract.
const REPORT: &str = r"STRUCTURE: one file\nPATTERNS: none\nCOMPLEXITY INDICATORS: none\nRUNTIME/BEHAVIORAL CONCERNS: none\nRELEVANT CONSTRAINTS: none\nFOLLOW-UP CANDIDATE AREAS: none\nDOMAINS: shell\nOBSERVATIONS: one file";

const REVIEW: &str = r#"{"verdict":"APPROVED","risk":"low","issues":[],"checked":{"correctness":true,"edge_cases":true,"performance":true}}"#;

/// A team of one agent: a script with a case for each step.
pub(super) struct Team {
    pub(super) sandbox: Sandbox,
}

impl Team {
    /// Makes a team; each of `cases` replaces what is usually done in a step.
    pub(super) fn new(cases: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::new();
        let script = sandbox.folder().join("agent.sh");
        let plan = json!({ "plan": plan(&[1, 2]) });
        let retrospective = r#"{"phase_number":PHASE,"total_tool_calls":1,"coder_revisions":0,"reviewer_rejections":0,"test_failures":0,"security_findings":0,"integration_issues":0,"task_count":1,"task_complexity":"simple"}"#;
        let usual = [
            ("questions", r#"say '{"questions":[]}'"#.to_owned()),
            ("exploration", format!(r#"say '{{"report":"{REPORT}","domains":["shell"]}}'"#)),
            ("reality", r#"say '{"items":[{"item":"one.sh","status":"NOT_STARTED","evidence":"no such file"}]}'"#.to_owned()),
            ("guidance", r#"say '{"domain":"shell","points":["Quote variables."]}'"#.to_owned()),
            ("spec", r#"say '{"requirements":[{"id":"FR-001","text":"It prints."}],"criteria":[{"id":"SC-001","text":"It prints one."}]}'"#.to_owned()),
            ("plan_draft", format!("say '{plan}'")),
            ("plan_review", r#"say '{"verdict":"APPROVED","reasons":["It can begin."]}'"#.to_owned()),
            ("retrospective", format!("say \"$(echo '{retrospective}' | sed \"s/PHASE/$(sed -n 's/.*Look back at phase \\([0-9]*\\).*/\\1/p' \"$told\")/\")\"")),
            ("drift", r#"say '{"verdict":"APPROVED","findings":[]}'"#.to_owned()),
            ("review", format!("say '{REVIEW}'")),
            ("tests", r#"say '{"verdict":"PASS","added":[]}'"#.to_owned()),
            ("adversarial_tests", r#"say '{"verdict":"PASS","added":[]}'"#.to_owned()),
            ("work", "case $SWITCHBOARD_TASK in docs-*) : ;; *) echo \"echo $SWITCHBOARD_TASK\" > \"$SWITCHBOARD_TASK.sh\" ;; esac".to_owned()),
        ];
        let mut text = "#!/bin/sh\n".to_owned();
        text.push_str("step=${SWITCHBOARD_STEP:-work}\n");
        text.push_str("n=$(($(cat \"$0.n.$step\" 2>/dev/null || echo 0) + 1)); echo $n > \"$0.n.$step\"\n");
        text.push_str("told=\"$0.told.$step.$n\"; cat > \"$told\"\n");
        text.push_str("say() { printf 'It is done.\\n\\n```json\\n%s\\n```\\n' \"$1\"; }\n");
        text.push_str("case $step in\n");
        for (step, line) in cases {
            text.push_str(&format!("{step}) {line} ;;\n"));
        }
        for (step, line) in &usual {
            text.push_str(&format!("{step}) {line} ;;\n"));
        }
        text.push_str("esac\n");
        std::fs::write(&script, text).unwrap();
        let (command, rest) = (json!(["sh", script]), "spends = false\nattempts = 3\n");
        sandbox.settings(&format!("[agents.ada]\ndriver = \"exec\"\ncommand = {command}\n{rest}"));
        Self { sandbox }
    }

    pub(super) fn run(&self, args: &[&str]) -> Done {
        let usual = ["run", "--yes", "--team", "--agent", "ada"];
        self.sandbox.switchboard(&[&usual, args].concat())
    }

    /// Starts a run of the team on another thread.
    pub(super) fn run_aside(&self, args: &[&str]) -> std::thread::JoinHandle<Done> {
        let usual = ["--yes", "--team", "--agent", "ada"];
        self.sandbox.run_aside(&[&usual, args].concat())
    }

    /// Returns the nth prompt of an agent in a step.
    #[track_caller]
    pub(super) fn told(&self, step: &str, nth: u32) -> String {
        let path = self.sandbox.folder().join(format!("agent.sh.told.{step}.{nth}"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns how often an agent worked on a step. While the agent writes the count, the file is empty.
    pub(super) fn count(&self, step: &str) -> u32 {
        let path = self.sandbox.folder().join(format!("agent.sh.n.{step}"));
        let count = || std::fs::read_to_string(&path).unwrap_or_else(|_| "0".to_owned());
        let written = std::iter::repeat_with(count).take(100).find(|count| {
            let is_written = !count.trim().is_empty();
            if !is_written {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            is_written
        });
        written.expect("the count is written").trim().parse().unwrap()
    }

    pub(super) fn shown(&self) -> Value {
        self.sandbox.switchboard(&["show", "--json"]).ends_with(0).json()
    }

    /// Answers the first open question once it is asked; returns its title.
    #[track_caller]
    pub(super) fn answer(&self, option: &str, note: Option<&str>) -> String {
        let need = self.sandbox.question_within(Duration::from_secs(90));
        let id = need["id"].as_str().unwrap().to_owned();
        let note = note.map(|note| vec!["--note", note]).unwrap_or_default();
        self.sandbox.switchboard(&[&["answer", &id, option], note.as_slice()].concat()).ends_with(0);
        need["title"].as_str().unwrap().to_owned()
    }
}

/// Makes a plan with one task in each phase, which writes a file with its name.
pub(super) fn plan(phases: &[u64]) -> Value {
    let phase = |id: &u64| {
        json!({ "id": id, "name": format!("phase {id}"), "tasks": [{ "id": format!("{id}.1"), "phase": id,
            "description": format!("Make {id}.1.sh"), "acceptance": "it prints its name", "files_touched": [format!("{id}.1.sh")] }] })
    };
    let phases: Vec<_> = phases.iter().map(phase).collect();
    json!({ "schema_version": "1.0.0", "title": "Shell files", "swarm": "story", "phases": phases })
}

#[test]
fn words_are_a_request_that_a_team_plans_also_without_its_flag_and_a_misspelt_file_is_none() {
    let team = Team::new(&[]);
    std::fs::write(team.sandbox.root().join("plan.json"), plan(&[1]).to_string()).unwrap();
    let run = |args: &[&str]| team.sandbox.switchboard(&[&["run", "--dry-run", "--agent", "ada"], args].concat());

    run(&["Print one and two", "--without", "clarify"]).ends_with(0).says("a team makes the plan first");

    run(&["plna.json"]).ends_with(1).says("did you mean plan.json?");
    run(&["Print"]).ends_with(1).says("the plan can't be read");
    run(&["Print one.json"]).ends_with(1).says("add --team");
    run(&["plan.json", "--without", "clarify"]).ends_with(2).says("--without belongs to a team");
}

#[test]
fn a_request_is_planned_reviewed_and_carried_out_phase_by_phase() {
    let team = Team::new(&[]);

    let out = team.run(&["Print one and two", "--auto", "--merge", "--with", "specify"]).ends_with(0).out;

    assert!(out.contains("checklist: impact skipped; review passed; security_review"), "{out}");
    let modes: Vec<_> = out.lines().filter_map(|line| line.strip_prefix("MODE: ")).collect();
    let once = ["CLARIFY", "DISCOVER", "REALITY", "CONSULT", "SPECIFY", "PLAN", "CRITIC-GATE"];
    let phases = ["EXECUTE", "PHASE-WRAP", "EXECUTE", "PHASE-WRAP"];
    assert_eq!(modes[..11], [&once[..], &phases[..]].concat()[..], "{out}");
    assert!(out.contains("the next phase begins by --auto, nobody was asked"), "{out}");
    assert_eq!((team.sandbox.read("1.1.sh"), team.sandbox.read("2.1.sh")), ("echo 1.1\n".into(), "echo 2.1\n".into()));
    let told = team.told("plan_draft", 1);
    for words in
        ["You are the architect", "Print one and two", "Quote variables.", "FR-001: It prints.", "STRUCTURE: one file"]
    {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert_eq!(team.count("guidance"), 1, "a domain is asked about once");
    let told = team.told("work", 1);
    assert!(told.contains("guidance on shell") && told.contains("Quote variables."), "{told}");
    assert_eq!((team.count("drift"), team.count("retrospective"), team.count("review")), (2, 2, 2));
    let status = team.sandbox.switchboard(&["status", "--json"]).ends_with(0).json();
    assert_eq!((&status["runs"][0]["merged"], &status["runs"][0]["tasks"]), (&json!(2), &json!(2)), "{status}");
    let shown = team.shown();
    assert_eq!(
        (&shown["state"], &shown["mode"], &shown["merged"]),
        (&json!("succeeded"), &json!("phase_wrap"), &json!(2))
    );
    let status = team.sandbox.switchboard(&["status"]).ends_with(0).out;
    assert_eq!(status.matches("run_").count(), 1, "parts are shown with their run: {status}");
    let out_of_docs = out.lines().filter(|line| line.starts_with("docs-1")).collect::<Vec<_>>().join("\n");
    assert!(out_of_docs.contains("found nothing to change") && out_of_docs.contains("is done"), "{out_of_docs}");
    assert!(!out_of_docs.contains("not done") && !out_of_docs.contains("blocked"), "{out_of_docs}");
    let docs = shown["parts"].as_array().unwrap().iter().find(|part| part["what"] == "docs: phase 1").unwrap();
    assert_eq!(docs["state"], "succeeded");
    team.sandbox.switchboard(&["verify"]).ends_with(0).says("hash chain verified");
}

#[test]
fn questions_go_to_a_person_and_the_critic_sends_a_plan_back() {
    let asks = r#"say '{"questions":[{"question":"Which shell?","choices":["sh","bash"]}]}'"#;
    let critic = r#"if test $n = 1; then say '{"verdict":"NEEDS_REVISION","reasons":["two is missing"],"required_changes":["add two"]}'; else say '{"verdict":"APPROVED","reasons":["good"]}'; fi"#;
    let draft = format!(
        "if test $n = 1; then say '{}'; else say '{}'; fi",
        json!({ "plan": plan(&[1]) }),
        json!({ "plan": plan(&[1, 2]) })
    );
    let team = Team::new(&[("questions", asks), ("plan_review", critic), ("plan_draft", &draft)]);
    let run = team.run_aside(&["Print one and two"]);

    assert_eq!(team.answer("2", None), "Which shell?");
    assert_eq!(team.answer("proceed", None), "Ready for Phase 2?");

    let out = run.join().unwrap().ends_with(0).out;
    assert!(out.contains("CRITIC-GATE: NEEDS_REVISION") && out.contains("CRITIC-GATE: APPROVED"), "{out}");
    let first = team.told("plan_draft", 1);
    assert!(first.contains("Which shell?") && first.contains("bash"), "{first}");
    assert!(team.told("plan_draft", 2).contains("add two"), "the revision is told why");
    assert_eq!(team.shown()["merged"], 2);
}

#[test]
fn a_role_of_tasks_that_can_not_do_its_work_is_refused_before_a_plan_is_made() {
    let team = Team::new(&[]);
    let role = |text: &str| {
        let file = team.sandbox.folder().join("config/switchboard/roles/role.md");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
        team.run(&["Print one"]).ends_with(2)
    };

    role("---\nname: reviewer\ntemperature: 0.2\n---\n").says("the role reviewer sets a temperature");
    role("---\nname: coder\nwrite: []\n---\n").says("the role coder may write nothing");

    assert_eq!(team.count("questions"), 0);
}

#[test]
fn the_user_says_how_often_the_critic_may_send_a_plan_back() {
    let critic = r#"say '{"verdict":"NEEDS_REVISION","reasons":["two is missing"],"required_changes":["add two"]}'"#;
    let team = Team::new(&[("plan_review", critic)]);
    team.sandbox.settings("[team]\ncritic_cycles = 0\n");
    let run = team.run_aside(&["Print one and two"]);

    let title = team.answer("stop", None);

    assert!(title.contains("the critic is not content after 0 revisions"), "{title}");
    assert_eq!((team.count("plan_draft"), team.count("plan_review")), (1, 1));
    run.join().unwrap().ends_with(4);
}

#[test]
fn a_task_that_waits_for_something_outside_is_blocked_with_its_reason_and_the_next_one_goes_on() {
    let needs = format!("{BINARY} call report_step state=stuck note='the vendor has to give us a key'");
    let work = format!(
        r#"case $SWITCHBOARD_TASK in 1.1) if test -f "$0.key"; then echo 'echo 1.1' > 1.1.sh; else {needs}; fi ;; *) echo 'echo 1.2' > 1.2.sh ;; esac"#
    );
    let team = Team::new(&[("work", &work)]);
    let mut given = plan(&[1]);
    let mut second = given["phases"][0]["tasks"][0].clone();
    (second["id"], second["description"], second["files_touched"]) =
        (json!("1.2"), json!("Make 1.2.sh"), json!(["1.2.sh"]));
    given["phases"][0]["tasks"].as_array_mut().unwrap().push(second);
    let path = team.sandbox.plan_text(&given.to_string());
    let run = team.run_aside(&[&path, "--without", "docs", "--merge"]);

    let need = team.sandbox.question_within(Duration::from_secs(90));
    let title = need["title"].as_str().unwrap();
    assert!(title.contains("task 1.1") && title.contains("the vendor has to give us a key"), "{title}");
    assert_eq!((team.count("decision"), team.shown()["merged"].as_u64()), (0, Some(1)), "1.2 went on");
    std::fs::write(team.sandbox.folder().join("agent.sh.key"), "").unwrap();
    team.sandbox.switchboard(&["answer", need["id"].as_str().unwrap(), "retry"]).ends_with(0);

    run.join().unwrap().ends_with(0);
    assert_eq!(team.sandbox.read("1.1.sh"), "echo 1.1\n");
}

#[test]
fn what_a_person_has_tried_again_while_a_phase_is_held_is_taken_over_and_not_done_twice() {
    let team = Team::new(&[("work", r#"if test -f "$0.ok"; then echo 'echo 1.1' > 1.1.sh; else exit 3; fi"#)]);
    team.sandbox.change_settings("attempts = 3", "attempts = 1");
    let path = team.sandbox.plan_text(&plan(&[1]).to_string());
    let run = team.run_aside(&[&path, "--without", "docs", "--merge"]);
    let need = team.sandbox.question_within(Duration::from_secs(90));
    let id = team.shown()["run"].as_str().unwrap().to_owned();
    std::fs::write(team.sandbox.folder().join("agent.sh.ok"), "").unwrap();

    // The run itself names its tasks that failed.
    team.sandbox.switchboard(&["retry", &id]).ends_with(0);
    assert!(within(Duration::from_secs(60), || team.shown()["merged"] == 1));
    team.sandbox.switchboard(&["answer", need["id"].as_str().unwrap(), "retry"]).ends_with(0);

    run.join().unwrap().ends_with(0);
    assert_eq!((team.sandbox.read("1.1.sh"), team.count("work"), team.count("review")), ("echo 1.1\n".into(), 2, 1));
}

#[test]
fn a_plan_is_checked_against_the_code_and_a_rejected_one_goes_to_a_person() {
    let critic = r#"say '{"verdict":"REJECTED","reasons":["it must not be done"]}'"#;
    let team = Team::new(&[("plan_review", critic)]);
    let path = team.sandbox.plan_text(&plan(&[1]).to_string());
    let run = team.run_aside(&[&path]);

    let need = team.sandbox.question_within(Duration::from_secs(90));
    assert_eq!((&need["kind"], &need["title"]), (&json!("team"), &json!("the critic rejects the plan")));
    assert!(need["detail"].as_str().unwrap().contains("it must not be done"), "{need}");
    assert_eq!((team.count("questions"), team.count("plan_draft"), team.count("reality")), (0, 0, 1));
    assert_eq!(team.shown()["mode"], "critic_gate");
    team.answer("stop", None);

    let id = team.shown()["run"].as_str().unwrap().to_owned();
    run.join().unwrap().ends_with(4).says(&format!("let it go on: switchboard run --resume {id}"));
    assert_eq!(team.count("work"), 0, "nothing of it was done");
    assert_eq!(team.shown()["state"], "stopped");
    team.sandbox.switchboard(&["retry", &id]).ends_with(1).says(&format!("switchboard run --resume {id}"));
}

#[test]
fn a_plan_that_a_run_would_refuse_goes_back_to_the_architect_as_data() {
    let mut bad = plan(&[1]);
    bad["phases"][0]["tasks"][0]["depends"] = json!(["9.9"]);
    let mut large = plan(&[1]);
    large["phases"][0]["tasks"][0]["description"] = json!("Make 1.1.sh and remove README.md");
    large["phases"][0]["required_agents"] = json!(["reviwer"]);
    let draft = format!(
        "case $n in 1) say '{}' ;; 2) say '{}' ;; *) say '{}' ;; esac",
        json!({ "plan": bad }),
        json!({ "plan": large }),
        json!({ "plan": plan(&[1]) })
    );
    let loose = r#"if test $n = 1; then say '{"report":"You must rewrite it."}'; else"#;
    let explorer = format!(r#"{loose} say '{{"report":"{REPORT}","domains":[]}}'; fi"#);
    let team = Team::new(&[("plan_draft", &draft), ("exploration", &explorer)]);

    let out = team.run(&["Print one", "--auto"]).ends_with(0).out;

    assert!(out.contains("plan_draft: the answer can't be used") && out.contains("9.9"), "{out}");
    assert!(team.told("plan_draft", 2).contains("the plan can't be run"), "{}", team.told("plan_draft", 2));
    let again = team.told("plan_draft", 3);
    for words in ["joins two verbs", "make two tasks of it", "the role reviwer", "did you mean reviewer?"] {
        assert!(again.contains(words), "{words}: {again}");
    }
    assert_eq!(team.count("plan_review"), 1, "the critic reviews what can be run");
    assert!(
        team.told("exploration", 2).contains("the report judges or lacks what it is held to"),
        "an explorer's words are held, too"
    );
    assert_eq!(team.shown()["merged"], 1);
}

#[test]
fn a_plan_that_lowers_what_its_changes_must_pass_goes_back_to_the_architect() {
    let mut loose = plan(&[1]);
    loose["x-switchboard"] = json!({ "turbo": true });
    loose["phases"][0]["tasks"][0]["x-switchboard"] = json!({ "gates": ["-test_integrity"] });
    let (loose, good) = (json!({ "plan": loose }), json!({ "plan": plan(&[1]) }));
    let draft = format!("case $n in 1) say '{loose}' ;; *) say '{good}' ;; esac");
    let team = Team::new(&[("plan_draft", &draft)]);

    team.run(&["Print one", "--auto"]).ends_with(0);

    let again = team.told("plan_draft", 2);
    assert!(again.contains("(turbo of the plan, gate -test_integrity of task 1.1)"), "{again}");
    assert!(team.count("review") > 0, "the change is reviewed");
    assert_eq!(team.shown()["merged"], 1);
}

#[test]
fn the_architect_has_the_failure_once_before_a_person_is_asked() {
    // The change is outside of the task's files until the architect says so; three attempts are refused.
    let work = r#"if grep -q 'keep to your file' "$told"; then rm other.*; echo "echo 1.1" > 1.1.sh; else echo $n > other.$n; fi"#;
    let decision = r#"say '{"decision":"retry_with","reason":"It strays.","note":"keep to your file"}'"#;
    let team = Team::new(&[("work", work), ("decision", decision)]);
    let plan = team.sandbox.plan_text(&plan(&[1]).to_string());

    let out = team.run(&[&plan, "--without", "docs"]).ends_with(0).out;

    assert!(out.contains("the architect decides: retry_with"), "{out}");
    assert!(!out.contains("ASKS YOU"), "no person was asked: {out}");
    assert_eq!((team.count("decision"), team.count("work")), (1, 4));
    let told = team.told("decision", 1);
    for words in ["Task 1.1 of phase 1 has no attempts left", "attempt 3 was refused", "gate scope", "other.3"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(team.told("work", 4).contains("A note of the architect for this attempt:\nkeep to your file"));
}

#[test]
fn a_task_that_the_architect_gives_up_is_a_persons_question_with_the_reason() {
    let decision = r#"say '{"decision":"give_up","reason":"It can not be done in one file."}'"#;
    let team = Team::new(&[("work", "echo $n > other.$n"), ("decision", decision)]);
    let plan = team.sandbox.plan_text(&plan(&[1]).to_string());

    let run = team.run_aside(&[&plan]);
    let title = team.answer("stop", None);

    run.join().unwrap().ends_with(4);
    assert!(title.contains("the architect gives it up: task 1.1"), "{title}");
    assert_eq!(team.count("decision"), 1);
}

#[test]
fn the_critic_gets_an_empty_folder_and_what_it_judges_and_another_role_so_if_it_may_not_read() {
    let looks = |answer: &str| format!(r#"{{ ls -A; git rev-parse HEAD 2>&1; }} > "$0.saw.$step.$n"; say '{answer}'"#);
    let sees = looks(r#"{"verdict":"APPROVED","reasons":["good"]}"#);
    let team = Team::new(&[("plan_review", &sees), ("review", &looks(REVIEW))]);
    let saw = |step: &str, n: u32| {
        std::fs::read_to_string(team.sandbox.folder().join(format!("agent.sh.saw.{step}.{n}"))).unwrap()
    };
    std::fs::write(team.sandbox.root().join("plan.json"), plan(&[1]).to_string()).unwrap();

    team.run(&["plan.json", "--auto", "--without", "docs"]).ends_with(0);

    assert!(saw("plan_review", 1).starts_with("fatal: not a git repository"), "{}", saw("plan_review", 1));
    assert!(saw("review", 1).contains("1.1.sh"), "{}", saw("review", 1));
    let told = team.told("plan_review", 1);
    assert!(told.contains("Make 1.1.sh") && told.contains("The current folder is empty"), "{told}");

    super::guardrails::role(&team.sandbox, "reviewer", "rights: execute\n");
    std::fs::write(team.sandbox.root().join("plan.json"), plan(&[2]).to_string()).unwrap();
    team.run(&["plan.json", "--auto", "--without", "docs"]).ends_with(0);

    assert!(saw("review", 2).starts_with("fatal: not a git repository"), "{}", saw("review", 2));
    let told = team.told("review", 2);
    assert!(told.contains("+echo 2.1") && !told.contains("checked out"), "{told}");
}

#[test]
fn commands_of_a_plan_that_a_model_made_are_untrusted() {
    let mut dear = plan(&[1]);
    dear["x-switchboard"] = json!({ "test": ["true"] });
    let team = Team::new(&[("plan_draft", &format!("say '{}'", json!({ "plan": dear })))]);
    let run = team.run_aside(&["Print one", "--auto"]);

    let need = team.sandbox.question_within(Duration::from_secs(90));
    let detail = need["detail"].as_str().unwrap();
    assert!(detail.contains("have not trusted") && detail.contains("switchboard trust"), "{need}");
    assert_eq!(team.count("work"), 0);
    let file = detail.split("switchboard trust ").nth(1).unwrap().split(' ').next().unwrap();
    team.sandbox.switchboard(&["trust", file, "--yes"]).ends_with(0);
    team.answer("retry", None);

    run.join().unwrap().ends_with(0).says("test_runner");
}

#[test]
fn a_role_that_writes_or_says_nothing_is_asked_again_and_then_a_person_is() {
    let writes = "case $n in 1) echo x > mine.txt ;; 2) : > empty.txt ;; *) mkdir folder ;; esac";
    let team =
        Team::new(&[("plan_review", &format!(r#"{writes}; say '{{"verdict":"APPROVED","reasons":["good"]}}'"#))]);
    let run = team.run_aside(&["Print one", "--auto"]);

    let title = team.answer("stop", None);

    assert!(title.contains("critic gives no usable answer") && title.contains("may change nothing"), "{title}");
    assert!(title.contains("changed folder"), "{title}");
    assert_eq!(team.count("plan_review"), 3);
    run.join().unwrap().ends_with(4);
}

#[test]
fn a_question_that_nobody_answers_ends_the_run_and_it_can_go_on() {
    let mut team = Team::new(&[("questions", r#"say '{"questions":[{"question":"Which shell?"}]}'"#)]);
    team.sandbox.set("SWITCHBOARD_ASK_MS", "700");

    team.run(&["Print one", "--auto"]).ends_with(4).says("nobody answered in time");

    assert_eq!(team.shown()["state"], "stopped");
    team.sandbox.unset("SWITCHBOARD_ASK_MS");
    team.sandbox.switchboard(&["down"]);
    let run = team.sandbox.run_aside(&["--resume"]);
    assert_eq!(team.answer("text", Some("the Bourne shell")), "Which shell?");
    run.join().unwrap().ends_with(0);
    assert!(team.told("plan_draft", 1).contains("the Bourne shell"));
}

#[test]
fn what_a_led_run_does_not_heed_is_refused_and_auto_proceed_of_a_plan_is_heeded() {
    let team = Team::new(&[]);
    team.run(&["Print one", "--best-of", "2"]).ends_with(2).says("does not heed best_of");
    team.run(&["nothing-like-it.json"]).ends_with(1).says("can't be read");
    team.run(&["Print one", "--role", "coder=ada"]).ends_with(2).says("each task's own agent");
    let mut given = plan(&[1, 2]);
    given["execution_profile"] = json!({ "auto_proceed": true, "parallelization_enabled": true });
    given["phases"][0]["required_agents"] = json!(["coder", "story_reviewer", "Test-Engineer", "docs", "explorer"]);
    let path = team.sandbox.plan_text(&given.to_string());

    let out = team.run(&[&path]).ends_with(0).out;

    assert!(out.contains("the next phase begins by auto_proceed, nobody was asked"), "{out}");
    assert!(!out.contains("no run heeds it"), "{out}");
    assert_eq!(team.shown()["merged"], 2);
}

#[test]
fn a_led_run_is_stopped_with_what_it_has_started_and_goes_on() {
    let team = Team::new(&[("exploration", "test $n -gt 1 || sleep 60; say '{\"report\":\"REPORT\"}'")]);
    let script = team.sandbox.folder().join("agent.sh");
    let text = std::fs::read_to_string(&script).unwrap().replace("\"REPORT\"", &format!("\"{REPORT}\""));
    std::fs::write(&script, text).unwrap();
    let run = team.run_aside(&["Print one", "--auto"]);
    assert!(within(Duration::from_secs(60), || team.count("exploration") == 1), "nobody explores");
    let id = team.shown()["run"].as_str().unwrap().to_owned();

    team.sandbox.switchboard(&["stop", &id]).ends_with(0);

    run.join().unwrap().ends_with(4);
    assert!(within(Duration::from_secs(30), || team.shown()["parts"][1]["state"] == "stopped"), "{}", team.shown());
    team.sandbox.switchboard(&["run", "--resume"]).ends_with(0);
    assert_eq!(team.shown()["merged"], 2);
}

/// Points of the modes at which the daemon of a test dies.
const POINTS: [&str; 11] = [
    "mode-clarify",
    "mode-discover",
    "mode-reality",
    "mode-consult",
    "mode-specify",
    "mode-plan",
    "mode-critic-gate",
    "mode-execute",
    "mode-phase-wrap",
    "part-started",
    "run-recorded",
];

#[test]
fn a_daemon_that_dies_in_any_mode_leads_to_the_same_end() {
    for point in POINTS {
        let mut team = Team::new(&[]);
        team.sandbox.set("SWITCHBOARD_CRASH_AT", point);
        let crashed = team.run(&["Print one and two", "--auto", "--with", "specify"]);
        if point != "run-recorded" {
            assert_ne!(crashed.code, 0, "{point}: the daemon did not die: {}", crashed.out);
        }

        team.sandbox.unset("SWITCHBOARD_CRASH_AT");
        team.sandbox.switchboard(&["run", "--resume"]).ends_with(0);

        let shown = team.shown();
        assert_eq!((&shown["state"], &shown["merged"]), (&json!("succeeded"), &json!(2)), "{point}: {shown}");
        let counts = ["questions", "reality", "guidance", "spec", "plan_draft", "plan_review", "drift", "work"];
        let counts = counts.map(|step| team.count(step));
        assert_eq!(counts, [1, 1, 1, 1, 1, 1, 2, 4], "{point}: what was answered is not asked again");
        let branch = shown["branch"].as_str().unwrap();
        assert_eq!(team.sandbox.git(&["rev-list", "--count", &format!("main..{branch}")]), "2\n", "{point}");
    }
}

/// Makes a team whose architect first asks a person something.
fn asking() -> Team {
    Team::new(&[("questions", r#"say '{"questions":[{"question":"Which shell?"}]}'"#)])
}

/// Resumes the newest run, answers its question, and asserts that it ends as without a crash.
#[track_caller]
fn ends_as_ever(team: &Team) {
    let run = team.sandbox.run_aside(&["--resume"]);
    assert_eq!(team.answer("text", Some("the Bourne shell")), "Which shell?");
    run.join().unwrap().ends_with(0);

    let shown = team.shown();
    assert_eq!((&shown["state"], &shown["merged"]), (&json!("succeeded"), &json!(2)), "{shown}");
    let counts = ["questions", "reality", "plan_draft", "plan_review", "work"].map(|step| team.count(step));
    assert_eq!(counts, [1, 1, 1, 1, 4], "what was answered is not asked again");
}

#[test]
fn a_person_is_asked_once_where_the_daemon_dies_just_after_it_has_asked() {
    let mut team = asking();
    team.sandbox.set("SWITCHBOARD_CRASH_AT", "person-asked");
    let crashed = team.run(&["Print one and two", "--auto"]);
    assert_ne!(crashed.code, 0, "the daemon did not die: {}", crashed.out);

    team.sandbox.unset("SWITCHBOARD_CRASH_AT");
    ends_as_ever(&team);

    let asked = team.sandbox.call(&["read_events", "kinds:=[\"need_asked\"]"]);
    assert_eq!(asked["events"].as_array().unwrap().len(), 1, "{asked}");
}

#[test]
fn a_stopped_run_that_goes_on_does_so_also_where_the_daemon_dies_just_after_that_was_recorded() {
    let mut team = asking();
    team.sandbox.set("SWITCHBOARD_ASK_MS", "700");
    team.run(&["Print one and two", "--auto"]).ends_with(4).says("nobody answered in time");
    team.sandbox.switchboard(&["down"]);
    team.sandbox.unset("SWITCHBOARD_ASK_MS");
    team.sandbox.set("SWITCHBOARD_CRASH_AT", "mode-resume");
    let crashed = team.sandbox.switchboard(&["run", "--resume"]);
    assert_ne!(crashed.code, 0, "the daemon did not die: {}", crashed.out);

    team.sandbox.unset("SWITCHBOARD_CRASH_AT");
    ends_as_ever(&team);
}

#[test]
fn a_plan_that_was_approved_before_goes_on_at_the_phase_that_is_left() {
    let team = Team::new(&[]);
    let path = team.sandbox.plan_text(&plan(&[1, 2]).to_string());
    let run = team.run_aside(&[&path, "--merge"]);
    assert_eq!(team.answer("stop", None), "Ready for Phase 2?");
    run.join().unwrap().ends_with(4);
    let id = team.shown()["run"].as_str().unwrap().to_owned();
    team.sandbox.switchboard(&["merge", &id, "--partial"]).ends_with(0);
    let reviews = team.count("plan_review");

    let out = team.run(&[&path, "--merge"]).ends_with(0).out;

    assert!(out.contains("MODE: EXECUTE") && !out.contains("MODE: CRITIC-GATE"), "{out}");
    assert_eq!((team.count("plan_review"), team.shown()["merged"].as_u64()), (reviews, Some(1)));
    assert_eq!((team.sandbox.read("1.1.sh"), team.sandbox.read("2.1.sh")), ("echo 1.1\n".into(), "echo 2.1\n".into()));
}

#[test]
fn a_designer_prepares_what_touches_an_interface_and_the_coder_is_told() {
    let design = r#"say '{"scaffold":"One button, below 400 px as wide as the screen.","tokens":[{"name":"color.go","value":"green"}]}'"#;
    let work = "case $SWITCHBOARD_TASK in docs-*) : ;; *) echo 'a {}' > \"$SWITCHBOARD_TASK.css\" ;; esac";
    let team = Team::new(&[("design", design), ("work", work)]);
    let mut given = plan(&[1, 2]);
    given["phases"][0]["tasks"][0]["files_touched"] = json!(["1.1.css"]);
    given["phases"][1]["tasks"][0]["files_touched"] = json!(["2.1.css"]);
    given["phases"][1]["tasks"][0]["x-switchboard"] = json!({ "scope": ["*.css"] });
    let path = team.sandbox.plan_text(&given.to_string());

    team.run(&[&path, "--auto", "--merge", "--role", "designer=ada"]).ends_with(0);

    assert_eq!((team.count("design"), team.shown()["merged"].clone()), (2, json!(2)));
    let told = team.told("design", 1);
    assert!(told.contains("You are the designer") && told.contains("Make 1.1.sh"), "{told}");
    let told = team.told("work", 1);
    assert!(told.contains("One button, below 400 px") && told.contains("color.go"), "{told}");
    assert_eq!(team.sandbox.read("2.1.css"), "a {}\n");
    team.sandbox.switchboard(&["show", "1.1.design"]).ends_with(0).says("design passed");
}

#[test]
fn a_new_ceiling_holds_for_the_run_and_its_live_part_or_for_neither_when_the_daemon_dies() {
    let waits =
        r#"while [ ! -e "$0.go" ]; do sleep 0.05; done; echo "echo $SWITCHBOARD_TASK" > "$SWITCHBOARD_TASK.sh""#;
    let mut team = Team::new(&[("work", waits)]);
    team.sandbox.set("SWITCHBOARD_CRASH_AT", "budget-set");
    let follower = team.run_aside(&["Print one and two", "--auto", "--without", "docs", "--budget", "50"]);
    assert!(within(Duration::from_secs(90), || team.count("work") == 1), "no task is at work");
    let run = team.shown()["run"].as_str().unwrap().to_owned();

    drop(team.sandbox.switchboard(&["budget", &run, "--budget", "60", "--yes"]));

    team.sandbox.unset("SWITCHBOARD_CRASH_AT");
    drop(team.sandbox.switchboard(&["up", "--detach"]));
    let events = team.sandbox.call(&["read_events", "kinds:=[\"budget_set\"]", "limit:=200"]);
    let ceilings = |is_wanted: fn(&str, &str) -> bool| {
        let of = events["events"].as_array().unwrap().iter().filter(|event| {
            let subject = event["subject"].as_str().unwrap();
            is_wanted(subject.trim_start_matches("run/"), &run)
        });
        of.map(|event| event["facts"]["budget"]["ceiling"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let (whole, parts) = (ceilings(|of, run| of == run), ceilings(|of, run| of != run));
    assert_eq!(whole, [50_000_000, 60_000_000], "{events}");
    assert!(*parts.last().unwrap() > 50_000_000, "the part has the old ceiling: {parts:?}");

    std::fs::write(team.sandbox.folder().join("agent.sh.go"), "").unwrap();
    drop(follower.join());
    team.sandbox.switchboard(&["run", "--resume", &run]).ends_with(0);
}
