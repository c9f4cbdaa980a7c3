use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_protocol::plan::{Extra, Task};

use super::*;
use crate::plan_json;

const DEMO: &str = include_str!("../../tests/plans/demo.json");
const DOCUMENT: &str = include_str!("../../tests/plans/swarm-document.md");
const UPDATED: &str = "2026-02-27T10:00:00.000Z";

fn task<'a>(plan: &'a Plan, id: &str) -> &'a Task {
    plan.tasks().find(|task| task.id.as_str() == id).unwrap_or_else(|| panic!("no task {id}"))
}

#[test]
fn a_projection_has_the_shape_of_the_swarms_tools() {
    let mut plan = plan_json::parse(DEMO).unwrap();
    plan.phases[0].tasks[1].status = TaskStatus::InProgress;

    insta::assert_snapshot!(projection(&plan, UPDATED));
}

#[test]
fn what_lines_cannot_hold_stands_in_comments() {
    let mut plan = plan_json::parse(DEMO).unwrap();
    plan.switchboard = serde_json::from_value(json!({ "max_workers": 3 })).unwrap();
    plan.phases[0].status = PhaseStatus::Completed;
    let first = &mut plan.phases[0].tasks[0];
    first.acceptance = Some("it --> works\nwell".to_owned());
    first.switchboard = serde_json::from_value(json!({ "command": ["sh", "-c", "a --b"] })).unwrap();

    let text = render(&plan, UPDATED);

    assert_eq!(parse(&text).unwrap().plan, plan);
    insta::assert_snapshot!(text);
}

#[test]
fn a_plan_in_the_form_of_the_swarm_document_is_read_whole() {
    let parsed = parse(DOCUMENT).unwrap();

    let json = serde_json::to_string_pretty(&parsed.plan).unwrap();
    insta::assert_snapshot!(format!("{json}\n{:?}\n{:#?}", parsed.updated, parsed.warnings));
}

#[test]
fn a_plan_of_the_swarm_document_survives_being_written_here() {
    let first = parse(DOCUMENT).unwrap();

    let text = render(&first.plan, UPDATED);
    let second = parse(&text).unwrap();

    assert_eq!(second.plan, first.plan);
    assert_eq!(second.warnings, []);
    assert_eq!(render(&second.plan, &second.updated.unwrap()), text);
}

#[test]
fn the_losses_of_the_prior_system_do_not_happen() {
    let text = |tasks: &str| format!("# T\nSwarm: s\nPhase: 1 [PENDING]\n\n## Phase 1: P [PENDING]\n{tasks}\n");
    let read = |line: &str| parse(&text(line)).unwrap().plan.phases[0].tasks[0].clone();

    let depends = parse(&text("- [ ] 1.1: One [SMALL]\n- [ ] 1.2: Two [LARGE] (depends: 1.1) ← CURRENT")).unwrap().plan;
    let two = task(&depends, "1.2");
    assert_eq!((two.size, two.depends.len(), two.description.as_str()), (TaskSize::Large, 1, "Two"));
    assert_eq!(two.status, TaskStatus::InProgress);
    let blocked = read("- [BLOCKED] 1.1: Two - waiting [LARGE] ");
    assert_eq!((blocked.blocked_reason.as_deref(), blocked.size), (Some("waiting"), TaskSize::Large));
    assert_eq!(read("- [ ] 1.4: Ship - fast [LARGE]").description, "Ship - fast");
    assert_eq!(read("- [x] Task 1.1: Done").description, "Done");
    assert_eq!(read("- [ ] 1.1.3: Deep").id.as_str(), "1.1.3");
    assert_eq!(read("- [ ] Task T-7: Named").id.as_str(), "T-7");
}

#[test]
fn an_edited_line_wins_over_its_comment() {
    let mut plan = plan_json::parse(DEMO).unwrap();
    plan.phases[0].tasks[1].status = TaskStatus::Closed;
    plan.phases[0].tasks[1].acceptance = Some("kept".to_owned());
    let text = render(&plan, UPDATED).replace("- [ ] 1.10: Ten [MEDIUM]", "- [x] 1.10: Eleven [LARGE]");

    let edited = parse(&text).unwrap().plan;

    let ten = task(&edited, "1.10");
    assert_eq!((ten.status, ten.description.as_str(), ten.size), (TaskStatus::Completed, "Eleven", TaskSize::Large));
    assert_eq!(ten.acceptance.as_deref(), Some("kept"));
}

