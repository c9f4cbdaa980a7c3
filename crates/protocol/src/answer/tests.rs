use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

/// Returns a valid answer: the example with one word more.
fn valid(kind: AnswerKind) -> Value {
    let mut value = example(kind).clone();
    match kind {
        AnswerKind::Exploration => value["report"] = "STRUCTURE\n- src/lib.rs".into(),
        AnswerKind::Guidance => value["domain"] = "rust".into(),
        AnswerKind::Questions => value["questions"] = json!([]),
        AnswerKind::PlanDraft => value["plan"]["title"] = "Import".into(),
        AnswerKind::Design => value["tokens"] = json!([]),
        AnswerKind::Docs | AnswerKind::Work => value["summary"] = "Done.".into(),
        AnswerKind::Retrospective => value["task_count"] = 4.into(),
        AnswerKind::Decision => value["reason"] = "It is simpler.".into(),
        AnswerKind::Impact => value["changes"][0]["class"] = "COMPATIBLE".into(),
        AnswerKind::Spec => value["criteria"][0]["text"] = "It opens.".into(),
        AnswerKind::Reality => value["items"] = json!([]),
        AnswerKind::Review => value["risk"] = "low".into(),
        AnswerKind::SecurityReview => value["findings"][0]["severity"] = "low".into(),
        AnswerKind::Tests => value["added"] = json!([]),
        AnswerKind::PlanReview => value["reasons"] = json!([]),
        AnswerKind::Drift | AnswerKind::Hallucination => value["findings"] = json!(["FR-003 is missing."]),
    }
    value
}

fn fenced(value: &Value) -> String {
    format!("```json\n{value:#}\n```\n")
}

fn reviewed(change: impl FnOnce(&mut Value)) -> Result<Answer, BadAnswer> {
    let mut value = json!({ "verdict": "APPROVED", "risk": "low", "issues": [],
        "checked": { "correctness": true, "edge_cases": true, "performance": true } });
    change(&mut value);
    Answer::read(AnswerKind::Review, &value)
}

/// Returns the variant as a word.
fn variant(bad: &BadAnswer) -> &'static str {
    match bad {
        BadAnswer::NoBlock => "no-block",
        BadAnswer::Unclosed { .. } => "unclosed",
        BadAnswer::Nested { .. } => "nested",
        BadAnswer::Several => "several",
        BadAnswer::TooLarge { .. } => "too-large",
        BadAnswer::NotJson { .. } => "not-json",
        BadAnswer::WrongShape { .. } => "wrong-shape",
        BadAnswer::Contradiction { .. } => "contradiction",
        BadAnswer::Example => "example",
    }
}

/// Returns the refusal of a text as a word.
fn word(text: &str) -> &'static str {
    Answer::find(AnswerKind::Work, text).map_or_else(|bad| variant(&bad), |_| "an answer")
}

#[test]
fn every_kind_has_an_example_of_its_schema_that_is_no_answer() {
    for kind in AnswerKind::ALL.iter().copied() {
        assert_eq!(AnswerKind::of(kind.as_str()), Some(kind));
        shape::check(example(kind), schema(kind)).unwrap();
        let typed = Answer::of_kind(kind, example(kind).clone()).unwrap();
        assert_eq!(typed.contradiction(), None, "{kind}");
        assert_eq!(Answer::read(kind, example(kind)), Err(BadAnswer::Example), "{kind}");

        let answer = Answer::read(kind, &valid(kind)).unwrap_or_else(|bad| panic!("{kind}: {bad}"));
        assert_eq!(answer.kind(), kind);
        let stored = serde_json::to_value(&answer).unwrap();
        assert_eq!(stored["kind"], kind.as_str());
        assert_eq!(serde_json::from_value::<Answer>(stored).unwrap(), answer);
        assert_eq!(Answer::find(kind, &fenced(&valid(kind))), Ok(answer), "{kind}");
    }
}

