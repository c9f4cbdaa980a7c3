//! Limits of a unit's steps, and what a unit takes that is held or done.

use super::*;

/// Returns a unit of work, two reviews one after the other, each of which reads the work's output, and a merge.
fn reviewed(limits: Limits) -> Unit {
    let mut code = work("work", &[Zone::Source]);
    (code.back, code.limits) = (Some(StepId::work()), Limits { attempts: 4, ..Limits::default() });
    let review = |id: &str, after: &[&str]| {
        let mut review = check(id, after, &[Input::Output(StepId::work())]);
        review.limits = limits;
        review
    };
    let mut merge = step("merge", StepAction::Merge);
    merge.after = ids(&["second"]);
    let steps = vec![code, review("first", &["work"]), review("second", &["first"]), merge];
    Unit::new(Arc::new(Graph::new(Way { steps }).unwrap()), Digest::ZERO, Digest::ZERO, "head")
}

type GiveUp = fn(&mut Unit, usize) -> Result<Moved, NotNow>;

fn give_up(unit: &mut Unit, at: usize, how: GiveUp) -> Moved {
    unit.intend(at, worker(7)).unwrap();
    how(unit, at).unwrap()
}

#[test]
fn each_kind_of_failure_has_its_own_limit_and_holds_the_unit_at_its_step() {
    let cases: [(GiveUp, Limits, Hold); 3] = [
        (Unit::lose, Limits { losses: 2, ..Limits::default() }, Hold::Losses { step: 1, limit: 2 }),
        (Unit::fail, Limits { failures: 2, ..Limits::default() }, Hold::Failures { step: 1, limit: 2 }),
        (Unit::ask_again, Limits { attempts: 2, ..Limits::default() }, Hold::Attempts { step: 1, limit: 2 }),
    ];
    let all: [GiveUp; 3] = [Unit::lose, Unit::fail, Unit::ask_again];
    for (at, (how, limits, hold)) in cases.into_iter().enumerate() {
        let mut unit = reviewed(limits);
        do_work(&mut unit, 0, "1");
        for (other, how) in all.into_iter().enumerate() {
            for _ in 0..if other == at { 0 } else { 3 } {
                assert_eq!(give_up(&mut unit, 1, how), Moved::On, "the others have no limit");
            }
        }

        assert_eq!((give_up(&mut unit, 1, how), unit.held(), unit.open()), (Moved::On, None, vec![1]));
        assert_eq!((give_up(&mut unit, 1, how), unit.held()), (Moved::Held, Some(&hold)));
        assert_eq!(unit.open(), Vec::<usize>::new());
    }
}

#[test]
fn a_new_change_gives_the_steps_that_judge_it_their_limits_anew_but_not_their_losses() {
    let mut unit = reviewed(Limits { attempts: 2, failures: 2, losses: 2, ..Limits::default() });
    do_work(&mut unit, 0, "1");
    let all: [GiveUp; 3] = [Unit::lose, Unit::fail, Unit::ask_again];
    for how in all {
        assert_eq!(give_up(&mut unit, 1, how), Moved::On);
    }

    assert_eq!(say(&mut unit, 1, Verdict::Fail), Moved::Back { to: 0 });

    assert_eq!(unit.spent(1), Spent { losses: 1, ..Spent::default() });
    assert_eq!(unit.spent(0).attempts, 1, "that of the work counts on");
    do_work(&mut unit, 0, "2");
    assert_eq!(give_up(&mut unit, 1, Unit::fail), Moved::On);
    assert_eq!(give_up(&mut unit, 1, Unit::ask_again), Moved::On);
    assert_eq!(give_up(&mut unit, 1, Unit::lose), Moved::Held);
}

#[test]
fn a_step_whose_refusal_nothing_mends_holds_the_unit_until_a_person_lets_it_be_judged_again() {
    let mut unit = reviewed(Limits::default());
    let mut steps = unit.way().way().steps;
    steps[1].back = None;
    unit = Unit::new(Arc::new(Graph::new(Way { steps }).unwrap()), Digest::ZERO, Digest::ZERO, "head");
    do_work(&mut unit, 0, "1");

    assert_eq!(say(&mut unit, 1, Verdict::Fail), Moved::Held);
    assert_eq!(unit.held(), Some(&Hold::Refused { step: 1 }));
    unit.release(None);

    assert_eq!((unit.open(), unit.is_current(0)), (vec![1], true), "the change is kept");
}

#[test]
fn a_release_opens_the_work_again_if_its_change_is_still_refused() {
    let mut unit = reviewed(Limits::default());
    for name in ["1", "2", "3", "4"] {
        do_work(&mut unit, 0, name);
        say(&mut unit, 1, Verdict::Fail);
    }
    assert_eq!(unit.held(), Some(&Hold::Attempts { step: 0, limit: 4 }));
    assert!(unit.is_refused());

    unit.release(None);

    assert_eq!((unit.open(), unit.is_refused(), unit.salt(0)), (vec![0], false, 4));
}

