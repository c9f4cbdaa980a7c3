mod limits;
mod rules;

use std::sync::Arc;

use switchboard_protocol::id::{Digest, WorkerId};
use switchboard_protocol::plan::RetryFrom;
use switchboard_protocol::run::way::{GateId, Input, Limits, Need, RoleId, Step, StepAction, StepId, Way, When, Zone};
use switchboard_protocol::run::{Change, Verdict};
use switchboard_protocol::time::Millis;

use super::*;

fn step(id: &str, does: StepAction) -> Step {
    Step {
        id: StepId::new(id).unwrap(),
        does,
        after: Vec::new(),
        reads: Vec::new(),
        when: When::Always,
        need: Need::Required,
        back: None,
        limits: Limits::default(),
    }
}

fn ids(names: &[&str]) -> Vec<StepId> {
    names.iter().map(|name| StepId::new(*name).unwrap()).collect()
}

fn work(id: &str, writes: &[Zone]) -> Step {
    step(
        id,
        StepAction::Work {
            role: RoleId::new("coder").unwrap(),
            writes: writes.to_vec(),
            retry_from: RetryFrom::Change,
            begins_on: None,
            may_keep: false,
            answer: None,
        },
    )
}

fn check(id: &str, after: &[&str], reads: &[Input]) -> Step {
    let mut step = step(id, StepAction::Check { gate: GateId::new(id).unwrap() });
    (step.after, step.reads, step.back) = (ids(after), reads.to_vec(), Some(StepId::work()));
    step
}

/// Returns a unit with work, then a review of the source and tests of the tree in parallel, new tests after the review,
/// then the merge.
fn team() -> Unit {
    let mut code = work("work", &[Zone::Source]);
    (code.back, code.limits) = (Some(StepId::work()), Limits { attempts: 3, losses: 2, ..Limits::default() });
    let mut tests = work("write_tests", &[Zone::Tests]);
    (tests.after, tests.reads) = (ids(&["review"]), vec![Input::Source]);
    let mut merge = step("merge", StepAction::Merge);
    merge.after = ids(&["review", "run_tests", "write_tests"]);
    merge.reads = vec![Input::Tree, Input::Head];
    let steps = vec![
        code,
        check("review", &["work"], &[Input::Source]),
        check("run_tests", &["work"], &[Input::Tree]),
        tests,
        merge,
    ];
    Unit::new(Arc::new(Graph::new(Way { steps }).unwrap()), Digest::ZERO, Digest::ZERO, "head")
}

fn worker(bits: u64) -> Assignee {
    Assignee::Worker(WorkerId::from_bits(bits))
}

fn change(name: &str) -> Change {
    Change { commit: format!("c-{name}"), tree: format!("t-{name}"), base: "head".to_owned(), files: 1, lines: 1 }
}

fn do_work(unit: &mut Unit, at: usize, name: &str) -> Moved {
    unit.intend(at, worker(7)).unwrap();
    unit.start(at, Millis(0)).unwrap();
    unit.end(at).unwrap();
    unit.capture(at, change(name)).unwrap()
}

fn say(unit: &mut Unit, at: usize, verdict: Verdict) -> Moved {
    unit.judge(at, Judgement { input: None, verdict, output: None }).unwrap()
}

#[test]
fn a_step_that_writes_does_not_chase_itself_and_readers_go_beside_each_other() {
    let mut unit = team();
    assert_eq!(unit.open(), [0]);

    do_work(&mut unit, 0, "1");

    assert!(unit.is_current(0));
    assert_eq!(unit.open(), [1, 2], "review and tests beside each other");
    say(&mut unit, 2, Verdict::Pass);
    say(&mut unit, 1, Verdict::Pass);
    assert_eq!(unit.open(), [3]);
}

#[test]
fn a_step_that_reads_what_it_writes_is_done_once_its_change_is_captured() {
    let mut tests = work("write_tests", &[Zone::Tests]);
    (tests.after, tests.reads) = (ids(&["work"]), vec![Input::Tree]);
    let mut merge = step("merge", StepAction::Merge);
    merge.after = ids(&["write_tests"]);
    let steps = vec![work("work", &[Zone::Source]), tests, merge];
    let mut unit = Unit::new(Arc::new(Graph::new(Way { steps }).unwrap()), Digest::ZERO, Digest::ZERO, "head");
    do_work(&mut unit, 0, "1");

    do_work(&mut unit, 1, "2");

    assert!(unit.is_current(1));
    assert_eq!(unit.open(), [2]);
}

