//! The verbs of the checks: arguments and result keys.

use serde_json::{Value, json};
use switchboard_checks::{Engine, Limits};
use switchboard_protocol::verb::check::CheckCall;

use crate::scratch::{Scratch, fill};

fn call(scratch: &Scratch, verb: &str, args: Value) -> Value {
    let root = scratch.root().to_str().unwrap().to_owned();
    let answer =
        Engine::new(Limits::default()).call(&CheckCall { id: Some("7".into()), verb: verb.into(), root, args });
    assert_eq!(answer.id.as_deref(), Some("7"));
    serde_json::to_value(answer).unwrap()
}

fn result(scratch: &Scratch, verb: &str, args: Value) -> Value {
    let answer = call(scratch, verb, args);
    assert!(answer["failure"].is_null(), "{answer:#}");
    answer["result"].clone()
}

#[test]
fn syntax_check_names_every_file_its_language_and_why_it_was_skipped() {
    let scratch = Scratch::repository();
    scratch.write("old.py", "x = (1\n").commit();
    scratch.write("a.rs", "fn f( {\n").write("b.py", "x = 1\n").write("c.bin", b"\0").write("d.xyz", "hello\n");

    let reply = result(
        &scratch,
        "syntax_check",
        json!({ "changed_files": ["a.rs", {"path": "b.py", "additions": 1}, "c.bin", "d.xyz", "old.py"] }),
    );

    assert_eq!((&reply["verdict"], &reply["pre_existing"]), (&json!("fail"), &json!(1)));
    let rows: Vec<Value> = reply["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| json!([file["path"], file["language"], file["ok"], file["skipped_reason"]]))
        .collect();
    assert_eq!(
        rows,
        [
            json!(["a.rs", "rust", false, null]),
            json!(["b.py", "python", true, null]),
            json!(["c.bin", "unknown", true, "binary_file"]),
            json!(["d.xyz", "unknown", true, "unsupported_language"]),
            json!(["old.py", "python", true, null]),
        ]
    );
    assert_eq!(reply["files"][0]["errors"][0]["line"], 1);
}

#[test]
fn files_without_new_lines_are_dropped_in_the_changed_mode_only() {
    let scratch = Scratch::plain();
    scratch.write("a.rs", "fn f( {\n");
    let files = json!([{ "path": "a.rs", "additions": 0 }]);

    assert_eq!(result(&scratch, "syntax_check", json!({ "changed_files": files }))["verdict"], "skip");
    assert_eq!(result(&scratch, "syntax_check", json!({ "changed_files": files, "mode": "all" }))["verdict"], "fail");
    assert_eq!(result(&scratch, "syntax_check", json!({ "mode": "all", "languages": "python" }))["files"], json!([]));
}

#[test]
fn secretscan_gives_place_and_kind_and_never_the_value() {
    let scratch = Scratch::plain();
    let secret = fill("ghp_{A36}", 21);
    scratch
        .write("conf/a.yaml", format!("host: x\ntoken: {secret} # and {secret}\n"))
        .write("b/c.yaml", format!("t: {secret}\n"));

    let reply = result(&scratch, "secretscan", json!({ "directory": "conf" }));

    assert!(!reply.to_string().contains(&secret[4..]), "{reply:#}");
    let finding = &reply["findings"][0];
    assert_eq!(
        (&finding["path"], &finding["line"], &finding["type"]),
        (&json!("a.yaml"), &json!(2), &json!("github_pat"))
    );
    assert_eq!((&finding["context"], &finding["redacted"]), (&json!("token: [redacted]"), &json!("ghp_…")));
    assert_eq!((&reply["count"], &reply["files_scanned"]), (&json!(2), &json!(1)));
    assert_eq!(result(&scratch, "secretscan", json!({ "exclude": "conf/,b" }))["count"], 0);
}

#[test]
fn placeholder_scan_takes_named_files_as_a_change() {
    let scratch = Scratch::plain();
    scratch
        .write("a.rs", "// TODO: implement this\nfn f() -> u32 { todo!() }\n")
        .write("b.py", "# a legacy word\nx = 1\n");

    let reply = result(&scratch, "placeholder_scan", json!({ "changed_files": ["a.rs", "b.py"] }));

    let rows: Vec<Value> = reply["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| json!([found["line"], found["kind"], found["rule_id"], found["excerpt"]]))
        .collect();
    assert_eq!(
        rows,
        [
            json!([1, "comment", "placeholder/comment-todo", "// TODO: implement this"]),
            json!([2, "function_body", "placeholder/code-throw-todo", "fn f() -> u32 { todo!() }"]),
        ]
    );
    let allowed = json!({ "files": "a.rs", "allow_globs": ["*.rs"] });
    assert_eq!(result(&scratch, "placeholder_scan", allowed)["verdict"], "pass");
    let own = json!({ "files": ["a.rs", "b.py"], "deny_patterns": ["legacy"] });
    let own = result(&scratch, "placeholder_scan", own);
    assert_eq!(
        (&own["findings"][0]["path"], &own["findings"][0]["rule_id"]),
        (&json!("a.rs"), &json!("placeholder/code-throw-todo"))
    );
    assert_eq!(own["findings"][1]["rule_id"], "placeholder/custom-legacy");
    assert_eq!(
        call(&scratch, "placeholder_scan", json!({ "deny_patterns": ["("] }))["failure"]["code"],
        "request.bad-args"
    );
}

#[test]
fn placeholder_scan_lists_what_a_person_should_look_at_apart() {
    let scratch = Scratch::plain();
    scratch.write("a.py", "def save_user(user):\n    return None\n").write("b.rs", "fn f() -> u32 { todo!() }\n");

    let asked = result(&scratch, "placeholder_scan", json!({ "files": ["a.py"] }));
    let both = result(&scratch, "placeholder_scan", json!({ "files": ["a.py", "b.rs"] }));
    let allowed = result(&scratch, "placeholder_scan", json!({ "files": ["a.py", "b.rs"], "allow_globs": ["*.rs"] }));

    assert_eq!((&asked["verdict"], &asked["findings"]), (&json!("warn"), &json!([])));
    assert_eq!(asked["asks"][0]["rule_id"], "placeholder/code-stub-return");
    assert_eq!((both["verdict"].as_str(), both["asks"].as_array().unwrap().len()), (Some("fail"), 1));
    assert_eq!((allowed["verdict"].as_str(), allowed["findings"].as_array().unwrap().len()), (Some("warn"), 0));
}

#[test]
fn todo_extract_counts_by_priority_and_narrows_by_tag() {
    let scratch = Scratch::plain();
    scratch.write("a.rs", "// TODO: a\n// FIXME: b\n").write("lib/b.py", "# NOTE: c\n# XXX d\n");

    let all = result(&scratch, "todo_extract", json!({}));
    let some = result(&scratch, "todo_extract", json!({ "tags": "fixme,xxx", "exclude": ["lib"] }));

    assert_eq!((&all["total"], &all["byPriority"]), (&json!(4), &json!({ "high": 2, "medium": 1, "low": 1 })));
    assert_eq!(
        some["entries"],
        json!([{ "file": "a.rs", "line": 2, "tag": "FIXME", "text": "FIXME: b", "priority": "high" }])
    );
}

#[test]
fn a_path_outside_is_named_and_the_other_files_are_still_checked() {
    let scratch = Scratch::plain();
    scratch.write("a.rs", "fn f( {\n");

    for verb in ["syntax_check", "secretscan", "placeholder_scan"] {
        let reply = result(&scratch, verb, json!({ "changed_files": ["a.rs", "../b.rs", "none.rs"] }));
        assert_eq!(reply["verdict"], "error", "{verb}");
        let codes: Vec<&str> =
            reply["failures"].as_array().unwrap().iter().filter_map(|failure| failure["code"].as_str()).collect();
        assert_eq!(codes, ["check.outside-root", "check.path-missing"], "{verb}");
    }
    assert_eq!(
        call(&scratch, "syntax_check", json!({ "working_directory": "../" }))["failure"]["code"],
        "check.outside-root"
    );
    assert_eq!(call(&scratch, "secretscan", json!({ "directory": "/etc" }))["failure"]["code"], "check.outside-root");
    assert_eq!(call(&scratch, "secretscan", json!({ "directory": "none" }))["failure"]["code"], "check.unreadable");
    assert_eq!(call(&scratch, "secretscan", json!({ "surprise": 1 }))["failure"]["code"], "request.bad-args");
    assert_eq!(call(&scratch, "format_disk", json!({}))["failure"]["code"], "request.unknown-verb");
}

#[test]
fn a_linter_is_found_and_run_and_its_words_become_findings() {
    let scratch = Scratch::plain();
    scratch.write("package.json", r#"{ "scripts": { "lint": "echo 'src/a.ts(3,7): error TS1: no'; exit 2" } }"#);

    let reply = result(&scratch, "lint", json!({ "mode": "check" }));

    assert_eq!(
        (&reply["success"], &reply["exitCode"], &reply["linter"]),
        (&json!(false), &json!(2), &json!("npm script"))
    );
    assert_eq!((&reply["findings"][0]["path"], &reply["findings"][0]["rule"]), (&json!("src/a.ts"), &json!("TS1")));
    assert!(reply["memory"] == "not limited" || reply["memory"] == "8000 MB", "{reply:#}");
}

#[test]
fn without_a_linter_nothing_passes() {
    let scratch = Scratch::plain();
    scratch.write("a.txt", "");

    let reply = result(&scratch, "lint", json!({}));

    assert_eq!(
        (&reply["success"], &reply["message"]),
        (&json!(false), &json!("no linter is set up here: nothing was linted"))
    );
}

#[test]
fn a_build_is_found_run_and_its_errors_are_findings() {
    let scratch = Scratch::plain();
    scratch.write("good.py", "x = 1\n").write("pkg/bad.py", "def f(:\n");

    let reply = result(&scratch, "build_check", json!({}));

    assert_eq!((&reply["verdict"], &reply["summary"]["failed_count"]), (&json!("fail"), &json!(1)), "{reply:#}");
    assert_eq!((&reply["findings"][0]["path"], &reply["findings"][0]["line"]), (&json!("pkg/bad.py"), &json!(1)));
    let changed = json!({ "scope": "changed", "changed_files": ["good.py"] });
    assert_eq!(result(&scratch, "build_check", changed)["verdict"], "pass");
    let other = json!({ "scope": "changed", "changed_files": ["a.md"] });
    assert_eq!(result(&scratch, "build_check", other)["verdict"], "info");
    assert!(!scratch.root().join("__pycache__").exists());
}

#[test]
fn a_build_reads_neither_links_nor_pipes() {
    let scratch = Scratch::plain();
    let outside = Scratch::plain();
    outside.write("secret.py", "def f(:\n");
    scratch.write("good.py", "x = 1\n");
    std::os::unix::fs::symlink(outside.root().join("secret.py"), scratch.root().join("link.py")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        scratch.root().join("pipe.py"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();

    let reply = result(&scratch, "build_check", json!({}));

    assert_eq!((&reply["verdict"], &reply["findings"]), (&json!("pass"), &json!([])), "{reply:#}");
    assert!(reply["runs"][0]["command"].as_str().unwrap().starts_with("python3 -I -c … "), "{reply:#}");
}

#[test]
fn tests_of_a_file_are_found_run_and_counted() {
    let scratch = Scratch::plain();
    let test =
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n    def test_b(self): self.fail()\n";
    scratch.write("cart.py", "x = 1\n").write("test_cart.py", test).write("test_shop.py", "raise SystemExit(9)\n");

    let reply = result(&scratch, "test_runner", json!({ "files": ["cart.py"], "timeout_ms": 120_000 }));

    assert_eq!((&reply["outcome"], &reply["success"]), (&json!("regression"), &json!(false)), "{reply:#}");
    assert_eq!((&reply["totals"]["passed"], &reply["totals"]["failed"]), (&json!(1), &json!(1)), "{reply:#}");
    let none = result(&scratch, "test_runner", json!({ "files": ["other.py"] }));
    assert_eq!((&none["outcome"], &none["success"]), (&json!("skip"), &json!(false)));
    let all = result(&scratch, "test_runner", json!({ "scope": "all" }));
    assert_eq!((&all["outcome"], &all["attempted_scope"]), (&json!("scope_exceeded"), &json!("all")));
}

#[test]
fn the_batch_blocks_a_secret_in_a_new_file_and_says_what_did_not_look() {
    let scratch = Scratch::repository();
    scratch.write("a.py", "x = 1\n").commit();
    assert_eq!(result(&scratch, "pre_check_batch", json!({}))["status"], "nothing_to_check");

    scratch.write("a.py", "x = 2\n");
    let good = result(&scratch, "pre_check_batch", json!({}));
    scratch.write("new.py", fill("key = \"ghp_{A36}\"\nAWS_SECRET_ACCESS_KEY = \"{B40}\"\n", 4));
    let bad = result(&scratch, "pre_check_batch", json!({}));

    assert_eq!((&good["gates_passed"], &good["status"]), (&json!(true), &json!("incomplete")), "{good:#}");
    assert_eq!(good["not_available"], json!(["lint", "sast_scan", "quality_budget"]));
    assert_eq!((&good["sast_scan"]["ran"], &good["secretscan"]["ran"]), (&json!(false), &json!(true)));
    assert_eq!((&bad["gates_passed"], &bad["status"]), (&json!(false), &json!("fail")), "{bad:#}");
    let strict = result(&scratch, "pre_check_batch", json!({ "required_parts": "sast_scan", "files": "a.py" }));
    assert_eq!(strict["gates_passed"], false);
}

#[test]
fn a_failing_part_of_the_batch_takes_no_other_with_it() {
    let scratch = Scratch::repository();
    scratch.write("a.py", "x = 1\n").commit();
    scratch
        .write("a.py", "x = 2\n")
        .write("package.json", r#"{ "scripts": { "lint": "echo 'a.py:1:1: error: no'; exit 1" } }"#);

    let reply = result(&scratch, "pre_check_batch", json!({}));

    assert_eq!((&reply["gates_passed"], &reply["lint"]["passed"]), (&json!(false), &json!(false)), "{reply:#}");
    assert_eq!((&reply["secretscan"]["ran"], &reply["secretscan"]["passed"]), (&json!(true), &json!(true)));
    let old = result(&scratch, "pre_check_batch", json!({ "files": ["package.json"] }));
    assert_eq!(old["lint"]["passed"], true);
    let without = result(&scratch, "pre_check_batch", json!({ "may_run_commands": false }));
    assert_eq!((&without["lint"]["ran"], &without["gates_passed"]), (&json!(false), &json!(true)));
}

#[test]
fn a_build_that_could_not_run_has_not_passed() {
    let scratch = Scratch::plain();
    scratch.write("CMakeLists.txt", "project(a)\n").write("a.c", "int a;\n");

    let reply = result(&scratch, "build_check", json!({}));

    assert_eq!(reply["verdict"], "not_run", "{reply:#}");
    assert!(reply["summary"]["skipped_reason"].as_str().unwrap().contains("not configured"), "{reply:#}");
    let other = Scratch::plain();
    other.write("Package.swift", "");
    if switchboard_process::spawn::which("swift").is_none() {
        assert_eq!(result(&other, "build_check", json!({}))["verdict"], "not_run");
    }
}

#[test]
fn a_runner_without_a_test_has_not_passed() {
    let scratch = Scratch::plain();
    scratch.write("package.json", r#"{ "scripts": { "test": "echo '# tests 0'" } }"#);

    let reply = result(&scratch, "test_runner", json!({ "scope": "all", "allow_full_suite": true }));

    assert_eq!((&reply["outcome"], &reply["success"]), (&json!("no_tests"), &json!(false)), "{reply:#}");
    assert_eq!(reply["framework"], "npm test");
}

#[test]
fn a_script_whose_program_is_missing_has_not_run() {
    let scratch = Scratch::plain();
    let scripts = r#"{ "scripts": { "build": "no-such-tool-here -p .", "lint": "no-such-tool-here", "test": "no-such-tool-here" } }"#;
    scratch.write("package.json", scripts);

    let build = result(&scratch, "build_check", json!({}));
    let lint = result(&scratch, "lint", json!({}));
    let test = result(&scratch, "test_runner", json!({ "scope": "all", "allow_full_suite": true }));

    assert_eq!((&build["verdict"], &build["summary"]["failed_count"]), (&json!("not_run"), &json!(0)), "{build:#}");
    assert_eq!(build["summary"]["skipped_reason"], "could not run: no-such-tool-here is not installed", "{build:#}");
    assert!(lint["exitCode"].is_null() && lint["success"] == false, "{lint:#}");
    assert!(lint["message"].as_str().unwrap().ends_with("nothing was linted"), "{lint:#}");
    assert_eq!(test["outcome"], "error", "{test:#}");
    assert!(test["message"].as_str().unwrap().ends_with("nothing was tested"), "{test:#}");
}

#[test]
fn the_whole_suite_of_unittest_runs_and_one_without_tests_is_no_pass() {
    let suite = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n";
    let whole = json!({ "scope": "all", "allow_full_suite": true, "timeout_ms": 120_000 });
    let outcome = |text: &str| {
        let scratch = Scratch::plain();
        scratch.write("test_cart.py", text);
        let reply = result(&scratch, "test_runner", whole.clone());
        // With pytest installed, pytest runs.
        (reply["outcome"].as_str().unwrap().to_owned(), reply["totals"]["passed"].as_u64())
    };

    assert_eq!(outcome(suite), ("pass".to_owned(), Some(1)));
    assert_eq!(outcome("import unittest\n").0, "no_tests");
}
