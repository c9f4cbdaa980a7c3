use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn task(fields: &Value) -> Task {
    let mut task = json!({ "id": "1.1", "phase": 1, "description": "Add the parser", "acceptance": "`cargo test` passes",
        "files_touched": ["src/parser.rs"] });
    for (name, value) in fields.as_object().unwrap() {
        task[name] = value.clone();
    }
    serde_json::from_value(task).unwrap()
}

fn size(fields: &Value) -> TaskSize {
    measure(&task(fields), is_folder_by_name).size
}

fn kinds(fields: &Value) -> Vec<RefusalKind> {
    task_refusals(&task(fields), is_folder_by_name).into_iter().map(|refusal| refusal.kind).collect()
}

/// Descriptions with one action each.
const ORDINARY: [&str; 78] = [
    "Add the area function in src/a.ts",
    "Add login and signup pages",
    "Add X and its test",
    "Add the parser and add tests for it",
    "Fix the date parser and add a regression test",
    "Write the area function and test it",
    "Implement the rate limiter with a sliding window",
    "Replace the hand-written parser with `serde_json`",
    "Add error handling and logging to the upload endpoint",
    "Add import and export commands",
    "Add create, update and delete endpoints for users",
    "Add a command to create and delete users",
    "Add a helper that can read and write settings",
    "Add helpers that read and write settings",
    "Add a function that reads the file and returns its lines",
    "Let users sort and filter the list",
    "Allow admins to view and edit comments",
    "Support search and replace in the editor",
    "Make the login form accessible and responsive",
    "Teach the crate to say hello in French and in Spanish",
    "Give the program a --shout flag and a --list flag that names every language",
    "Test that every language can be listed, shouted and chosen by its code",
    "Describe the flags in the README; ask ada how they are spelt before you write",
    "Read config from file and environment",
    "Return 404 and 410 for absent and deleted posts",
    "Improve read and write performance of the cache",
    "Add start and stop buttons",
    "Update the config loader to read environment variables and validate them",
    "Fix the crash when the list is empty and the cursor is at the end",
    "Rename `foo` to `bar` and keep the old name as an alias",
    "Refactor the router while keeping the public API stable",
    "Add the endpoint and ensure it is rate limited",
    "Add the endpoint and make sure that it needs a session",
    "Add the flag and document it in the README",
    "Add the area function and export it from the index",
    "Create the health route and register it",
    "Add retries with exponential backoff and jitter",
    "Fix memory leak in the watcher with a weak reference",
    "Cache results with caching headers",
    "Add the currency and date formatters",
    "Update dependencies and lock file",
    "Extract the retry loop into a module of its own",
    "Use f64 for sides. Return 0 for negative ones and NaN for none.",
    "Write integration tests for login and logout",
    "Document the build and release process",
    "Set up the repository",
    "Handle empty and malformed input",
    "Validate email and phone number fields",
    "Parse the header and return the body offset",
    "Fix the loader so that it opens and closes each file once",
    "Migrate the users table from integer to UUID keys",
    "Remove the unused `legacy` flag and its documentation",
    "Add tests for the parser, plus fixtures",
    "Add drag and drop to the board",
    "Bump the MSRV to 1.85 and edition to 2024",
    "Add a build and a test job to CI",
    "Show name, size and type of each file",
    "Build the search and filter bar",
    "Add a test and build matrix",
    "Design the schema for tasks and phases",
    "Add structured logging and metrics",
    "Change the default port and host",
    "Move the helpers (parse and render) into src/text.rs",
    "Throttle writes to 10 per second",
    "Add a hook to format and lint staged files",
    "Deduplicate and",
    "Quote \"add and remove\" in the help text",
    "Make sum and product generic",
    "Fix copy and paste in the terminal",
    "Write a script which builds and signs the package",
    "Log slow queries with their plan",
    "Add undo and redo",
    "Delete expired sessions every hour",
    "Implement OAuth login with PKCE",
    "Add a field for start and end dates",
    "Reject names with spaces, tabs and control characters",
    "Add the spinner and cover it with a snapshot test",
    "Check links and anchors in docs/",
];