#[test]
fn inputs_that_are_kept_are_those_that_would_be_computed_again() {
    let mut unit = team();
    let expect_same = |unit: &Unit, when: &str| {
        let again = unit.with_unknown_inputs();
        (0..unit.slots().len()).for_each(|at| assert_eq!(unit.input(at), again.input(at), "step {at} {when}"));
    };

    expect_same(&unit, "at the beginning");
    do_work(&mut unit, 0, "1");
    expect_same(&unit, "after a change");
    say(&mut unit, 1, Verdict::Pass);
    say(&mut unit, 2, Verdict::Fail);
    expect_same(&unit, "after a refusal");
    do_work(&mut unit, 0, "2");
    say(&mut unit, 1, Verdict::Pass);
    say(&mut unit, 2, Verdict::Pass);
    do_work(&mut unit, 3, "3");
    expect_same(&unit, "after new tests");
    unit.move_head("later");
    expect_same(&unit, "on another head");
    unit.resume_at(0).unwrap();
    expect_same(&unit, "after a retry");
}

#[test]
fn new_tests_make_stale_what_reads_the_tree_and_not_what_reads_the_source() {
    let mut unit = team();
    do_work(&mut unit, 0, "1");
    say(&mut unit, 1, Verdict::Pass);
    say(&mut unit, 2, Verdict::Pass);

    do_work(&mut unit, 3, "2");

    assert!(unit.is_current(1) && unit.is_current(3) && !unit.is_current(2));
    assert_eq!(unit.open(), [2]);
    say(&mut unit, 2, Verdict::Warn);
    assert_eq!(unit.open(), [4]);
    assert_eq!(say(&mut unit, 4, Verdict::Pass), Moved::Done);
}

#[test]
fn a_writer_begins_alone_and_nobody_begins_beside_it() {
    let mut unit = team();
    do_work(&mut unit, 0, "1");
    say(&mut unit, 1, Verdict::Pass);
    unit.intend(2, Assignee::Daemon).unwrap();
    assert_eq!(unit.open(), Vec::<usize>::new(), "the writer waits for the reader");

    unit.judge(2, Judgement { input: None, verdict: Verdict::Pass, output: None }).unwrap();
    unit.intend(3, worker(1)).unwrap();

    assert_eq!(unit.open(), Vec::<usize>::new());
}

#[test]
fn a_failure_opens_the_step_that_mends_it_once_all_have_been_heard() {
    let mut unit = team();
    do_work(&mut unit, 0, "1");

    assert_eq!(say(&mut unit, 1, Verdict::Fail), Moved::On, "the tests have not spoken");
    assert_eq!(say(&mut unit, 2, Verdict::Fail), Moved::Back { to: 0 });

    assert_eq!((unit.open(), unit.salt(0), unit.spent(0).attempts), (vec![0], 1, 1));
    do_work(&mut unit, 0, "1");
    assert_eq!(unit.open(), [1, 2], "the same tree is judged again: the retry is a new input");
}

#[test]
fn a_verdict_on_what_was_there_before_is_refused() {
    let mut unit = team();
    do_work(&mut unit, 0, "1");
    let old = unit.input(1);
    say(&mut unit, 1, Verdict::Fail);
    say(&mut unit, 2, Verdict::Pass);
    do_work(&mut unit, 0, "2");

    let late = unit.judge(1, Judgement { input: Some(old), verdict: Verdict::Pass, output: None });

    assert_eq!(late, Err(NotNow::Stale));
    assert_eq!(unit.open(), [1, 2]);
}

#[test]
fn the_last_attempt_holds_the_unit_and_a_person_lets_it_go_on() {
    let mut unit = team();
    for _ in 0..2 {
        unit.intend(0, worker(1)).unwrap();
        assert_eq!(say(&mut unit, 0, Verdict::Fail), Moved::Back { to: 0 });
    }
    unit.intend(0, worker(1)).unwrap();
    assert_eq!(say(&mut unit, 0, Verdict::NoReply), Moved::Held);
    assert_eq!((unit.held(), unit.open()), (Some(&Hold::Attempts { step: 0, limit: 3 }), Vec::new()));

    unit.release(Some(0));

    assert_eq!((unit.open(), unit.spent(0)), (vec![0], Spent::default()));
}

