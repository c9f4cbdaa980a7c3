use std::sync::atomic::{AtomicBool, Ordering};
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::WorkerId;

use switchboard_protocol::verb::run::{GetRunRequest, ResumeRunRequest, StartRunRequest};
use switchboard_store::{Batch, Filter};

use super::*;
use crate::port::Ports;

mod at_work;
mod boot;
mod briefing;
mod cleaned;
mod confirmed;
mod constrained;
mod granted;
mod guardrails;
mod kept;
mod leases;
mod led_plans;
mod led_runs;
mod long_answers;
mod loops;
mod merges;
mod named_units;
mod phases;
mod recorded;
mod refusals;
mod replies;
mod said;
mod seat;
mod seat_answers;
mod seat_lost;
mod shared_ceilings;
mod shown;
mod signals;
mod stale;
mod start_points;
mod starts;
mod steering;
mod task_reports;
mod traces;
mod trees;
mod unrecorded;
mod user_branches;
mod watched;
mod workers;

/// Runs a test with a daemon in a simulation without failures, and the request for a run of the simulation's plan.
fn with_daemon(test: impl AsyncFn(&Dispatch, StartRunRequest)) {
    with_stage(SimSpec::kind(), async |_, daemon, request| test(daemon, request).await);
}

/// Same in a simulation with these settings, with the state shared by the simulated ports.
fn with_stage(spec: SimSpec, test: impl AsyncFn(&Arc<Stage>, &Dispatch, StartRunRequest)) {
    with_changed(spec, |_, _| {}, test);
}

/// Same with a daemon whose settings and ports are changed first.
fn with_changed(
    spec: SimSpec,
    change: impl FnOnce(&mut Config, &mut Ports),
    test: impl AsyncFn(&Arc<Stage>, &Dispatch, StartRunRequest),
) {
    let stage = Arc::new(Stage::new(1, spec));
    let store = Store::in_memory(vec![Box::new(Work), Box::new(switchboard_needs::Needs)], stage.clock.for_store());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        stage.clock.begin_life();
        let (mut config, mut ports) = (config(&stage), ports::ports(&stage, &store));
        change(&mut config, &mut ports);
        let daemon = Dispatch::with(World::new(store.clone(), config, ports, CancellationToken::new()));
        *lock(&stage.daemon) = Some(daemon.clone());
        daemon.boot().await.unwrap();
        let request = request::request(&stage, &plan(&stage, 1)).unwrap();
        test(&stage, &daemon, request).await;
    });
}

/// Expects a refusal with this code and this text.
#[track_caller]
fn refused<T: std::fmt::Debug>(answer: Result<T, Failure>, code: &str, says: &str) {
    let failure = answer.unwrap_err();
    assert!(failure.code == code && format!("{failure:?}").contains(says), "{code} {says}: {failure:?}");
}

#[track_caller]
fn plays(seed: u64, spec: SimSpec) -> SimReport {
    match simulate(seed, spec) {
        Ok(report) => report,
        Err(broken) => panic!("seed {seed}: {broken}\ncargo xtask torture dispatch --seed {seed} --seeds 1\n{spec:?}"),
    }
}

#[test]
fn runs_in_a_kind_world_succeed_with_one_worker_a_task() {
    for seed in 1..=20 {
        let report = plays(seed, SimSpec::kind());

        assert_eq!(report.outcome, "succeeded", "seed {seed}");
        assert_eq!((report.merged, report.workers, report.lost), (report.tasks, report.tasks, 0), "seed {seed}");
    }
}

#[test]
fn every_history_in_a_rough_world_keeps_the_promises() {
    let (mut outcomes, mut recorded) = (std::collections::BTreeMap::new(), String::new());
    let (mut crashes, mut refused, mut lost, mut calls, mut waited) = (0, 0, 0, 0, 0);
    for seed in 1..=60 {
        let report = plays(seed, SimSpec::rough());
        recorded += &recorded::line(seed, &report);
        *outcomes.entry(report.outcome).or_insert(0) += 1;
        crashes += report.crashes;
        refused += report.refused;
        lost += report.lost;
        calls += report.calls;
        waited += report.waited;
    }

    assert_eq!(outcomes.len(), 3, "the histories are too tame: {outcomes:?}");
    assert!(waited > 0, "{waited} tasks waited for a person");
    assert!(crashes > 50 && refused > 50 && lost > 20 && calls > 50, "{crashes} {refused} {lost} {calls}");
    insta::assert_snapshot!(recorded);
}

