use serde_json::{Value, json};
use switchboard_protocol::event::{MAX_FACTS_BYTES, NewEvent};
use switchboard_protocol::run::{RunEvent, TaskState};
use switchboard_protocol::time::Millis;

use super::*;
use crate::plan_json;
use crate::run::RunState;

fn plan(tasks: Value, more: Value) -> Plan {
    let mut plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": [
        { "id": 1, "name": "p", "tasks": tasks }] });
    plan.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    plan_json::parse(&plan.to_string()).unwrap()
}

fn task(id: &str, depends: &[&str], files: &[&str], status: &str) -> Value {
    json!({ "id": id, "phase": 1, "description": "d", "depends": depends, "files_touched": files, "status": status })
}

fn ids(tasks: &[TaskId]) -> Vec<&str> {
    tasks.iter().map(TaskId::as_str).collect()
}

#[test]
fn says_what_runs_beside_what_and_what_is_left_out_and_why() {
    let plan = plan(
        json!([
            task("1.1", &[], &["a.rs"], "completed"),
            task("1.2", &["1.1"], &["src"], "pending"),
            task("1.3", &[], &["src/b.rs"], "in_progress"),
            task("1.4", &[], &["c.rs"], "blocked"),
            task("1.5", &["1.4"], &[], "pending"),
            task("1.6", &["1.5"], &[], "pending"),
            task("1.7", &["1.8"], &[], "pending"),
            task("1.8", &[], &[], "closed"),
            task("1.9", &["1.2", "1.3"], &["src/b.rs"], "pending"),
            task("1.10", &[], &[], "pending"),
        ]),
        json!({}),
    );

    let prepared = prepare(&plan, &BTreeSet::from([TaskId::new("1.10").unwrap()]), None);

    assert_eq!(ids(&prepared.eligible), ["1.2", "1.3", "1.7", "1.9"]);
    let waves: Vec<_> = prepared.waves.iter().map(|wave| ids(wave)).collect();
    assert_eq!(waves, [vec!["1.2", "1.7"], vec!["1.3"], vec!["1.9"]]);
    let pairs: Vec<_> =
        prepared.conflicts.iter().map(|c| (c.a.as_str(), c.b.as_str(), c.paths[0].path.as_str())).collect();
    assert_eq!(pairs, [("1.2", "1.3", "src")], "1.9 is ordered after both already");
    insta::assert_snapshot!(serde_json::to_string_pretty(&(prepared.skipped, prepared.deferred)).unwrap());
}

#[test]
fn a_phase_that_is_put_away_takes_its_tasks_with_it() {
    let of = |status: &str| {
        let phases = json!([
            { "id": 1, "name": "p", "status": status, "tasks": [
                task("1.1", &[], &[], "pending"), task("1.2", &[], &[], "completed")] },
            { "id": 2, "name": "q", "tasks": [
                { "id": "2.1", "phase": 2, "description": "d", "depends": ["1.1"] }, { "id": "2.2", "phase": 2, "description": "d" }] }]);
        let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": phases });
        let prepared = prepare(&plan_json::parse(&plan.to_string()).unwrap(), &BTreeSet::new(), None);
        let skipped = prepared.skipped.iter().map(|one| format!("{} {} {}", one.id, one.code.as_str(), one.detail));
        (prepared.eligible.iter().map(ToString::to_string).collect::<Vec<_>>(), skipped.collect::<Vec<_>>())
    };
    let parked = |word: &str| format!("1.1 parked the plan marks phase 1 as {word}");
    let done = || "1.2 complete the plan marks it as completed".to_owned();

    for status in ["pending", "in_progress", "complete", "completed"] {
        assert_eq!(of(status).0, ["1.1", "2.1", "2.2"], "{status}");
    }
    assert_eq!(of("closed"), (vec!["2.1".to_owned(), "2.2".to_owned()], vec![parked("closed"), done()]));
    let (eligible, skipped) = of("blocked");
    assert_eq!((eligible, &skipped[..2]), (vec!["2.2".to_owned()], &[parked("blocked"), done()][..]));
    assert!(skipped[2].starts_with("2.1 dep-unmet"), "{skipped:?}");
}

