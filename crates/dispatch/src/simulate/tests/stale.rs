//! Tests that a step is taken back from a worker that shows no sign of life.

use switchboard_protocol::run::{RunEvent, TurnOutcome};
use switchboard_protocol::worker::WorkerFact;

use super::*;

#[test]
fn a_worker_of_a_team_without_a_sign_of_life_is_taken_back_and_counts_as_lost_and_as_no_attempt() {
    let (mut lost, mut for_silence) = (0, 0);
    for seed in 1..=40 {
        let spec = SimSpec { teams: 1000, bad_workers: 150, ..small() };
        let (_, store) = play(seed, spec).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
        let events = store.events(0, &Filter::all(), 100_000).unwrap();
        let flagged = events.iter().filter_map(|event| match event.fact::<WorkerFact>() {
            Some(WorkerFact::WorkerFlagged { worker, rule, stops, words }) if rule == "stale" => {
                Some((event.lsn, worker, stops, words))
            }
            Some(_) | None => None,
        });
        for (lsn, worker, stops, words) in flagged {
            assert!(stops && words.contains("has shown no sign of life for 20 minutes"), "seed {seed}: {words}");
            let is_end = |event: &RunEvent| {
                matches!(event, RunEvent::WorkerLost { worker: of, .. } | RunEvent::TurnEnded { worker: of, .. }
                    if *of == worker)
            };
            let mut later = events.iter().filter(|event| event.lsn > lsn).filter_map(|event| event.fact::<RunEvent>());
            let end = later.find(is_end).unwrap();
            // A person may have stopped it meanwhile.
            if matches!(end, RunEvent::TurnEnded { outcome: TurnOutcome::Stopped, .. }) {
                continue;
            }
            let RunEvent::WorkerLost { reason, .. } = &end else { panic!("seed {seed}: {end:?}") };
            lost += 1;
            // A shim that hangs as well is killed, and lost for that reason.
            for_silence += u32::from(reason.contains("no sign of life"));
        }
    }
    assert!(lost > 2 && for_silence > 0, "{lost} {for_silence}");
}