#[test]
fn no_worker_is_stopped_because_its_shim_is_back_before_the_next_daemon_has_taken_its_run_up() {
    let mut crashes = 0;
    for seed in 1..=60 {
        crashes += plays(seed, SimSpec { crashes: 8, bad_frames: 60, ..SimSpec::kind() }).crashes;
    }

    assert!(crashes > 50, "{crashes}");
}

#[test]
fn a_run_that_is_over_is_shown_merged_taken_back_and_cleaned_as_the_log_and_the_repository_have_it() {
    let mut recorded = String::new();
    for seed in 1..=20 {
        recorded += &recorded::line(seed, &plays(seed, SimSpec { afterwards: true, ..SimSpec::rough() }));
        recorded += &recorded::line(seed, &plays(seed, SimSpec { afterwards: true, ..SimSpec::kind() }));
    }
    insta::assert_snapshot!(recorded);
}

#[test]
fn a_seed_gives_the_same_history_again() {
    // In the last, three workers are stopped at once.
    for seed in (1..=20).chain([159, 159]) {
        assert_eq!(plays(seed, SimSpec::rough()), plays(seed, SimSpec::rough()), "seed {seed}");
    }
}

#[test]
fn a_team_in_a_kind_world_judges_each_change_once() {
    let mut skipped = 0;
    for seed in 1..=20 {
        let report = plays(seed, SimSpec { teams: 1000, ..SimSpec::kind() });

        assert_eq!((report.outcome.as_str(), report.merged), ("succeeded", report.tasks), "seed {seed}");
        // Every other change alters a contract, whose impact is analysed.
        let judged = report.answers - report.tasks.div_ceil(2);
        let without_security = judged == 3 * report.tasks;
        assert!(without_security || judged == 4 * report.tasks, "seed {seed}: {report:?}");
        assert_eq!((report.workers, report.unusable), (report.tasks + report.answers, 0), "seed {seed}");
        skipped += u64::from(without_security);
    }
    assert!((1..20).contains(&skipped), "security is reviewed where the plan asks for it, and skipped else: {skipped}");
}

#[test]
fn every_history_of_a_team_in_a_rough_world_keeps_the_promises() {
    let (mut answers, mut unusable, mut merged, mut recorded) = (0, 0, 0, String::new());
    for seed in 1..=60 {
        let report = plays(seed, SimSpec { teams: 1000, ..SimSpec::rough() });
        recorded += &recorded::line(seed, &report);
        (answers, unusable, merged) = (answers + report.answers, unusable + report.unusable, merged + report.merged);
    }

    assert!(answers > 200 && unusable > 60 && merged > 20, "{answers} {unusable} {merged}");
    insta::assert_snapshot!(recorded);
}

#[test]
fn a_team_goes_on_to_its_right_end_when_the_daemon_dies_at_any_of_its_steps() {
    let team = SimSpec { teams: 1000, min_tasks: 1, max_tasks: 1, ..SimSpec::kind() };
    let steps = plays(7, team).steps;
    assert!(steps > 100, "{steps}");
    for step in 0..steps {
        let report = plays(7, SimSpec { crash_at: Some(step), ..team });

        let end = (report.crashes, report.outcome.as_str(), report.merged, report.unusable);
        assert_eq!(end, (1, "succeeded", 1, 0), "step {step}");
    }
}

/// Returns settings for a small run without failures, to which a test adds one.
fn small() -> SimSpec {
    SimSpec { min_tasks: 2, max_tasks: 2, max_workers: Some(2), ..SimSpec::kind() }
}

