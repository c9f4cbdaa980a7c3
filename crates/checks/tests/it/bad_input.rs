//! Broken and hostile files and requests.

use std::os::unix::fs::PermissionsExt;

use switchboard_checks::Limits;
use switchboard_protocol::finding::{Base, CheckName, CheckRequest, CheckVerdict};

use crate::scratch::{Scratch, fill, findings, report};

fn skipped(reply: &switchboard_protocol::finding::CheckReply, check: CheckName) -> Vec<(String, String)> {
    report(reply, check).skipped.iter().map(|file| (file.path.clone(), file.why.clone())).collect()
}

#[test]
fn odd_files_are_named_with_the_reason_and_the_others_are_checked() {
    let scratch = Scratch::plain();
    std::fs::write(scratch.outside().join("target.txt"), fill("ghp_{A36}", 1)).unwrap();
    scratch
        .write("binary.rs", b"fn\0main")
        .write("binary.dat", b"\0")
        .write("good.rs", "fn f( {\n")
        .write("latin.py", b"name = 'caf\xe9'\n");
    std::os::unix::fs::symlink(scratch.outside().join("target.txt"), scratch.root().join("link.txt")).unwrap();
    std::os::unix::fs::symlink(scratch.outside(), scratch.root().join("folder")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        scratch.root().join("pipe.rs"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();

    let reply = scratch.check();

    let why = |path: &str, check| skipped(&reply, check).into_iter().find(|file| file.0 == path).map(|file| file.1);
    assert_eq!(why("binary.dat", CheckName::Secretscan).as_deref(), Some("binary"));
    assert_eq!(why("binary.rs", CheckName::Secretscan), None);
    assert_eq!(why("binary.rs", CheckName::SyntaxCheck).as_deref(), Some("it holds NUL bytes"));
    assert_eq!(why("link.txt", CheckName::Secretscan).as_deref(), Some("a symbolic link, not followed"));
    assert_eq!(why("folder", CheckName::Secretscan).as_deref(), Some("a symbolic link, not followed"));
    assert_eq!(why("pipe.rs", CheckName::Secretscan).as_deref(), Some("not a regular file"));
    assert_eq!(why("latin.py", CheckName::SyntaxCheck).as_deref(), Some("not UTF-8"));
    assert_eq!(why("latin.py", CheckName::Secretscan), None);
    assert!(findings(&reply).iter().all(|finding| finding.path == "good.rs"));
    assert_eq!(reply.verdict, CheckVerdict::Fail);
}

#[test]
fn an_unreadable_file_is_said_to_be_so() {
    let scratch = Scratch::plain();
    scratch.write("a.rs", "fn a() {}\n").write("b.rs", "fn b() {}\n");
    std::fs::set_permissions(scratch.root().join("a.rs"), std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(scratch.root().join("a.rs")).is_ok() {
        return; // The superuser reads everything.
    }

    let reply = scratch.check();

    assert_eq!(skipped(&reply, CheckName::SyntaxCheck), [("a.rs".into(), "unreadable: permission denied".into())]);
}

#[test]
fn huge_files_and_endless_lines_are_not_parsed_and_that_is_no_pass() {
    let scratch = Scratch::plain();
    scratch.write("line.js", vec![b'x'; 50_000_000]).write("small.js", "let a = 1;\n");

    let reply = scratch.check();

    assert_eq!(skipped(&reply, CheckName::SyntaxCheck), [("line.js".into(), "larger than 5 MB".into())]);
    assert_eq!(report(&reply, CheckName::SyntaxCheck).verdict, CheckVerdict::Incomplete);
    assert_eq!(report(&reply, CheckName::Secretscan).verdict, CheckVerdict::Pass);
}

#[test]
fn a_line_just_below_the_limit_ends_within_its_time() {
    let scratch = Scratch::plain();
    scratch
        .write("a.json", "password=".repeat(100_000))
        .write("b.py", "(".repeat(200_000))
        .write("c.js", "[{".repeat(200_000));
    let limits = Limits { parse_time: std::time::Duration::from_millis(200), ..Limits::default() };

    let reply = switchboard_checks::run(&scratch.request(), &limits);

    assert_eq!(report(&reply, CheckName::Secretscan).files_checked, 3);
}

#[test]
fn a_path_outside_is_an_error_and_the_other_paths_hold() {
    let scratch = Scratch::plain();
    scratch.write("a.rs", "fn f( {\n");

    let reply = scratch.check_paths(&["a.rs", "../x.rs", "none.rs"]);

    let codes: Vec<&str> = reply.failures.iter().map(|failure| failure.code.as_str()).collect();
    assert_eq!(codes, ["check.outside-root", "check.path-missing"]);
    assert!(reply.failures[0].what.contains("../x.rs"));
    assert_eq!(reply.verdict, CheckVerdict::Error);
    assert_eq!(findings(&reply).len(), 1);
}

#[test]
fn an_unknown_base_and_a_missing_repository_are_named() {
    let scratch = Scratch::repository();
    scratch.write("a.rs", "").commit();
    let plain = Scratch::plain();

    for rev in ["no-such-branch", "--output=/tmp/x", "", "a\u{7}b"] {
        let reply = scratch.check_against(Base::Rev(rev.into()));
        assert_eq!(reply.failures[0].code, "check.bad-base", "{rev}");
        assert!(reply.reports.is_empty());
    }
    assert_eq!(plain.check_against(Base::Staged).failures[0].code, "git.not-a-repository");
}

#[test]
fn a_root_that_is_missing_or_a_file_is_an_error() {
    let scratch = Scratch::plain();
    scratch.write("file", "");

    for root in ["/no/such/folder".to_owned(), scratch.root().join("file").to_str().unwrap().to_owned()] {
        let reply = switchboard_checks::run(&CheckRequest { root, ..CheckRequest::default() }, &Limits::default());
        assert_eq!(reply.failures[0].code, "check.unreadable");
    }
}

#[test]
fn submodules_and_nested_repositories_are_skipped_and_said() {
    let scratch = Scratch::repository();
    scratch.commit();
    scratch.write("inner/a.rs", "fn f( {\n");
    scratch.git(&["init", "--quiet", "inner"]);
    scratch.git(&["-C", "inner", "add", "a.rs"]);
    scratch.git(&["-C", "inner", "commit", "--quiet", "--message", "x"]);

    let reply = scratch.check();

    assert_eq!(skipped(&reply, CheckName::SyntaxCheck), [("inner/".into(), "a repository inside this one".into())]);
}

#[test]
fn more_files_than_the_limit_are_refused() {
    let scratch = Scratch::plain();
    for at in 0..5 {
        scratch.write(&format!("{at}.rs"), "");
    }

    let reply = switchboard_checks::run(&scratch.request(), &Limits { files: 4, ..Limits::default() });

    assert_eq!(reply.failures[0].code, "check.too-many-files");
}

#[test]
fn files_that_are_left_when_the_time_is_over_are_named_and_nothing_passes() {
    let scratch = Scratch::plain();
    scratch.write("a.rs", "fn f() {}\n");

    let reply = switchboard_checks::run(
        &scratch.request(),
        &Limits { files_time: std::time::Duration::ZERO, ..Limits::default() },
    );

    assert_eq!((reply.failures[0].code.as_str(), reply.verdict), ("check.time-limit", CheckVerdict::Error));
    assert!(reply.reports.iter().all(|report| report.verdict == CheckVerdict::Error));
    assert_eq!(skipped(&reply, CheckName::Secretscan), [("a.rs".into(), "the time was over".into())]);
}

#[test]
fn findings_and_skips_beyond_the_limit_are_counted() {
    let scratch = Scratch::plain();
    for at in 0..6 {
        scratch.write(&format!("{at}.rs"), "fn f( {\n").write(&format!("{at}.bin"), b"\0");
    }

    let reply = switchboard_checks::run(&scratch.request(), &Limits { findings: 4, skipped: 2, ..Limits::default() });

    let syntax = report(&reply, CheckName::SyntaxCheck);
    assert_eq!((syntax.findings.len(), syntax.findings_left_out), (4, 2));
    assert_eq!((syntax.skipped.len(), syntax.skipped_left_out), (2, 4));
}

#[test]
fn an_unusable_baseline_is_an_error_and_the_checks_still_run() {
    let scratch = Scratch::plain();
    scratch.write("a.rs", "fn f( {\n").write("base.json", "[]");

    for baseline in ["base.json", "none.json", "../x"] {
        let request = CheckRequest { baseline: Some(baseline.into()), ..scratch.request() };
        let reply = switchboard_checks::run(&request, &Limits::default());
        assert_eq!(reply.failures[0].code, "check.bad-baseline");
        assert_eq!(findings(&reply).len(), 1);
    }
}