#[test]
fn a_lost_worker_is_no_attempt() {
    let mut unit = team();
    unit.intend(0, worker(1)).unwrap();
    assert_eq!(unit.lose(0), Ok(Moved::On));
    assert_eq!((unit.open(), unit.spent(0).attempts, unit.salt(0)), (vec![0], 0, 0));

    unit.intend(0, worker(2)).unwrap();
    assert_eq!(unit.lose(0), Ok(Moved::Held));
    assert_eq!(unit.held(), Some(&Hold::Losses { step: 0, limit: 2 }));
}

#[test]
fn a_moved_head_opens_what_reads_it_and_nothing_else() {
    let mut unit = team();
    do_work(&mut unit, 0, "1");
    say(&mut unit, 1, Verdict::Pass);
    say(&mut unit, 2, Verdict::Pass);
    do_work(&mut unit, 3, "2");
    say(&mut unit, 2, Verdict::Pass);
    unit.intend(4, Assignee::Daemon).unwrap();

    unit.move_head("other");
    say(&mut unit, 4, Verdict::Pass);

    assert_eq!((unit.open(), unit.is_done()), (vec![4], false), "what was merged was judged on the old head");
}

#[test]
fn a_unit_that_is_held_follows_no_head_before_somebody_lets_it_go_on() {
    let mut unit = team();
    for bits in 1..=2 {
        unit.intend(0, worker(bits)).unwrap();
        let _held = unit.lose(0);
    }
    let held = unit.held().cloned();

    assert_eq!((unit.move_head("other"), unit.head(), unit.held().cloned()), (Moved::On, "head", held));

    unit.release(Some(0));
    unit.move_head("other");
    assert_eq!((unit.head(), unit.open()), ("other", vec![0]));
}

#[test]
fn resuming_at_a_step_only_invalidates() {
    let mut unit = team();
    do_work(&mut unit, 0, "1");
    say(&mut unit, 1, Verdict::Pass);

    unit.resume_at(1).unwrap();

    assert!(unit.is_current(0));
    assert_eq!(unit.open(), [1, 2]);
}

#[test]
fn what_changed_while_a_writer_was_at_work_opens_it_again() {
    let mut unit = team();
    unit.intend(0, worker(1)).unwrap();
    unit.start(0, Millis(0)).unwrap();
    unit.resume_at(0).unwrap();
    unit.end(0).unwrap();

    unit.capture(0, change("1")).unwrap();

    assert_eq!(unit.open(), [0]);
}

#[test]
fn need_says_which_verdicts_let_a_unit_go_on() {
    let all = [
        Verdict::Pass,
        Verdict::Warn,
        Verdict::Skipped,
        Verdict::NotConfigured,
        Verdict::Fail,
        Verdict::Error,
        Verdict::NoReply,
    ];
    let accepted = |need: Need| all.iter().filter(|verdict| need.accepts(**verdict)).count();

    assert_eq!(accepted(Need::Required), 3);
    assert_eq!(accepted(Need::IfConfigured), 4);
    assert_eq!(accepted(Need::Advisory), 7);
    assert!(Need::IfConfigured.accepts(Verdict::NotConfigured) && !Need::Required.accepts(Verdict::NotConfigured));
}

#[test]
fn graphs_that_are_no_ways_are_refused() {
    let bad = |steps: Vec<Step>| Graph::new(Way { steps }).unwrap_err();
    let mut merge = step("merge", StepAction::Merge);
    merge.after = ids(&["work"]);
    let mut reader = work("a", &[Zone::Source]);
    reader.reads = vec![Input::Tests];

    assert_eq!(bad(Vec::new()), BadWay::Empty);
    assert!(matches!(bad(vec![work("work", &[]), work("work", &[])]), BadWay::Twice(_)));
    assert!(matches!(bad(vec![check("a", &["b"], &[]), work("work", &[])]), BadWay::NotBefore { .. }));
    assert!(matches!(bad(vec![reader, work("b", &[Zone::Tests])]), BadWay::ReopensEarlier { .. }));
    let early = vec![work("work", &[Zone::Source]), check("a", &["work"], &[Input::Tree]), merge];
    assert!(matches!(bad(early), BadWay::EarlyMerge(_)));
}

#[test]
fn a_way_is_read_back_with_the_same_digest() {
    let unit = team();
    let text = serde_json::to_string(&unit.way().way()).unwrap();

    let read: Way = serde_json::from_str(&text).unwrap();

    let read = Graph::new(read).unwrap();
    assert_eq!(read.digest(), unit.way().digest());
    assert_eq!(read, *unit.way());
    assert_ne!(read, Graph::new(Way { steps: vec![work("work", &[])] }).unwrap());
}

