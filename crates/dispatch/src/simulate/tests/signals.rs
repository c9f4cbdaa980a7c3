//! Tests what a run makes of signal files that were written while no daemon answered.

use switchboard_process::signal_files::{DAEMON, Found};
use switchboard_protocol::signal::{RunSignal, SignalKind};
use switchboard_protocol::time::Millis;

use super::at_work::LOOKS;
use super::steering::{failed, read};
use super::*;

fn signal(n: u32, kind: SignalKind, task: Option<&str>) -> Found {
    let task = task.map(|task| TaskId::new(task).unwrap());
    Found { n, signal: Ok(RunSignal { n, kind, task, from: "Ann".to_owned(), at: Millis(0) }) }
}

#[test]
fn signals_are_recorded_in_order_before_the_run_goes_on_and_each_is_marked() {
    with_stage(SimSpec::kind(), async |stage, daemon, request| {
        *lock(&stage.signals) = vec![
            signal(1, SignalKind::Resume, None),
            Found { n: 2, signal: Err("it is no JSON".to_owned()) },
            signal(3, SignalKind::Stop, Some("9.9")),
            signal(4, SignalKind::Pause, None),
        ];

        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
        for _ in 0..LOOKS {
            if lock(&stage.marked).len() == 4 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_secs(3600)).await;

        let marked = lock(&stage.marked).clone();
        let marks: Vec<_> = marked.iter().map(|mark| (mark.n, mark.by.as_str(), mark.refused.as_str())).collect();
        let [first, second, third, last] = marks.as_slice() else { panic!("{marks:?}") };
        assert_eq!((*first, *second, *last), ((1, DAEMON, ""), (2, DAEMON, "it is no JSON"), (4, DAEMON, "")));
        assert!(third.0 == 3 && third.2.contains("9.9"), "{third:?}");
        let all = daemon.world.store.events_of(&history::subject(&run), 0, 10_000).unwrap();
        let of_ann: Vec<_> = all.iter().filter(|event| event.actor == "ann").map(|event| event.kind.as_str()).collect();
        assert_eq!(of_ann.last(), Some(&"run_paused"), "{of_ann:?}");
        assert!(all.iter().all(|event| event.kind != "worker_intended"), "nothing starts in a paused run");
        failed(daemon.resume_run(&read(json!({ "run": run })), &people::ann().unwrap().name, None).await).unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        assert_eq!(daemon.state_of(&run).unwrap(), "succeeded");
    });
}
