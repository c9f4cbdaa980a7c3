use std::collections::BTreeSet;

use serde_json::{Value, json};
use switchboard_protocol::error::Exit;
use switchboard_protocol::plan::Plan;
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::way::{Need, When};

use super::*;
use crate::{plan_json, prepare::prepare};

fn plan(settings: Value, tasks: &[(&str, &[&str], Value)]) -> Plan {
    let phase = |id: &str| id.split('.').next().and_then(|number| number.parse::<u64>().ok()).unwrap();
    let task = |(id, depends, own): &(&str, &[&str], Value)| json!({ "id": id, "phase": phase(id), "description": "d", "depends": depends, "x-switchboard": own });
    let numbers: BTreeSet<_> = tasks.iter().map(|(id, ..)| phase(id)).collect();
    let phases: Vec<_> = numbers
        .into_iter()
        .map(|number| {
            let tasks: Vec<_> = tasks.iter().filter(|(id, ..)| phase(id) == number).map(task).collect();
            json!({ "id": number, "name": "p", "tasks": tasks })
        })
        .collect();
    let plan =
        json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "x-switchboard": settings, "phases": phases });
    plan_json::parse(&plan.to_string()).unwrap()
}

fn compiled(plan: &Plan) -> Result<Compiled, Vec<WayRefusal>> {
    let expanded = crate::subtasks::expand(plan).unwrap();
    compile(
        &expanded,
        &prepare(&expanded.plan, &BTreeSet::new(), None),
        &switchboard_protocol::run::TeamLimits::default(),
        usual_attempts,
    )
}

/// Returns the gates of a way: name, need, and whether each applies.
fn gates(graph: &Graph) -> Vec<(String, Need, When)> {
    let gate = |step: &Step| Some((step.does.gate()?.to_string(), step.need, step.when.clone()));
    graph.steps().iter().filter_map(gate).collect()
}

fn task_way(plan: &Plan) -> Vec<(String, Need, When)> {
    let compiled = compiled(plan).unwrap();
    let unit = compiled.units.iter().find(|unit| unit.unit.task().is_some()).unwrap();
    gates(compiled.ways.iter().find(|way| way.digest() == unit.way).unwrap())
}

#[test]
fn a_plan_that_says_nothing_has_the_defaults_and_what_is_not_configured_says_so() {
    let plan = plan(json!({ "test": "make test" }), &[("1.1", &[], json!({}))]);

    let missing = When::NotConfigured { reason: "the plan names no build command".to_owned() };
    let expected = [
        ("syntax_check", Need::Required, When::Always),
        ("secretscan", Need::Required, When::Always),
        ("test_integrity", Need::Required, When::Always),
        ("build_check", Need::IfConfigured, missing),
        ("test_runner", Need::Required, When::Always),
    ];

    assert_eq!(task_way(&plan), expected.map(|(gate, need, when)| (gate.to_owned(), need, when)));
    let notes = compiled(&plan).unwrap().notes;
    assert_eq!(notes, ["gate build_check is not configured: the plan names no build command (all tasks)"]);
}

#[test]
fn what_is_left_out_of_a_teams_way_is_named_as_the_step_or_gate_that_it_is() {
    let mut plan =
        plan(json!({ "team": true, "gates": ["-secretscan"], "confirm": false }), &[("1.1", &[], json!({}))]);
    plan.phases[0].tasks[0].files_touched = vec!["README.md".to_owned()];

    let notes = compiled(&plan).unwrap().notes;

    for begin in [
        "gate secretscan is left out: the plan says so",
        "gate build_check is not configured: ",
        "step tests is left out: the task is of tier 1 (docs)",
        "step adversarial_tests is left out: ",
        "nobody is asked about findings of medium severity",
    ] {
        assert!(notes.iter().any(|note| note.starts_with(begin)), "{begin}: {notes:?}");
    }
}

#[test]
fn review_and_tests_of_a_critical_task_are_doubled_and_a_note_says_why() {
    for (file, is_doubled) in [("src/auth/login.rs", true), ("src/sum.rs", false), ("README.md", false)] {
        let mut plan = plan(json!({ "team": true }), &[("1.1", &[], json!({}))]);
        plan.phases[0].tasks[0].files_touched = vec![file.to_owned()];

        let notes = compiled(&plan).unwrap().notes;

        let doubled: Vec<_> = notes.iter().filter(|note| note.contains(" are added: ")).collect();
        assert_eq!(doubled.len(), usize::from(is_doubled), "{file}: {notes:?}");
        assert!(doubled.iter().all(|note| note.contains("tier 3 (critical): src/auth/login.rs: ")), "{doubled:?}");
    }
}

