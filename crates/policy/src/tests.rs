//! Tests decisions of the default bundle, additions of a project, and broken rules.

use std::fmt::Write as _;

use serde_json::{Value, json};
use switchboard_protocol::agent::AgentKind;
use switchboard_protocol::caller::{Caller, CallerKind, Isolation};
use switchboard_protocol::id::{AgentName, RunId, WorkerId};
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::system::GetStatus;
use switchboard_protocol::verb::{Class, Row, table};

use super::*;

fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

fn person() -> Caller {
    Caller::person(name("anna"))
}

/// Returns a program that runs in a person's name while no person is present.
fn away() -> Caller {
    Caller { is_present: false, ..person() }
}

fn worker_held(isolation: Isolation) -> Caller {
    let run = RunId::new("run_7f3a90c1d2e4b5a6").unwrap();
    let kind = CallerKind::Worker { run, worker: WorkerId::from_bits(1), task: "1.1".to_owned(), isolation };
    Caller { kind, ..Caller::agent(name("coder-1")) }
}

fn worker() -> Caller {
    worker_held(Isolation::Full)
}

fn constrained() -> Caller {
    worker_held(Isolation::Constrained)
}

fn agent() -> Caller {
    Caller { is_verified: false, ..Caller::agent(name("berta")) }
}

/// Asks the default bundle.
fn ask(caller: Caller, verb: &str, args: Value, about: Option<AgentKind>) -> Decision {
    thread_local! {
        static POLICY: Policy = Policy::load(&Bundle::default()).unwrap();
    }
    POLICY.with(|policy| decide(policy, caller, verb, &args, about))
}

fn decide(policy: &Policy, caller: Caller, verb: &str, args: &Value, about: Option<AgentKind>) -> Decision {
    let row = table().into_iter().find(|row| row.name == verb);
    let row = row.unwrap_or_else(|| Row { name: verb.to_owned().into(), ..Row::of::<GetStatus>() });
    policy.decide(&Input::new(&row, &caller, args, about, Millis(1_800_000_000_000)))
}

fn line(decision: &Decision) -> String {
    let word = if decision.allow { "allow" } else { "DENY" };
    let more = if decision.obligations.is_empty() { "" } else { " (needs approval)" };
    format!("{word} {}{more}", decision.rule)
}

fn bundle(base: &str, project: Option<&str>) -> Bundle {
    let file = |name: &str, text: &str| File { name: name.to_owned(), text: text.to_owned() };
    let base = match base {
        "" => Bundle::default().base().to_vec(),
        text => vec![file("mine.rego", text)],
    };
    Bundle::from_files(base, project.map(|text| file(PROJECT_FILE, text)))
}

#[test]
fn answers_for_every_verb_and_every_caller() {
    let mut matrix = String::new();
    for row in table() {
        for (who, caller) in [
            ("person", person()),
            ("away", away()),
            ("worker", worker()),
            ("constrained", constrained()),
            ("agent", agent()),
        ] {
            let decision = ask(caller.clone(), &row.name, json!({}), None);

            assert!(!["default-deny", "unknown-class"].contains(&decision.rule.as_str()), "{} {who}", row.name);
            assert_ne!(decision.code, Some("policy.invalid"), "{} {who}: {}", row.name, decision.reason);
            assert_eq!(decision.allow, decision.code.is_none());
            writeln!(matrix, "{:<18} {who:<12} {}", row.name, line(&decision)).unwrap();
        }
    }
    insta::assert_snapshot!(matrix);
}

#[test]
fn a_class_that_the_rules_do_not_know_is_refused_even_to_people() {
    let policy = Policy::load(&Bundle::default()).unwrap();
    let row = Row { class: Class::Upstream, ..Row::of::<GetStatus>() };

    let decision = policy.decide(&Input::new(&row, &person(), &json!({}), None, Millis(0)));

    assert_eq!((decision.allow, decision.rule.as_str()), (false, "unknown-class"));
}

#[test]
fn rules_have_no_clock_but_the_time_that_they_are_given() {
    for call in ["time.now_ns()", "uuid.rfc4122(\"x\")", "opa.runtime()"] {
        let rules = format!(
            "package switchboard\nimport rego.v1\ndecision := {{\"allow\": true, \"rule\": sprintf(\"%v\", [{call}])}}\n"
        );
        let is_allowed = Policy::load(&bundle(&rules, None))
            .is_ok_and(|policy| decide(&policy, agent(), "get_run", &json!({}), None).allow);
        assert!(!is_allowed, "{call}: a decision that is remembered would depend on it");
    }
}