#[test]
fn a_comment_finds_its_line_and_says_when_that_is_gone() {
    let mut plan = plan_json::parse(DEMO).unwrap();
    plan.phases[0].tasks[0].acceptance = Some("kept".to_owned());
    let text = render(&plan, UPDATED);
    let line = text.lines().find(|line| line.contains("1.1:")).unwrap().to_owned();

    let moved = parse(&text.replace(&line, &format!("{line}\n- [ ] 1.3: New"))).unwrap();
    let gone = parse(&text.replace(&line, "").replace("(depends: 1.1)", "")).unwrap();

    assert_eq!(task(&moved.plan, "1.1").acceptance.as_deref(), Some("kept"));
    assert_eq!(task(&moved.plan, "1.3").acceptance, None);
    assert_eq!(gone.warnings.len(), 1, "{:?}", gone.warnings);
}

#[test]
fn fields_and_details_below_a_task_are_the_tasks() {
    let text = "# T\n\n## Phase 1: P\n- [ ] 1.1: One\n- [ ] Subtract\n  - files: `calc.py`, src/x.rs\n  - Depends on: Task 1.1.\n  \
        - Size: large\n  - keep the types\n    - also of `add`\n\n  and say so in the README\n  - File: calc.py\n  \
        - Acceptance: it subtracts\n";

    let parsed = parse(text).unwrap();

    let two = task(&parsed.plan, "1.2");
    assert_eq!(two.files_touched, ["calc.py", "src/x.rs"]);
    assert_eq!((two.depends[0].as_str(), two.depends.len(), two.size), ("1.1", 1, TaskSize::Large));
    assert_eq!(two.description, "Subtract\n- keep the types\n  - also of `add`\nand say so in the README");
    assert_eq!(two.acceptance.as_deref(), Some("it subtracts"));
    assert_eq!(task(&parsed.plan, "1.1").description, "One");
    assert_eq!(parsed.warnings, []);
    let again = parse(&render(&parsed.plan, UPDATED)).unwrap();
    assert_eq!((again.plan.phases, again.warnings), (parsed.plan.phases, Vec::new()));
}

