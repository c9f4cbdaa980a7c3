//! Tests what counts of the answer of a worker that judges a change, and what becomes of the files that it wrote.

use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::finding::{CheckName, CheckVerdict};
use switchboard_protocol::run::way::{RoleId, StepId, Zone};
use switchboard_protocol::run::{StepWork, Verdict};

use super::super::take_answer::{AnswerContext, take_answer};
use super::*;

/// Answer of a worker to the task's change: what it says, and the files that it writes first.
struct Given {
    kind: AnswerKind,
    answer: Option<Value>,
    writes: &'static [&'static str],
    commits: bool,
}

fn yes(kind: AnswerKind) -> Option<Value> {
    let answer = crate::simulate::approval(kind).unwrap();
    Some(json!(answer)["answer"].clone())
}

fn failing_tests() -> Option<Value> {
    let failure = json!({ "name": "t", "message": "it adds wrongly" });
    Some(json!({ "verdict": "FAIL", "added": [{ "file": "tests/a", "names": ["t"] }], "failures": [failure] }))
}

/// Takes an answer; returns the steps that it leads to, and the stand.
async fn taken(given: Given, new_tests: Option<CheckVerdict>) -> (Vec<RunEvent>, Stand) {
    let Given { kind, answer, writes, commits } = given;
    let tests = kind == AnswerKind::Tests;
    let test = if new_tests.is_some() { json!({ "x-switchboard": { "test": ["make", "test"] } }) } else { json!({}) };
    let mut at = Stand::of_task(&test, |_| {});
    let answers = Arc::new(Answers::default());
    lock(&answers.reports).extend(new_tests.map(|verdict| {
        let mut report = CheckReport::new(CheckName::NewTests, verdict, "1 test".to_owned());
        report.findings = vec![crate::tests::finding(1, json!({ "path": "tests/a" }))];
        report
    }));
    Arc::get_mut(&mut at.ctx.world).unwrap().ports.checks = answers;
    let change = at.commits("a", "1");
    let (step, role) = (if tests { "tests" } else { "review" }, if tests { "test_engineer" } else { "reviewer" });
    let (step, role) = (StepId::new(step).unwrap(), RoleId::new(role).unwrap());
    let judging = JudgingStep { step: step.clone(), role: role.clone(), answer: kind };
    let worker = at.works(2, Some(judging), &change).await;
    let tree = if tests {
        at.makes_worktree(&change)
    } else {
        let tree = at.ctx.plan.reader_tree(&worker);
        at.ctx.world.ports.git.worktree_detached(&tree, &change).unwrap();
        tree
    };
    for file in writes {
        std::fs::create_dir_all(tree.join(file).parent().unwrap()).unwrap();
        std::fs::write(tree.join(file), "written").unwrap();
    }
    if commits {
        at.repository.commit_in(&tree, "mine");
    }
    at.says(&worker, StepState::Done, "n", answer).await;
    let writes = if tests { vec![Zone::Tests] } else { Vec::new() };
    let work = StepWork { role, writes, answer: Some(kind), input: Digest::ZERO };
    let context =
        AnswerContext { task: &task(), step: &step, work: &work, attempt: 1, worker: &worker, input: Digest::ZERO };

    take_answer(&at.ctx, context).await.unwrap();

    assert_eq!(tree.exists(), tests, "only the task's own tree is kept");
    (at.steps(), at)
}

fn refusal(steps: &[RunEvent]) -> &str {
    let [RunEvent::AnswerRefused { attempt: 1, reason, .. }] = steps else { panic!("{steps:?}") };
    reason
}

#[tokio::test]
async fn an_answer_of_who_changed_what_it_may_not_does_not_count() {
    let (review, tests) = (AnswerKind::Review, AnswerKind::Tests);
    let nothing = "the reviewer may change nothing, and changed b: the answer does not count";
    let only = "the test_engineer may change tests only, and changed b: the answer does not count";
    for (kind, writes, commits, expected) in [
        (review, &["b"][..], false, nothing),
        (review, &["b"], true, nothing),
        (
            review,
            &["1", "2", "3", "4", "5", "6"],
            false,
            "the reviewer may change nothing, and changed 1, 2, 3, 4, 5: the answer does not count",
        ),
        (tests, &["b", "tests/a"], false, only),
        (tests, &["b"], true, only),
    ] {
        let (steps, at) = taken(Given { kind, answer: yes(kind), writes, commits }, None).await;

        assert_eq!(refusal(&steps), expected);
        let run = &at.ctx.plan.run;
        assert!(!crate::plan::evidence_file(&at.ctx.world.config, run, &task()).exists());
    }
}