#[test]
fn gates_of_plan_phase_and_task_add_up_and_the_last_setting_of_a_gate_holds() {
    let settings = json!({ "lint": "make lint", "gates": ["placeholder_scan", "-secretscan"] });
    let plan = plan(settings, &[("1.1", &[], json!({ "gates": ["secrets", "-placeholder-scan"] }))]);

    let gates = task_way(&plan);

    let applies = |name: &str| gates.iter().find(|(gate, ..)| gate == name).map(|(.., when)| when.is_always());
    assert_eq!((applies("secretscan"), applies("placeholder_scan")), (Some(true), Some(false)));
    assert_eq!((applies("lint"), applies("syntax_check")), (Some(true), Some(true)));
    assert_eq!(gates.len(), 7, "each gate is there once");
}

#[test]
fn every_default_can_be_left_out_at_once_and_added_again() {
    let plan = plan(json!({ "gates": ["-all", "syntax_check"] }), &[("1.1", &[], json!({}))]);

    let left: Vec<_> =
        task_way(&plan).into_iter().filter(|(.., when)| when.is_always()).map(|(gate, ..)| gate).collect();

    assert_eq!(left, ["syntax_check"]);
}

#[test]
fn everything_that_can_not_be_judged_is_refused_at_once_and_the_worst_names_it() {
    let tasks = [
        ("1.1", &[][..], json!({ "gates": ["sintax_check", "test_runner"] })),
        ("1.2", &[][..], json!({ "gates": ["quality_budget", "xyz"] })),
    ];

    let refusals = compiled(&plan(json!({}), &tasks)).unwrap_err();

    let found: Vec<_> = refusals.iter().map(|refusal| (refusal.step.as_str(), refusal.code)).collect();
    let (unknown, mute) = (WayRefusalCode::UnknownGate, WayRefusalCode::CannotJudge);
    assert_eq!(found, [("sintax_check", unknown), ("test_runner", mute), ("xyz", unknown), ("quality_budget", mute)]);
    assert_eq!(refusals[0].hint, "did you mean syntax_check?");
    assert!(refusals[2].hint.starts_with("there are: syntax_check"), "{}", refusals[2].hint);
    let failure = failure(&refusals);
    assert_eq!((failure.code.as_str(), failure.exit(), failure.cause.len()), ("gate.not-configured", Exit::Gate, 4));
    assert!(failure.cause[1].starts_with("task 1.1, step test_runner: the gate is required"), "{:?}", failure.cause);
}

#[test]
fn tasks_of_a_phase_that_comes_later_can_not_be_waited_for_through_a_barrier() {
    let tasks = [("1.1", &["2.1"][..], json!({})), ("2.1", &[][..], json!({}))];

    let refusals = compiled(&plan(json!({}), &tasks)).unwrap_err();

    assert_eq!(refusals.len(), 1);
    assert_eq!(
        (refusals[0].task.as_ref().map(TaskId::as_str), refusals[0].code),
        (Some("1.1"), WayRefusalCode::Circle)
    );
    assert!(compiled(&plan(json!({ "barrier": false }), &tasks)).is_ok());
}

#[test]
fn the_steps_in_which_a_team_judges_are_for_the_roles_that_somebody_can_be_named_for() {
    let plan = plan(json!({ "team": true }), &[("1.1", &[], json!({ "scope": ["src/**"] }))]);

    let compiled = compiled(&plan).unwrap();

    let steps = compiled.ways.iter().flat_map(|way| way.steps());
    let judges = steps.filter_map(|step| {
        let StepAction::Work { role, answer: Some(_), .. } = &step.does else { return None };
        Some(role.to_string())
    });
    let named = RoleName::IN_TASKS.into_iter().filter(|role| *role != RoleName::Designer);
    assert_eq!(judges.collect::<BTreeSet<_>>(), named.map(|role| role.to_string()).collect());
}

#[test]
fn each_distinct_way_is_kept_once_and_slices_wait_only_where_the_plan_says_so() {
    let slice = |name: &str| json!({ "slice": name });
    let tasks = [("1.1", &[][..], slice("a")), ("1.2", &[][..], slice("b")), ("1.3", &[][..], json!({}))];
    let afters = |barrier: Value| {
        let compiled = compiled(&plan(json!({ "barrier": barrier }), &tasks)).unwrap();
        assert_eq!(compiled.ways.len(), 2, "one of tasks, one of groups");
        let slices = compiled.units.iter().filter(|unit| matches!(unit.unit, UnitId::Slice { .. }));
        slices.map(|unit| unit.after.len()).collect::<Vec<_>>()
    };

    assert_eq!(afters(Value::Null), [0, 0]);
    assert_eq!(afters(json!(true)), [0, 1]);
}