#[test]
fn rules_of_ones_own_are_written_against_classes() {
    let rules = "package switchboard\nimport rego.v1\n\
                 decision := {\"allow\": true, \"rule\": \"looking\"} if input.class in {\"status\", \"run\"}\n";
    let policy = Policy::load(&bundle(rules, None)).unwrap();

    assert!(decide(&policy, agent(), "get_run", &json!({}), None).allow);
    assert!(!decide(&policy, agent(), "merge_run", &json!({}), None).allow);
}

#[test]
fn a_worker_speaks_of_its_own_task_also_a_constrained_one_and_of_no_other() {
    for verb in ["report_step", "propose_task"] {
        for who in [worker(), constrained()] {
            assert!(ask(who.clone(), verb, json!({}), None).allow);
            assert!(ask(who.clone(), verb, json!({ "task": "1.1" }), None).allow);
            assert_eq!(ask(who.clone(), verb, json!({ "task": "1.2" }), None).rule, "worker-other-step");
            assert!(!ask(who, verb, json!({ "task": null }), None).allow);
        }
        let unproven = Caller { is_verified: false, ..worker() };
        assert_eq!(ask(unproven, verb, json!({}), None).rule, "unverified-worker");
        assert_eq!(ask(agent(), verb, json!({}), None).rule, "agent-has-no-task");
    }
}

#[test]
fn nothing_hides_behind_many_arguments() {
    let filled = |values: usize| json!({ "recipient": "coder-1", "payload": "x", "metadata": { "list": vec![0; values] }, "action": "delegate_task" });

    for values in [1, 600, 16_000] {
        assert_eq!(ask(agent(), "send_message", filled(values), None).verdict(), Verdict::Ask, "{values}");
    }
    let refused = ask(agent(), "send_message", filled(20_000), None);
    assert_eq!((refused.verdict(), refused.rule.as_str()), (Verdict::Deny, "too-large"));
    assert!(!ask(person(), "start_run", json!({ "agents": vec![0; 20_000], "merge": true }), None).allow);
    assert!(!ask(away(), "start_run", json!({ "agents": vec![0; 600], "merge": true }), None).allow);
}

#[test]
fn calls_that_differ_in_what_the_rules_read_are_decided_each_and_others_once() {
    let policy = Policy::load(&Bundle::default()).unwrap();
    let to = |recipient: &str, payload: &str, action: &str| json!({ "recipient": recipient, "payload": payload, "action": action });
    let verdict = |args: Value, about| decide(&policy, agent(), "send_message", &args, about).verdict();

    assert_eq!(verdict(to("coder-1", "x", "status_update"), None), Verdict::Allow);
    assert_eq!(verdict(to("coder-2", "longer", "status_update"), None), Verdict::Allow);
    assert_eq!(policy.memo.as_ref().unwrap().len(), 1);
    assert_eq!(verdict(to("coder-1", "x", "delegate_task"), None), Verdict::Ask);
    assert_eq!(verdict(to("coder-1", "x", "delegate_task"), Some(AgentKind::Person)), Verdict::Allow);
    assert_eq!(verdict(json!({ "recipient": "coder-1", "payload": "x" }), None), Verdict::Allow);
    assert_eq!(policy.memo.as_ref().unwrap().len(), 4);
}

#[test]
fn a_verdict_is_one_of_three() {
    let to = |action: &str| json!({ "recipient": "coder-1", "payload": "x", "action": action });

    assert_eq!(ask(agent(), "send_message", to("request_review"), None).verdict(), Verdict::Allow);
    assert_eq!(ask(agent(), "send_message", to("delegate_task"), None).verdict(), Verdict::Ask);
    assert_eq!(ask(agent(), "merge_run", json!({}), None).verdict(), Verdict::Deny);
}

