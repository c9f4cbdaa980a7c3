use serde_json::{Value, json};
use switchboard_protocol::evidence::Entry;

use super::*;

const AT: &str = "2026-02-27T10:00:00.000Z";

/// Returns an entry of a type with its own fields.
fn entry(kind: &str, verdict: &str, fields: &Value) -> Value {
    let mut entry = json!({ "task_id": "1.1", "timestamp": AT, "agent": "coder", "verdict": verdict, "summary": "s" });
    entry.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    entry["type"] = kind.into();
    entry
}

fn evidence(kind: &str, verdict: &str, fields: Value) -> Evidence {
    serde_json::from_value(entry(kind, verdict, &fields)).unwrap()
}

fn note(summary: String) -> Evidence {
    Evidence { summary, ..evidence("note", "info", json!({})) }
}

fn append(bundle: Option<Bundle<Box<RawValue>>>, entry: Evidence) -> Result<Bundle<Box<RawValue>>, EvidenceError> {
    super::append(bundle, [entry]).map(Option::unwrap)
}

fn retrospective() -> Value {
    json!({ "phase_number": 1, "total_tool_calls": 1, "coder_revisions": 0, "reviewer_rejections": 0, "test_failures": 0,
        "security_findings": 0, "integration_issues": 0, "task_count": 3, "task_complexity": "moderate",
        "top_rejection_reasons": [], "lessons_learned": ["x"],
        "user_directives": [{ "directive": "d", "category": "process", "scope": "project" }],
        "approaches_tried": [{ "approach": "a", "result": "failure", "abandoned_reason": "r" }],
        "error_taxonomy": ["scope_creep"] })
}

/// Returns one entry of every type, as the swarm's tools write it.
fn all_types() -> Vec<Value> {
    let finding = json!({ "rule_id": "r", "severity": "high", "message": "m", "location": { "file": "a", "line": 1 } });
    [
        ("review", "approved", json!({ "risk": "low", "issues": [{ "severity": "warning", "message": "m", "line": 3 }] })),
        ("test", "fail", json!({ "tests_passed": 1, "tests_failed": 1, "failures": [{ "name": "n", "message": "m" }] })),
        ("diff", "info", json!({ "files_changed": ["a"], "additions": 1, "deletions": 2, "patch_path": "p" })),
        ("approval", "approved", json!({})),
        ("note", "info", json!({ "metadata": { "k": 1 } })),
        ("retrospective", "pass", retrospective()),
        ("syntax", "fail", json!({ "files_checked": 1, "files_failed": 1, "skipped_count": 0, "files": [
            { "path": "a", "language": "rust", "ok": false, "errors": [{ "line": 1, "column": 2, "message": "m" }] }] })),
        ("placeholder", "pass", json!({ "findings": [
            { "path": "a", "line": 1, "kind": "comment", "excerpt": "e", "rule_id": "r" }],
            "files_scanned": 1, "files_with_findings": 1, "findings_count": 1 })),
        ("sast", "fail", json!({ "findings": [finding], "engine": "tier_a", "files_scanned": 1, "findings_count": 1,
            "findings_by_severity": { "high": 1 }, "new_findings": [finding], "baseline_used": true })),
        ("sbom", "pass", json!({ "components": [{ "name": "n", "version": "1", "type": "library" }],
            "metadata": { "timestamp": AT, "tool": "t", "tool_version": "1" }, "files": ["Cargo.lock"],
            "components_count": 1, "output_path": "o" })),
        ("build", "pass", json!({ "runs": [{ "kind": "build", "command": "c", "cwd": ".", "exit_code": 0,
            "duration_ms": 1, "stdout_tail": "", "stderr_tail": "" }], "files_scanned": 0, "runs_count": 1, "failed_count": 0 })),
        ("quality_budget", "pass", json!({
            "metrics": { "complexity_delta": 1.5, "public_api_delta": 0, "duplication_ratio": 0.1, "test_to_code_ratio": 0.5 },
            "thresholds": { "max_complexity_delta": 5, "max_public_api_delta": 10.0, "max_duplication_ratio": 0.05,
                "min_test_to_code_ratio": 0.3 },
            "violations": [{ "type": "duplication", "message": "m", "severity": "error", "files": ["a"] }],
            "files_analyzed": ["a"] })),
        ("secretscan", "pass", json!({ "findings_count": 0, "files_scanned": 3, "skipped_files": 1 })),
        ("mutation-gate", "warn", json!({ "killRate": 0.7, "survivedMutants": "[]" })),
        ("drift-verification", "approved", json!({ "requirementCoverage": { "FR-001": true } })),
        ("hallucination-verification", "rejected", json!({ "findings": ["f"] })),
    ]
    .map(|(kind, verdict, fields)| entry(kind, verdict, &fields))
    .to_vec()
}