#[tokio::test]
async fn an_answer_that_can_not_be_read_or_only_excuses_does_not_count() {
    let issue = json!({ "severity": "warning", "message": "It's a simple change." });
    let excuse = json!({ "verdict": "APPROVED", "risk": "low", "issues": [issue],
        "checked": { "correctness": true, "edge_cases": true, "performance": true } });
    for (answer, says) in [
        (Some(json!({ "verdict": "APPROVED" })), "expected a field `risk`"),
        (None, "no fenced JSON block"),
        (Some(excuse), "is no reason to accept"),
    ] {
        let kind = AnswerKind::Review;
        let (steps, _) = taken(Given { kind, answer: answer.clone(), writes: &[], commits: false }, None).await;

        assert!(refusal(&steps).contains(says), "{answer:?}: {}", refusal(&steps));
    }
}

#[tokio::test]
async fn a_review_counts_and_becomes_evidence() {
    let kind = AnswerKind::Review;
    let (steps, at) = taken(Given { kind, answer: yes(kind), writes: &[], commits: false }, None).await;

    let [RunEvent::StepAnswered { verdict: Verdict::Pass, reasons, change: None, .. }] = steps.as_slice() else {
        panic!("{steps:?}")
    };
    assert!(reasons.is_empty());
    let evidence = text(&crate::plan::evidence_file(&at.ctx.world.config, &at.ctx.plan.run, &task())).unwrap();
    assert!(evidence.contains("\"ann\"") && evidence.contains("approved"), "{evidence}");
}

#[tokio::test]
async fn tests_of_a_change_that_pass_become_part_of_it_and_that_fail_are_handed_to_its_maker() {
    let given = |answer, writes| Given { kind: AnswerKind::Tests, answer, writes, commits: false };
    let (steps, _) = taken(given(yes(AnswerKind::Tests), &["tests/a", "tests/b"][..]), None).await;
    let [
        RunEvent::StepAnswered { verdict: Verdict::Pass, change: None, .. },
        RunEvent::ChangeCaptured { files, files_total: 3, lines: 3, .. },
    ] = steps.as_slice()
    else {
        panic!("{steps:?}")
    };
    assert_eq!(files, &["a", "tests/a", "tests/b"]);

    let (steps, _) = taken(given(yes(AnswerKind::Tests), &[]), None).await;
    let [RunEvent::StepAnswered { .. }, RunEvent::NothingChanged { step: Some(step), why, .. }] = steps.as_slice()
    else {
        panic!("{steps:?}")
    };
    assert_eq!((step.as_str(), why.as_str()), ("tests", ""));

    let (steps, at) = taken(given(failing_tests(), &["tests/a"]), None).await;
    let [RunEvent::StepAnswered { verdict: Verdict::Fail, reasons, change: Some(change), .. }] = steps.as_slice()
    else {
        panic!("{steps:?}")
    };
    let handed = "the change has to pass the tests that refuse it; they are in the tree: tests/a";
    assert!(reasons.iter().any(|reason| reason == handed), "{reasons:?}");
    let git = &at.ctx.world.ports.git;
    assert_eq!(git.branch(&at.ctx.plan.task_branch(&task())).unwrap().unwrap().as_str(), change.commit);

    let (steps, _) = taken(given(failing_tests(), &[]), None).await;
    assert!(matches!(steps.as_slice(), [RunEvent::StepAnswered { change: None, .. }]), "{steps:?}");
}

#[tokio::test]
async fn tests_that_pass_without_the_change_do_not_count() {
    for (verdict, note) in
        [(CheckVerdict::Pass, Some("new_tests: 1 test")), (CheckVerdict::Skip, None), (CheckVerdict::Fail, None)]
    {
        let given =
            Given { kind: AnswerKind::Tests, answer: yes(AnswerKind::Tests), writes: &["tests/a"], commits: false };
        let (steps, at) = taken(given, Some(verdict)).await;

        let run = &at.ctx.plan.run;
        let stamp = crate::plan::gate_tree_files(&at.ctx.world.config, run, 1).stamp;
        assert_eq!(stamp.exists(), verdict != CheckVerdict::Fail, "the tree is used again if nothing refused it");
        if verdict == CheckVerdict::Fail {
            assert_eq!(refusal(&steps), "new_tests: tests/a: bad. mend it (1 test)");
            continue;
        }
        let [RunEvent::StepAnswered { reasons, .. }, RunEvent::ChangeCaptured { .. }] = steps.as_slice() else {
            panic!("{steps:?}")
        };
        assert_eq!(reasons.first().map(String::as_str), note);
    }
}
