//! Tests answers about many tasks or events: what they name, how much they leave out, and that pages miss nothing.

use switchboard_protocol::job::Coordination;
use switchboard_protocol::verb::timeline::{GetTimelineReply, MAX_ENTRIES};

use super::at_work::{at_work, slow, with_worker};
use super::steering::{failed, read};
use super::*;

/// Returns a plan of so many tasks, which don't wait for each other.
fn plan_of(count: u64) -> String {
    let task = |number: u64| {
        let id = format!("1.{number}");
        json!({ "id": id, "phase": 1, "description": format!("do {id} {}", "x".repeat(300)), "acceptance": "it is done",
            "files_touched": [format!("t/{id}")] })
    };
    json!({ "schema_version": "1.0.0", "title": "Many", "swarm": "sim",
        "phases": [{ "id": 1, "name": "one", "tasks": (1..=count).map(task).collect::<Vec<_>>() }] })
    .to_string()
}

#[test]
fn a_stop_and_a_refused_merge_name_the_first_of_many_tasks_and_count_the_others() {
    with_stage(slow(), async |stage, daemon, request| {
        let ann = people::ann().unwrap();
        let request = StartRunRequest { plan: plan_of(60), merge: false, ..request };
        let at = at_work(stage, daemon, request).await;

        let stopped = daemon.stop_run(&read(json!({ "what": at.run })), &ann.name, None).await.unwrap();
        at.is_over().await;
        let merge = failed(daemon.merge_run(&read(json!({ "run": at.run })), &ann, None).await).unwrap_err();

        assert_eq!((stopped.state.as_str(), stopped.tasks.len(), stopped.more), ("stopping", 50, 10));
        let first = &stopped.tasks[0];
        assert_eq!((first.id.as_str(), first.state.as_str(), first.waits), ("1.1", "working", false));
        assert!(first.description.starts_with("do 1.1 x") && first.description.len() <= 203, "{first:?}");
        assert_eq!(merge.what, format!("0 of 60 tasks of {} are done", at.run));
        assert_eq!((merge.cause.len(), merge.cause[20].as_str()), (21, "40 more tasks"));
        assert_eq!(merge.cause[0], "task 1.1 is missing: stopped");
    });
}

#[test]
fn a_stop_of_a_task_names_those_that_wait_for_it_in_vain() {
    with_worker(Coordination::Managed, async |at| {
        let stop = read(json!({ "what": at.unit("1.1") }));

        let stopped = at.daemon.stop_run(&stop, &people::ann().unwrap().name, None).await.unwrap();

        let named: Vec<_> = stopped.tasks.iter().map(|task| (task.id.as_str(), task.waits)).collect();
        assert_eq!((named, stopped.more), (vec![("1.1", false), ("1.2", true)], 0));
    });
}

#[test]
fn the_pages_of_a_timeline_are_together_the_whole_of_it() {
    with_daemon(async |daemon, request| {
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        let page = async |after: u64, limit: u32| -> GetTimelineReply {
            daemon.get_timeline(&read(json!({ "run": run, "after": after, "limit": limit }))).await.unwrap()
        };
        let whole = page(0, MAX_ENTRIES).await;
        assert!(whole.entries.len() > 10 && whole.next.is_none(), "{whole:?}");

        let (mut entries, mut pages, mut after) = (Vec::new(), 0, Some(0));
        while let Some(from) = after {
            let GetTimelineReply { entries: more, next, .. } = page(from, 3).await;
            assert!(!more.is_empty(), "after {from}");
            (pages, after) = (pages + 1, next);
            entries.extend(more);
        }

        assert!(pages > 2 && json!(entries) == json!(whole.entries), "{pages} pages");
    });
}