#[test]
fn decides_the_cases_that_depend_on_arguments() {
    let mut cases = String::new();
    let mut case = |what: &str, caller, verb, args: Value, about| {
        let decision = ask(caller, verb, args, about);
        writeln!(cases, "{what:<58} {}", line(&decision)).unwrap();
        if !decision.allow {
            writeln!(cases, "    {} | {}", decision.reason, decision.hint).unwrap();
        }
    };
    let to = |name: &str, action: &str| json!({ "recipient": name, "payload": "x", "action": action });
    let chat = Some(AgentKind::Chat);
    let terminal = Some(AgentKind::Terminal);
    let a_person = Some(AgentKind::Person);
    let a_worker = Some(AgentKind::Worker);
    let unproven = Caller { is_verified: false, ..person() };
    let unproven_worker = Caller { is_verified: false, ..worker() };

    case("a person starts a run", away(), "start_run", json!({}), None);
    case("a person starts a run with merge", away(), "start_run", json!({ "merge": true }), None);
    case("a person starts a run that merges by itself", away(), "start_run", json!({ "auto_merge": "auto" }), None);
    case(
        "a person starts a run that asks before it merges",
        away(),
        "start_run",
        json!({ "auto_merge": "confirm" }),
        None,
    );
    case("a person who is there starts a run with merge", person(), "start_run", json!({ "merge": true }), None);
    case(
        "worker reads its own inbox by another spelling",
        worker(),
        "check_inbox",
        json!({ "agent": "Coder 1" }),
        a_worker,
    );
    case("worker reads another's inbox", worker(), "check_inbox", json!({ "agent": "berta" }), chat);
    case("worker registers under its name", worker(), "register_agent", json!({ "name": "coder-1" }), a_worker);
    case("worker registers under another name", worker(), "register_agent", json!({ "name": "anna" }), a_person);
    case("worker sets another's status", worker(), "set_agent_status", json!({ "name": "berta" }), chat);
    case("worker delegates", worker(), "send_message", to("berta", "delegate_task"), chat);
    case("worker sends to a terminal", worker(), "send_message", to("shell", "execute"), terminal);
    case("worker sees its run", worker(), "get_run", json!({ "run": "run_7f3a" }), a_worker);
    case("worker sees another run", worker(), "get_run", json!({ "run": "run_0000" }), a_worker);
    case("worker sees whichever run", worker(), "get_run", json!({ "run": "run_" }), a_worker);
    case("constrained worker sees its run", constrained(), "get_run", json!({ "run": "run_7f3a" }), a_worker);
    case("constrained worker reads its mail", constrained(), "check_inbox", json!({}), a_worker);
    case("worker without its token", unproven_worker.clone(), "check_inbox", json!({}), a_worker);
    case("unverified agent reports", agent(), "send_message", to("coder-1", "status_update"), a_worker);
    case("unverified agent asks for a review", agent(), "send_message", to("coder-1", "request_review"), a_worker);
    case("unverified agent sends to a terminal", agent(), "send_message", to("shell", "execute"), terminal);
    case("unverified agent delegates", agent(), "send_message", to("coder-1", "delegate_task"), a_worker);
    case("unverified agent delegates to nobody known", agent(), "send_message", to("ghost", "delegate_task"), None);
    case("unverified agent delegates to a person", agent(), "send_message", to("anna", "delegate_task"), a_person);
    case("unverified agent reads a chat agent's inbox", agent(), "check_inbox", json!({ "agent": "carl" }), chat);
    case("unverified agent reads a worker's inbox", agent(), "check_inbox", json!({ "agent": "coder-1" }), a_worker);
    case("unverified agent reads a person's inbox", agent(), "check_inbox", json!({ "agent": "anna" }), a_person);
    case("unverified agent takes a person's name", agent(), "register_agent", json!({ "name": "anna" }), a_person);
    case("unverified agent by a person's name reads its inbox", agent(), "check_inbox", json!({}), a_person);
    case("unverified agent by a worker's name releases its files", agent(), "release_files", json!({}), a_worker);
    case(
        "unverified agent takes a worker's name as a terminal",
        agent(),
        "register_terminal",
        json!({ "name": "coder-1", "pid": 1 }),
        a_worker,
    );
    case("person reads another's inbox", person(), "check_inbox", json!({ "agent": "coder-1" }), a_worker);
    case("person sends to a terminal", person(), "send_message", to("shell", "execute"), terminal);
    case("person without a token approves", unproven.clone(), "approve", json!({ "id": "need_1" }), a_person);
    case("person without a token looks", unproven.clone(), "get_status", json!({}), a_person);

    insta::assert_snapshot!(cases);
}