#[test]
fn the_example_of_the_document_is_read_whole() {
    let document = include_str!("../../../../docs/plan.md");
    let example = document.split("```markdown\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let comment = document.split("| `<!--").nth(1).and_then(|rest| rest.split('`').next()).unwrap();

    let parsed = parse(&format!("{example}<!--{comment}\n")).unwrap();

    assert_eq!(parsed.warnings, []);
    let (one, two) = (task(&parsed.plan, "1.1"), task(&parsed.plan, "1.2"));
    assert!(one.description.ends_with("\n- Keep the types, and say in the README what it does."));
    assert_eq!((&one.files_touched[..], two.depends.len()), (&["calc.py".to_owned()][..], 1));
    assert_eq!(one.switchboard.as_ref().and_then(|settings| settings.agent.as_deref()), Some("codex"));
}

#[test]
fn a_field_below_a_task_that_is_no_such_field_is_text_and_said() {
    let text =
        "## Phase 1: P\n- [ ] 1.1: One\n  - Files: all of the docs\n  - Depends: the first one\n  - Size: 20 px\n";

    let parsed = parse(text).unwrap();

    let one = task(&parsed.plan, "1.1");
    assert_eq!((one.files_touched.len(), one.depends.len(), one.size), (0, 0, TaskSize::Small));
    assert_eq!(one.description, "One\n- Files: all of the docs\n- Depends: the first one\n- Size: 20 px");
    let said: Vec<_> = parsed.warnings.iter().map(|warning| (warning.line, warning.what.as_str())).collect();
    assert_eq!(
        said,
        [
            (3, "\"- Files: all of the docs\": `Files:` takes paths, with commas between them; it is taken as text"),
            (
                4,
                "\"- Depends: the first one\": `Depends:` takes ids of tasks, with commas between them; it is taken as text"
            ),
            (5, "\"- Size: 20 px\": `Size:` is small, medium or large; it is taken as text"),
        ]
    );
}

#[test]
fn an_id_of_the_phase_needs_no_colon_and_another_number_is_said_to_be_text() {
    let text = "## Phase 1: P\n- [ ] 1.5 Fifth\n- [ ] 1.1 First (depends: 1.5)\n- [ ] 2.0 is to be released\n- [ ] Last [LARGE]\n- [ ] Task 1.7 - Seventh\n- [ ] **1.8**: Eighth\n";

    let parsed = parse(text).unwrap();

    let ids: Vec<_> = parsed.plan.tasks().map(|task| (task.id.as_str(), task.description.as_str())).collect();
    assert_eq!(
        ids,
        [
            ("1.5", "Fifth"),
            ("1.1", "First"),
            ("1.3", "2.0 is to be released"),
            ("1.4", "Last"),
            ("1.7", "Seventh"),
            ("1.8", "Eighth")
        ]
    );
    let said: Vec<_> = parsed.warnings.iter().map(|warning| (warning.line, warning.what.as_str())).collect();
    assert_eq!(said, [(4, "2.0 is taken as text; a task's id has a colon behind it")]);
}

#[test]
fn what_nobody_reads_is_said_with_its_line() {
    let text =
        "# T\n- [ ] before\n\n## Phase 1: P\nWe begin.\n- [ ] 1.1: One\nWell.\n\n## Testing\n- [ ] Test it\nAs ever.\n";

    let parsed = parse(text).unwrap();

    let said: Vec<_> = parsed.warnings.iter().map(|warning| (warning.line, warning.what.as_str())).collect();
    let outside = "this task is in no phase, and is not run; a phase begins with `## Phase 1: name`";
    assert_eq!(
        said,
        [
            (2, outside),
            (5, "\"We begin.\": it stands outside of any task, and no agent reads it"),
            (7, "\"Well.\": it stands outside of any task, and no agent reads it"),
            (10, outside),
        ]
    );
    assert_eq!(parsed.plan.tasks().count(), 1);
}

#[test]
fn a_text_without_phases_is_an_error_and_migrates_to_a_blocked_plan() {
    let error = parse("# Shop\n- [ ] 1.1: x\n").unwrap_err();
    let migrated = migrate("# Shop\n- [ ] 1.1: x\n").unwrap().plan;

    assert_eq!((error.code, error.place.unwrap().line), ("plan.syntax", 1));
    assert_eq!(migrated.migration_status, Some(MigrationStatus::MigrationFailed));
    assert_eq!(plan_json::validate(&migrated), Ok(()));
}

#[test]
fn a_bad_plan_is_refused_with_its_line() {
    let text = "# T\n\n## Phase 1: P\n- [ ] 1.1: One\n- [ ] 1.2: Two (depends: 1.7)\n- [ ] 1.1: Again\n";

    let twice = parse(text).unwrap_err();
    let unknown = parse(&text.replace("- [ ] 1.1: Again\n", "")).unwrap_err();

    assert_eq!((twice.code, twice.place.unwrap().line), ("plan.duplicate-task", 6));
    assert_eq!((unknown.code, unknown.place.unwrap().line), ("plan.unknown-dependency", 5));
}

#[test]
fn in_sync_means_the_hash_or_the_whole_text() {
    let plan = plan_json::parse(DEMO).unwrap();
    let mut other = plan.clone();
    other.title = "Other".to_owned();
    let text = projection(&plan, UPDATED);
    let (hash, body) = text.split_once('\n').unwrap();

    assert!(is_in_sync(&text, &plan) && is_in_sync(&render(&plan, UPDATED), &plan));
    assert!(is_in_sync(&format!("{hash}\nanything"), &plan));
    assert!(!is_in_sync(&text, &other));
    assert!(!is_in_sync(&format!("<!-- PLAN_HASH: x -->\n{body}"), &plan));
}

// === properties ===

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z ]{1,20}",
        "\\PC{1,20}",
        "(a| |-|\\[|\\]|\\(|\\)|:|#|`|<!--|-->|--|\\n|\\r|\\t|←|depends|SMALL|LARGE|CURRENT|Task|1\\.1|Phase 1|\\\\|\"|é|😀){1,10}",
    ]
    // U+FFFD occurs only in damaged files.
    .prop_map(|text: String| text.replace('\u{fffd}', "?"))
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|float| serde_json::Number::from_f64(float).map_or(Value::Null, Value::Number)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..3).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn extra() -> impl Strategy<Value = Extra> {
    let name = prop_oneof!["[a-z]{3}_x", Just("attempts".to_owned()), Just("x y: --> z".to_owned())];
    prop::collection::vec((name, json_value()), 0..2).prop_map(|fields| fields.into_iter().collect())
}