#[test]
fn every_type_is_read_and_written_as_it_was() {
    for written in all_types() {
        let read: Entry = serde_json::from_value(written.clone()).unwrap();

        assert!(matches!(read, Entry::Known(_)), "{written}");
        assert_eq!(serde_json::to_value(&read).unwrap(), written);
    }
}

#[test]
fn a_bundle_has_the_swarms_form() {
    let first = append(
        None,
        evidence("secretscan", "pass", json!({ "findings_count": 0, "files_scanned": 3, "skipped_files": 1 })),
    );
    let second = append(Some(first.unwrap()), note("done".to_owned())).unwrap();

    let text = write(&second);
    let read: Bundle = serde_json::from_str(&text).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&read).unwrap());
    assert!(!text.contains('\n'));
}

#[test]
fn types_of_the_future_are_kept_as_they_are() {
    let dream = r#"{ "type": "dream",  "depth": [1.0] }"#;
    let text = format!(
        r#"{{ "schema_version": "1.0.0", "task_id": "1.1", "entries": [{dream}], "created_at": "{AT}", "updated_at": "{AT}" }}"#
    );

    let bundle = append(Some(serde_json::from_str(&text).unwrap()), note("n".to_owned())).unwrap();

    assert_eq!(bundle.entries[0].get(), dream);
    let read: Bundle = serde_json::from_str(&write(&bundle)).unwrap();
    assert!(matches!(read.entries[..], [Entry::Other(_), Entry::Known(_)]), "{read:?}");
    let more = entry("note", "info", &json!({ "later": { "x": 1 } }));
    let read: Entry = serde_json::from_value(more.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), more);
}

#[test]
fn the_newest_hundred_entries_stay() {
    let bundle = (0..130).fold(None, |bundle, n| Some(append(bundle, note(n.to_string())).unwrap())).unwrap();

    let oldest: Evidence = serde_json::from_str(bundle.entries[0].get()).unwrap();
    assert_eq!((bundle.entries.len(), oldest.summary.as_str()), (100, "30"));
}

#[test]
fn a_bundle_never_outgrows_its_file() {
    let large = "x".repeat(200 * 1024);
    let mut bundle = append(None, note(large.clone())).unwrap();
    for _ in 0..3 {
        bundle = append(Some(bundle), note(large.clone())).unwrap();
    }
    assert_eq!(bundle.entries.len(), 2);
    assert!(write(&bundle).len() <= MAX_BUNDLE_BYTES);

    let several = [note("x".repeat(MAX_BUNDLE_BYTES)), note("small".to_owned())];
    assert!(
        super::append(Some(bundle.clone()), several).is_err(),
        "an entry that is too large is not dropped silently"
    );
    let refused = append(Some(bundle), note("x".repeat(MAX_BUNDLE_BYTES))).unwrap_err();

    assert!(matches!(refused, EvidenceError::TooLarge { .. }), "{refused}");
}