#[test]
fn a_person_is_asked_about_files_outside_only_where_the_plan_says_pause_and_the_gate_judges() {
    let asks = |gates: &[&str], settings: Value| {
        let plan = plan(json!({ "gates": gates }), &[("1.1", &[], settings)]);
        let compiled = compiled(&plan).unwrap();
        let steps = compiled.ways.iter().flat_map(|way| way.steps());
        steps.filter(|step| matches!(step.does, StepAction::Ask { .. })).count()
    };
    let scope = |on: &str| json!({ "scope": ["src"], "on_violation": on });

    assert_eq!(asks(&["-secretscan", "-test_integrity"], scope("pause")), 1);
    for on in ["refuse", "warn", "halt"] {
        assert_eq!(asks(&["-secretscan", "-test_integrity"], scope(on)), 0, "{on}");
    }
    assert_eq!(asks(&["-secretscan", "-test_integrity", "-scope"], scope("pause")), 0);
    assert_eq!(asks(&[], scope("warn")), 1, "about what secretscan finds");
}

#[test]
fn of_what_a_task_depends_on_the_one_behind_the_barrier_is_named() {
    let tasks = [("1.1", &["1.2", "2.1"][..], json!({})), ("1.2", &[][..], json!({})), ("2.1", &[][..], json!({}))];

    let refusals = compiled(&plan(json!({}), &tasks)).unwrap_err();

    let reasons: Vec<_> = refusals.iter().map(WayRefusal::line).collect();
    assert_eq!(
        reasons,
        ["task 1.1, step start: it depends on 2.1, which waits until its own phase or slice is merged; \
          move the task, or set x-switchboard.barrier to false"]
    );
}

#[test]
fn a_slice_that_waits_for_another_can_not_be_waited_for_by_it() {
    let slice = |name: &str| json!({ "slice": name });
    let tasks = [("1.1", &["1.3"][..], slice("a")), ("1.2", &[][..], slice("a")), ("1.3", &[][..], slice("b"))];

    assert!(compiled(&plan(json!({}), &tasks)).is_ok(), "slices wait for each other only on request");
    let refusals = compiled(&plan(json!({ "barrier": true }), &tasks)).unwrap_err();

    let found: Vec<_> = refusals.iter().map(|refusal| refusal.task.as_ref().map(TaskId::as_str)).collect();
    assert_eq!(found, [Some("1.1")]);
}

#[test]
fn a_single_refusal_is_the_failure_itself_and_a_note_names_the_tasks_that_it_is_about() {
    let own = |gates: Value| json!({ "gates": gates });
    let tasks = [("1.1", &[][..], own(json!(["xyz"]))), ("1.2", &[][..], json!({}))];
    let refusals = compiled(&plan(json!({}), &tasks)).unwrap_err();
    let failure = failure(&refusals);
    assert_eq!((failure.code.as_str(), failure.cause.len()), ("plan.unknown-gate", 1));
    assert!(failure.to_string().contains("task 1.1, step xyz: there is no gate \"xyz\"; there are: "), "{failure}");

    let left_out = own(json!(["-secretscan"]));
    let tasks = [("1.1", &[][..], left_out.clone()), ("1.2", &[][..], json!({})), ("1.3", &[][..], left_out)];
    let notes = compiled(&plan(json!({ "test": "t", "build": "b" }), &tasks)).unwrap().notes;
    assert_eq!(notes, ["gate secretscan is left out: the plan says so (task 1.1, 1.3)"]);
}

