//! Migration of facts written by older versions.

use serde_json::{Map, Value, json};

/// Migrates `worker_reported` of version 1, in which events were named by `report` and had other forms, to the form of
/// [`WorkerEvent`](switchboard_protocol::worker::WorkerEvent).
pub(crate) fn reported(mut facts: Value) -> Value {
    let Some(what) = facts.get_mut("what").and_then(Value::as_object_mut) else { return facts };
    let Some(kind) = what.remove("report") else { return facts };
    match kind.as_str().unwrap_or_default() {
        "agent_started" => {
            let program = what.remove("program").unwrap_or_default();
            what.insert("argv".to_owned(), json!([program]));
        }
        // Version 1 has the number of messages, not their ids.
        "turn_started" => drop(what.insert("mail".to_owned(), json!([]))),
        "tool_called" => empty(what, &["call"]),
        "permission_asked" => {
            empty(what, &["title", "detail"]);
            what.insert("options".to_owned(), json!([]));
        }
        "turn_ended" => empty(what, &["text"]),
        "agent_exited" => empty(what, &["stderr"]),
        "faulted" => empty(what, &["what"]),
        _ => {}
    }
    what.insert("kind".to_owned(), kind);
    facts
}

/// Adds the kind of work to `part_started`; older versions only had it in words.
pub(crate) fn part_started(mut facts: Value) -> Value {
    let what = facts.get("what").and_then(Value::as_str).map(str::to_owned);
    let (Some(what), Some(facts_of)) = (what, facts.as_object_mut()) else { return facts };
    let work = match what.as_str() {
        what if what.starts_with("phase ") => "phase",
        what if what.starts_with("docs: ") => "docs",
        _ => "question",
    };
    facts_of.entry("work").or_insert_with(|| json!(work));
    facts
}

/// Adds empty texts that version 1 left out: they are in the event's body.
fn empty(what: &mut Map<String, Value>, names: &[&str]) {
    for name in names {
        what.insert((*name).to_owned(), json!(""));
    }
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::modes::PartWork;
    use switchboard_protocol::worker::WorkerEvent;

    use super::*;

    /// Facts as version 1 wrote them, one of each kind.
    const STORED: [&str; 11] = [
        r#"{"report":"agent_started","pid":7,"program":"/bin/sh"}"#,
        r#"{"report":"session_opened","session":"s1"}"#,
        r#"{"report":"turn_started","turn":1,"mail":2}"#,
        r#"{"report":"tool_called","title":"Write a","tool_kind":"edit","status":"completed","paths":["a"]}"#,
        r#"{"report":"permission_asked","ask":"ask-1"}"#,
        r#"{"report":"permission_settled","ask":"ask-1","option":"yes"}"#,
        r#"{"report":"cost_reported","micro_usd":12,"input_tokens":3,"output_tokens":4}"#,
        r#"{"report":"turn_ended","turn":1,"stop":"end_turn"}"#,
        r#"{"report":"agent_exited","code":0,"signal":null}"#,
        r#"{"report":"faulted","code":"agent.missing"}"#,
        r#"{"report":"sealed","bytes":10,"dropped":0,"digest":"ab"}"#,
    ];

    #[test]
    fn every_report_of_version_1_is_read_as_what_it_was() {
        for stored in STORED {
            let before: Value = serde_json::from_str(stored).unwrap();

            let mut lifted = reported(json!({ "worker": "wrk_1", "epoch": 1, "seq": 1, "what": before.clone() }));

            let what = lifted["what"].take();
            assert_eq!(what["kind"], before["report"]);
            let event: WorkerEvent = serde_json::from_value(what).unwrap_or_else(|error| panic!("{stored}: {error}"));
            assert_eq!(event.clone().fitted(), event, "{stored}");
        }
    }

    #[test]
    fn the_work_of_a_part_is_told_from_its_words_where_the_record_does_not_say_it() {
        let of = |what: &str| json!({ "run": "run_1", "step": 1, "part": "run_2", "what": what });
        let cases = [
            ("phase 2 of plan ab12", PartWork::Phase),
            ("docs: phase 2", PartWork::Docs),
            ("critic: plan_review", PartWork::Question),
        ];
        for (what, work) in cases {
            let lifted = part_started(of(what));

            assert_eq!(lifted["work"], json!(work), "{what}");
            assert_eq!(part_started(lifted.clone()), lifted);
        }
        let said = json!({ "what": "phase of the moon", "work": "question" });
        assert_eq!(part_started(said.clone()), said, "what the record says holds");
    }

    #[test]
    fn what_is_of_another_shape_is_left_as_it_is() {
        assert_eq!(reported(json!({ "what": { "kind": "sealed" } })), json!({ "what": { "kind": "sealed" } }));
        assert_eq!(reported(json!(3)), json!(3));
    }
}
