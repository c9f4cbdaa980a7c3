//! Tests what becomes of a run, and of work that its leader does by hand, when the leader is not heard of for longer
//! than its lease, or gives the seat back.

use switchboard_protocol::job::Coordination;
use switchboard_protocol::modes::{ModeEvent, ModeFact};
use switchboard_protocol::need::Need;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::run::way::StepId;
use switchboard_protocol::verb::lead::{LeaveSeatRequest, SeatReply, SeatStatusRequest, StepExecutor};

use super::seat::{LOOKS, Led, TASK, ceiling, lead, person, with_lease, with_seat};
use super::steering::{failed, read};
use super::*;
use crate::drive::{SeatAsk, SeatCaller};

/// Two thirds of the leases in these tests, which are an hour.
const MOST_OF_A_LEASE: Duration = Duration::from_secs(40 * 60);

async fn status(led: &Led<'_>, by: &SeatCaller) -> Result<SeatReply, Failure> {
    let ask = SeatAsk::Status(SeatStatusRequest { run: led.run.to_string(), wait_ms: None });
    failed(led.daemon.ask_seat(ask, by.clone(), None).await)
}

/// Returns what the modes of the run have recorded.
fn modes_of(led: &Led<'_>) -> Vec<ModeEvent> {
    let all = led.daemon.world.store.events_of(&format!("modes/{}", led.run), 0, 10_000).unwrap();
    let stepped = all.iter().filter_map(|event| match event.fact() {
        Some(ModeFact::ModeStepped { event, .. }) => Some(event),
        Some(ModeFact::PartStarted { .. }) | None => None,
    });
    stepped.collect()
}

