//! What a person, a program and a code host see.

use checks::render;
use protocol::finding::{CheckReply, CheckRequest};

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
    let mut reply = checks::run(&request, &checks::Limits::default());
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
fn the_json_holds_the_whole_reply() {
    let reply = reply();

    let read: CheckReply = serde_json::from_str(&render::json(&reply)).unwrap();

    assert_eq!(read, reply);
}

#[test]
fn the_sarif_has_rules_with_weaknesses_results_and_suppressions() {
    insta::assert_snapshot!(render::sarif(&reply()));
}