#[test]
fn ids_say_what_they_stand_for_and_stay_in_their_folder() {
    let known = [("1.2", Subject::Task), ("1.2.3", Subject::Task), ("retro-2", Subject::Retrospective)];
    for (id, expected) in known.into_iter().chain([("sast_scan", Subject::Tool), ("setup", Subject::General)]) {
        assert_eq!(subject(id), Ok(expected), "{id}");
    }
    for id in ["..", "a/b", "a\\b", "-x", "", "a\0", "a\n", ".hidden", "1..2"] {
        assert_eq!(subject(id), Err(EvidenceError::UnsafeId(id.to_owned())));
        assert!(append(None, Evidence { task_id: id.to_owned(), ..note(String::new()) }).is_err());
    }
}

#[test]
fn entries_of_another_task_and_fields_out_of_range_are_refused() {
    let bundle = append(None, note(String::new())).unwrap();
    let other = Evidence { task_id: "1.2".to_owned(), ..note(String::new()) };
    assert!(matches!(append(Some(bundle), other), Err(EvidenceError::OtherTask { .. })));

    for (field, value) in [
        ("phase_number", json!(0)),
        ("phase_number", json!(100)),
        ("task_count", json!(0)),
        ("coder_revisions", json!(1000)),
        ("total_tool_calls", json!(10_000)),
        ("lessons_learned", json!(["1", "2", "3", "4", "5", "6"])),
    ] {
        let mut fields = retrospective();
        fields[field] = value;
        let refused = append(None, evidence("retrospective", "pass", fields)).unwrap_err();
        assert!(matches!(refused, EvidenceError::OutOfRange { field: f, .. } if f == field), "{field}: {refused}");
    }
    assert!(append(None, evidence("drift-verification", "pass", json!({}))).is_err());
    assert!(append(None, evidence("mutation-gate", "approved", json!({}))).is_err());
}

#[test]
fn older_words_for_complexity_are_read() {
    for (word, meant) in [("low", "simple"), ("medium", "moderate"), ("high", "complex")] {
        let mut fields = retrospective();
        fields["task_complexity"] = word.into();

        let read = evidence("retrospective", "pass", fields);

        assert_eq!(serde_json::to_value(&read).unwrap()["task_complexity"], meant);
    }
}

#[test]
fn patches_and_folders_have_limits() {
    assert_eq!(check_patch(MAX_PATCH_BYTES, 0), Ok(()));
    assert!(check_patch(MAX_PATCH_BYTES + 1, 0).is_err());
    assert!(check_patch(1, MAX_TASK_FOLDER_BYTES).is_err());
}

#[test]
fn required_gates_follow_from_the_agents_that_worked() {
    for (agents, gates) in [
        (&["coder"][..], &["reviewer", "test_engineer"][..]),
        (&["mega_coder", "docs"], &["docs", "reviewer", "test_engineer"]),
        (&["designer"], &["designer", "reviewer", "test_engineer"]),
        (&["explorer"], &["explorer"]),
        (&["mega-critic oversight"], &["critic_oversight"]),
        (&["test_engineer"], &["test_engineer"]),
        (&["stranger"], &["reviewer", "test_engineer"]),
        (&[], &[]),
    ] {
        assert_eq!(required_gates(agents.iter().copied()), gates, "{agents:?}");
    }
}

#[test]
fn a_gate_record_is_read_and_written_as_it_was() {
    let written = json!({ "taskId": "1.1", "required_gates": ["reviewer"], "gates": { "reviewer": {
        "sessionId": "s", "timestamp": AT, "agent": "reviewer", "quorum": 3 } }, "turbo": true, "later": [1] });

    let record: switchboard_protocol::evidence::GateRecord = serde_json::from_value(written.clone()).unwrap();

    assert_eq!(serde_json::to_value(&record).unwrap(), written);
    insta::assert_snapshot!(serde_json::to_string_pretty(&record).unwrap());
}
