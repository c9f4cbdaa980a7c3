//! What ends an attempt, and how many of each kind of end a task has.

use super::*;

#[test]
fn a_refused_attempt_is_told_all_reasons_so_far_and_continues_from_its_change() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.fail("1.1");
    run.end_turn("1.1", TurnOutcome::Failed);

    let [Effect::StartWorker { attempt, from, resume, refusals, .. }] = &run.effects()[..] else { panic!() };

    assert_eq!((*attempt, *resume), (3, false));
    assert_eq!(from, &StartFrom::Change { commit: "c-1.1-1".to_owned(), base: String::new() });
    assert_eq!(refusals[0].cause, RefusalCause::Gate { gate: "secrets".to_owned() });
    assert_eq!((refusals[0].attempt, &refusals[0].reasons[..]), (1, &["secrets 1".to_owned()][..]));
    assert_eq!((refusals[1].attempt, &refusals[1].cause), (2, &RefusalCause::AgentFailed));
}

#[test]
fn all_required_gates_are_heard_before_an_attempt_is_refused() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.capture("1.1");

    run.judge("1.1", "secrets", Verdict::Fail);
    assert!(matches!(run.view("1.1").state, TaskState::Gating { .. }));
    run.judge("1.1", "syntax", Verdict::Error);

    let refusals = run.view("1.1").refusals;
    let causes: Vec<_> = refusals.iter().map(|refusal| (refusal.attempt, refusal.reasons[0].as_str())).collect();
    assert_eq!(causes, [(1, "secrets 1"), (1, "syntax 1")]);
    assert_eq!(run.view("1.1").attempt, 2);
}

#[test]
fn a_gate_that_is_not_configured_is_shown_and_neither_passes_nor_refuses() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.capture("1.1");

    run.judge("1.1", "syntax", Verdict::NotConfigured);
    run.judge("1.1", "lint", Verdict::Fail);
    run.judge("1.1", "secrets", Verdict::Pass);

    let view = run.view("1.1");
    assert!(matches!(view.state, TaskState::Passed { .. }), "{:?}", view.state);
    let shown: Vec<_> = view.gates.iter().map(|gate| (gate.gate.as_str(), gate.required, gate.verdict)).collect();
    assert_eq!(
        shown,
        [("syntax", true, Verdict::NotConfigured), ("secrets", true, Verdict::Pass), ("lint", false, Verdict::Fail)]
    );
}

#[test]
fn a_worker_that_says_done_and_changed_nothing_is_not_done() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.end_turn("1.1", TurnOutcome::Finished);
    assert!(matches!(run.effects()[..], [Effect::Capture { .. }]));

    run.tell(RunEvent::NothingChanged { task: id("1.1"), attempt: 1, step: None, why: String::new() });

    let view = run.view("1.1");
    assert_eq!((view.attempt, &view.refusals[0].cause), (2, &RefusalCause::NothingChanged));
    run.end_turn("1.1", TurnOutcome::Finished);
    let why = "it asked a question".to_owned();
    run.tell(RunEvent::NothingChanged { task: id("1.1"), attempt: 2, step: None, why });
    let said = "the agent said it was done, but no file had changed";
    let reasons: Vec<_> = run.view("1.1").refusals.into_iter().flat_map(|refusal| refusal.reasons).collect();
    assert_eq!(
        reasons,
        [format!("{said} [dispatch.no-change]"), format!("{said}; it asked a question [dispatch.no-change]")]
    );
}

#[test]
fn a_change_from_which_a_nested_repository_was_left_out_is_refused_with_its_path() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.end_turn("1.1", TurnOutcome::Finished);

    run.tell(RunEvent::ChangeCaptured {
        task: id("1.1"),
        attempt: 1,
        commit: "c".to_owned(),
        tree: "t".to_owned(),
        base: String::new(),
        files: vec!["a".to_owned()],
        files_total: 1,
        lines: 1,
        left_out: vec!["vendor".to_owned()],
    });

    let view = run.view("1.1");
    assert_eq!((view.attempt, run.starting()), (2, vec!["1.1".to_owned()]));
    assert_eq!(view.refusals[0].cause, RefusalCause::FilesLeftOut);
    assert!(view.refusals[0].reasons[0].starts_with("the files in vendor can't be part of the change"), "{view:?}");
}

#[test]
fn the_fifth_refused_attempt_blocks_the_task_and_all_that_need_it_and_nothing_else() {
    let mut run = Run::of(
        2,
        &[("1.1", &[], &[]), ("1.2", &["1.1"], &[]), ("1.3", &["1.2"], &[]), ("1.4", &[], &[]), ("1.5", &["1.4"], &[])],
    );

    run.block("1.1");

    let failed = |task: &str| RunEvent::TaskDepFailed { task: id(task), root: id("1.1") };
    let reason = "5 attempts were refused; the first: gate secrets: secrets 1; the last: gate secrets: secrets 5";
    let reason = reason.to_owned();
    let blocked = RunEvent::TaskBlocked { task: id("1.1"), attempt: 5, retries: Some(0), reason };
    assert_eq!(run.last, [blocked, failed("1.2"), failed("1.3")]);
    assert_eq!(run.view("1.3").state, TaskState::DepFailed { root: id("1.1") });
    run.tell(failed("1.3"));
    assert_eq!(run.last, []);
    for (task, root) in [("1.3", "1.2"), ("1.5", "1.1"), ("1.1", "1.1")] {
        run.refused(RunEvent::TaskDepFailed { task: id(task), root: id(root) });
    }
    run.merge("1.4");
    run.merge("1.5");
    assert_eq!(run.effects(), [Effect::Finish { outcome: RunOutcome::Failed }]);
}

