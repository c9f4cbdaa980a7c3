//! Tests which steps of a team the change itself makes unnecessary.

use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::run::way::{RoleId, StepId};
use switchboard_protocol::run::{StartFrom, StepWork};

use super::super::left_out::skipped;
use super::super::start_worker::Start;
use super::*;

impl Stand {
    /// Returns why the security review of a commit is left out.
    async fn leaves_out_security(&self, commit: &Oid) -> Option<String> {
        let work = StepWork {
            role: RoleId::new("security_reviewer").unwrap(),
            writes: Vec::new(),
            answer: Some(AnswerKind::Review),
            input: Digest::of(b"change"),
        };
        let start = Start {
            step: StepId::new("security_review").unwrap(),
            work,
            attempt: 2,
            from: StartFrom::Change { commit: commit.to_string(), base: self.first.to_string() },
            resume: false,
            again: None,
            transients: 0,
            tried: (0, 3),
            answers: Vec::new(),
            by: None,
            declared: Vec::new(),
            note: String::new(),
        };
        let skipped = skipped(&self.ctx, &task(), &start).await.unwrap()?;
        let RunEvent::StepSkipped { task: of, step, attempt: 2, input, reason } = skipped else {
            panic!("{skipped:?}")
        };
        assert_eq!((of, step, input), (task(), start.step, start.work.input));
        Some(reason)
    }
}

#[tokio::test]
async fn a_security_review_is_left_out_if_neither_files_nor_lines_of_a_change_that_can_be_searched_call_for_it() {
    let long = "a line of prose\n".repeat((1 << 20) / 16);
    for (file, text, is_left_out) in [
        ("notes.rs", "fn add() {}\n", true),
        ("notes.rs", "// the password\n", false),
        ("auth/login.rs", "fn add() {}\n", false),
        ("notes.rs", &long[..long.len() / 2], true),
        ("notes.rs", &long, false),
    ] {
        let at = Stand::of_task(&json!({ "files_touched": ["notes.rs"] }), |_| {});
        std::fs::create_dir_all(at.folder.join("auth")).unwrap();
        let commit = at.commits(file, text);

        let reason = at.leaves_out_security(&commit).await;

        assert_eq!(reason.is_some(), is_left_out, "{file} {} {reason:?}", text.len());
    }
}
