use super::*;

const DEMO: &str = include_str!("../../tests/plans/demo.json");

/// Returns the demo plan with one text replaced.
fn with(what: &str, by: &str) -> String {
    assert!(DEMO.contains(what), "{what}");
    DEMO.replacen(what, by, 1)
}

fn refusal(text: &str) -> String {
    let error = parse(text).unwrap_err();
    let place = error.place.map(|place| format!("{}:{}", place.line, place.column)).unwrap_or_default();
    format!("{} {place} {error} | {}", error.code, error.hint)
}

#[test]
fn a_good_plan_comes_back_as_it_was() {
    let plan = parse(DEMO).unwrap();

    assert_eq!(parse(&write(&plan)).unwrap(), plan);
    assert_eq!(serde_json::to_string(&plan).unwrap(), DEMO.replace('\n', ""));
}

#[test]
fn refusals_say_what_stands_where_and_what_should() {
    let bad = [
        with("\"title\":\"Demo\",", "\"title\":\"Demo\",,"),
        with("\"title\":\"Demo\",", "\"title\":\"Dämo\",\"title\":\"x\","),
        with("\"phase\":1,\"status\":\"pending\"", "\"phase\":1,}"),
        "{\"schema_version\":\"1.0.0\"".to_owned(),
        "[]".to_owned(),
        String::new(),
        with("1.0.0", "2.0.0"),
        with("\"title\":\"Demo\",", ""),
        with("\"swarm\":\"mega\",", "\"swarn\":\"mega\","),
        with("\"current_phase\":1", "\"current_phase\":0"),
        with("\"status\":\"pending\"", "\"status\":\"complete\""),
        with("\"depends\":[\"1.2\"]", "\"depends\":\"1.2\""),
        with("\"description\":\"Ten\"", "\"description\":\"\""),
        with("\"depends\":[],", "\"depends\":[],\"x-switchboard\":{\"command\":[]},"),
        with("\"depends\":[],", "\"depends\":[],\"x-switchboard\":{\"timeout_minutes\":1.5},"),
        with("\"depends\":[],", "\"depends\":[],\"x-switchboard\":{\"wrap_up_minutes\":60},"),
        with("\"depends\":[],", "\"depends\":[],\"x-switchboard\":{\"author\":\"Ada <ada\"},"),
        with("\"depends\":[],", "\"depends\":[],\"x-switchboard\":{\"comand\":[\"make\"]},"),
        with("\"depends\":[],", "\"depends\":[],\"x-switchboard\":{\"tests\":\"make\"},"),
        with("\"depends\":[],", "\"depends\":[],\"x-switchboard\":{\"elsewhere\":1},"),
        with("\"depends\":[],", "\"depends\":[],\"x-switchbord\":{},"),
        with("\"title\":\"Demo\",", "\"title\":\"Demo\",\"switchboard\":{\"gates\":[]},"),
    ];

    insta::assert_snapshot!(bad.map(|text| refusal(&text)).join("\n"));
}

#[test]
fn fields_of_others_are_read_and_named() {
    let plan = with("\"depends\":[],", "\"depends\":[],\"dependz\":[],\"x-swarm\":{\"a/b\":1},");

    let unknown = unknown_fields(&parse(&plan).unwrap());

    let shown: Vec<_> = unknown.iter().map(|field| (field.pointer.as_str(), field.near)).collect();
    assert_eq!(shown, [("/phases/0/tasks/0/dependz", Some("depends")), ("/phases/0/tasks/0/x-swarm", None)]);
    assert_eq!(unknown_fields(&parse(DEMO).unwrap()), []);
}

#[test]
fn refusals_of_the_graph_name_the_tasks() {
    let one = |id: &str, depends: &str| {
        format!("{{\"id\":\"{id}\",\"phase\":1,\"description\":\"d\",\"depends\":[{depends}]}}")
    };
    let plan = |tasks: &[String]| {
        format!(
            "{{\"schema_version\":\"1.0.0\",\"title\":\"t\",\"swarm\":\"s\",\"phases\":[{{\"id\":1,\"name\":\"p\",\"tasks\":[\n{}]}}]}}",
            tasks.join(",\n")
        )
    };
    let bad = [
        plan(&[]),
        plan(&[one("1.1", ""), one("1.1", "")]),
        plan(&[one("1.1", "\"1.22\""), one("1.2", "")]),
        plan(&[one("1.1", "\"1.1\"")]),
        plan(&[one("1.0", "\"1.2\""), one("1.2", "\"1.10\""), one("1.10", "\"1.3\""), one("1.3", "\"1.2\"")]),
    ];

    insta::assert_snapshot!(bad.map(|text| refusal(&text)).join("\n"));
}

#[test]
fn unsafe_ids_and_paths_are_refused() {
    for id in ["../x", "a/b", "-rf", ".git", "a b", "", "x.lock"] {
        let refused = parse(&with("\"id\":\"1.10\"", &format!("\"id\":\"{id}\""))).unwrap_err();
        assert_eq!((refused.code, refused.place.unwrap().line), ("plan.unsafe-id", 3), "{id:?}");
    }
    for path in ["../x", "/etc/passwd", "-rf", "a\\\\..\\\\b", "a\\u0000b", "C:/x", "~/.ssh", ""] {
        let files = format!("\"files_touched\":[\"{path}\"]");
        let refused = parse(&with("\"files_touched\":[\"src/a.ts\"]", &files)).unwrap_err();
        assert_eq!((refused.code, refused.place.unwrap().line), ("plan.unsafe-path", 2), "{path:?}");
    }
}