#[test]
fn each_step_of_a_team_has_the_limits_that_the_run_sets_and_a_coder_alone_waits_for_models_as_usual() {
    let limits = switchboard_protocol::run::TeamLimits {
        malformed_answers: 6,
        agent_errors: 7,
        lost_workers: 8,
        transient_errors: 9,
        ..switchboard_protocol::run::TeamLimits::default()
    };
    let of = |settings: Value| {
        let plan = plan(settings, &[("1.1", &[], json!({ "scope": ["src/**"] }))]);
        let expanded = crate::subtasks::expand(&plan).unwrap();
        let prepared = prepare(&expanded.plan, &BTreeSet::new(), None);
        let ways = compile(&expanded, &prepared, &limits, usual_attempts).unwrap().ways;
        let steps: Vec<_> = ways.iter().flat_map(|way| way.steps().to_vec()).collect();
        steps.into_iter().filter(|step| matches!(step.does, StepAction::Work { .. })).collect::<Vec<_>>()
    };

    let team = of(json!({ "team": true }));
    let (coders, judges): (Vec<_>, Vec<_>) = team.into_iter().partition(|step| step.does.answer().is_none());
    let [coder] = &coders[..] else { panic!("{coders:?}") };
    assert_eq!((coder.limits.losses, coder.limits.transients, coder.limits.failures), (8, 9, 0));
    assert!(coder.limits.is_lenient);
    assert!(judges.len() > 2);
    for Step { id, limits: Limits { attempts, losses, failures, transients, .. }, .. } in &judges {
        assert_eq!((*attempts, *losses, *failures, *transients), (7, 8, 8, 9), "{id}");
    }
    let [alone] = &of(json!({}))[..] else { panic!("one worker") };
    assert_eq!((alone.limits.losses, alone.limits.transients), (8, 0));
}

#[test]
fn a_person_is_asked_what_the_plan_asks_and_nothing_if_it_wants_nobody_asked() {
    let asked = |settings: Value| -> (Vec<Option<String>>, bool) {
        let plan = plan(json!({ "test": "t", "build": "b" }), &[("1.1", &[], settings)]);
        let compiled = compiled(&plan).unwrap();
        let question = |step: &Step| {
            let StepAction::Ask { question } = &step.does else { return None };
            Some(question.clone())
        };
        let questions = compiled.ways.iter().flat_map(|way| way.steps()).filter_map(question).collect();
        (questions, compiled.notes.iter().any(|note| note.starts_with("nobody is asked")))
    };

    assert_eq!(asked(json!({})), (vec![None], false), "about what secretscan finds");
    assert_eq!(asked(json!({ "confirm": "may it?" })), (vec![Some("may it?".to_owned())], false));
    assert_eq!(asked(json!({ "confirm": "may it?", "gates": ["-all"] })), (vec![Some("may it?".to_owned())], false));
    assert_eq!(asked(json!({ "confirm": false })), (vec![], true));
    assert_eq!(asked(json!({ "gates": ["-all"] })), (vec![], false), "no gate can find anything");
}

#[test]
fn what_a_linter_can_fix_is_fixed_where_a_change_is_made_and_not_where_it_is_chosen() {
    let plan = plan(json!({ "lint_fix": ["fix"] }), &[("1.1", &[], json!({ "best_of": 2 }))]);

    let compiled = compiled(&plan).unwrap();

    let names = |way: &Graph| way.steps().iter().map(|step| step.id.to_string()).collect::<Vec<_>>();
    let fixes = |makes: &str| {
        let way = compiled.ways.iter().map(|way| names(way)).find(|names| names.iter().any(|name| name == makes));
        way.expect("there is such a way").iter().filter(|name| *name == "lint_fix").count()
    };
    assert_eq!((fixes("work"), fixes("choose")), (1, 0));
}

#[test]
fn a_task_holds_the_paths_that_it_declares_and_a_subtask_holds_none() {
    let settings = json!({ "best_of": 2, "reads": ["docs"] });
    let mut plan = plan(json!({}), &[("1.1", &[], settings)]);
    plan.phases[0].tasks[0].files_touched = vec!["src/a.rs".to_owned()];

    let compiled = compiled(&plan).unwrap();

    let held: Vec<_> = compiled
        .units
        .iter()
        .filter_map(|unit| Some((unit.unit.task()?, unit.writes.len(), unit.reads.len())))
        .collect();
    assert_eq!(held.len(), 3);
    for (task, writes, reads) in held {
        let expected = if task.as_str() == "1.1" { (1, 1) } else { (0, 0) };
        assert_eq!((writes, reads), expected, "{task}");
    }
}

#[test]
fn a_security_review_is_left_out_in_advance_only_where_no_code_changes() {
    for (file, is_left_out) in [("README.md", true), ("src/sum.rs", false)] {
        let mut plan = plan(json!({ "team": true }), &[("1.1", &[], json!({}))]);
        plan.phases[0].tasks[0].files_touched = vec![file.to_owned()];

        let notes = compiled(&plan).unwrap().notes;

        let is_noted = notes.iter().any(|note| note.starts_with("step security_review is left out"));
        assert_eq!(is_noted, is_left_out, "{file}: {notes:?}");
    }
}
