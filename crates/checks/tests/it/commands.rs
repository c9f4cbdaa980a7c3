//! Commands in a request.

use switchboard_checks::Limits;
use switchboard_protocol::finding::{CheckCommand, CheckName, CheckReply, CheckRequest, CheckVerdict, CommandKind};

use crate::scratch::{Scratch, fill, report};

fn build(scratch: &Scratch, argv: &[&str], limit: u64) -> CheckReply {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    let command =
        CheckCommand { kind: CommandKind::Build, argv, cwd: None, time_limit_s: Some(limit), env: Vec::new() };
    let request = CheckRequest { commands: vec![command], only: vec![CheckName::BuildCheck], ..scratch.request() };
    switchboard_checks::run(&request, &Limits::default())
}

#[test]
fn the_exit_code_gives_the_verdict() {
    let scratch = Scratch::plain();

    let good = build(&scratch, &["sh", "-c", "pwd; exit 0"], 20);
    let bad = build(&scratch, &["sh", "-c", "echo broken >&2; exit 3"], 20);

    assert_eq!(good.verdict, CheckVerdict::Pass);
    assert_eq!(bad.verdict, CheckVerdict::Fail);
    let run = &report(&bad, CheckName::BuildCheck).runs[0];
    assert_eq!((run.exit_code, run.stderr.as_str()), (Some(3), "broken\n"));
}

#[test]
fn a_hog_is_stopped_where_memory_can_be_limited_and_elsewhere_the_reply_says_so() {
    let scratch = Scratch::plain();
    let limits = Limits { command_memory: 60_000_000, ..Limits::default() };
    let run = |words: &[&str]| {
        let argv = words.iter().map(|word| (*word).to_owned()).collect();
        let command =
            CheckCommand { kind: CommandKind::Build, argv, cwd: None, time_limit_s: Some(60), env: Vec::new() };
        let request = CheckRequest { commands: vec![command], only: vec![CheckName::BuildCheck], ..scratch.request() };
        report(&switchboard_checks::run(&request, &limits), CheckName::BuildCheck).runs[0].clone()
    };

    let modest = run(&["true"]);

    if modest.memory == "not limited" {
        // We may not divide a control group here: without a memory limit the test must not fill the memory.
        assert_eq!(modest.exit_code, Some(0));
        return;
    }
    assert_eq!(modest.memory, "60 MB");
    let hog = run(&["tail", "/dev/zero"]);
    assert_eq!(hog.ending, "ended over its memory limit of 60 MB");
    assert_ne!(hog.exit_code, Some(0));
}

#[test]
fn no_shell_reads_the_words() {
    let scratch = Scratch::plain();

    let reply = build(&scratch, &["echo", "$HOME; touch x"], 20);

    assert_eq!(report(&reply, CheckName::BuildCheck).runs[0].stdout, "$HOME; touch x\n");
}

#[test]
fn a_command_beyond_its_limit_is_stopped_and_fails() {
    let scratch = Scratch::plain();

    let reply = build(&scratch, &["sleep", "600"], 1);

    let run = &report(&reply, CheckName::BuildCheck).runs[0];
    assert_eq!((reply.verdict, run.ending.as_str()), (CheckVerdict::Fail, "stopped after 1 s"));
}

#[test]
fn a_program_that_is_missing_or_a_folder_outside_is_an_error() {
    let scratch = Scratch::plain();

    let reply = build(&scratch, &["no-such-program-here"], 20);

    assert_eq!(reply.verdict, CheckVerdict::Error);
    assert!(report(&reply, CheckName::BuildCheck).runs[0].ending.starts_with("could not start"));
    assert_eq!(build(&scratch, &[], 20).verdict, CheckVerdict::Error);
    let command = CheckCommand {
        kind: CommandKind::Test,
        argv: vec!["true".into()],
        cwd: Some("..".into()),
        time_limit_s: None,
        env: Vec::new(),
    };
    let reply =
        switchboard_checks::run(&CheckRequest { commands: vec![command], ..scratch.request() }, &Limits::default());
    assert_eq!(report(&reply, CheckName::TestRunner).verdict, CheckVerdict::Error);
}

#[test]
fn endless_output_keeps_its_head_and_tail() {
    let scratch = Scratch::plain();

    let reply = build(&scratch, &["sh", "-c", "echo first; yes äöü | head -n 400000; echo last; exit 1"], 60);

    let out = &report(&reply, CheckName::BuildCheck).runs[0].stdout;
    assert!(out.len() < 21_000 && out.starts_with("first\n") && out.ends_with("last\n"));
    assert!(out.contains("bytes left out") && !out.contains('\u{fffd}'));
}

#[test]
fn secrets_in_output_are_left_out() {
    let scratch = Scratch::plain();
    let token = fill("ghp_{A36}", 11);

    let reply = build(&scratch, &["sh", "-c", &format!("echo token {token}; exit 1")], 20);

    let whole = format!("{reply:?}{}", switchboard_checks::render::json(&reply));
    assert!(!whole.contains(&token) && whole.contains("[github-pat left out]"), "{whole}");
}

#[test]
fn without_a_command_nothing_is_run_and_nothing_passes() {
    let scratch = Scratch::plain();
    scratch.write("Makefile", "all:\n\ttouch ran\n").write("package.json", r#"{"scripts":{"build":"touch ran"}}"#);

    let asked = switchboard_checks::run(
        &CheckRequest { only: vec![CheckName::BuildCheck], ..scratch.request() },
        &Limits::default(),
    );
    let all = scratch.check();

    assert_eq!(report(&asked, CheckName::BuildCheck).verdict, CheckVerdict::Skip);
    assert!(all.reports.iter().all(|report| report.check != CheckName::BuildCheck));
    assert!(!scratch.root().join("ran").exists());
}
