//! Tests runs that a team leads from a plan: what an earlier run of the plan has left, what each phase must have left,
//! and what a person is asked.

use switchboard_protocol::modes::{Mode, ModeEvent, ModeFact, OptionalSteps, PersonAnswer, PhaseOutcome, Setup};
use switchboard_protocol::need::{Need, NeedKind};
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::WorkerTimeout;
use switchboard_protocol::verb::run::{Drive, RoleChoice};

use super::seat::{LOOKS, led};
use super::steering::{failed, read};
use super::*;

/// Returns a plan of two phases of one task, the first of which requires these roles.
fn plan(title: &str, required: &[&str]) -> String {
    let task = |id: &str, phase: u64| {
        json!({ "id": id, "phase": phase, "description": format!("do {id}"), "acceptance": "it is done",
            "files_touched": [format!("t/{id}"), repo::removed_by(id)] })
    };
    json!({ "schema_version": "1.0.0", "title": title, "swarm": "mega", "phases": [
        { "id": 1, "name": "one", "tasks": [task("1.1", 1)], "required_agents": required },
        { "id": 2, "name": "two", "tasks": [task("2.1", 2)] }] })
    .to_string()
}

/// Starts a run that a team leads from this plan.
async fn start(daemon: &Dispatch, request: &StartRunRequest, plan: &str, auto: bool) -> RunId {
    let steps = OptionalSteps { consult: false, docs: false, ..OptionalSteps::default() };
    let request = StartRunRequest {
        plan: plan.to_owned(),
        merge: false,
        budget: None,
        worker_timeout_ms: Some(WorkerTimeout { soft: None, hard: Some(3_600_000) }),
        drive: Some(Drive { lead: None, request: None, steps, auto }),
        ..request.clone()
    };
    daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap()
}

/// Returns what the modes of a run have recorded.
fn modes_of(daemon: &Dispatch, run: &RunId) -> Vec<ModeEvent> {
    let all = daemon.world.store.events_of(&format!("modes/{run}"), 0, 10_000).unwrap();
    let stepped = all.iter().filter_map(|event| match event.fact() {
        Some(ModeFact::ModeStepped { event, .. }) => Some(event),
        Some(ModeFact::PartStarted { .. }) | None => None,
    });
    stepped.collect()
}

fn begun(daemon: &Dispatch, run: &RunId) -> Setup {
    match modes_of(daemon, run).into_iter().next() {
        Some(ModeEvent::Began { setup }) => setup,
        first => panic!("{first:?}"),
    }
}