#[test]
fn a_limit_of_zero_holds_nothing() {
    let mut unit = Unit::new(
        Arc::new(Graph::new(Way { steps: vec![work("work", &[Zone::Source])] }).unwrap()),
        Digest::ZERO,
        Digest::ZERO,
        "head",
    );
    for _ in 0..20 {
        for give_up in [Unit::lose, Unit::fail, Unit::ask_again] {
            unit.intend(0, worker(7)).unwrap();
            unit.start(0, Millis(0)).unwrap();

            assert_eq!(give_up(&mut unit, 0), Ok(Moved::On));
        }
    }
    assert_eq!((unit.held(), unit.open()), (None, vec![0]));
    let Spent { attempts, losses, runs, failures } = unit.spent(0);
    assert_eq!((attempts, losses, failures), (20, 20, 20), "{runs} runs");
}

#[test]
fn each_time_that_a_step_is_carried_out_counts_as_one_run() {
    let mut unit = team();
    let runs = |unit: &Unit| unit.spent.iter().map(|spent| spent.runs).collect::<Vec<_>>();

    do_work(&mut unit, 0, "1");
    assert_eq!(runs(&unit), [1, 0, 0, 0, 0], "begun and captured");
    say(&mut unit, 1, Verdict::Pass);
    say(&mut unit, 2, Verdict::Pass);
    assert_eq!(runs(&unit), [1, 1, 1, 0, 0], "judged without a beginning");
    unit.capture(3, change("2")).unwrap();
    assert_eq!(runs(&unit), [1, 1, 1, 1, 0], "captured without a beginning");
    say(&mut unit, 2, Verdict::Pass);
    unit.intend(4, worker(7)).unwrap();
    unit.take_back(4).unwrap();
    assert_eq!(runs(&unit), [1, 1, 2, 1, 0], "an intent that is taken back doesn't count");
    unit.intend(4, worker(7)).unwrap();
    unit.start(4, Millis(0)).unwrap();
    assert_eq!(runs(&unit), [1, 1, 2, 1, 1]);
    say(&mut unit, 4, Verdict::Pass);
    assert_eq!(runs(&unit), [1, 1, 2, 1, 1], "begun before it was judged");
}

#[test]
fn a_step_that_would_be_carried_out_too_often_holds_its_unit() {
    let mut review = check("review", &["work"], &[Input::Head]);
    review.limits = Limits { runs: 2, ..Limits::default() };
    let mut merge = step("merge", StepAction::Merge);
    merge.after = ids(&["review"]);
    let steps = vec![work("work", &[Zone::Source]), review, merge];
    let mut unit = Unit::new(Arc::new(Graph::new(Way { steps }).unwrap()), Digest::ZERO, Digest::ZERO, "head");
    do_work(&mut unit, 0, "1");
    say(&mut unit, 1, Verdict::Pass);

    assert_eq!((unit.move_head("second"), unit.held(), unit.open()), (Moved::On, None, vec![1]));
    say(&mut unit, 1, Verdict::Pass);
    assert_eq!((unit.held(), unit.open()), (None, vec![2]));
    unit.move_head("third");

    assert_eq!((unit.held(), unit.open()), (Some(&Hold::Runs { step: 1, limit: 2 }), Vec::new()));
}

#[test]
fn an_event_about_a_worker_is_refused_unless_there_is_one_and_changes_nothing_then() {
    type Event = fn(&mut Unit) -> Result<Moved, NotNow>;
    let of_worker: [(&str, Event); 4] = [
        ("lose", |unit| unit.lose(0)),
        ("put_off", |unit| unit.put_off(0)),
        ("ask_again", |unit| unit.ask_again(0)),
        ("fail", |unit| unit.fail(0)),
    ];
    let (idle, mut judged) = (team(), team());
    do_work(&mut judged, 0, "a");
    for (name, event) in of_worker {
        for before in [&idle, &judged] {
            let mut unit = before.clone();
            assert_eq!((event(&mut unit), &unit), (Err(NotNow::Stale), before), "{name}");
        }
        let mut unit = team();
        unit.intend(0, worker(7)).unwrap();
        assert_eq!(event(&mut unit), Ok(Moved::On), "{name} of an intended one");
    }
    assert_eq!(team().take_back(0), Err(NotNow::Stale));
    assert_eq!(team().end(0), Err(NotNow::Stale));
}
