//! Output for a person, a program and a code host.

use switchboard_checks::render;
use switchboard_protocol::finding::{CheckReply, CheckRequest};

use crate::scratch::{Scratch, fill};

fn reply() -> CheckReply {
    let scratch = Scratch::repository();
    scratch.write("old.py", "x = (1\n").commit();
    scratch
        .write("src/main.rs", "fn main() {\n    run(1;\n}\n")
        .write("conf/app.yaml", fill("host: db\ntoken: ghp_{A36}\n", 7))
        .write("a b/ü.env", fill("# switchboard:allow(github-pat) a token of the test server\nTOKEN=ghp_{A36}\n", 8))
        .write("logo.png", b"\x89PNG\0")
        .write("old.py", "x = (1\n\n\n\n\ny = 2\n");
    let request = CheckRequest { paths: Vec::new(), ..scratch.request() };
    let mut reply = switchboard_checks::run(&request, &switchboard_checks::Limits::default());
    reply.base = "0123456789abcdef0123456789abcdef01234567".into();
    reply.duration_ms = 0;
    reply.reports.iter_mut().for_each(|report| report.duration_ms = 0);
    reply
}

#[test]
fn the_text_says_what_blocks_where_and_what_to_do() {
    insta::assert_snapshot!(render::text(&reply()));
}

#[test]
fn a_check_called_by_its_name_is_shown_as_text() {
    let scratch = Scratch::repository();
    scratch.write("old.py", "x = 1\n").commit();
    scratch
        .write("src/a.rs", "// TODO: more\nfn f( {\n}\nfn g() {\n    todo!()\n}\n")
        .write("key.env", fill("KEY=ghp_{A36}\n", 5))
        .write("b.bin", b"\0");
    let engine = switchboard_checks::Engine::new(switchboard_checks::Limits::default());
    let root = scratch.root().display().to_string();
    let mut shown = String::new();

    for verb in ["syntax_check", "secretscan", "placeholder_scan", "todo_extract", "lint", "pre_check_batch"] {
        let call = switchboard_protocol::verb::check::CheckCall {
            id: None,
            verb: verb.into(),
            root: root.clone(),
            args: serde_json::Value::Null,
        };
        shown.push_str(&format!("== {verb}\n{}", render::answer(&engine.call(&call).result.unwrap())));
    }

    insta::assert_snapshot!(shown);
}

#[test]
fn the_json_holds_the_whole_reply() {
    let reply = reply();

    let read: CheckReply = serde_json::from_str(&render::json(&reply)).unwrap();

    assert_eq!(read, reply);
}

#[test]
fn the_sarif_has_rules_with_weaknesses_results_and_suppressions() {
    insta::assert_snapshot!(render::sarif(&reply()));
}
