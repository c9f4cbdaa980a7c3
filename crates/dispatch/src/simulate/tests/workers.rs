//! Tests how a daemon knows its workers, tells them something, and ends them when it ends itself.

use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::job::Coordination;
use switchboard_protocol::message::{DeliveryState, Message};
use switchboard_protocol::run::{RunEvent, TurnOutcome};

use super::super::spec::PROCESS;
use super::at_work::{LOOKS, with_worker};
use super::*;
use crate::worker_messages;

#[test]
fn a_daemon_that_ends_its_workers_waits_for_their_ends_and_starts_no_others() {
    with_worker(Coordination::Managed, async |at| {
        let daemon = at.daemon;
        assert_eq!((daemon.linked_workers(), daemon.connected_workers()), (1, 1));
        let free = at.daemon.world.start_permit().await;
        assert!(free.is_some());
        drop(free);

        let left = daemon.stop_workers(Duration::from_secs(600)).await;

        assert_eq!((left, daemon.linked_workers(), daemon.connected_workers()), (0, 0, 0));
        let ends = at.events("turn_ended");
        assert!(matches!(ends.as_slice(), [RunEvent::TurnEnded { outcome: TurnOutcome::Stopped, .. }]), "{ends:?}");
        assert!(daemon.world.start_permit().await.is_none() && daemon.world.adoption_permit().is_none());
        let ending = tokio::time::timeout(Duration::from_secs(60), daemon.world.is_ending());
        ending.await.expect("starts in progress are given up");
    });
}

#[test]
fn a_worker_is_known_by_its_id_and_its_token_until_it_has_ended() {
    with_worker(Coordination::Managed, async |at| {
        let daemon = at.daemon;
        let token = lock(&at.stage.shims).values_mut().next().unwrap().spec.token.clone();
        let known = |found: Option<crate::WorkerIdentity>| found.map(|found| found.worker);

        assert_eq!(known(daemon.worker(&at.worker).unwrap()), Some(at.worker.clone()));
        assert_eq!(known(daemon.worker_of(&token).unwrap()), Some(at.worker.clone()));
        assert!(daemon.is_shim(&at.worker, &token));
        let stranger = WorkerId::from_bits(7);
        assert!(!daemon.is_shim(&at.worker, "forged") && !daemon.is_shim(&stranger, &token));
        assert_eq!(known(daemon.worker(&stranger).unwrap()), None);
        let (pid, start) = PROCESS;
        assert_eq!(daemon.worker_of_shim(pid, start).unwrap(), Some(at.worker.clone()));
        assert_eq!(daemon.worker_of_shim(pid, start + 1).unwrap(), None, "another process had the id before");

        daemon.stop_workers(Duration::from_secs(600)).await;

        assert_eq!(known(daemon.worker(&at.worker).unwrap()), None);
        assert_eq!(known(daemon.worker_of(&token).unwrap()), None);
        assert_eq!(daemon.worker_of_shim(pid, start).unwrap(), None);
    });
}

#[test]
fn the_trees_of_a_live_run_are_below_a_folder_of_its_own() {
    with_worker(Coordination::Managed, async |at| {
        let folders = at.daemon.worktree_folders().unwrap();

        assert_eq!(folders, [PathBuf::from("/worktrees"), PathBuf::from("/worktrees").join(at.run.as_str())]);
    });
}

#[test]
fn what_the_worker_of_a_standalone_run_is_told_waits_until_a_turn_has_shown_it() {
    with_worker(Coordination::Standalone, async |at| {
        let joined = Filter::kinds(["agent_joined".to_owned()]);
        assert_eq!(at.daemon.world.store.events(0, &joined, 10).unwrap().len(), 0, "it has no team");
        let (task, agent) = (TaskId::new("1.1").unwrap(), AgentName::new("ann-1").unwrap());
        let of = (&at.run, &task);
        let unseen = || worker_messages::unseen(&at.daemon.world, of, &agent, 10).unwrap();
        let all = |limit| worker_messages::all(&at.daemon.world, of, &agent, limit).unwrap();
        for (number, text) in [(1, "hurry"), (2, "slowly")] {
            at.tell(&at.unit("1.1"), text, number).await.unwrap();
        }

        let waiting = unseen();
        let [first, second] = waiting.as_slice() else { panic!("{waiting:?}") };
        let told = json!({ "id": MessageId::from_bits(1), "action": "status_update", "kind": "event", "sender": "ann",
            "sender_verified": true, "recipient": agent, "payload": "hurry", "state": "accepted",
            "created_at": first.created_at, "seq": first.seq });
        assert_eq!(first, &serde_json::from_value::<Message>(told).unwrap());
        assert!(second.seq > first.seq && second.payload == "slowly", "{second:?}");
        assert_eq!(all(10), waiting);
        for _ in 0..LOOKS {
            if unseen().is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }

        let shown: Vec<_> = all(10).into_iter().map(|message| (message.payload, message.state)).collect();
        assert_eq!(shown, ["hurry", "slowly"].map(|text| (text.to_owned(), DeliveryState::Injected)));
        assert_eq!(all(1)[0].payload, "slowly", "the newest one");
        assert!(unseen().is_empty());
    });
}

#[test]
fn variables_that_a_run_gets_anew_are_kept_for_the_next_daemon() {
    with_worker(Coordination::Managed, async |at| {
        let kept = || {
            let path = crate::plan::agents_file(&at.daemon.world.config, &at.run);
            String::from_utf8(lock(&at.stage.files).get(&path).cloned().unwrap()).unwrap()
        };
        let agent = serde_json::from_str::<Value>(&kept()).unwrap()[0].clone();
        assert!(!kept().contains("secret"));
        let env = json!([{ "agent": agent["name"], "driver": agent["driver"], "env": [["KEY", "secret"]] }]);
        let resume = serde_json::from_value(json!({ "run": at.run, "env": env })).unwrap();

        at.daemon.resume_run(&resume, &people::ann().unwrap().name, None).await.unwrap();

        assert!(kept().contains("secret"), "{}", kept());
    });
}
