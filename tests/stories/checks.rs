//! `switchboard check`, which needs no daemon.

use serde_json::Value;

use super::sandbox::Sandbox;

#[test]
fn new_findings_refuse_and_those_that_the_base_had_do_not() {
    let sandbox = Sandbox::new();
    sandbox.write("old.py", "def broken(:\n");
    sandbox.commit("broken before");
    sandbox.switchboard(&["check", "--base", "HEAD"]).ends_with(0);

    sandbox.write("src/lib.rs", "pub fn one( -> u32 { 1 }\n");
    sandbox.write("key.txt", &format!("key = \"{}\"\n", ["AKIA", "Q3EGXWRDZ5MHT2LN"].concat()));

    let done = sandbox.switchboard(&["check", "--base", "HEAD"]).ends_with(3).says("src/lib.rs").says("key.txt");
    assert!(!done.out.contains("Q3EGXWRDZ5MHT2LN") && !done.out.contains("old.py:"), "{}", done.out);
}

#[test]
fn only_what_is_staged_counts_when_that_is_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write("broken.go", "package main\nfunc main( {\n");

    sandbox.switchboard(&["check", "--staged"]).ends_with(0);
    sandbox.git(&["add", "broken.go"]);
    sandbox.switchboard(&["check", "--staged", "--only", "syntax_check"]).ends_with(3).says("broken.go");
    sandbox.switchboard(&["check", "--staged", "--only", "secretscan"]).ends_with(0);
}

#[test]
fn findings_are_json_and_sarif_on_request() {
    let sandbox = Sandbox::new();
    sandbox.write("broken.ts", "const x = {;\n");

    let json = sandbox.switchboard(&["check", "--base", "HEAD", "--format", "json"]).ends_with(3).json();
    let sarif = sandbox.switchboard(&["check", "--base", "HEAD", "--format", "sarif"]).ends_with(3).json();

    assert_eq!(json["verdict"], "fail");
    assert_eq!((sarif["version"].as_str(), sarif["runs"][0]["results"].is_array()), (Some("2.1.0"), true));
}

#[test]
fn requests_are_served_one_a_line_and_a_bad_one_spoils_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("broken.rs", "fn (\n");
    let root = sandbox.root().display().to_string();
    let good = serde_json::json!({ "id": "1", "root": root, "base": { "rev": "HEAD" } }).to_string();

    let done = sandbox.switchboard_with(&["check", "--serve"], &format!("nonsense\n{good}\n")).ends_with(0);

    let replies: Vec<Value> = done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(replies.len(), 2);
    assert_eq!((&replies[0]["verdict"], &replies[1]["verdict"]), (&"error".into(), &"fail".into()));
}

#[test]
fn the_repositorys_build_runs_only_on_request() {
    let sandbox = Sandbox::new();
    sandbox.write("package.json", r#"{ "scripts": { "build": "touch built" } }"#);
    sandbox.switchboard(&["check", "--base", "HEAD"]).ends_with(0);
    assert!(!sandbox.root().join("built").exists());

    sandbox.write("package.json", "{}");
    std::fs::remove_file(sandbox.root().join("package.json")).unwrap();
    sandbox.switchboard(&["check", "--build", "--json"]).ends_with(2).says("nothing here says how it is built");
}
