//! Tests which answers the holder of the architect's seat gives, and what a person answers to its questions.

use switchboard_protocol::action::StepState;
use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::id::Digest;
use switchboard_protocol::modes::{ModeEvent, ModeFact, OptionalSteps, PersonAnswer};
use switchboard_protocol::plan::TaskStatus;
use switchboard_protocol::verb::lead::{SavePlanRequest, SeatReply, SetQaGatesRequest, StepExecutor};
use switchboard_protocol::verb::step::ReportStepRequest;

use super::super::answers::answer_of;
use super::seat::{LOOKS, Led, TASK, ceiling, lead, led, person, start, with_seat};
use super::steering::failed;
use super::*;
use crate::drive::SeatAsk;

/// Runs a test with a run that lea leads from its first question on.
fn with_leader(test: impl AsyncFn(Led<'_>)) {
    with_stage(SimSpec { people: 1000, ..SimSpec::kind() }, async |stage, daemon, request| {
        let lea = architect::agent("lea").unwrap();
        let mut request = led(request, OptionalSteps::default());
        request.budget = ceiling(1_000_000);
        request.drive.as_mut().unwrap().lead = Some(lea.name.clone());
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
        test(Led { stage, daemon, run, fence: 1, lea }).await;
    });
}

/// Waits until the architect is asked for an answer.
async fn asked_for(led: &Led<'_>, kind: AnswerKind) -> SeatReply {
    led.up_to(|status| status.open.iter().any(|open| open.answer == Some(kind))).await
}

async fn report(led: &Led<'_>, state: StepState, answer: Option<Value>) -> Result<(), Failure> {
    let request = ReportStepRequest {
        state,
        note: "as asked".to_owned(),
        answer,
        task: None,
        attempt: None,
        run: Some(led.run.to_string()),
        fence: Some(led.fence),
    };
    failed(led.daemon.report_from_seat(request, led.lea.clone(), None).await).map(drop)
}

async fn save(led: &Led<'_>, plan: Value) -> Result<SeatReply, Failure> {
    let (run, fence) = (led.run.to_string(), led.fence);
    led.ask(SeatAsk::SavePlan(SavePlanRequest { run, fence, plan })).await
}

fn plan() -> Value {
    answer_of(AnswerKind::PlanDraft, 1, 2, 7)["plan"].take()
}

#[test]
fn an_answer_from_the_seat_is_the_one_that_is_asked_for_in_its_form() {
    with_leader(async |led| {
        let questions = || Some(answer_of(AnswerKind::Questions, 1, 2, 0));
        asked_for(&led, AnswerKind::Questions).await;
        refused(save(&led, plan()).await, "seat.not-open", "wants the questions now, and no plan_draft");
        refused(
            report(&led, StepState::Working, questions()).await,
            "request.bad-args",
            "an architect's answer is done",
        );
        refused(report(&led, StepState::Done, None).await, "request.bad-args", "the questions is missing");
        let other = Some(json!({ "points": 7 }));
        refused(report(&led, StepState::Done, other).await, "request.bad-args", "answer");
        let unnamed = ReportStepRequest {
            state: StepState::Done,
            note: "as asked".to_owned(),
            answer: questions(),
            task: None,
            attempt: None,
            run: Some(led.run.to_string()),
            fence: None,
        };
        let unnamed = failed(led.daemon.report_from_seat(unnamed, led.lea.clone(), None).await);
        refused(unnamed, "seat.not-yours", "the call has no fence");

        report(&led, StepState::Done, questions()).await.unwrap();

        asked_for(&led, AnswerKind::PlanDraft).await;
        refused(report(&led, StepState::Done, questions()).await, "seat.not-open", "is answered with save_plan");
        let mut wrong = plan();
        wrong["phases"][0]["tasks"][0]["depends"] = json!(["9.9"]);
        refused(save(&led, wrong).await, "request.bad-args", "9.9");
        assert_eq!(save(&led, plan()).await.unwrap().form, "led");
        refused(save(&led, plan()).await, "seat.not-open", "the architect is asked nothing now");
    });
}

#[test]
fn a_question_that_a_worker_was_asked_before_the_seat_was_taken_is_not_open_to_its_holder() {
    with_stage(SimSpec { people: 1000, work_ms: 600_000, ..SimSpec::kind() }, async |stage, daemon, request| {
        let run = start(daemon, request).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let given = lead(&run, Some("lea"), ceiling(1_000_000), Some(60 * 60_000));
        let _: SeatReply = daemon.ask_seat(given, person(), None).await.unwrap();
        let led = Led { stage, daemon, run, fence: 1, lea: architect::agent("lea").unwrap() };

        let status = led.status().await;
        let answer = report(&led, StepState::Done, Some(answer_of(AnswerKind::Questions, 1, 2, 0))).await;

        assert_eq!((status.form.as_str(), status.fence, status.open.len()), ("led", Some(1), 0));
        refused(answer, "seat.not-open", "was asked before the seat was taken, and answers");
        assert_eq!(led.up_to(|status| !status.open.is_empty()).await.open[0].verb, "begin_step", "it is answered");
    });
}

#[test]
fn a_person_answers_a_question_of_the_architect_with_one_of_its_words_or_in_other_words_or_skips_it() {
    let text = |text: &str| PersonAnswer::Text { text: Digest::of(text.as_bytes()) };
    for (option, note, answer) in [
        ("1", None, Some(text("numbers"))),
        ("2", Some("not these"), Some(text("texts"))),
        ("text", Some("of both"), Some(text("of both"))),
        ("text", None, None),
        ("skip", None, None),
    ] {
        with_leader(async |led| {
            asked_for(&led, AnswerKind::Questions).await;
            let questions = json!({ "questions": [{ "question": "Of what?", "choices": ["numbers", "texts"] }] });
            report(&led, StepState::Done, Some(questions)).await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            let need = switchboard_needs::list(&led.daemon.world.store, false).unwrap().remove(0);
            assert_eq!((need.title.as_str(), need.detail.as_str()), ("Of what?", "Of what?\n1: numbers\n2: texts\n"));
            let ids: Vec<_> = need.options.iter().map(|option| option.id.as_str()).collect();
            assert_eq!(ids[..3], ["1", "2", "text"]);

            let settled = switchboard_needs::resolved(&need.id, "answered", Some(option.to_owned()), "ben").unwrap();
            let event = note.map_or(settled.0.clone(), |note| settled.0.clone().with_body(note));
            led.daemon.world.commit(Batch::synced().event(event).guard(settled.1)).await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;

            let all = led.daemon.world.store.events_of(&format!("modes/{}", led.run), 0, 10_000).unwrap();
            let answered = all.iter().find_map(|event| match event.fact() {
                Some(ModeFact::ModeStepped { event: ModeEvent::PersonAnswered { answer, .. }, .. }) => Some(answer),
                Some(ModeFact::ModeStepped { .. } | ModeFact::PartStarted { .. }) | None => None,
            });
            match &answer {
                Some(text) => assert_eq!(answered.as_ref(), Some(text), "{option}"),
                None => {
                    assert!(matches!(&answered, Some(PersonAnswer::Chose { choice, .. }) if choice.as_str() == "skip"))
                }
            }
        });
    }
}

#[test]
fn gates_that_the_leader_adds_judge_the_tasks_of_the_phases_that_begin_later() {
    with_seat(async |led| {
        let (run, fence, add) = (led.run.to_string(), led.fence, vec!["secretscan".to_owned()]);
        let _: SeatReply = led.ask(SeatAsk::AddGates(SetQaGatesRequest { run, fence, add })).await.unwrap();
        led.up_to_step("work").await;

        let rows = led.daemon.world.store.read(&Query::table(RUNS).eq("part_work", "phase")).unwrap();
        let [part] = rows.as_slice() else { panic!("{rows:?}") };
        let plan = led.daemon.plan_of(&crate::work::run_id(part).unwrap()).unwrap();
        let gates: Vec<_> = plan.plan.tasks().map(|task| task.switchboard.clone().unwrap_or_default().gates).collect();
        assert!(!gates.is_empty() && gates.iter().all(|own| *own == Some(vec!["secretscan".to_owned()])), "{gates:?}");
    });
}

#[test]
fn work_that_is_open_again_names_what_refused_it_before() {
    with_seat(async |led| {
        let of_task = |status: &SeatReply| {
            let open = status.open.iter().find(|open| open.task.as_ref().is_some_and(|task| task.as_str() == TASK));
            open.and_then(|open| open.again.clone())
        };
        assert_eq!(of_task(&led.up_to_step("work").await), None);
        led.begin(Some(TASK), None, StepExecutor::Seat).await.unwrap();
        let by_hand = led.status().await;
        assert!(by_hand.open.iter().any(|open| open.verb == "report_step" && open.step == "work"), "{by_hand:?}");
        let stuck = ReportStepRequest {
            state: StepState::Stuck,
            note: "the vendor has given no key".to_owned(),
            answer: None,
            task: Some(TaskId::new(TASK).unwrap()),
            attempt: None,
            run: Some(led.run.to_string()),
            fence: Some(led.fence),
        };
        led.daemon.report_from_seat(stuck, led.lea.clone(), None).await.unwrap();
        assert!(!led.status().await.open.iter().any(|open| open.verb == "report_step"), "it has said that it is over");

        let again = of_task(&led.up_to_step("work").await).unwrap();

        assert!(again.contains("the vendor has given no key"), "{again}");
        led.begin(Some(TASK), None, StepExecutor::Worker).await.unwrap();
        assert_eq!(of_task(&led.up_to_step("review").await), None, "it is no reason to review it");
    });
}

#[test]
fn a_status_that_the_record_agrees_with_is_answered_and_nothing_is_recorded_for_it() {
    with_seat(async |led| {
        led.up_to_step("work").await;
        led.begin(Some(TASK), None, StepExecutor::Worker).await.unwrap();
        led.up_to_step("review").await;
        let before = led.daemon.world.store.head().lsn;

        led.set(TASK, TaskStatus::InProgress, None).await.unwrap();

        assert_eq!(led.daemon.world.store.head().lsn, before);
        for _ in 0..LOOKS {
            if !led.events("task_merged").is_empty() {
                break;
            }
            let step =
                led.status().await.open.into_iter().find(|open| open.verb == "begin_step" && open.task.is_some());
            match step {
                Some(open) => drop(led.begin(open.task.as_ref().map(TaskId::as_str), None, StepExecutor::Worker).await),
                None => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
        assert!(!led.events("task_merged").is_empty());
    });
}
