//! `serve`, the loop of the checking child.

use switchboard_checks::Limits;
use switchboard_protocol::finding::{CheckReply, CheckVerdict};

use crate::scratch::Scratch;

fn serve(lines: &str) -> Vec<CheckReply> {
    let mut out = Vec::new();
    switchboard_checks::serve(lines.as_bytes(), &mut out, &Limits::default()).unwrap();
    String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn answers_one_line_each_and_goes_on_after_a_bad_one() {
    let scratch = Scratch::plain();
    scratch.write("a.rs", "fn f( {\n");
    let mut request = scratch.request();
    request.id = Some("first".into());
    let good = serde_json::to_string(&request).unwrap();

    let replies = serve(&format!("{good}\n{{broken\n\n{{\"root\":1}}\n{good}"));

    let verdicts: Vec<CheckVerdict> = replies.iter().map(|reply| reply.verdict).collect();
    assert_eq!(verdicts, [CheckVerdict::Fail, CheckVerdict::Error, CheckVerdict::Error, CheckVerdict::Fail]);
    assert_eq!(replies[0].id.as_deref(), Some("first"));
    assert_eq!(replies[1].failures[0].code, "request.bad-args");
}

#[test]
fn a_line_beyond_the_limit_is_refused_and_the_next_one_is_answered() {
    let scratch = Scratch::plain();
    let good = serde_json::to_string(&scratch.request()).unwrap();

    let replies = serve(&format!("{}\n{good}\n", "x".repeat(9_000_000)));

    assert!(replies[0].failures[0].what.contains("longer than 8 MB"));
    assert_eq!(replies[1].verdict, CheckVerdict::Skip);
}