/// Descriptions with two actions each.
const COMPOUND: [&str; 44] = [
    "Add login and update the docs",
    "Add the parser and refactor the printer",
    "Create, update and delete users",
    "Parse and validate the config",
    "Fix the loader, then remove the old cache",
    "Fix the loader then rename the module",
    "Add the endpoint plus update the client",
    "Implement the cache with refactoring the store",
    "Add the flag while removing the old one",
    "Add sum; remove product",
    "Rename the crate and move it to crates/",
    "Extract the helper and replace all callers",
    "Write the migration & deploy it",
    "Add X as well as remove Y",
    "Add a flag, remove the old option",
    "Update the schema and also migrate the data",
    "Implement login. Also fix the logout bug.",
    "Add the store. Then write the importer.",
    "Remove the feature flag and clean up the tests",
    "Refactor auth and add OAuth",
    "Build the image and push it to the registry",
    "Read the file and parse its header",
    "Set up CI and configure the linter",
    "Upgrade React and fix the type errors",
    "Design the table and implement the queries",
    "We need to add a cache and remove the old store",
    "Please add a cache and remove the old store",
    "Add an endpoint that lists users and write the client",
    "Add logging to the server and configure rotation",
    "Delete `a.rs` and rewrite `b.rs`",
    "Implement the parser and optimise the lexer",
    "Create the form and connect it to the API",
    "Split the module and rename the types",
    "Introduce a trait and convert the drivers to it",
    "Fix the bug and improve error messages",
    "Install the package and wrap it",
    "Validate the input and store the result",
    "Move the helpers to src/text.rs and delete src/util.rs",
    "Implement rate limiting and handle expired sessions",
    "Make the parser streaming and reduce allocations",
    "Write the docs and publish the site",
    "Load the plan, check it and print the errors",
    "Add the client with adding a retry loop",
    "Generate the schema and finally validate all examples",
];

#[test]
fn ordinary_descriptions_are_one_task() {
    let wrong: Vec<_> =
        ORDINARY.iter().filter_map(|text| joined(text).map(|joined| format!("{text} | {joined}"))).collect();

    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), ORDINARY.len());
}

#[test]
fn compound_descriptions_are_found() {
    let wrong: Vec<_> = COMPOUND.iter().filter(|text| joined(text).is_none()).collect();

    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), COMPOUND.len());
}

#[test]
fn what_is_joined_is_named() {
    let found = joined("Fix the loader, then carefully remove the old cache").unwrap();

    assert_eq!(found.to_string(), "`fix … then remove`");
}

#[test]
fn a_task_is_sized_by_its_files() {
    for (files, expected) in [
        (json!([]), TaskSize::Medium),
        (json!(["a.rs"]), TaskSize::Small),
        (json!(["a.rs", "./a.rs"]), TaskSize::Small),
        (json!(["Makefile", "bin/deploy"]), TaskSize::Medium),
        (json!(["a.rs", "b.rs"]), TaskSize::Medium),
        (json!(["a.rs", "b.rs", "c.rs"]), TaskSize::Large),
        (json!(["src/"]), TaskSize::Large),
        (json!(["src/parser"]), TaskSize::Large),
        (json!(["src/*.rs"]), TaskSize::Large),
        (json!(["Dockerfile", "LICENSE"]), TaskSize::Medium),
        (json!(["justfile", "tools/makefile"]), TaskSize::Medium),
        (json!(["gradlew"]), TaskSize::Small),
        (json!(["."]), TaskSize::Large),
    ] {
        assert_eq!(size(&json!({ "files_touched": files })), expected, "{files}");
    }
    let known = task(&json!({ "files_touched": ["src/parser"] }));
    assert_eq!(measure(&known, |_| false).size, TaskSize::Small, "the tree says that it is a file");
}

