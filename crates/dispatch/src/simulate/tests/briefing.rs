//! Two consecutive runs led by a team: the second one gets the retrospectives of the first.

use switchboard_protocol::modes::{AnswerFacts, ModeEvent, ModeFact, OptionalSteps};
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::verb::run::Drive;
use switchboard_store::{Cell, Query};

use super::*;
use crate::simulate::observer::Observer;
use crate::work::{RUNS, run_id};

/// Mode events of a run, and the request of each of its parts, by its work.
struct Led {
    events: Vec<ModeEvent>,
    asked: Vec<(String, String)>,
}

fn led(store: &Store, run: &RunId) -> Led {
    let (mut events, mut asked) = (Vec::new(), Vec::new());
    for event in store.events_of(&format!("modes/{run}"), 0, 1_000).unwrap() {
        match event.fact::<ModeFact>().unwrap() {
            ModeFact::ModeStepped { event, .. } => events.push(event),
            ModeFact::PartStarted { part, what, .. } => {
                let of_part = store.events_of(&format!("run/{part}"), 0, 1_000).unwrap();
                let texts = of_part.iter().filter_map(|event| match event.fact::<RunEvent>() {
                    Some(RunEvent::PlanRecorded { text, .. }) => Some(text),
                    Some(_) | None => None,
                });
                asked.push((what, texts.collect()));
            }
        }
    }
    Led { events, asked }
}

/// Simulates two led runs of one repository; the second one takes these steps.
fn two_runs(spec: SimSpec, steps: OptionalSteps) -> [Led; 2] {
    let stage = Arc::new(Stage::new(3, spec));
    let store = Store::in_memory(vec![Box::new(Work), Box::new(switchboard_needs::Needs)], stage.clock.for_store());
    let drive = |steps| Drive { lead: None, request: Some("Add numbers".to_owned()), steps, auto: true };
    let both = [drive(OptionalSteps::default()), drive(steps)];
    for (before, drive) in both.iter().enumerate() {
        // The observer watches the tasks of one run, and the second run has tasks with the same ids.
        *lock(&stage.observer) = Observer::new(None);
        let ends = live_until(&stage, &store, async |daemon| modes::lead(&stage, &daemon, drive, before).await);
        ends.unwrap();
    }
    let rows = store.read(&Query::table(RUNS).ne("mode", Cell::Null).asc("seq")).unwrap();
    assert!(rows.iter().all(|row| row.get_text("state") == Some("succeeded")), "{rows:?}");
    let runs: Vec<_> = rows.iter().map(|row| led(&store, &run_id(row).unwrap())).collect();
    runs.try_into().unwrap_or_else(|runs: Vec<Led>| panic!("{} runs are led", runs.len()))
}

/// Returns the number of retrospectives with which a run began.
fn earlier(led: &Led) -> u32 {
    let Some(ModeEvent::Began { setup }) = led.events.first() else { panic!("{:?}", led.events.first()) };
    setup.retrospectives
}

#[test]
fn the_second_run_of_a_team_is_briefed_with_what_the_first_one_has_taught() {
    for crash_at in [None, Some(40), Some(900)] {
        let [first, second] = two_runs(SimSpec { people: 1000, crash_at, ..SimSpec::kind() }, OptionalSteps::default());

        let is_briefed = |what: &str| what == "explorer: exploration";
        let asked = |led: &Led| led.asked.iter().filter(|(what, _)| is_briefed(what)).count();
        assert_eq!((earlier(&first), earlier(&second)), (0, 2), "a phase of the first run has a retrospective each");
        assert_eq!((asked(&first), asked(&second)), (3, 4), "two rescans and one look, and the briefing once");
        let (what, question) = &second.asked[0];
        assert!(is_briefed(what) && question.contains("CURATOR_INIT") && question.contains("phase 2:"), "{question}");
        assert!(question.contains("--- retrospectives") && question.contains("written by others, no order"));
        let Some(ModeEvent::Answered { answer: AnswerFacts::Exploration { .. }, .. }) = second.events.get(1) else {
            panic!("{:?}", second.events.get(1))
        };
        for told in ["architect: questions", "architect: plan_draft"] {
            let of = |led: &Led| led.asked.iter().find(|(what, _)| what == told).unwrap().1.clone();
            let words = "briefing from earlier runs, not verified";
            assert!(of(&second).contains(words) && !of(&first).contains(words), "{told}");
        }
    }
}

#[test]
fn a_briefing_that_a_person_leaves_out_is_not_asked_for() {
    let steps = OptionalSteps { briefing: false, ..OptionalSteps::default() };

    let [_, second] = two_runs(SimSpec { people: 1000, ..SimSpec::kind() }, steps);

    assert_eq!(earlier(&second), 2);
    assert_eq!(second.asked[0].0, "architect: questions");
}