#[test]
fn the_number_of_workers_comes_from_the_flag_or_the_plan() {
    let workers = |more: Value, flag| {
        prepare(&plan(json!([task("1.1", &[], &[], "pending")]), more), &BTreeSet::new(), flag).max_workers
    };
    let profile = |on: bool, max: u32| json!({ "parallelization_enabled": on, "max_concurrent_tasks": max });

    assert_eq!(workers(json!({}), None), 2);
    assert_eq!(workers(json!({ "execution_profile": profile(false, 10) }), None), 1);
    assert_eq!(workers(json!({ "execution_profile": profile(true, 4) }), None), 4);
    assert_eq!(workers(json!({ "x-switchboard": { "max_workers": 3 } }), None), 3);
    assert_eq!(
        workers(json!({ "x-switchboard": { "max_workers": 3 }, "execution_profile": profile(false, 9) }), None),
        1
    );
    assert_eq!(workers(json!({ "execution_profile": profile(false, 10) }), Some(5)), 5);
    assert_eq!(workers(json!({}), Some(0)), 1);
    assert_eq!(workers(json!({}), Some(1000)), switchboard_protocol::run::MAX_WORKERS);
}

#[test]
fn the_opening_fits_into_the_log_and_opens_the_run() {
    let files: Vec<_> = (0..50).map(|n| format!("src/{n}/{}", "\"x".repeat(180))).collect();
    let many: Vec<_> = (0..200).map(|n| format!("9.{n}-{}", "y".repeat(55))).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    let mut tasks: Vec<_> = many.iter().map(|id| task(id, &[], &[], "pending")).collect();
    tasks.push(task("1.1", &many, &files.iter().map(String::as_str).collect::<Vec<_>>(), "pending"));
    tasks.push(task("1.2", &["1.1"], &[], "pending"));
    let mut plan = plan(json!(tasks), json!({ "x-switchboard": { "gates": ["todo"], "timeout_minutes": 10080 } }));
    plan.title = "\"".repeat(3000);
    let prepared = prepare(&plan, &BTreeSet::new(), None);

    let events = begin(&plan, &prepared, &"c".repeat(64));

    let mut state = RunState::new();
    for event in &events {
        let facts = NewEvent::of(event, "run/run_1", "daemon").unwrap().facts;
        assert!(facts.to_string().len() <= MAX_FACTS_BYTES, "{}: {facts}", facts.to_string().len());
        assert!(!state.is_open());
        state.step(event, Millis(0)).unwrap();
    }
    assert!(state.is_open());
    assert!(events.len() > 60, "{}", events.len());
    assert_eq!(state.tasks().count(), 202);
    assert_eq!(state.task(&TaskId::new("1.1").unwrap()).unwrap().state, TaskState::Pending);
}

fn begin(plan: &Plan, prepared: &Prepared, base: &str) -> Vec<RunEvent> {
    let hash = crate::plan_hash::whole(plan);
    let compiled = crate::way::compile(
        &crate::subtasks::expand(plan).unwrap(),
        prepared,
        &switchboard_protocol::run::TeamLimits::default(),
        crate::way::usual_attempts,
    )
    .unwrap();
    let max_workers = prepared.max_workers;
    opening(plan, &compiled, Opening { plan_hash: &hash, base, max_workers }).unwrap()
}

#[test]
fn the_plan_comes_back_from_the_events_of_the_opening() {
    let mut plan = plan(json!([task("1.1", &[], &[], "pending")]), json!({ "unknown": "\u{1}ü".repeat(1000) }));
    plan.title = "\"T\"".repeat(700);
    let prepared = prepare(&plan, &BTreeSet::new(), None);

    let events = begin(&plan, &prepared, "b");

    let part = |event: &RunEvent| {
        let RunEvent::PlanRecorded { text, .. } = event else { return None };
        Some(text.clone())
    };
    let text: String = events.iter().filter_map(part).collect();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}