#[test]
fn a_run_goes_on_to_its_right_end_when_any_of_its_commits_is_refused_for_a_while() {
    let commits = plays(7, small()).commits;
    assert!(commits > 20, "{commits}");
    for with in [Refusal::Busy, Refusal::DiskFull, Refusal::Conflict] {
        for commit in 0..commits {
            let report = plays(7, SimSpec { refuse: Some(Refuse { commit, with, ms: 30_000 }), ..small() });

            assert!(report.refused > 0, "{with:?} at commit {commit} refused nothing");
            assert_eq!(
                (report.outcome.as_str(), report.merged, report.lost),
                ("succeeded", 2, 0),
                "{with:?} at {commit}"
            );
        }
    }
}

#[test]
fn a_run_that_meets_a_full_disk_at_any_of_its_writes_pauses_and_goes_on_to_its_right_end_once_it_is_resumed() {
    let writes = plays(7, small()).writes;
    assert!(writes > 10, "{writes}");
    let mut without_pause = Vec::new();
    for write in 0..writes {
        let full_disk = Some(FullDisk { write, ms: 30_000 });
        let report = plays(7, SimSpec { full_disk, ..small() });

        assert_eq!((report.outcome.as_str(), report.merged), ("succeeded", 2), "at write {write}: {report:?}");
        without_pause.extend((report.disk_pauses == 0).then_some(write));
    }
    // There is nothing to pause before the run has started, and at its end, when its trees are removed.
    let removals = without_pause.len() as u64 - 1;
    let outside: Vec<_> = std::iter::once(0).chain(writes - removals..writes).collect();
    assert_eq!(without_pause, outside, "of {writes}");
    assert!(removals < writes / 4, "{removals} of {writes}");
}

#[test]
fn a_rebase_that_meets_a_full_disk_at_any_of_its_writes_is_done_once_there_is_room() {
    // Long work, so that trees are behind a head that has moved on when a person requests a rebase.
    let rebased = SimSpec { min_tasks: 4, max_tasks: 4, work_ms: 600_000, rebases: 1_000, ..small() };
    let whole = plays(7, rebased);
    assert!(whole.rebased > 1, "no tree was written anew: {whole:?}");
    let (mut pauses, mut moved) = (0, 0);
    for write in 0..whole.writes {
        let full_disk = Some(FullDisk { write, ms: 30_000 });
        let report = plays(7, SimSpec { full_disk, ..rebased });

        assert_eq!((report.outcome.as_str(), report.merged), ("succeeded", 4), "at write {write}: {report:?}");
        assert_eq!(report.failed_rebases, 0, "at write {write} the run pauses instead");
        pauses += report.disk_pauses;
        moved += report.rebased;
    }
    assert!(pauses >= whole.writes / 2, "{pauses} pauses at {} writes", whole.writes);
    assert!(moved > whole.writes, "{moved} trees were put on another commit in {} histories", whole.writes);
}

#[test]
fn a_run_goes_on_to_its_right_end_when_the_daemon_dies_at_any_of_its_steps() {
    let steps = plays(7, small()).steps;
    assert!(steps > 50, "{steps}");
    for step in 0..steps {
        let report = plays(7, SimSpec { crash_at: Some(step), ..small() });

        assert_eq!((report.crashes, report.outcome.as_str(), report.merged), (1, "succeeded", 2), "step {step}");
    }
}

#[test]
fn mistakes_made_on_purpose_are_found() {
    let cases = [
        Defect::ForgetsReports,
        Defect::TakesOverUncommitted,
        Defect::ForgetsWorkers,
        Defect::PassesGates,
        Defect::MergesTwice,
        Defect::SkipsSetup,
        Defect::SharesNames,
        Defect::LetsJudgesWrite,
        Defect::TakesAnyAnswer,
    ];
    for defect in cases {
        let found =
            (1..=1_500).find(|seed| simulate(*seed, SimSpec { defect: Some(defect), ..SimSpec::rough() }).is_err());

        assert!(found.is_some(), "{defect:?} was not found in 1,500 histories");
    }
}

#[test]
fn many_tasks_are_done() {
    let report = plays(1, SimSpec::big(200));

    assert_eq!((report.outcome.as_str(), report.merged), ("succeeded", 200));
}

