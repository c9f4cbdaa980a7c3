//! Tests what the gates of a change are asked, and what follows from their verdicts.

use switchboard_protocol::finding::{CheckName, CheckVerdict, HandedTests};
use switchboard_protocol::id::{Digest, RunId};
use switchboard_protocol::run::way::{RoleId, StepId, When};
use switchboard_protocol::run::{CheckAsked, RunEvent, Verdict};

use super::super::judged::Judged;
use super::super::run_checks::run_checks;
use super::*;

/// Verdict of a gate, whether it asks a person and halts the run, and its reasons.
type Said = (Verdict, bool, bool, Vec<String>);

/// Returns a run of one task with these fields.
fn stand(task: Value) -> (Stand, Arc<Answers>) {
    stand_of(task, false)
}

/// Same with a team that carries it out, if `is_team`.
fn stand_of(task: Value, is_team: bool) -> (Stand, Arc<Answers>) {
    let mut at = Stand::of_task(&task, |plan| {
        plan.plan.switchboard = serde_json::from_value(json!({ "team": is_team })).unwrap();
    });
    let answers = Arc::new(Answers::default());
    Arc::get_mut(&mut at.ctx.world).unwrap().ports.checks = Arc::clone(&answers) as Arc<dyn Checks>;
    (at, answers)
}

impl Stand {
    /// Judges a change of the task; returns what each gate said.
    async fn asks(&self, commit: &Oid, declared: &[&str], gates: &[(&str, When)]) -> Vec<Said> {
        let (task, declared) = (task(), declared.iter().map(ToString::to_string).collect::<Vec<_>>());
        let judged = Judged {
            task: &task,
            attempt: 1,
            commit: commit.as_str(),
            base: self.first.as_str(),
            tree_of: &task,
            declared: &declared,
        };
        let input = Digest::of(b"input");
        let checks: Vec<_> = gates
            .iter()
            .map(|(gate, when)| CheckAsked { gate: (*gate).to_owned(), input, when: when.clone() })
            .collect();
        let steps = run_checks(&self.ctx, judged, &checks).await.unwrap();
        let said = |step: RunEvent| {
            let RunEvent::GateReported { verdict, asks, halts, reasons, input: of, .. } = step else {
                panic!("{step:?}")
            };
            assert_eq!(of, Some(input));
            (verdict, asks, halts, reasons)
        };
        steps.into_iter().map(said).collect()
    }

    async fn scope(&self, commit: &Oid, declared: &[&str]) -> Said {
        self.asks(commit, declared, &[("scope", When::Always)]).await.remove(0)
    }

    /// Returns true if another change may be judged in the same tree.
    fn has_passed(&self) -> bool {
        let run: &RunId = &self.ctx.plan.run;
        crate::plan::gate_tree_files(&self.ctx.world.config, run, 1).stamp.exists()
    }
}

/// Returns the step of a test engineer.
fn engineer() -> Option<JudgingStep> {
    let answer = switchboard_protocol::answer::AnswerKind::Tests;
    let (step, role) = (StepId::new("tests").unwrap(), RoleId::new("test_engineer").unwrap());
    Some(JudgingStep { step, role, answer })
}

fn report(check: CheckName, verdict: CheckVerdict) -> CheckReport {
    CheckReport::new(check, verdict, "looked".to_owned())
}

#[tokio::test]
async fn a_tree_is_used_again_only_if_no_gate_refused_the_change() {
    let never = || When::Never { reason: "not wanted".to_owned() };
    let unset = || When::NotConfigured { reason: "no command".to_owned() };
    for (verdict, when, expected, has_passed) in [
        (CheckVerdict::Pass, never(), Verdict::Skipped, true),
        (CheckVerdict::Pass, unset(), Verdict::NotConfigured, true),
        (CheckVerdict::Warn, never(), Verdict::Skipped, true),
        (CheckVerdict::Fail, never(), Verdict::Skipped, false),
        (CheckVerdict::Error, unset(), Verdict::NotConfigured, false),
    ] {
        let (at, answers) = stand(json!({}));
        lock(&answers.reports).push(report(CheckName::Secretscan, verdict));
        let commit = at.commits("a", "1");

        let said = at.asks(&commit, &[], &[("secretscan", When::Always), ("syntax_check", when)]).await;

        assert_eq!((said[1].0, at.has_passed()), (expected, has_passed), "{verdict:?}");
        let evidence = crate::plan::evidence_file(&at.ctx.world.config, &at.ctx.plan.run, &task());
        assert!(text(&evidence).is_some_and(|text| text.contains("secretscan")), "{verdict:?}");
        let asked = lock(&answers.asked).clone();
        assert_eq!(asked.iter().flat_map(|asked| asked.only.clone()).collect::<Vec<_>>(), [CheckName::Secretscan]);
    }
}