#[test]
fn the_opening_leaves_out_what_is_done() {
    let plan = plan(
        json!([
            task("1.1", &[], &[], "completed"),
            task("1.2", &["1.1"], &[], "pending"),
            task("1.3", &["1.1", "1.2"], &[], "pending")
        ]),
        json!({}),
    );
    let prepared = prepare(&plan, &BTreeSet::new(), None);

    let events = begin(&plan, &prepared, "b");

    let added = |event: &RunEvent| {
        let RunEvent::UnitAdded { unit, within, after, .. } = event else { return None };
        let after: Vec<_> = after.iter().map(ToString::to_string).collect();
        Some((unit.to_string(), within.as_ref().map(ToString::to_string).unwrap_or_default(), after.join(" ")))
    };
    let added: Vec<_> = events.iter().filter_map(added).collect();
    let expected = [("phase 1", "", ""), ("1.2", "phase 1", ""), ("1.3", "phase 1", "1.2")];
    assert_eq!(added, expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())));
}

#[test]
fn a_plan_that_is_done_makes_a_run_that_is_done() {
    let plan = plan(json!([task("1.1", &[], &[], "completed")]), json!({}));
    let prepared = prepare(&plan, &BTreeSet::new(), None);

    let events = begin(&plan, &prepared, "b");

    let mut state = RunState::new();
    events.iter().for_each(|event| drop(state.step(event, Millis(0)).unwrap()));
    assert_eq!(state.decide(Millis(0)).len(), 1, "only the end is left");
}

fn phases(barrier: Value) -> Plan {
    let task = |phase: u64, id: &str, depends: &[&str]| json!({ "id": id, "phase": phase, "description": "d", "depends": depends });
    plan_json::parse(
        &json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "x-switchboard": { "barrier": barrier, "max_workers": 4 },
            "phases": [
                { "id": 2, "name": "second", "tasks": [task(2, "2.1", &[])] },
                { "id": 1, "name": "first", "tasks": [task(1, "1.1", &[]), task(1, "1.2", &["1.1"])] },
            ] })
        .to_string(),
    )
    .unwrap()
}

#[test]
fn a_phase_waits_for_the_one_before_it_unless_the_plan_says_no() {
    let waves = |barrier: Value| {
        let prepared = prepare(&phases(barrier), &BTreeSet::new(), None);
        prepared.waves.iter().map(|wave| ids(wave).join(" ")).collect::<Vec<_>>()
    };

    assert_eq!(waves(Value::Null), ["1.1", "1.2", "2.1"]);
    assert_eq!(waves(json!(false)), ["1.1 2.1", "1.2"]);
}

/// Creates a plan of the maximum size: layers with random edges and files.
fn large(count: usize, files: usize) -> Plan {
    let mut seed = 7_u64;
    let mut random = move |end: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % end
    };
    let tasks: Vec<_> = (0..count)
        .map(|n| {
            let on: Vec<_> = (0..random(4)).filter(|_| n > 0).map(|_| format!("1.{}", random(n))).collect();
            let files: Vec<_> = (0..2).map(|_| format!("src/{}/f.rs", random(files))).collect();
            let on: Vec<_> = on.iter().map(String::as_str).collect();
            let files: Vec<_> = files.iter().map(String::as_str).collect();
            task(&format!("1.{n}"), &on, &files, "pending")
        })
        .collect();
    plan(json!(tasks), json!({}))
}

#[test]
fn the_largest_plan_is_prepared_whole() {
    let plan = large(10_000, 20_000);

    let started = std::time::Instant::now();
    let prepared = prepare(&plan, &BTreeSet::new(), Some(8));
    println!("prepared 10,000 tasks in {:?}", started.elapsed());

    assert_eq!(prepared.eligible.len(), 10_000);
    let waves: Vec<_> = prepared.waves.iter().flatten().collect();
    assert_eq!(waves.len(), 10_000);
    assert_eq!(prepared.conflicts.len(), MAX_CONFLICTS);
    assert!(prepared.cut, "more pairs than are listed");
}