/// Histories that once broke an invariant: in the first, a task was stopped while a person was asked and then retried.
/// In the second, two tasks had the same ports one after the other when the daemon died.
#[test]
fn histories_in_which_a_promise_was_broken_keep_them_now() {
    for seed in [526, 554] {
        plays(seed, SimSpec { teams: 0, ..SimSpec::rough() });
    }
}

#[test]
fn several_runs_at_once_keep_their_promises_each_and_together() {
    let report = plays(3, SimSpec::fleet(300));

    assert!(report.most_live >= 300, "{report:?}");
    assert_eq!((report.tasks, report.crashes), (330, 1), "{report:?}");
    assert!(report.lost > 0 && report.calls > 0 && report.merged > 165, "{report:?}");
}

#[test]
fn the_merged_tree_is_the_same_whatever_task_finishes_first() {
    the_tree_is_the_same(0, 8, 25);
}

#[test]
fn the_merged_tree_is_the_same_whatever_slice_finishes_first() {
    the_tree_is_the_same(1_000, 10, 15);
}

fn the_tree_is_the_same(slices: u64, merged: u64, least: usize) {
    let mut orders = std::collections::BTreeSet::new();
    let mut trees = std::collections::BTreeSet::new();
    for seed in 1..=50 {
        let spec = SimSpec {
            min_tasks: 8,
            max_tasks: 8,
            max_workers: Some(8),
            work_ms: 60_000,
            plan_seed: Some(4),
            slices,
            ..SimSpec::kind()
        };
        let report = plays(seed, spec);
        assert_eq!((report.outcome.as_str(), report.merged), ("succeeded", merged), "seed {seed}");
        orders.insert(report.order);
        trees.insert(report.tree);
    }

    assert!(orders.len() >= least, "{} orders are too few to tell", orders.len());
    assert_eq!(trees.len(), 1, "the tree depends on who finished first");
}

/// Returns the events of an older version for a run, whose plan was a body that retention may have dropped, and for its
/// tasks.
fn older_run(run: &RunId, task: Value) -> [NewEvent; 3] {
    let configured = json!({
        "run": run, "title": "old", "plan_hash": "", "source": "", "target": "main", "base": "1".repeat(40), "branch": "b",
        "worktrees": "/w", "default_agent": null, "merge": false, "tasks": 1,
    });
    let started = json!({ "title": "old", "plan_hash": "", "base": "1".repeat(40), "parts": 1, "max_workers": 1 });
    let subject = history::subject(run);
    [("run_configured", configured), ("run_started", started), ("task_added", task)]
        .map(|(kind, facts)| NewEvent::new(kind, subject.clone(), "daemon", facts))
}

#[test]
fn a_run_that_an_older_version_recorded_beyond_reading_is_refused_with_what_to_do() {
    let whole = json!({ "task": "1.1", "gates": ["syntax_check"] });
    for (task, why) in [(json!({ "gates": [] }), "task_added"), (whole, "the text of its plan has been dropped")] {
        let stage = Arc::new(Stage::new(1, SimSpec::kind()));
        let store = Store::in_memory(vec![Box::new(Work), Box::new(switchboard_needs::Needs)], stage.clock.for_store());
        let run = RunId::from_bits(7);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();

        let refused = runtime.block_on(async {
            let batch = older_run(&run, task).into_iter().fold(Batch::synced(), Batch::event);
            store.commit(batch).await.unwrap();
            let world =
                World::new(store.clone(), config(&stage), ports::ports(&stage, &store), CancellationToken::new());
            let request = GetRunRequest { run: Some(run.to_string()), diff: false, sizes: false };
            Dispatch::with(world).get_run(&request).await.unwrap_err().to_failure()
        });

        assert_eq!(refused.code, "dispatch.older-run", "{refused:?}");
        assert!(refused.what.contains(why), "{refused:?}");
        assert!(refused.hint.contains(&format!("switchboard/{run}")), "{refused:?}");
    }
}