#[test]
fn lost_workers_are_no_attempts_but_the_third_blocks() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    for lost in 1..=2 {
        let worker = run.start("1.1");
        run.tell(RunEvent::WorkerLost { task: id("1.1"), worker, reason: "killed".to_owned() });
        let [Effect::StartWorker { attempt, starts, resume, .. }] = run.effects()[..] else { panic!() };
        assert_eq!((attempt, starts, resume), (1, lost, true));
    }

    let worker = run.start("1.1");
    run.tell(RunEvent::WorkerLost { task: id("1.1"), worker, reason: "killed".to_owned() });

    assert_eq!(
        run.view("1.1").state,
        TaskState::Blocked { reason: "3 workers were lost; the last: killed [worker.lost]".to_owned() }
    );
}

#[test]
fn a_task_waits_for_rate_limits_in_a_row_up_to_a_bound() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    let limited = |run: &mut Run| run.end_turn("1.1", TurnOutcome::RateLimited);
    for _ in 0..MAX_RATE_WAITS {
        limited(&mut run);
        assert_eq!(run.starting(), ["1.1"]);
    }
    run.end_turn("1.1", TurnOutcome::Paused);
    for _ in 0..MAX_RATE_WAITS {
        limited(&mut run);
        assert_eq!(run.starting(), ["1.1"], "another end in between starts the count again");
    }

    limited(&mut run);

    let TaskState::Blocked { reason } = run.view("1.1").state else { panic!("{:?}", run.view("1.1")) };
    assert!(reason.contains("it has waited 5 times for a rate limit"), "{reason}");
}

#[test]
fn models_fail_in_a_row_up_to_a_bound() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    let mut failed = 0;
    while let ["1.1"] = run.starting().iter().map(String::as_str).collect::<Vec<_>>()[..] {
        run.end_turn("1.1", TurnOutcome::ModelFailed);
        failed += 1;
        assert!(failed < 100, "they never block the task");
    }

    let TaskState::Blocked { reason } = run.view("1.1").state else { panic!("{:?}", run.view("1.1")) };
    assert!(failed == MAX_RATE_WAITS + 1 && reason.contains("models failed 6 times in a row"), "{failed}: {reason}");
    run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: String::new() });
    for _ in 0..MAX_RATE_WAITS {
        run.end_turn("1.1", TurnOutcome::ModelFailed);
        assert_eq!(run.starting(), ["1.1"], "a retry starts the count again");
    }
}

#[test]
fn a_tree_that_can_not_be_set_up_blocks_its_task_and_spends_neither_attempt_nor_loss() {
    let mut run = Run::of(1, &[("1.1", &[], &[]), ("1.2", &["1.1"], &[])]);
    let (worker, step) = (WorkerId::from_bits(7), StepId::work());
    run.tell(RunEvent::WorkerIntended { task: id("1.1"), step, attempt: 1, worker: worker.clone() });
    let failed = RunEvent::TreeSetupFailed { task: id("1.1"), worker, reason: "npm ci failed".to_owned() };

    run.tell(failed.clone());

    let view = run.view("1.1");
    assert_eq!(view.state, TaskState::Blocked { reason: "npm ci failed".to_owned() });
    assert_eq!((view.attempt, view.losses, view.refusals.len()), (1, 0, 0));
    assert_eq!(run.view("1.2").state, TaskState::DepFailed { root: id("1.1") });
    assert!(run.effects().iter().all(|effect| !matches!(effect, Effect::StartWorker { .. })));
    run.tell(failed);
    assert_eq!(run.last, [], "told again it changes nothing");

    run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: String::new() });
    run.merge("1.1");
    run.merge("1.2");
    assert_eq!(run.effects(), [Effect::Finish { outcome: RunOutcome::Succeeded }]);
}

#[test]
fn a_merge_conflict_refuses_the_attempt_and_the_next_starts_rebased() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.pass("1.1");
    run.intend_merge("1.1");
    assert_eq!(run.effects(), [], "a merge that is under way is not begun again");

    run.tell(RunEvent::MergeConflicted { task: id("1.1"), attempt: 1, files: vec!["src/a.rs".to_owned()] });

    let [Effect::StartWorker { from, refusals, .. }] = &run.effects()[..] else { panic!() };
    assert_eq!(from, &StartFrom::Rebased { commit: "c-1.1-1".to_owned() });
    assert_eq!((&refusals[0].cause, &refusals[0].reasons[0][..]), (&RefusalCause::MergeConflict, "src/a.rs"));
}

#[test]
fn an_attempt_that_left_files_out_stands_between_two_that_failed_alike_and_is_no_repeated_end_itself() {
    let leave_out = |run: &mut Run| {
        run.end_turn("1.1", TurnOutcome::Finished);
        let (task, attempt) = (id("1.1"), run.view("1.1").attempt);
        run.tell(RunEvent::ChangeCaptured {
            task,
            attempt,
            commit: "c".to_owned(),
            tree: "t".to_owned(),
            base: "b".to_owned(),
            files: vec!["a".to_owned()],
            files_total: 1,
            lines: 1,
            left_out: vec!["vendor".to_owned()],
        });
    };
    for (left_out, is_blocked) in [(0, true), (1, false), (2, false)] {
        let mut run = Run::on(&compiled::compiled_way(), 1, &[("1.1", &[], &[])]);
        run.end_turn("1.1", TurnOutcome::Failed);
        (0..left_out).for_each(|_| leave_out(&mut run));

        run.end_turn("1.1", TurnOutcome::Failed);

        let state = run.view("1.1").state;
        assert_eq!(matches!(state, TaskState::Blocked { .. }), is_blocked, "{left_out}: {state:?}");
    }
}
