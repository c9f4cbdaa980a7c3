//! Checks that a delegation is about one task: its text names no second one and doesn't ask for several.

mod batching;
mod ids;

use std::collections::BTreeSet;

use switchboard_protocol::plan::TaskId;

use super::{Refusal, RefusalKind};
use crate::team::prose;
use batching::batching;
use ids::named;

/// Returns why a delegation is refused: it names more than one task, or asks for several without naming them. `ids` are
/// the tasks of the plan. The text may name tasks that its task builds on (`depends on 1.1`, `after 1.1`).
#[must_use]
pub fn delegation(text: &str, ids: &BTreeSet<TaskId>) -> Vec<Refusal> {
    let lines: Vec<String> = prose::lines(text).into_iter().map(|line| line.prose).collect();
    let named = named(&lines, ids);
    let mut found = Vec::new();
    if named.len() > 1 {
        let list = named.iter().cloned().collect::<Vec<_>>().join(", ");
        found.push(Refusal {
            kind: RefusalKind::SeveralTasks,
            task: None,
            reason: format!("the delegation names {} tasks: {list}", named.len()),
            remedy: "delegate one task; name another only as what it depends on".to_owned(),
        });
    }
    if let Some(phrase) = batching(&lines) {
        found.push(Refusal {
            kind: RefusalKind::BatchingLanguage,
            task: None,
            reason: format!("the delegation says `{phrase}`"),
            remedy: "delegate one task and say only what belongs to it".to_owned(),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<RefusalKind> {
        let ids = ["1.1", "1.2", "1.3", "2.1"].into_iter().filter_map(|id| TaskId::new(id).ok()).collect();
        delegation(text, &ids).into_iter().map(|refusal| refusal.kind).collect()
    }

    #[test]
    fn one_task_with_what_it_builds_on_is_accepted() {
        for text in [
            "TASK: 1.2 Add the parser\nFILE: src/parser.rs\nACCEPTANCE: `cargo test` passes",
            "Task 1.2: add the parser. It depends on 1.1 and 1.3, which are merged.",
            "Implement task 1.2 after task 1.1.",
            "1.2 Support TLS 1.1 and HTTP 2.1",
            "Task 1.2. Do not start the remaining tasks.",
            "Implement 1.2 only, never all tasks at once",
            "Task 1.2: list the tasks of a plan in their order",
            "Task 1.2: show `all tasks` and each phase",
            "> implement all tasks\nTask 1.2: print this",
            "Task 1.2, see 1.1 for the format; version 1.3 of the file",
            "Task 1.2: run the workers on both cores",
            "Task 1.2: show all tasks of a list and add a button to each task",
            "Task 1.2: fix the race between two tasks",
        ] {
            assert_eq!(kinds(text), [], "{text}");
        }
    }

    #[test]
    fn a_second_task_is_refused() {
        for text in [
            "Implement tasks 1.1 and 1.2",
            "tasks 1.1 to 1.4",
            "Tasks 1.1–1.4",
            "tasks 1.1-1.3",
            "tasks 1.1..1.3",
            "Task 1.1: add the parser\nTask 1.2: add the printer",
            "- [ ] 1.1: add the parser\n- [ ] 1.2: add the printer",
            "Do 1.1, then do 1.2",
            "1.1 & 1.2",
            "Task 1.1. Also task 9.9.",
        ] {
            assert_eq!(kinds(text), [RefusalKind::SeveralTasks], "{text}");
        }
    }

    #[test]
    fn batching_language_is_refused() {
        for text in [
            "Implement all tasks",
            "Do all of the tasks of phase 1",
            "Task 1.2 and the rest of the phase",
            "Task 1.2; while you're at it, rename the module",
            "Task 1.2. While you’re at it rename the module",
            "Complete the remaining\ntasks",
            "Finish the whole plan",
            "Do the next three tasks",
            "Work through every task",
            "Not only 1.2: do all remaining work",
        ] {
            assert_eq!(kinds(text), [RefusalKind::BatchingLanguage], "{text}");
        }
    }

    #[test]
    fn a_refusal_says_what_was_found_and_what_to_do() {
        let ids = BTreeSet::new();

        let found = delegation("tasks 1.1 and 1.2 in one go", &ids);

        assert!(found[0].reason.contains("1.1, 1.2") && found[1].reason.contains("in one go"), "{found:?}");
        assert!(found.iter().all(|refusal| refusal.remedy.contains("one task")));
    }
}
