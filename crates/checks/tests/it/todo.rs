//! `todo_extract`.

use switchboard_protocol::finding::{CheckName, CheckVerdict, Severity};

use crate::scratch::{Scratch, findings, report};

#[test]
fn only_marks_in_comments_are_listed_with_their_priority() {
    let scratch = Scratch::plain();
    scratch
        .write("a.rs", "// TODO: write it\nfn todo() { let s = \"TODO in a string\"; }\n/* line\n * FIXME(anna) broken */\n// the TODO-list and MYTODO and todo\n")
        .write("b.py", "x = 'FIXME'  # NOTE: careful\n# XXX\n")
        .write("c.txt", "TODO\n");

    let reply = scratch.check_only(CheckName::TodoExtract);

    let seen: Vec<(&str, u32, &str, Severity)> =
        findings(&reply).iter().map(|f| (f.path.as_str(), f.span.start_line, f.message.as_str(), f.severity)).collect();
    assert_eq!(
        seen,
        [
            ("a.rs", 1, "TODO: write it", Severity::Medium),
            ("a.rs", 4, "FIXME(anna) broken", Severity::High),
            ("b.py", 1, "NOTE: careful", Severity::Low),
            ("b.py", 2, "XXX", Severity::High),
        ]
    );
    assert_eq!(reply.verdict, CheckVerdict::Pass);
}

#[test]
fn it_is_made_only_when_it_is_named() {
    let scratch = Scratch::plain();
    scratch.write("a.rs", "// NOTE: x\n");

    let reply = scratch.check();

    assert!(reply.reports.iter().all(|report| report.check != CheckName::TodoExtract));
    assert_eq!(report(&scratch.check_only(CheckName::TodoExtract), CheckName::TodoExtract).findings.len(), 1);
}