#[test]
fn each_path_that_stands_for_many_files_is_named_with_what_it_is_taken_for() {
    let found =
        task_refusals(&task(&json!({ "files_touched": ["tool", "src/*.rs", "lib/", "a.rs"] })), is_folder_by_name);

    let told: Vec<_> = found.iter().map(|refusal| (refusal.reason.as_str(), refusal.remedy.as_str())).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].0.contains("touches tool, a folder by its name,"), "{told:?}");
    assert!(told[0].1.contains("a new file without an extension"), "{told:?}");
    assert!(
        told[1].0.contains("touches src/*.rs, a glob,") && told[2].0.contains("touches lib/, a folder,"),
        "{told:?}"
    );
}

#[test]
fn a_companion_makes_a_task_medium() {
    for description in ["Add the parser and add tests for it", "Add the area function and export it"] {
        assert_eq!(size(&json!({ "description": description })), TaskSize::Medium, "{description}");
    }
}

#[test]
fn the_plan_can_make_a_task_larger_and_not_smaller() {
    assert_eq!(size(&json!({ "size": "large" })), TaskSize::Large);
    assert_eq!(size(&json!({ "size": "medium" })), TaskSize::Medium);
    assert_eq!(size(&json!({ "size": "small", "files_touched": ["a.rs", "b.rs", "c.rs"] })), TaskSize::Large);
    assert_eq!(kinds(&json!({ "size": "large" })), [RefusalKind::DeclaredLarge]);
}

#[test]
fn a_large_task_is_refused_until_it_is_split() {
    let whole = json!({ "files_touched": ["a.rs", "b.rs", "c.rs"], "description": "Add a and remove b" });
    let half = json!({ "files_touched": ["a.rs", "b.rs"], "description": "Add a" });

    assert_eq!(kinds(&whole), [RefusalKind::TooManyFiles, RefusalKind::CompoundVerb]);
    assert_eq!(kinds(&half), []);
}

#[test]
fn acceptance_that_says_nothing_is_missing() {
    for acceptance in [json!(null), json!(""), json!(" - ")] {
        assert_eq!(kinds(&json!({ "acceptance": acceptance })), [RefusalKind::AcceptanceMissing], "{acceptance}");
    }
}

#[test]
fn a_plan_is_refused_with_everything_that_is_wrong_at_once() {
    let plan = json!({ "schema_version": "1.0.0", "title": "[Project]", "swarm": "s", "phases": [{ "id": 1, "name": "[Name]", "tasks": [
        { "id": "1.1", "phase": 1, "description": "Add [task] and remove b", "files_touched": ["a.rs"] },
        { "id": "1.2", "phase": 1, "description": "Add a", "acceptance": "[criteria]", "files_touched": ["a.rs"] },
        { "id": "1.3", "phase": 1, "status": "completed", "description": "Add a and remove b" } ] }] });
    let plan = serde_json::from_value(plan).unwrap();

    let found = plan_refusals(&plan, is_folder_by_name);

    let kinds: Vec<_> = found.iter().map(|refusal| (refusal.kind, refusal.task.as_ref().map(TaskId::as_str))).collect();
    assert_eq!(
        kinds,
        [
            (RefusalKind::Placeholder, None),
            (RefusalKind::Placeholder, None),
            (RefusalKind::Placeholder, Some("1.1")),
            (RefusalKind::Placeholder, Some("1.2")),
            (RefusalKind::CompoundVerb, Some("1.1")),
            (RefusalKind::AcceptanceMissing, Some("1.1")),
        ]
    );
    assert!(found.iter().all(|refusal| !refusal.reason.is_empty() && !refusal.remedy.is_empty()));
}

proptest! {
    #[test]
    fn any_description_is_judged_and_another_file_never_makes_a_task_smaller(text in "\\PC{1,80}", files in proptest::collection::vec("[a-z]{1,3}\\.rs", 0..5)) {
        let mut task = task(&json!({ "files_touched": files }));
        task.description = text;
        let before = measure(&task, is_folder_by_name);
        task.files_touched.push("another.rs".to_owned());

        let after = measure(&task, is_folder_by_name);

        prop_assert!(rank(after.size) >= rank(before.size) || before.files == Files::Unknown);
        prop_assert_eq!(before.joined, after.joined);
    }
}
