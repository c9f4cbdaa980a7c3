//! Which graphs of steps are ways.

use super::*;

fn writer(id: &str, zones: &[Zone], reads: &[Input]) -> Step {
    Step { reads: reads.to_vec(), ..work(id, zones) }
}

fn built(steps: Vec<Step>) -> Result<Graph, BadWay> {
    Graph::new(Way { steps })
}

#[test]
fn a_writer_reads_nothing_that_a_later_one_writes() {
    use Zone::{Source, Tests};
    let refused = [(Input::Source, Source), (Input::Tests, Tests), (Input::Tree, Source), (Input::Tree, Tests)];
    let taken = [(Input::Source, Tests), (Input::Tests, Source), (Input::Spec, Source), (Input::Head, Tests)];
    let of = |(read, zone): (Input, Zone)| {
        built(vec![writer("first", &[Source], &[read]), work("between", &[]), writer("later", &[zone], &[])])
    };

    for pair in refused {
        let bad = of(pair.clone()).expect_err(&format!("{pair:?}"));
        assert_eq!(bad.to_string(), "step first reads what the later step later writes", "{pair:?}");
    }
    for pair in taken {
        assert!(of(pair.clone()).is_ok(), "{pair:?}");
    }
    let reader = Step { reads: vec![Input::Tree], ..work("reads", &[]) };
    assert!(built(vec![reader, writer("later", &[Source], &[])]).is_ok(), "a reader is done again");
    let own = writer("only", &[Source], &[Input::Source]);
    assert!(built(vec![own]).is_ok(), "what a step writes itself is its own");
}

#[test]
fn a_step_names_only_steps_before_it_and_goes_back_to_itself_at_most() {
    let named = |change: fn(&mut Step)| {
        let mut step = work("b", &[]);
        change(&mut step);
        built(vec![work("a", &[]), step, work("c", &[])])
    };
    let refused: [fn(&mut Step); 5] = [
        |step| step.after = ids(&["b"]),
        |step| step.after = ids(&["a", "c"]),
        |step| step.back = Some(StepId::new("c").unwrap()),
        |step| step.reads = vec![Input::Output(StepId::new("b").unwrap())],
        |step| step.reads = vec![Input::Spec, Input::Output(StepId::new("none").unwrap())],
    ];
    for change in refused {
        assert!(matches!(named(change), Err(BadWay::NotBefore { .. })));
    }
    let taken: [fn(&mut Step); 3] = [
        |step| step.after = ids(&["a"]),
        |step| step.back = Some(StepId::new("b").unwrap()),
        |step| step.reads = vec![Input::Output(StepId::new("a").unwrap())],
    ];
    for change in taken {
        assert!(named(change).is_ok());
    }
}

#[test]
fn a_merge_waits_for_all_other_steps_directly_or_through_others() {
    let merge = |after: &[&str]| Step { after: ids(after), ..step("merge", StepAction::Merge) };
    let steps = |after: &[&str]| vec![work("work", &[Zone::Source]), check("a", &["work"], &[]), merge(after)];
    assert!(built(steps(&["a"])).is_ok());
    assert_eq!(built(steps(&["work"])).unwrap_err(), BadWay::EarlyMerge(StepId::new("a").unwrap()));
    let late = [steps(&["a"]), vec![check("b", &["a"], &[])]].concat();
    assert_eq!(built(late).unwrap_err(), BadWay::EarlyMerge(StepId::new("b").unwrap()));
    assert!(built(vec![work("a", &[]), work("b", &[])]).is_ok(), "a way need not merge");
}

#[test]
fn the_maker_is_the_first_step_whose_worker_gives_no_answer() {
    let answers = |id: &str| {
        let mut step = work(id, &[]);
        let StepAction::Work { answer, .. } = &mut step.does else { panic!("{step:?}") };
        *answer = Some(switchboard_protocol::answer::AnswerKind::Review);
        step
    };
    let maker = |steps| built(steps).unwrap().maker();

    assert_eq!(maker(vec![answers("a"), work("b", &[]), work("c", &[])]), Some(1));
    assert_eq!(maker(vec![answers("a")]), None);
    let graph = built(vec![work("work", &[]), check("lint", &["work"], &[])]).unwrap();
    assert_eq!((graph.check_of("lint"), graph.check_of("work"), graph.check_of("none")), (Some(1), None, None));
}