fn settings() -> impl Strategy<Value = Value> {
    let command = prop_oneof![Just(json!("cargo test -- --x")), Just(json!(["a", "b --> c"]))];
    (prop::option::of(command), prop::option::of(0_u32..3)).prop_map(|(command, gates)| {
        let mut fields = Extra::new();
        if let Some(command) = command {
            fields.insert("test".to_owned(), command);
        }
        if let Some(gates) = gates {
            fields.insert("gates".to_owned(), (0..gates).map(|n| Value::from(format!("g{n}"))).collect());
        }
        Value::Object(fields)
    })
}

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop::sample::select(words).prop_map(Value::from)
}

type Fields = Vec<(&'static str, Option<Value>)>;

fn object(fields: Fields, extra: Extra) -> Value {
    let known = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(known.chain(extra).collect())
}

fn some_text() -> impl Strategy<Value = Option<Value>> {
    prop::option::of(text().prop_map(Value::from))
}

fn task_value() -> impl Strategy<Value = (Fields, Extra, Vec<prop::sample::Index>)> {
    let statuses = one_of(&["pending", "in_progress", "completed", "blocked", "closed"]);
    let depends = prop::collection::vec(any::<prop::sample::Index>(), 0..3);
    let known = (statuses, one_of(&["small", "medium", "large"]), text(), some_text(), some_text());
    let more = (prop::option::of(settings()), prop::collection::vec("[a-z*/.]{1,8}", 0..3), prop::bool::weighted(0.1));
    (known, more, extra(), depends).prop_map(|(known, (settings, files, elsewhere), extra, depends)| {
        let (status, size, description, acceptance, reason) = known;
        let files: Vec<_> = files.into_iter().map(|file| format!("x/{}", file.replace("..", "."))).collect();
        let fields = vec![
            ("status", Some(status)),
            ("size", Some(size)),
            ("description", Some(description.into())),
            ("acceptance", acceptance),
            ("blocked_reason", reason),
            ("files_touched", Some(files.into())),
            ("x-switchboard", settings),
            ("phase", elsewhere.then(|| 77.into())),
        ];
        (fields, extra, depends)
    })
}

fn plan() -> impl Strategy<Value = Plan> {
    let phase_statuses = one_of(&["pending", "in_progress", "complete", "completed", "blocked", "closed"]);
    let phase =
        (phase_statuses, text(), extra(), prop::option::of(settings()), prop::collection::vec(task_value(), 0..4));
    let header = (text(), text(), prop::option::of(1_u64..4), extra(), prop::option::of(settings()));
    let profile =
        prop::option::of(Just(json!({ "parallelization_enabled": true, "max_concurrent_tasks": 3, "odd": 1 })));
    let ids = prop::sample::select(vec!["1", "1.", "2.", "x-", "1.1."]);
    (header, profile, prop::collection::vec(phase, 1..4), ids, any::<bool>()).prop_map(build)
}

type Header = (String, String, Option<u64>, Extra, Option<Value>);
type PhaseParts = (Value, String, Extra, Option<Value>, Vec<(Fields, Extra, Vec<prop::sample::Index>)>);

/// Assembles a plan; ids may count down, so that the file's order is not the natural one.
fn build((header, profile, phases, ids, down): (Header, Option<Value>, Vec<PhaseParts>, &str, bool)) -> Plan {
    let (title, swarm, current, more, plan_settings) = header;
    let total: usize = phases.iter().map(|phase| phase.4.len()).sum();
    let id = |n: usize| format!("{ids}{}", if down { total + 8 - n } else { n + 1 });
    let mut n = 0;
    let mut values = Vec::new();
    for (p, (status, name, extra, settings, tasks)) in phases.into_iter().enumerate() {
        let phase_id = if down { 9 - p } else { p + 1 };
        let mut list = Vec::new();
        for (mut fields, extra, depends) in tasks {
            let depends: Vec<_> = depends.iter().filter(|_| n > 0).map(|at| id(at.index(n))).collect();
            fields.push(("id", Some(id(n).into())));
            fields.push(("depends", Some(depends.into())));
            let mut task = object(fields, extra);
            task.as_object_mut().unwrap().entry("phase").or_insert(phase_id.into());
            list.push(task);
            n += 1;
        }
        let fields = vec![
            ("id", Some(phase_id.into())),
            ("status", Some(status)),
            ("name", Some(name.into())),
            ("x-switchboard", settings),
            ("tasks", Some(list.into())),
        ];
        values.push(object(fields, extra));
    }
    let fields = vec![
        ("schema_version", Some("1.0.0".into())),
        ("title", Some(title.into())),
        ("swarm", Some(swarm.into())),
        ("current_phase", current.map(Value::from)),
        ("execution_profile", profile),
        ("phases", Some(values.into())),
        ("x-switchboard", plan_settings),
    ];
    serde_json::from_value(object(fields, more)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_to_md_to_json_loses_nothing(plan in plan()) {
        prop_assume!(plan_json::validate(&plan).is_ok());

        let text = render(&plan, UPDATED);
        let read = parse(&text);

        let parsed = read.map_err(|error| TestCaseError::fail(format!("{error} {:?}\n{text}", error.place)))?;
        prop_assert_eq!(&parsed.plan, &plan, "{}", text);
        prop_assert_eq!(parsed.warnings, vec![]);
        prop_assert_eq!(render(&parsed.plan, &parsed.updated.unwrap()), text);
    }

    #[test]
    fn json_to_json_loses_nothing(plan in plan()) {
        prop_assume!(plan_json::validate(&plan).is_ok());

        prop_assert_eq!(plan_json::parse(&plan_json::write(&plan)).unwrap(), plan);
    }

    #[test]
    fn md_to_json_to_md_loses_nothing(lines in prop::collection::vec("(- \\[( |x|BLOCKED)\\] |[0-9]\\. )(Task )?([0-9]\\.[0-9](\\.[0-9])?: )?[a-z -]{1,12}( - [a-z]{3})?( \\[(SMALL|LARGE|x)\\])?( ← CURRENT)?", 1..6)) {
        let text = format!("# T\n## Phase 1: P\n{}\n", lines.join("\n"));
        let Ok(first) = parse(&text) else { return Ok(()) };

        let second = parse(&render(&first.plan, UPDATED)).unwrap();

        prop_assert_eq!(second.plan, first.plan);
    }

    #[test]
    fn no_text_makes_a_reader_fall_over(text in "(\\PC|\\n|## Phase 1: x|- \\[ \\] 1\\.1: |<!-- switchboard task \\{|-->|\\{|\\[|\"|:){0,60}") {
        let _either = (parse(&text).is_ok(), plan_json::parse(&text).is_ok(), migrate(&text).is_ok());
    }

    #[test]
    fn a_damaged_file_is_refused_or_read_but_never_breaks(at in any::<prop::sample::Index>(), by in "(\\PC|\\n){0,3}") {
        let text = render(&parse(DOCUMENT).unwrap().plan, UPDATED);
        let chars: Vec<_> = text.chars().collect();
        let at = at.index(chars.len());
        let damaged: String = chars[..at].iter().chain(by.chars().collect::<Vec<_>>().iter()).chain(&chars[at + 1..]).collect();

        let _either = (parse(&damaged).is_ok(), is_in_sync(&damaged, &parse(DOCUMENT).unwrap().plan));
    }
}