#[tokio::test]
async fn weakened_tests_are_refused_where_the_plan_lets_nobody_be_asked_and_a_person_is_asked_elsewhere() {
    let nobody = json!({ "x-switchboard": { "confirm": false } });
    for (settings, is_team, expected) in
        [(nobody.clone(), false, Verdict::Fail), (nobody, true, Verdict::Warn), (json!({}), false, Verdict::Warn)]
    {
        let (at, answers) = stand_of(settings.clone(), is_team);
        let weakened = crate::tests::finding(1, json!({ "rule": "fewer-tests", "blocks": false }));
        let findings = vec![weakened];
        lock(&answers.reports).push(CheckReport { findings, ..report(CheckName::TestIntegrity, CheckVerdict::Warn) });
        let commit = at.commits("a", "1");

        let said = at.asks(&commit, &[], &[("test_integrity", When::Always)]).await.remove(0);

        assert_eq!((said.0, said.1), (expected, expected == Verdict::Warn), "{settings}");
    }
}

#[tokio::test]
async fn files_outside_and_outputs_that_are_missing_are_named_up_to_a_limit() {
    let settings = |violation: &str| json!({ "files_touched": ["in/**"], "x-switchboard": { "on_violation": violation, "outputs": ["in/made"] } });
    let outside = |number| format!("out{number} is not in the task's files_touched");
    let missing = "in/made is an output, and was not made".to_owned();
    let more = |count| format!("{count} more files");
    let stops = "the run stops, as its plan says (`on_violation`) [gate.refused]".to_owned();
    for (violation, count, makes, verdict, asks, expected) in [
        ("refuse", 0, true, Verdict::Pass, false, vec![]),
        ("pause", 1, true, Verdict::Warn, true, vec![outside(1)]),
        ("warn", 1, true, Verdict::Warn, false, vec![outside(1)]),
        ("refuse", 1, false, Verdict::Fail, false, vec![missing.clone(), outside(1)]),
        ("refuse", 8, true, Verdict::Fail, false, (1..=8).map(outside).collect()),
        ("refuse", 9, true, Verdict::Fail, false, (1..=8).map(outside).chain([more(1)]).collect()),
        (
            "halt",
            9,
            false,
            Verdict::Fail,
            false,
            std::iter::once(missing.clone()).chain((1..=7).map(outside)).chain([more(2), stops]).collect(),
        ),
    ] {
        let (at, _) = stand(settings(violation));
        std::fs::create_dir(at.folder.join("in")).unwrap();
        let mut commit = at.commits("in/other", "1");
        for number in 1..=count {
            commit = at.commits(&format!("out{number}"), "1");
        }
        if makes {
            commit = at.commits("in/made", "1");
        }

        let (found, is_asked, halts, reasons) = at.scope(&commit, &[]).await;

        assert_eq!((found, is_asked, halts), (verdict, asks, violation == "halt"), "{violation} {count} {reasons:?}");
        assert_eq!(reasons, expected);
    }
}

#[tokio::test]
async fn what_the_leader_of_a_run_has_declared_replaces_the_files_of_the_plan() {
    let (at, _) = stand(json!({ "files_touched": ["planned"] }));
    let commit = at.commits("declared", "1");

    assert_eq!(at.scope(&commit, &[]).await.0, Verdict::Fail);
    assert_eq!(at.scope(&commit, &["declared"]).await.0, Verdict::Pass);
}