/// Waits longer than the lease; returns the question that is asked then.
async fn lost(led: &Led<'_>) -> Need {
    tokio::time::sleep(2 * MOST_OF_A_LEASE).await;
    for _ in 0..LOOKS {
        let open = switchboard_needs::list(&led.daemon.world.store, false).unwrap();
        if let Some(need) = open.into_iter().find(|need| need.title.contains("has lost the architect's seat")) {
            return need;
        }
        // Answers do not name who leads, so others are answered first.
        modes::answer(led.stage, led.daemon).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("nobody is asked");
}

async fn resolve(led: &Led<'_>, need: &Need, outcome: &'static str, option: Option<&str>) {
    let settled = (outcome, option.map(str::to_owned), None);
    switchboard_needs::resolve(&led.daemon.world.store, &need.id, settled, "ben", Batch::synced()).await.unwrap();
}

/// Begins the work of the task by hand; the leader then does nothing.
async fn begin_by_hand(led: &Led<'_>) {
    // Work by hand reports no cost, and counts as what is set aside for a worker.
    let budget = read(json!({ "run": led.run, "budget": ceiling(100_000_000) }));
    led.daemon.set_budget(&budget, None).await.unwrap();
    led.up_to_step("work").await;
    let worker = led.begin(Some(TASK), None, StepExecutor::Seat).await.unwrap().worker.unwrap();
    lock(&led.stage.shims).values_mut().filter(|shim| shim.spec.worker == worker).for_each(|shim| shim.acts.clear());
}

/// Returns the step of the task that waits to be begun.
async fn open_step(led: &Led<'_>) -> Option<StepId> {
    let all = led.daemon.world.store.events(0, &Filter::kinds(["worker_intended".to_owned()]), 10_000).unwrap();
    let part = RunId::new(all.last().unwrap().subject.strip_prefix("run/").unwrap()).unwrap();
    let state = led.daemon.state(&part).await.unwrap();
    state.open_step(&TaskId::new(TASK).unwrap()).map(|open| open.step)
}

fn outcome(led: &Led<'_>, need: &Need) -> String {
    let row = led.daemon.world.store.get(switchboard_needs::NEEDS, &[need.id.as_str().into()]).unwrap().unwrap();
    row.get_text("outcome").unwrap_or_default().to_owned()
}

#[test]
fn a_leader_keeps_its_seat_as_long_as_it_is_heard_of_and_a_look_of_another_does_not_count() {
    with_seat(async |led| {
        let stranger = architect::agent("eve").unwrap();
        let unproven = SeatCaller { is_proven: false, ..led.lea.clone() };
        for _ in 0..3 {
            tokio::time::sleep(MOST_OF_A_LEASE).await;
            let own = status(&led, &led.lea).await.unwrap();
            assert_eq!((own.form.as_str(), own.fence), ("led", Some(led.fence)));
        }

        tokio::time::sleep(MOST_OF_A_LEASE).await;
        for other in [&stranger, &unproven, &person()] {
            let seen = status(&led, other).await.unwrap();
            assert_eq!((seen.form.as_str(), seen.fence, seen.open.len()), ("led", None, 0));
        }
        tokio::time::sleep(MOST_OF_A_LEASE).await;

        assert_eq!(status(&led, &led.lea).await.unwrap().form, "vacant");
        assert!(modes_of(&led).contains(&ModeEvent::SeatLost { fence: led.fence }));
    });
}

#[test]
fn a_person_decides_who_leads_a_run_that_has_lost_its_leader() {
    for (outcome, option, why) in [
        ("answered", Some("drive"), None),
        ("answered", Some("stop"), Some("its architect's seat was vacant")),
        ("expired", None, Some("nobody took the architect's seat in time")),
    ] {
        with_seat(async |led| {
            let need = lost(&led).await;
            let options: Vec<_> = need.options.iter().map(|option| option.id.as_str()).collect();
            assert_eq!(options, ["drive", "stop"]);

            resolve(&led, &need, outcome, option).await;

            let Some(why) = why else {
                tokio::time::sleep(Duration::from_secs(1)).await;
                assert_eq!(status(&led, &led.lea).await.unwrap().form, "driven");
                let left = ModeEvent::SeatLeft { fence: led.fence, by: read(json!("ben")) };
                assert!(modes_of(&led).contains(&left), "{:?}", modes_of(&led));
                return;
            };
            led.daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
            let last = modes_of(&led).pop();
            let Some(ModeEvent::Stopped { why: said, .. }) = &last else { panic!("{last:?}") };
            assert_eq!(said, why);
        });
    }
}

#[test]
fn the_question_who_leads_is_withdrawn_once_an_agent_does_or_the_run_is_stopped() {
    for is_stopped in [false, true] {
        with_seat(async |led| {
            let need = lost(&led).await;
            assert_eq!(outcome(&led, &need), "");

            if is_stopped {
                led.daemon.stop_run(&read(json!({ "what": led.run })), &person().name, None).await.unwrap();
                led.daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
            } else {
                let given = lead(&led.run, Some("eve"), ceiling(1_000_000), None);
                let taken: SeatReply = led.daemon.ask_seat(given, person(), None).await.unwrap();
                assert_eq!(taken.agent.map(|agent| agent.to_string()).as_deref(), Some("eve"));
                tokio::time::sleep(Duration::from_secs(1)).await;
            }

            assert_eq!(outcome(&led, &need), "withdrawn");
        });
    }
}

#[test]
fn work_that_a_lost_leader_did_by_hand_is_taken_back_and_is_no_failed_attempt() {
    let lease = Duration::from_secs(600);
    with_lease(600_000, Coordination::Managed, async |led| {
        begin_by_hand(&led).await;
        let begun = || led.events("worker_intended").len();
        let before = begun();

        tokio::time::sleep(lease + Duration::from_secs(60)).await;

        assert_eq!(begun(), before, "nobody does it in the place of who has lost the seat");
        assert_eq!(open_step(&led).await, Some(StepId::work()));
        let lost = led.events("worker_lost");
        let [RunEvent::WorkerLost { worker, reason, .. }] = lost.as_slice() else { panic!("{lost:?}") };
        assert_eq!(reason, "lea has lost the architect's seat: nothing was heard of it in its lease");
        let ended = |event: &RunEvent| matches!(event, RunEvent::TurnEnded { worker: of, .. } if of == worker);
        assert!(!led.events("turn_ended").iter().any(ended));
        let shown = led.daemon.get_run(&read(json!({ "run": led.run }))).await.unwrap();
        let task = shown.list.iter().find(|task| task.id == TASK).unwrap();
        assert_eq!((task.attempts, task.refusals.len()), (1, 0), "{task:?}");
    });
}

#[test]
fn a_leader_that_gives_the_seat_back_ends_its_work_by_hand_and_the_engine_goes_on_with_the_task() {
    with_seat(async |led| {
        begin_by_hand(&led).await;

        let leave = SeatAsk::Leave(LeaveSeatRequest { run: led.run.to_string(), fence: Some(led.fence) });
        let left: SeatReply = led.ask(leave).await.unwrap();

        assert_eq!(left.form, "driven");
        let by_leader = |event: &RunEvent| matches!(event, RunEvent::LedSet { is_led: false });
        assert!(led.events("led_set").iter().any(by_leader));
        let is_merged = |event: &RunEvent| matches!(event, RunEvent::TaskMerged { task, .. } if task.as_str() == TASK);
        for _ in 0..LOOKS {
            if led.events("task_merged").iter().any(is_merged) {
                return;
            }
            modes::answer(led.stage, led.daemon).await.unwrap();
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        panic!("the engine does not go on with it");
    });
}