#[test]
fn a_refusal_is_a_failure_with_its_rule_and_hint() {
    let refused = ask(agent(), "merge_run", json!({}), None).refused("merge_run").unwrap();

    assert_eq!(refused.code, "policy.denied");
    assert_eq!(refused.what, "the policy does not allow merge_run: only a person decides this");
    assert_eq!(refused.place, "rule only-people-decide");
    let hint =
        "a person runs it in the foreground of a terminal (`switchboard call merge_run`); in CI set CI=1 and add --yes";
    assert_eq!(refused.hint, hint);
    assert_eq!(ask(person(), "merge_run", json!({}), None).refused("merge_run"), None);
}

#[test]
fn decisions_leave_nothing_behind_for_the_next() {
    let policy = Policy::load(&Bundle::default()).unwrap();

    for _ in 0..3 {
        assert!(decide(&policy, person(), "approve", &json!({}), None).allow);
        assert!(!decide(&policy, worker(), "approve", &json!({}), None).allow);
        assert!(decide(&policy, worker(), "check_inbox", &json!({}), None).allow);
        assert!(!decide(&policy, worker(), "check_inbox", &json!({ "agent": "berta" }), None).allow);
    }
}

#[test]
fn many_threads_may_ask_at_once() {
    let policy = Policy::load(&Bundle::default()).unwrap();

    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert!(decide(&policy, person(), "approve", &json!({}), None).allow);
                    assert!(!decide(&policy, agent(), "approve", &json!({}), None).allow);
                }
            });
        }
    });
}

#[test]
fn a_project_can_take_away_and_says_why() {
    let project = "package switchboard.project\nimport rego.v1\n\
                   deny contains \"no merges here\" if input.verb == \"merge_run\"\n";
    let policy = Policy::load(&bundle("", Some(project))).unwrap();

    let merge = decide(&policy, person(), "merge_run", &json!({}), None);
    let status = decide(&policy, person(), "get_status", &json!({}), None);

    assert_eq!(
        (merge.code, merge.reason.as_str(), merge.rule.as_str()),
        (Some("policy.denied"), "no merges here", "project")
    );
    assert!(merge.hint.contains(PROJECT_FILE));
    assert!(status.allow);
}

#[test]
fn a_project_that_does_more_than_take_away_is_refused() {
    for widening in [
        "package switchboard\nimport rego.v1\ndecision := {\"allow\": true}",
        "package switchboard.project\nimport rego.v1\nallow if true",
        "package switchboard.project\nimport rego.v1\ndefault deny := false",
        "package switchboard.project\nimport rego.v1\ndeny := set()",
        "package switchboard.project\nimport rego.v1\ndeny(x) := x",
        "package switchboard.project\nimport rego.v1\ndeny contains \"a\" if f(1)\nf(x) := x",
        "package switchboard.project.deny\nimport rego.v1\ndeny contains \"a\" if true",
        "package switchboard.project\nimport rego.v1\ndeny.decision contains \"a\" if true",
        "package other\nimport rego.v1\ndeny contains \"a\" if true",
    ] {
        let error = Policy::load(&bundle("", Some(widening))).unwrap_err();

        assert!(matches!(error, Error::Widens { .. }), "{widening}: {error}");
        let failure = error.to_failure();
        assert_eq!(failure.code, "policy.invalid");
        assert!(failure.place.starts_with(PROJECT_FILE), "{failure:?}");
    }
}

#[test]
fn a_project_cannot_reach_the_other_rules() {
    let reaching = "package switchboard.project\nimport rego.v1\n\
                    deny contains \"seen\" if data.switchboard.classes.approve\n";

    let policy = Policy::load(&bundle("", Some(reaching)));

    assert!(policy.is_err() || decide(&policy.unwrap(), person(), "get_status", &json!({}), None).allow);
}

#[test]
fn a_project_whose_texts_are_none_refuses_everything() {
    let project = "package switchboard.project\nimport rego.v1\ndeny contains {\"allow\": true} if true\n";
    let policy = Policy::load(&bundle("", Some(project))).unwrap();

    assert_eq!(decide(&policy, person(), "get_status", &json!({}), None).code, Some("policy.invalid"));
}

#[test]
fn a_reason_from_a_project_is_one_short_line() {
    let project = format!(
        "package switchboard.project\nimport rego.v1\ndeny contains \"a\\nb\\u001b[31m{}\" if true\n",
        "x".repeat(600)
    );
    let policy = Policy::load(&bundle("", Some(&project))).unwrap();

    let reason = decide(&policy, person(), "get_status", &json!({}), None).reason;

    assert!(reason.starts_with("a b [31mx"), "{reason:?}");
    assert_eq!(reason.chars().count(), 240);
}