#[test]
fn slices_land_whole_or_not_at_all_whatever_goes_wrong_and_however_often_the_daemon_dies() {
    let (mut crashes, mut merged) = (0, 0);
    for seed in 1..=40 {
        let spec = SimSpec { slices: 1_000, afterwards: true, ..SimSpec::rough() };
        let report = plays(seed, spec);
        crashes += report.crashes;
        merged += report.merged;
    }

    assert!(crashes > 20 && merged > 40, "{crashes} {merged}");
}

#[track_caller]
fn leads(seed: u64, spec: SimSpec) -> ModesReport {
    simulate_modes(seed, spec).unwrap_or_else(|broken| panic!("seed {seed}: {broken}\n{spec:?}"))
}

#[test]
fn a_team_in_a_kind_world_leads_a_request_to_its_end() {
    for seed in 1..=20 {
        let report = leads(seed, SimSpec { people: 1000, ..SimSpec::kind() });

        assert_eq!(
            (report.outcome.as_str(), report.crashes, report.revised),
            ("succeeded", 0, 0),
            "seed {seed}: {report:?}"
        );
        assert!((13..=20).contains(&report.parts), "seed {seed}: {report:?}");
    }
}

#[test]
fn a_team_that_meets_a_full_disk_at_any_of_its_writes_pauses_and_goes_on_without_a_question_about_it() {
    let spec = SimSpec { phases: 1, people: 1000, ..SimSpec::kind() };
    let play = |full_disk| {
        let stage = Arc::new(Stage::new(7, SimSpec { full_disk, ..spec }));
        let (report, store) = modes::play_on(&stage, 7).unwrap_or_else(|broken| panic!("{full_disk:?}: {broken}"));
        let played = lock(&stage.report).clone();
        (report, played, store)
    };
    let (whole, played, _) = play(None);
    assert!(played.writes > 30, "{played:?}");
    let mut pauses_of_whole = 0;

    // Each kind of write recurs in every part.
    for write in (0..played.writes).step_by(5) {
        let (report, _, store) = play(Some(FullDisk { write, ms: 30_000 }));

        assert_eq!((report.outcome.as_str(), report.parts), ("succeeded", whole.parts), "at write {write}");
        let asked = switchboard_needs::list(&store, true).unwrap();
        let about = asked
            .iter()
            .find(|need| need.title.contains("gives no usable answer") || need.title.contains("can't go on"));
        assert_eq!(about.map(|need| &need.title), None, "at write {write}");
        let events = store.events(0, &Filter::all(), 100_000).unwrap();
        let rows = store.read(&Query::table(RUNS)).unwrap();
        let led = rows.iter().find(|row| row.get_text("mode").is_some()).unwrap();
        let subject = format!("run/{}", led.try_text("id").unwrap());
        let of_led = |kind: &str| events.iter().filter(|event| event.subject == subject && event.kind == kind).count();
        assert_eq!(of_led("run_paused"), of_led("run_resumed"), "at write {write}");
        pauses_of_whole += of_led("run_paused");
    }
    assert!(pauses_of_whole > 5, "{pauses_of_whole}");
}

#[test]
fn every_history_of_a_led_run_in_a_rough_world_ends_or_waits_for_a_person() {
    let (mut ends, mut recorded) = (std::collections::BTreeMap::new(), String::new());
    let (mut crashes, mut asked, mut expired, mut revised) = (0, 0, 0, 0);
    for seed in 1..=60 {
        // People who are away let questions expire.
        let people = if seed % 3 == 0 { 0 } else { 700 };
        let spec = SimSpec { budgets: 0, slices: 0, modes: 0, bad_setups: 0, people, ..SimSpec::rough() };
        let report = leads(seed, spec);
        recorded += &format!("seed {seed}: {report:?}\n");
        *ends.entry(report.outcome).or_insert(0) += 1;
        (crashes, asked) = (crashes + report.crashes, asked + report.asked);
        (expired, revised) = (expired + report.expired, revised + report.revised);
    }

    assert!(
        ends.len() == 2 && crashes > 50 && asked > 60 && expired > 5 && revised > 2,
        "{ends:?} {crashes} {asked} {expired} {revised}"
    );
    insta::assert_snapshot!(recorded);
}