#[test]
fn a_field_that_does_not_exist_is_refused_at_every_level_of_every_kind() {
    fn spoil(value: &mut Value, seen: &mut usize, at: usize) {
        match value {
            Value::Object(fields) => {
                if *seen == at {
                    fields.insert("verdikt".to_owned(), "APPROVED".into());
                }
                *seen += 1;
                fields.values_mut().for_each(|value| spoil(value, seen, at));
            }
            Value::Array(items) => items.iter_mut().for_each(|value| spoil(value, seen, at)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    for kind in AnswerKind::ALL.iter().copied().filter(|kind| *kind != AnswerKind::PlanDraft) {
        let mut levels = 0;
        spoil(&mut valid(kind), &mut levels, usize::MAX);
        for at in 0..levels {
            let mut value = valid(kind);
            spoil(&mut value, &mut 0, at);
            let bad = Answer::read(kind, &value).unwrap_err();
            assert_eq!(variant(&bad), "wrong-shape", "{kind} level {at}: {bad}");
        }
    }
}

#[test]
fn what_is_not_of_the_schema_is_named_with_its_field_and_the_near_word() {
    let bad = reviewed(|value| value["verdict"] = "APROVED".into()).unwrap_err();
    assert_eq!(bad.to_string(), r#"/verdict: expected one of APPROVED, REJECTED, found "APROVED""#);
    assert_eq!(bad.message(AnswerKind::Review), format!("{bad}; did you mean `APPROVED`?"));

    let bad = reviewed(|value| value["issues"] = json!([{ "severity": "info", "mesage": "m" }])).unwrap_err();
    assert_eq!(bad.to_string(), "/issues/0: expected only severity, message, file, line, found a field `mesage`");
    assert!(bad.message(AnswerKind::Review).ends_with("; did you mean `message`?"));

    let bad = reviewed(|value| value["checked"] = true.into()).unwrap_err();
    assert_eq!(bad.to_string(), "/checked: expected an object, found true");
    let bad = reviewed(|value| drop(value.as_object_mut().unwrap().remove("risk"))).unwrap_err();
    assert_eq!(bad.to_string(), "the answer: expected a field `risk`, found none");
    let issue = |line: Value| json!([{ "severity": "info", "message": "m", "file": null, "line": line }]);
    reviewed(|value| value["issues"] = issue(7.into())).unwrap();
    reviewed(|value| value["issues"] = issue(Value::Null)).unwrap();
    let bad = reviewed(|value| value["issues"] = issue(0.into())).unwrap_err();
    assert_eq!(bad.to_string(), "/issues/0/line: expected at least 1, found 0");
    assert!(reviewed(|value| value["issues"] = issue(1.5.into())).is_err());
}

#[test]
fn lengths_are_bounded() {
    let issue = |text: String| json!([{ "severity": "info", "message": text }]);

    reviewed(|value| value["issues"] = issue("ü".repeat(MAX_TEXT))).unwrap();
    let long = reviewed(|value| value["issues"] = issue("ü".repeat(MAX_TEXT + 1))).unwrap_err();
    assert_eq!(long.to_string(), "/issues/0/message: expected at most 2000 characters, found 2001");
    let many = vec![issue("m".to_owned())[0].clone(); MAX_LIST + 1];
    assert!(reviewed(|value| value["issues"] = many.into()).is_err());
    let four = vec![json!({ "question": "?" }); MAX_QUESTIONS + 1];
    let bad = Answer::read(AnswerKind::Questions, &json!({ "questions": four })).unwrap_err();
    assert_eq!(bad.to_string(), "/questions: expected at most 3 items, found 4");
    let mut retro = valid(AnswerKind::Retrospective);
    retro["phase_number"] = 100.into();
    assert!(Answer::read(AnswerKind::Retrospective, &retro).is_err());
}

#[test]
fn an_answer_that_contradicts_itself_is_refused() {
    let error = json!([{ "severity": "error", "message": "m" }]);
    let altered = |class: &str| json!({ "change": "f()", "file": "a.rs", "class": class, "consumers": [] });
    let contradicts = |bad: Result<Answer, BadAnswer>| matches!(bad, Err(BadAnswer::Contradiction { .. }));

    assert!(reviewed(|_| ()).is_ok());
    assert!(contradicts(reviewed(|value| value["issues"] = error)));
    assert!(contradicts(reviewed(|value| value["checked"]["edge_cases"] = false.into())));
    assert!(contradicts(reviewed(|value| value["verdict"] = "REJECTED".into())));
    for (kind, value) in [
        (AnswerKind::SecurityReview, json!({ "verdict": "APPROVED", "categories": ["injection"], "findings": [] })),
        (AnswerKind::SecurityReview, json!({ "verdict": "REJECTED", "categories": [], "findings": [] })),
        (AnswerKind::Tests, json!({ "verdict": "FAIL", "added": [] })),
        (AnswerKind::Tests, json!({ "verdict": "PASS", "added": [], "failures": [{ "name": "n", "message": "m" }] })),
        (AnswerKind::PlanReview, json!({ "verdict": "NEEDS_REVISION", "reasons": [] })),
        (AnswerKind::PlanReview, json!({ "verdict": "APPROVED", "reasons": [], "required_changes": ["c"] })),
        (AnswerKind::PlanReview, json!({ "verdict": "REJECTED", "reasons": [] })),
        (AnswerKind::Drift, json!({ "verdict": "NEEDS_REVISION", "findings": [] })),
        (AnswerKind::Work, json!({ "summary": "s", "files": [], "blocked_on": " " })),
        (AnswerKind::Impact, json!({ "report": "r", "changes": [altered("BREAKING"), altered("COMPATIBLE")] })),
        (AnswerKind::Decision, json!({ "decision": "split", "reason": "r" })),
        (AnswerKind::Decision, json!({ "decision": "rescope", "reason": "r" })),
        (AnswerKind::Decision, json!({ "decision": "retry_with", "reason": "r" })),
        (AnswerKind::PlanDraft, json!({ "plan": "later" })),
        (
            AnswerKind::Spec,
            json!({ "requirements": [{ "id": "FR-000", "text": "t" }], "criteria": [{ "id": "SC-001", "text": "t" }] }),
        ),
        (
            AnswerKind::Spec,
            json!({ "requirements": [{ "id": "FR-01a", "text": "t" }], "criteria": [{ "id": "SC-001", "text": "t" }] }),
        ),
    ] {
        assert!(contradicts(Answer::read(kind, &value)), "{kind}: {value}");
    }
    let all: Vec<_> = Owasp::ALL.to_vec();
    let value = json!({ "verdict": "APPROVED", "categories": all, "findings": [] });
    assert!(Answer::read(AnswerKind::SecurityReview, &value).is_ok());
}

#[test]
fn the_last_block_counts_and_every_way_to_have_none_has_its_own_reason() {
    let (good, other) = (r#"{"summary":"a","files":[]}"#, r#"{"summary":"b","files":[]}"#);
    let example = example(AnswerKind::Work);
    for (text, says) in [
        (format!("Done.\n```json\n{good}\n```\nThat is all."), "an answer"),
        (format!("```\n{good}\n```"), "an answer"),
        (format!("```switchboard\n{good}\n```\n"), "an answer"),
        (format!("```json\n[1]\n```\n```json\n{good}\n```"), "an answer"),
        (format!("{}```json\n{good}\n```", fenced(example)), "an answer"),
        (format!("```json\n{good}\n```\n```json\n{good}\n```"), "an answer"),
        (format!("```json\n{good}\n```\n```json\n{other}\n```"), "several"),
        (format!("```json\n{good}\n```\n```json\n[1]\n```"), "wrong-shape"),
        (format!("```json\n{good}\n```\n```json\n{{\"summary\":\n```"), "not-json"),
        (fenced(example), "example"),
        (String::new(), "no-block"),
        (good.to_owned(), "no-block"),
        ("verdict: APPROVED, all is well".to_owned(), "no-block"),
        (format!("```rust\n{good}\n```"), "no-block"),
        (format!("> ```json\n> {good}\n> ```"), "no-block"),
        ("```json\n```".to_owned(), "no-block"),
        (format!("```json\n{good}"), "unclosed"),
        (format!("````markdown\n```json\n{good}\n```\n````"), "nested"),
        (format!("```json\n{{\n```json\n{good}\n```"), "nested"),
        ("```json\n{'summary': 'a'}\n```".to_owned(), "not-json"),
        ("```json\n{\"summary\":\"a\",\"files\":[],\"files\":[]}\n```".to_owned(), "not-json"),
        (format!("```json\n{}1{}\n```", "[".repeat(5_000), "]".repeat(5_000)), "not-json"),
        ("```json\nnull\n```".to_owned(), "wrong-shape"),
        (format!("```json\n\"{}\"\n```", "x".repeat(MAX_ANSWER_BYTES)), "too-large"),
    ] {
        assert_eq!(word(&text), says, "{}", &text[..text.len().min(200)]);
    }
}

#[test]
fn two_verdicts_are_no_answer_though_only_one_of_them_is_complete() {
    let review = example(AnswerKind::PlanReview);
    let with = |verdict: &str, reasons: &[&str]| {
        let mut review = review.clone();
        (review["verdict"], review["reasons"]) = (verdict.into(), reasons.into());
        review["required_changes"] = Value::Array(Vec::new());
        review
    };
    let approved = with("APPROVED", &["all is well"]);
    let find = |text: &str| Answer::find(AnswerKind::PlanReview, text);
    assert!(find(&fenced(&approved)).is_ok());

    let incomplete = fenced(&serde_json::json!({ "verdict": "REJECTED" }));
    assert!(matches!(find(&format!("{incomplete}{}", fenced(&approved))), Err(BadAnswer::Several)));
    assert!(find(&format!("{}{}", fenced(review), fenced(&approved))).is_ok());
}

#[test]
fn a_reason_names_the_line_of_the_text() {
    let bad = Answer::find(AnswerKind::Work, "one\n\n```json\n{\n \"summary\": a\n}\n```\n").unwrap_err();

    assert!(matches!(bad, BadAnswer::NotJson { line: 5, .. }), "{bad:?}");
    assert!(bad.message(AnswerKind::Work).contains("double quotes"));
}

#[test]
fn every_schema_is_listed_and_closed() {
    for kind in AnswerKind::ALL {
        let schema = schema(*kind);
        assert!(schema.is_object(), "{kind:?} is not in the file: cargo xtask schemas");
        let definitions =
            schema["$defs"].as_object().into_iter().flatten().map(|(name, definition)| (&**name, definition));
        for (name, definition) in definitions.chain([(kind.as_str(), schema)]) {
            assert!(definition["properties"].is_null() || definition["additionalProperties"] == false, "{name}");
        }
    }
}

/// Texts that would make a backtracking scanner slow: open fences, deep values, many small blocks.
#[test]
fn the_time_grows_with_the_length_of_the_text() {
    let shapes: [fn(usize) -> String; 6] = [
        |n| "`".repeat(n),
        |n| "```json\n".repeat(n / 8),
        |n| "```json\n{}\n```\n".repeat(n / 15),
        |n| format!("```json\n{}", "[".repeat(n)),
        |n| "~~~\n{\n```\n".repeat(n / 10),
        |n| format!("```json\n{{{}", "\"a\":{".repeat(n / 5)),
    ];
    for shape in shapes {
        let text = shape(4 << 20);
        let begun = Instant::now();
        let _ = Answer::find(AnswerKind::Review, &text);
        let took = begun.elapsed();
        // 4 MB at 1 MB/s: an unoptimised build on a busy machine; a quadratic scan takes minutes.
        assert!(took < Duration::from_secs(20), "{took:?} for {:?}", &text[..20]);
    }
}

proptest! {
    #[test]
    fn any_text_is_an_answer_or_has_a_reason(
        parts in prop::collection::vec(
            prop_oneof![
                Just("```json\n".to_owned()), Just("```\n".to_owned()), Just("````\n".to_owned()), Just("~~~\n".to_owned()),
                Just("{\"summary\":\"a\",\"files\":[]}\n".to_owned()), Just("{\"summary\":\"b\",\"files\":[]}\n".to_owned()),
                Just("\"verdict\":".to_owned()), Just("{".to_owned()), Just("}\n".to_owned()), Just("\r".to_owned()), any::<String>(),
            ],
            0..40,
        ),
    ) {
        let text = parts.concat();
        for kind in AnswerKind::ALL.iter().copied() {
            match Answer::find(kind, &text) {
                Ok(answer) => {
                    prop_assert!(matches!(kind, AnswerKind::Work | AnswerKind::Docs), "{kind} has another shape");
                    prop_assert!(text.contains("```") || text.contains("~~~"));
                    let value = serde_json::to_value(&answer).unwrap();
                    prop_assert_eq!(Answer::read(kind, &value["answer"]), Ok(answer));
                }
                Err(bad) => {
                    prop_assert!(bad.message(kind).len() < 1_000, "{}", bad);
                    prop_assert!(!bad.remedy(kind).is_empty());
                }
            }
        }
    }

    #[test]
    fn any_value_is_an_answer_or_has_a_reason(value in values()) {
        for kind in AnswerKind::ALL.iter().copied() {
            let _ = Answer::read(kind, &value);
        }
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
    ];
    let keys =
        prop_oneof![Just("verdict".to_owned()), Just("findings".to_owned()), Just("questions".to_owned()), ".{0,9}"];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..4)
                .prop_map(|fields| fields.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}