#[tokio::test]
async fn a_coder_of_a_team_writes_no_configuration_unless_its_task_names_the_file_and_others_may() {
    // The coder's turn ends with the file; or the file comes with a test engineer's.
    for (files, is_of_coder, expected) in [
        (&["**"][..], true, Verdict::Fail),
        (&["**", ".github/w.yml"], true, Verdict::Pass),
        (&["**"], false, Verdict::Pass),
    ] {
        let (at, _) = stand_of(json!({ "files_touched": files }), true);
        std::fs::create_dir(at.folder.join(".github")).unwrap();
        at.works(1, None, &at.first).await;
        let code = at.commits("a.rs", "1");
        let commit = if is_of_coder {
            at.commits(".github/w.yml", "1")
        } else {
            at.works(2, engineer(), &code).await;
            at.commits(".github/w.yml", "1")
        };

        let (verdict, _, _, reasons) = at.scope(&commit, &[]).await;

        assert_eq!(verdict, expected, "{files:?} {reasons:?}");
        let is_named = reasons.iter().any(|reason| reason.starts_with("the coder may not change .github/w.yml"));
        assert_eq!(is_named, expected == Verdict::Fail, "{reasons:?}");
    }
}

#[tokio::test]
async fn tests_outside_of_a_task_are_a_test_engineers_and_none_of_its_coders() {
    for is_of_coder in [true, false] {
        let (at, _) = stand_of(json!({ "files_touched": ["a.rs"] }), true);
        std::fs::create_dir(at.folder.join("tests")).unwrap();
        at.works(1, None, &at.first).await;
        let mut code = at.commits("a.rs", "1");
        if is_of_coder {
            code = at.commits("tests/a.rs", "1");
        }
        at.works(2, engineer(), &code).await;
        let commit = at.commits("tests/b.rs", "1");

        let (verdict, _, _, reasons) = at.scope(&commit, &[]).await;

        assert_eq!(verdict == Verdict::Pass, !is_of_coder, "{reasons:?}");
        assert!(!reasons.iter().any(|reason| reason.contains("tests/b.rs")), "{reasons:?}");
    }
}

#[tokio::test]
async fn a_change_has_to_keep_the_tests_that_others_wrote_before_its_last_turn() {
    let (at, answers) = stand(json!({}));
    std::fs::create_dir(at.folder.join("tests")).unwrap();
    at.works(1, None, &at.first).await;
    let code = at.commits("a.rs", "1");
    at.works(2, engineer(), &code).await;
    at.commits("tests/one.rs", "1");
    let tests = at.commits("tests/two.rs", "1");
    at.works(3, None, &tests).await;
    let mended = at.commits("a.rs", "2");

    for (is_again, last) in [(false, mended.clone()), (true, at.commits("tests/three.rs", "1"))] {
        if is_again {
            at.works(4, engineer(), &mended).await;
        }
        at.asks(&last, &[], &[("test_integrity", When::Always)]).await;

        let asked = lock(&answers.asked).pop().unwrap();
        let paths = vec!["tests/one.rs".to_owned(), "tests/two.rs".to_owned()];
        let expected = HandedTests { commit: tests.to_string(), paths, until: mended.to_string() };
        assert_eq!(asked.handed, [expected], "what comes after it is none of its tests");
    }
}

#[tokio::test]
async fn a_test_is_its_coders_own_only_if_the_coder_wrote_it_last() {
    // The coder's second turn begins with tests of an engineer; or it takes back its own, which an engineer writes anew.
    for takes_back in [false, true] {
        let (at, _) = stand_of(json!({ "files_touched": ["a.rs"] }), true);
        std::fs::create_dir(at.folder.join("tests")).unwrap();
        at.works(1, None, &at.first).await;
        let mut tip = at.commits("a.rs", "1");
        if takes_back {
            tip = at.commits("tests/a.rs", "1");
            at.works(2, None, &tip).await;
            std::fs::remove_file(at.folder.join("tests/a.rs")).unwrap();
            tip = at.commits("a.rs", "2");
            at.works(3, engineer(), &tip).await;
            tip = at.commits("tests/a.rs", "2");
        } else {
            at.works(2, engineer(), &tip).await;
            tip = at.commits("tests/a.rs", "1");
            at.works(3, None, &tip).await;
            tip = at.commits("a.rs", "2");
        }

        let (verdict, _, _, reasons) = at.scope(&tip, &[]).await;

        assert_eq!(verdict, Verdict::Pass, "{takes_back} {reasons:?}");
    }
}