#[test]
fn a_plan_in_which_all_write_one_file_is_cut_and_does_not_hang() {
    let tasks: Vec<_> = (0..5_000).map(|n| task(&format!("1.{n}"), &[], &["Cargo.lock"], "pending")).collect();

    let prepared = prepare(&plan(json!(tasks), json!({})), &BTreeSet::new(), Some(8));

    assert!(prepared.cut);
    assert!(prepared.waves.iter().all(|wave| wave.len() == 1));
}

#[test]
fn tasks_that_do_not_say_what_they_write_run_one_by_one_where_the_plan_is_strict() {
    let tasks = json!([
        task("1.1", &[], &[], "pending"),
        task("1.2", &[], &["src/a.rs"], "pending"),
        json!({ "id": "1.3", "phase": 1, "description": "d", "x-switchboard": { "scope": ["docs/**"] } }),
    ]);
    let waves = |more: Value| {
        let prepared = prepare(&plan(tasks.clone(), more), &BTreeSet::new(), Some(3));
        prepared.waves.iter().map(|wave| ids(wave).iter().map(|id| (*id).to_owned()).collect()).collect::<Vec<Vec<_>>>()
    };

    assert_eq!(waves(json!({})), [["1.1", "1.2", "1.3"]]);
    let strict = waves(json!({ "x-switchboard": { "unknown_writes": "serial" } }));
    assert_eq!(strict, [vec!["1.1"], vec!["1.2", "1.3"]], "1.1 may write anything, the others not the same");
}

#[test]
fn readers_run_beside_each_other_and_not_beside_a_writer() {
    let reads = |id: &str, reads: &[&str]| json!({ "id": id, "phase": 1, "description": "d", "x-switchboard": { "reads": reads } });
    let plan = plan(
        json!([
            reads("1.1", &["src"]),
            reads("1.2", &["src/a.rs"]),
            task("1.3", &[], &["src/a.rs"], "pending"),
            task("1.4", &["1.3"], &["src/a.rs"], "pending")
        ]),
        json!({ "x-switchboard": { "max_workers": 4 } }),
    );

    let prepared = prepare(&plan, &BTreeSet::new(), None);

    let waves: Vec<_> = prepared.waves.iter().map(|wave| ids(wave)).collect();
    assert_eq!(waves, [vec!["1.1", "1.2"], vec!["1.3"], vec!["1.4"]]);
    let pairs: Vec<_> = prepared
        .conflicts
        .iter()
        .map(|pair| {
            format!(
                "{} {} {} {} {}",
                pair.a,
                pair.paths[0].a.verb(),
                pair.paths[0].path,
                pair.b,
                pair.paths[0].b.verb()
            )
        })
        .collect();
    let expected = [
        "1.1 reads src 1.3 writes",
        "1.1 reads src 1.4 writes",
        "1.2 reads src/a.rs 1.3 writes",
        "1.2 reads src/a.rs 1.4 writes",
    ];
    assert_eq!(pairs, expected);
    assert_eq!(prepared.deferred[0].detail, "waits for 1.1: it reads src, which this one writes");
    let together = prepare_together(&plan, &BTreeSet::new(), None);
    assert_eq!(ids(&together.waves[0]), ["1.1", "1.2", "1.3"]);
    assert_eq!(together.conflicts, prepared.conflicts);
}

#[test]
fn what_each_of_two_tasks_does_with_shared_files_is_said() {
    use switchboard_protocol::run::SkipCode;
    let both = |id: &str, writes: &[&str], reads: &[&str]| json!({ "id": id, "phase": 1, "description": "d", "files_touched": writes, "x-switchboard": { "reads": reads } });
    let plan = plan(json!([both("1.1", &["a", "b"], &["c"]), both("1.2", &["a", "c"], &["b"])]), json!({}));

    let prepared = prepare(&plan, &BTreeSet::new(), None);

    let deferred: Vec<_> = prepared.deferred.iter().map(|one| (one.code, one.detail.as_str())).collect();
    let detail = "waits for 1.1: both write a; it writes b, which this one reads; it reads c, which this one writes";
    assert_eq!(deferred, [(SkipCode::ConflictDeferred, detail)]);
}