#[test]
fn a_unit_that_is_held_or_done_begins_and_judges_nothing() {
    let pass = Judgement { input: None, verdict: Verdict::Pass, output: None };
    let mut held = reviewed(Limits::default());
    do_work(&mut held, 0, "1");
    assert_eq!(held.hold(Hold::Asked), Moved::Held);
    let mut done = reviewed(Limits::default());
    do_work(&mut done, 0, "1");
    assert_eq!((done.finish(), done.is_done()), (Moved::Done, true));

    for (unit, is_done) in [(held, false), (done, true)] {
        let mut after = unit.clone();
        assert_eq!(after.intend(1, worker(7)), Err(NotNow::Over));
        assert_eq!(after.judge(1, pass), Err(NotNow::Over));
        assert_eq!((after.open(), after.move_head("other"), after.head()), (Vec::new(), Moved::On, "head"));
        assert_eq!(after.capture(0, change("2")), Err(NotNow::NotOpen));
        assert_eq!(after, unit);
        assert_eq!(after.resume_at(1).is_err(), is_done, "a held one is resumed");
    }
}

#[test]
fn a_step_begins_is_judged_or_captured_only_while_it_is_open_and_about_its_own_input() {
    let mut unit = reviewed(Limits::default());
    let judged = |input, verdict| Judgement { input, verdict, output: None };
    let before = unit.clone();
    assert_eq!(unit.intend(1, worker(7)), Err(NotNow::NotOpen));
    assert_eq!(unit.judge(1, judged(None, Verdict::Pass)), Err(NotNow::NotOpen));
    assert_eq!(unit.start(0, Millis(0)), Err(NotNow::Stale), "it was not intended");
    assert_eq!(unit, before);
    do_work(&mut unit, 0, "1");
    assert_eq!(unit.capture(1, change("2")), Err(NotNow::NotOpen), "a review writes nothing");
    let input = unit.input(1);

    unit.intend(1, worker(7)).unwrap();

    assert_eq!(unit.step_of(&WorkerId::from_bits(7)), Some(1));
    assert_eq!(unit.judge(1, judged(Some(Digest::ZERO), Verdict::Pass)), Err(NotNow::Stale));
    assert_eq!(unit.end(1), Err(NotNow::Stale), "it has not started");
    assert_eq!(unit.judge(1, judged(Some(input), Verdict::Pass)), Ok(Moved::On));
    assert_eq!((unit.step_of(&WorkerId::from_bits(7)), unit.open()), (None, vec![2]));
}

#[test]
fn work_that_is_dropped_opens_its_step_again_and_keeps_what_was_judged() {
    let mut unit = reviewed(Limits::default());
    do_work(&mut unit, 0, "1");
    unit.intend(1, worker(7)).unwrap();
    unit.start(1, Millis(0)).unwrap();

    unit.drop_work();

    assert_eq!((unit.open(), unit.is_current(0)), (vec![1], true));
}

#[test]
fn what_reads_the_source_holds_if_the_work_is_done_again_with_the_same_tree() {
    let mut unit = team();
    let judge = |unit: &mut Unit| {
        say(unit, 1, Verdict::Pass);
        say(unit, 2, Verdict::Pass);
    };
    do_work(&mut unit, 0, "1");
    judge(&mut unit);
    do_work(&mut unit, 3, "2");
    say(&mut unit, 2, Verdict::Pass);
    unit.resume_at(0).unwrap();
    assert_eq!(unit.open(), [0]);

    do_work(&mut unit, 0, "2");

    assert!(unit.is_current(3), "the tests read the same source");
    judge(&mut unit);
    assert_eq!(unit.open(), [4]);
    unit.resume_at(0).unwrap();
    do_work(&mut unit, 0, "3");
    judge(&mut unit);
    assert_eq!(unit.open(), [3], "another source needs other tests");
}

#[test]
fn a_step_that_is_put_off_or_taken_back_was_not_carried_out() {
    for give_up in [Unit::put_off as GiveUp, Unit::take_back] {
        let mut unit = team();
        unit.intend(0, worker(7)).unwrap();

        assert_eq!(give_up(&mut unit, 0), Ok(Moved::On));

        assert_eq!((unit.spent(0), unit.open()), (Spent::default(), vec![0]));
    }
}

#[test]
fn a_reader_waits_while_a_writer_is_at_work_whose_step_it_does_not_follow() {
    let reader = Step { back: None, ..check("of_head", &[], &[Input::Head]) };
    let steps = vec![work("work", &[Zone::Source]), reader];
    let mut unit = Unit::new(Arc::new(Graph::new(Way { steps }).unwrap()), Digest::ZERO, Digest::ZERO, "head");
    assert_eq!(unit.open(), [1], "a reader goes before a writer");
    say(&mut unit, 1, Verdict::Pass);
    unit.intend(0, worker(7)).unwrap();

    unit.move_head("other");

    assert_eq!(unit.open(), Vec::<usize>::new());
    unit.start(0, Millis(0)).unwrap();
    unit.end(0).unwrap();
    unit.capture(0, change("1")).unwrap();
    assert_eq!(unit.open(), [1]);
}
