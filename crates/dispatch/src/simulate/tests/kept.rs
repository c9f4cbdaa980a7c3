//! Tests what is added to the evidence of a task.

use switchboard_protocol::evidence::{Detail, Verdict};

use super::merges::world;
use super::*;
use crate::evidence::{Found, add};
use crate::plan;

#[test]
fn a_finding_is_added_once_beside_entries_that_others_have_written() {
    let stage = Arc::new(Stage::new(1, SimSpec::kind()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let (_store, world) = runtime.block_on(async { world(&stage) });
    let (run, task) = (RunId::from_bits(1), TaskId::new("1.1").unwrap());
    let path = plan::evidence_file(&world.config, &run, &task);
    let others = json!({ "schema_version": "1.0.0", "task_id": "1.1", "created_at": "t", "updated_at": "t",
        "entries": [{ "type": "of_others", "what": 7 }] });
    lock(&stage.files).insert(path.clone(), others.to_string().into_bytes());
    let entries = || {
        let bundle: Value = serde_json::from_slice(lock(&stage.files).get(&path).unwrap()).unwrap();
        bundle["entries"].as_array().unwrap().clone()
    };
    let found = |summary: &str| Found {
        gate: "review".to_owned(),
        verdict: Verdict::Approved,
        summary: summary.to_owned(),
        detail: Detail::Note,
        contracts: None,
    };

    for (summary, count) in [("good", 2), ("good", 2), ("better", 3)] {
        add(&world, &run, &task, 1, found(summary), "ben").unwrap();

        assert_eq!(entries().len(), count, "{summary}");
    }
    assert_eq!(entries()[0], others["entries"][0]);
    assert_eq!(entries()[1]["agent"], "ben");
}