#[test]
fn damaged_and_huge_texts_are_refused() {
    assert!(refusal(&with("Demo", "De\0mo")).starts_with("plan.syntax 1:38 "));
    assert!(refusal(&with("Demo", "De\u{fffd}mo")).starts_with("plan.syntax 1:38 "));
    assert!(refusal(&" ".repeat(MAX_PLAN_BYTES + 1)).starts_with("plan.syntax"));
}

#[test]
fn nulls_and_byte_order_marks_are_taken_as_nothing() {
    let text = format!("\u{feff}{}", with("\"current_phase\":1", "\"current_phase\":null,\"later\":null"));

    let plan = parse(&text).unwrap();

    assert_eq!(plan.current_phase, None);
    assert_eq!(plan.extra["later"], Value::Null);
}

#[test]
fn too_many_tasks_are_refused_and_ten_thousand_are_not() {
    let plan = |count: usize| {
        let mut plan = parse(DEMO).unwrap();
        let task = plan.phases[0].tasks[0].clone();
        let id = |n: usize| switchboard_protocol::plan::TaskId::new(format!("1.{n}")).unwrap();
        plan.phases[0].tasks = (0..count)
            .map(|n| {
                let depends = n.checked_sub(1).map(id).into_iter().collect();
                switchboard_protocol::plan::Task { id: id(n), depends, ..task.clone() }
            })
            .collect();
        plan
    };

    assert_eq!(validate(&plan(10_000)), Ok(()));
    assert_eq!(validate(&plan(10_001)).unwrap_err().code, "plan.schema");
}

#[test]
fn a_failure_names_the_file_and_the_place() {
    let failure = parse(&with("1.0.0", "2.0.0")).unwrap_err().failure("plan.json");

    assert_eq!(failure.place, "plan.json:1:19");
    assert_eq!(failure.code, "plan.schema");
}

/// A task: id, dependencies, inputs and outputs.
type Spec<'a> = (&'a str, &'a [&'a str], &'a [&'a str], &'a [&'a str]);

fn flow(tasks: &[Spec<'_>]) -> Result<Plan, PlanError> {
    let task = |(id, depends, inputs, outputs): &Spec<'_>| {
        serde_json::json!({ "id": id, "phase": 1, "description": "d", "depends": depends,
            "x-switchboard": { "inputs": inputs, "outputs": outputs } })
    };
    let tasks: Vec<_> = tasks.iter().map(task).collect();
    let plan = serde_json::json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": [
        { "id": 1, "name": "p", "tasks": tasks }] });
    parse(&plan.to_string())
}

#[test]
fn a_circle_through_inputs_is_refused_with_the_file_that_closes_it() {
    let error = flow(&[("1.1", &["1.2"], &[], &["api.json"]), ("1.2", &[], &["api.json"], &[])]).unwrap_err();
    assert_eq!((error.code, &*error.pointer), ("plan.cycle", "/phases/0/tasks/1/x-switchboard/inputs"));
    let found = "1.1 → 1.2 → 1.1 (each depends on the next; 1.2 on 1.1 because api.json is an input of the one and an output of the other)";
    assert_eq!(error.found, found);

    let error = flow(&[("1.1", &["1.2"], &["b"], &[]), ("1.2", &["1.1"], &[], &["b"])]).unwrap_err();
    assert_eq!(
        (&*error.pointer, &*error.found),
        ("/phases/0/tasks/0/depends", "1.1 → 1.2 → 1.1 (each depends on the next)")
    );

    assert!(flow(&[("1.1", &[], &["a"], &["a"]), ("1.2", &["1.1"], &["a"], &[])]).is_ok(), "nobody waits for itself");
}

#[test]
fn a_report_makes_no_files() {
    let plan = with("\"depends\":[],", "\"depends\":[],\"x-switchboard\":{\"result\":\"report\",\"outputs\":[\"a\"]},");

    assert!(refusal(&plan).starts_with("plan.schema"), "{}", refusal(&plan));
    assert!(parse(&plan.replace("[\"a\"]", "[]")).is_ok());
}

#[test]
fn what_is_said_about_violations_goes_together_with_the_rest() {
    let task = |settings: &str| {
        with("\"description\":\"Ten\"", &format!("\"description\":\"Ten\",\"x-switchboard\":{settings}"))
    };
    let with_scope = |word: &str| task(&format!("{{\"scope\":[\"src\"],\"on_violation\":\"{word}\"}}"));

    for word in ["refuse", "warn", "pause", "halt"] {
        assert!(parse(&with_scope(word)).is_ok(), "{word}");
    }
    let misspelt = refusal(&with_scope("paus"));
    assert!(misspelt.contains("did you mean \"pause\"?"), "{misspelt}");
    let nothing = refusal(&task("{\"on_violation\":\"warn\"}"));
    assert!(
        nothing.contains("/x-switchboard/on_violation") && nothing.contains("`scope` or `files_touched`"),
        "{nothing}"
    );
    let nobody = refusal(&task("{\"scope\":[\"src\"],\"confirm\":false,\"on_violation\":\"pause\"}"));
    assert!(nobody.contains("`confirm` is false"), "{nobody}");
    assert!(parse(&task("{\"scope\":[\"src\"],\"confirm\":false,\"on_violation\":\"warn\"}")).is_ok());
}