/// Waits until a person is asked about the run.
async fn asked(stage: &Stage, daemon: &Dispatch) -> Need {
    for _ in 0..LOOKS {
        let open = switchboard_needs::list(&daemon.world.store, false).unwrap();
        if let Some(need) = open.into_iter().find(|need| need.kind == NeedKind::Team) {
            return need;
        }
        modes::answer(stage, daemon).await.unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    panic!("nobody is asked");
}

async fn resolve(daemon: &Dispatch, need: &Need, option: &str, note: Option<&str>) {
    let (event, guard) = switchboard_needs::resolved(&need.id, "answered", Some(option.to_owned()), "ben").unwrap();
    let event = note.map_or(event.clone(), |note| event.with_body(note));
    daemon.world.commit(Batch::synced().event(event).guard(guard)).await.unwrap();
}

async fn is_over(stage: &Stage, daemon: &Dispatch) {
    for _ in 0..LOOKS {
        if *daemon.live_runs().borrow() == 0 {
            return;
        }
        modes::answer(stage, daemon).await.unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    panic!("it does not end");
}

/// Merges a run as soon as nobody has reserved its files.
async fn merge(daemon: &Dispatch, run: &RunId) {
    let request = read(json!({ "run": run, "partial": true }));
    for _ in 0..LOOKS {
        match failed(daemon.merge_run(&request, &people::ann().unwrap(), None).await) {
            Err(failure) if failure.code == "lease.conflict" => {}
            answer => return drop(answer.unwrap()),
        }
    }
    panic!("somebody has reserved its files");
}

async fn stop(daemon: &Dispatch, run: &RunId) {
    daemon.stop_run(&read(json!({ "what": run })), &people::ann().unwrap().name, None).await.unwrap();
    daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
}

fn is_reviewed(daemon: &Dispatch, run: &RunId) -> bool {
    let all = daemon.world.store.events_of(&format!("modes/{run}"), 0, 10_000).unwrap();
    let is_review = |what: &str| what == "critic: plan_review";
    all.iter().any(|event| matches!(event.fact(), Some(ModeFact::PartStarted { what, .. }) if is_review(&what)))
}

#[test]
fn a_plan_that_an_earlier_run_has_approved_is_not_reviewed_again_and_goes_on_after_what_is_merged_of_it() {
    // The phase at which the second run begins, by the number of phases that the first one has done and merged.
    for (done, merges, from_phase) in [(1, false, None), (1, true, Some(2)), (2, true, Some(3))] {
        with_stage(SimSpec { people: 1000, ..SimSpec::kind() }, async |stage, daemon, request| {
            let plan = plan("Approved", &[]);
            let first = start(daemon, &request, &plan, done == 2).await;
            if done == 2 {
                is_over(stage, daemon).await;
            } else {
                let next = asked(stage, daemon).await;
                assert!(next.title.contains("Ready for Phase 2"), "{}", next.title);
                stop(daemon, &first).await;
            }
            if merges {
                merge(daemon, &first).await;
            }
            let setup = begun(daemon, &first);
            assert_eq!((setup.approved, setup.from_phase, setup.is_empty_project), (None, None, false));
            assert!(is_reviewed(daemon, &first));

            let second = start(daemon, &request, &plan, true).await;
            let setup = begun(daemon, &second);

            let facts = setup.plan.unwrap();
            assert_eq!((setup.approved, setup.from_phase), (Some(facts.plan), from_phase), "{done} {merges}");
            is_over(stage, daemon).await;
            assert!(!is_reviewed(daemon, &second));
            let done = |event| {
                let ModeEvent::PhaseEnded { phase, outcome: PhaseOutcome::Done, .. } = event else { return None };
                Some(phase)
            };
            let ran = modes_of(daemon, &second).into_iter().filter_map(done);
            assert_eq!(ran.collect::<Vec<_>>(), (from_phase.unwrap_or(1)..=2).collect::<Vec<_>>());
        });
    }
}

#[test]
fn a_plan_that_has_changed_or_was_not_approved_is_reviewed() {
    with_stage(SimSpec { people: 1000, ..SimSpec::kind() }, async |stage, daemon, request| {
        let stopped = start(daemon, &request, &plan("One", &[]), true).await;
        stop(daemon, &stopped).await;
        let first = start(daemon, &request, &plan("One", &[]), true).await;
        assert_eq!(begun(daemon, &first).approved, None, "the run before was stopped too early");
        is_over(stage, daemon).await;

        let second = start(daemon, &request, &plan("Two", &[]), true).await;

        assert_eq!(begun(daemon, &second).approved, None);
    });
}

#[test]
fn a_phase_whose_roles_took_part_under_their_own_names_or_those_of_the_swarm_misses_nothing_at_its_end() {
    with_stage(SimSpec { people: 1000, ..SimSpec::kind() }, async |stage, daemon, request| {
        let required = ["explorer", "mega_reviewer", "coder", "test_engineer"];
        let run = start(daemon, &request, &plan("Roles", &required), false).await;

        let need = asked(stage, daemon).await;

        assert!(need.title.contains("Ready for Phase 2"), "{need:?}");
        let checks = modes_of(daemon, &run).into_iter().filter_map(|event| {
            let ModeEvent::Checked { missing, .. } = event else { return None };
            Some(missing)
        });
        assert_eq!(checks.collect::<Vec<_>>(), [Vec::<String>::new(), Vec::new()], "before the phase and after it");
    });
}

#[test]
fn the_end_of_a_phase_misses_the_evidence_of_its_tasks() {
    with_stage(SimSpec { people: 1000, ..SimSpec::kind() }, async |stage, daemon, request| {
        let run = start(daemon, &request, &plan("Evidence", &[]), false).await;
        let merged = async || {
            for _ in 0..LOOKS {
                let rows = daemon.world.store.read(&Query::table(RUNS).eq("part_work", "phase")).unwrap();
                let part = rows.iter().find(|row| row.get_int("merged") == Some(1));
                if let Some(part) = part {
                    return crate::work::run_id(part).unwrap();
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
                modes::answer(stage, daemon).await.unwrap();
            }
            panic!("the task is not merged");
        };
        let part = merged().await;
        let file = crate::plan::evidence_file(&daemon.world.config, &part, &TaskId::new("1.1").unwrap());
        daemon.world.ports.files.remove(&file).unwrap();

        let need = asked(stage, daemon).await;

        assert!(
            need.detail.lines().count() > 1 && need.detail.lines().all(|line| line.starts_with("1.1: ")),
            "{need:?}"
        );
        assert_eq!(daemon.get_run(&read(json!({ "run": run }))).await.unwrap().summary.mode, Some(Mode::PhaseWrap));
    });
}

#[test]
fn a_person_who_is_asked_for_the_next_phase_sees_its_tasks_and_answers_with_a_choice_and_a_note() {
    let cases = [
        ("proceed", None, None),
        ("revise", None, Some("Ready for Phase 2?")),
        ("revise", Some("smaller tasks"), Some("smaller tasks")),
        ("stop", Some("enough"), Some("enough")),
    ];
    for (option, note, text) in cases {
        with_stage(SimSpec { people: 1000, ..SimSpec::kind() }, async |stage, daemon, request| {
            let run = start(daemon, &request, &plan("Ask", &[]), false).await;
            let need = asked(stage, daemon).await;
            assert_eq!(need.detail.trim(), "2.1 do 2.1");

            resolve(daemon, &need, option, note).await;
            tokio::time::sleep(Duration::from_secs(1)).await;

            let answered = modes_of(daemon, &run).into_iter().find_map(|event| {
                let ModeEvent::PersonAnswered { by, answer: PersonAnswer::Chose { choice, note }, .. } = event else {
                    return None;
                };
                Some((by.to_string(), choice.as_str().to_owned(), note))
            });
            let note = note.map(|note| switchboard_protocol::id::Digest::of(note.as_bytes()));
            assert_eq!(answered, Some(("ben".to_owned(), option.to_owned(), note)));
            let steps = daemon.world.store.events_of(&format!("modes/{run}"), 0, 10_000).unwrap();
            let is_answer = |event: &&switchboard_protocol::event::Event| {
                let step = event.fact::<ModeFact>();
                matches!(step, Some(ModeFact::ModeStepped { event: ModeEvent::PersonAnswered { .. }, .. }))
            };
            let answer = steps.iter().find(is_answer).unwrap();
            assert_eq!(daemon.world.store.body(answer.lsn).unwrap().as_deref(), text, "{option}");
        });
    }
}

#[test]
fn a_task_of_a_phase_depends_on_all_tasks_of_the_phase_before_it() {
    with_stage(SimSpec { people: 1000, ..SimSpec::kind() }, async |stage, daemon, request| {
        let mut plan: Value = serde_json::from_str(&plan("Later", &[])).unwrap();
        let mut second = plan["phases"][0]["tasks"][0].clone();
        let files = json!(["t/1.2", repo::removed_by("1.2")]);
        (second["id"], second["description"], second["files_touched"]) = (json!("1.2"), json!("do 1.2"), files);
        plan["phases"][0]["tasks"].as_array_mut().unwrap().push(second);
        plan["phases"][1]["tasks"][0]["depends"] = json!(["1.1", "1.2"]);
        let run = start(daemon, &request, &plan.to_string(), true).await;

        is_over(stage, daemon).await;

        let shown = daemon.get_run(&read(json!({ "run": run }))).await.unwrap();
        assert_eq!((shown.summary.state.as_str(), shown.summary.merged), ("succeeded", 3), "{shown:?}");
    });
}

#[test]
fn roles_that_a_led_run_can_not_follow_are_refused_before_anything_starts() {
    with_stage(SimSpec { people: 1000, ..SimSpec::kind() }, async |_, daemon, request| {
        let choice = |role: RoleName| RoleChoice::new(role.id());
        let disabled = || RoleChoice { disabled: true, ..choice(RoleName::Critic) };
        let models = || RoleChoice { fallback_models: vec!["m".to_owned()], ..choice(RoleName::Docs) };
        let cases = [
            (vec![choice(RoleName::Critic), choice(RoleName::Critic)], "request.bad-args", "critic is named twice"),
            (vec![disabled()], "role.disabled", "the team needs the role critic"),
            (vec![models()], "plan.no-effect", "heeds no temperature and no fallback models"),
        ];
        for (roles, code, says) in cases {
            let request = StartRunRequest { roles, ..led(request.clone(), OptionalSteps::default()) };
            let started = daemon.start_run(request, &people::ann().unwrap(), None).await;
            refused(started.map_err(|error| error.to_failure()), code, says);
        }
        assert_eq!(daemon.world.store.read(&Query::table(RUNS)).unwrap().len(), 0);
    });
}