#[test]
fn a_led_run_comes_to_the_same_end_when_the_daemon_dies_at_any_of_its_steps() {
    // All of them take minutes: `cargo xtask torture dispatch --led`. A second phase repeats what the first one does.
    let steps = die_at_each_step(7, SimSpec { phases: 1, ..SimSpec::kind() }, 3);

    assert!(steps.unwrap_or_else(|broken| panic!("{broken}")) > 900);
}

#[test]
fn a_run_goes_on_when_what_carries_it_on_panics() {
    let mut panics = 0;
    for seed in 1..=60 {
        let spec = SimSpec { panics: 4, crashes: 0, ..SimSpec::rough() };
        panics += plays(seed, spec).panics;
        let led = SimSpec { budgets: 0, slices: 0, modes: 0, bad_setups: 0, people: 700, ..spec };
        if seed % 6 == 0 {
            panics += leads(seed, led).panics;
        }
    }

    assert!(panics > 30, "{panics}");
}

#[test]
fn a_run_that_panics_again_and_again_is_left_with_what_to_do_and_can_be_resumed() {
    with_daemon(async |daemon, request| {
        let is_broken = Arc::new(AtomicBool::new(true));
        let wants = Arc::clone(&is_broken);
        daemon.world.set_panics(move || wants.load(Ordering::Relaxed));
        let ann = people::ann().unwrap();
        let run = daemon.start_run(request, &ann, None).await.unwrap().run.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;

        let shown = GetRunRequest { run: Some(run.to_string()), diff: false, sizes: false };
        let notes = daemon.get_run(&shown).await.unwrap().notes;
        let [note] = notes.as_slice() else { panic!("{notes:?}") };
        assert!(note.contains("internal.bug") && note.contains("switchboard run --resume run_"), "{note}");
        assert_eq!(*daemon.live_runs().borrow(), 0);

        is_broken.store(false, Ordering::Relaxed);
        let request =
            ResumeRunRequest { run: Some(run.to_string()), tasks: Vec::new(), ends_daemon: false, env: Vec::new() };
        daemon.resume_run(&request, &ann.name, None).await.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        assert_eq!(daemon.state_of(&run).unwrap(), "succeeded");
    });
}

#[test]
fn a_run_that_agents_lead_now_and_then_keeps_its_promises() {
    let (mut ends, mut seats, mut led) = (std::collections::BTreeMap::new(), 0, 0);
    let mut recorded = String::new();
    for seed in 1..=40 {
        let rough =
            SimSpec { budgets: 0, slices: 0, modes: 0, bad_setups: 0, people: 700, seats: 700, ..SimSpec::rough() };
        let kind = SimSpec { people: 1000, seats: 800, ..SimSpec::kind() };
        let report = leads(seed, if seed % 2 == 0 { rough } else { kind });
        recorded += &format!("seed {seed}: {report:?}\n");
        *ends.entry(report.outcome).or_insert(0) += 1;
        (seats, led) = (seats + report.seats, led + report.led);
    }

    assert!(ends["succeeded"] > 20 && seats > 60 && led > 300, "{ends:?} {seats} {led}");
    insta::assert_snapshot!(recorded);
}

#[test]
fn that_an_agent_lists_our_tools_is_recorded_once() {
    with_daemon(async |daemon, request| {
        daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
        let workers = daemon.world.store.read(&Query::table(crate::work::WORKERS).limit(1)).unwrap();
        let worker = WorkerId::new(workers[0].get_text("id").unwrap()).unwrap();
        let listed = || {
            let all = daemon.world.store.events(0, &Filter::all(), 10_000).unwrap();
            all.iter().filter(|event| event.kind == "worker_tools_listed").count()
        };
        assert_eq!(listed(), 0);
        assert!(crate::tools::missed(&daemon.world, &worker).unwrap().is_some());

        for _ in 0..3 {
            daemon.tools_listed(&worker);
            // Longer than its commit takes.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }

        assert_eq!(listed(), 1);
        assert!(crate::tools::missed(&daemon.world, &worker).unwrap().is_none());
    });
}