#[test]
fn rules_that_do_not_parse_say_where_and_do_not_quote_the_file() {
    let error =
        Policy::load(&bundle("package switchboard\nimport rego.v1\ns3cret_token_x := := 1\n", None)).unwrap_err();

    let failure = error.to_failure();
    assert_eq!(failure.code, "policy.invalid");
    assert!(failure.place.starts_with("mine.rego:3:"), "{failure:?}");
    assert!(!format!("{failure:?}").contains("s3cret"), "{failure:?}");
}

#[test]
fn rules_without_a_decision_do_not_load_or_refuse_everything() {
    for rules in [
        "package switchboard\nimport rego.v1\nallow := true\n",
        "package other\nimport rego.v1\ndecision := {\"allow\": true}\n",
        "package switchboard\nimport rego.v1\ndecision := {\"allow\": true} if input.verb == \"nothing\"\n",
        "package switchboard\nimport rego.v1\ndecision := true\n",
        "package switchboard\nimport rego.v1\ndecision := {\"allow\": \"yes\"}\n",
        "package switchboard\nimport rego.v1\ndecision := {\"allow\": true, \"obligations\": [\"dance\"]}\n",
        "package switchboard\nimport rego.v1\ndecision := {\"allow\": true, \"obligations\": [\"require_approval\"]}\n",
        "package switchboard\nimport rego.v1\ndecision := {\"allow\": true} if input.verb\ndecision := {\"allow\": false}\n",
        "package switchboard\nimport rego.v1\ndecision := {\"allow\": true, \"x\": count([1 | numbers.range(1, 100000)[_]; numbers.range(1, 100000)[_]])}\n",
    ] {
        let Ok(policy) = Policy::load(&bundle(rules, None)) else { continue };

        let decision = decide(&policy, person(), "get_status", &json!({}), None);

        assert_eq!((decision.allow, decision.code), (false, Some("policy.invalid")), "{rules}");
    }
}

#[test]
fn rules_nested_beyond_reason_are_an_error() {
    for text in [
        format!(
            "package switchboard.project\nimport rego.v1\ndeny contains \"a\" if {}1{}",
            "(".repeat(20_000),
            ")".repeat(20_000)
        ),
        format!("package switchboard.project\nimport rego.v1\ndeny contains \"a\" if x == {}", "\n[".repeat(20_000)),
        format!("package switchboard.project\nimport rego.v1\ndeny contains \"a\" if {}true", "not ".repeat(200)),
        "\u{0}\u{0}".to_owned(),
        String::new(),
    ] {
        assert!(Policy::load(&bundle("", Some(&text))).is_err(), "{text:.80}");
    }
}

#[test]
fn a_users_own_rules_replace_the_default_ones() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    std::fs::write(folder.join("a.rego"), "package switchboard\nimport rego.v1\ndecision := answer\n").unwrap();
    std::fs::write(
        folder.join("b.rego"),
        "package switchboard\nimport rego.v1\nanswer := {\"allow\": true, \"rule\": \"mine\"}\n",
    )
    .unwrap();
    std::fs::write(folder.join("notes.txt"), "not rules").unwrap();

    let own = Bundle::from_folder(folder).unwrap();
    let policy = Policy::load(&own).unwrap();

    assert_eq!(decide(&policy, agent(), "shutdown", &json!({}), None).rule, "mine");
    assert_ne!(policy.digest(), Policy::load(&Bundle::default()).unwrap().digest());
}

#[test]
fn an_empty_or_missing_folder_means_the_default_rules() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();

    assert_eq!(Bundle::from_folder(folder).unwrap(), Bundle::default());
    assert_eq!(Bundle::from_folder(&folder.join("nowhere")).unwrap(), Bundle::default());
    assert_eq!(Bundle::default().with_project(folder).unwrap(), Bundle::default());
}

#[test]
fn a_projects_file_must_be_a_plain_file_of_sane_size() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    std::fs::create_dir(root.join(".switchboard")).unwrap();
    let file = root.join(PROJECT_FILE);

    std::os::unix::fs::symlink("/etc/passwd", &file).unwrap();
    let link = Bundle::default().with_project(root).unwrap_err();
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, "#".repeat(MAX_FILE_BYTES as usize + 1)).unwrap();
    let large = Bundle::default().with_project(root).unwrap_err();

    assert!(matches!(link, Error::Unfit { .. }), "{link}");
    assert!(matches!(large, Error::Unfit { .. }), "{large}");
}
