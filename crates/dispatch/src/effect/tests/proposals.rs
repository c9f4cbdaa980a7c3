//! Tests which proposal of a debate's participants the verdict takes, and what becomes of the others.

use switchboard_pipeline::subtasks::{PromptSource, Shape};
use switchboard_protocol::frame::{ANSWER_FILE, DriverSpec};
use switchboard_protocol::verb::run::AgentChoice;

use super::super::proposals::take;
use super::*;

/// Makes a debate about task `1.1`, in which `ann` and `ben` had two turns each and left what `left` says: each file's
/// text in the tree of their last turn. The verdict is this answer.
async fn debated(left: &[(&str, &str)], answer: &str) -> (Stand, Result<Option<String>, Failure>) {
    let turns = [(1, "ann", "1.1.1"), (1, "ben", "1.1.2"), (2, "ann", "1.1.3"), (2, "ben", "1.1.4")];
    let tasks: Vec<_> = ["1.1", "1.1.1", "1.1.2", "1.1.3", "1.1.4"]
        .iter()
        .map(|id| {
            let agent = turns.iter().find(|turn| turn.2 == *id).map_or("eve", |turn| turn.1);
            json!({ "id": id, "phase": 1, "description": "d", "x-switchboard": { "agent": agent } })
        })
        .collect();
    let of_tasks = run_plan(&json!(tasks));
    let id = |text: &str| TaskId::new(text).unwrap();
    let at = Stand::new(|plan| {
        (plan.plan, plan.positions) = (of_tasks.plan, of_tasks.positions);
        for name in ["ann", "ben", "eve"] {
            let driver = DriverSpec::Acp { argv: vec![name.to_owned()] };
            plan.agents.insert(name.to_owned(), AgentChoice::new(AgentName::new(name).unwrap(), driver));
        }
        let turns = turns.iter().map(|(round, name, task)| (*round, (*name).to_owned(), id(task))).collect();
        let told = PromptSource::Decision { turns, may_take: true };
        plan.shapes.insert(id("1.1"), Shape { told, ..Shape::default() });
    });
    let git = &at.ctx.world.ports.git;
    for (number, (_, name, turn)) in (10..).zip(turns) {
        at.works_on(turn, number, &at.first).await;
        let (tree, branch) = (at.ctx.plan.worktree(&id(turn)), at.ctx.plan.task_branch(&id(turn)));
        git.worktree_add(&tree, &branch, &at.first, &[]).unwrap();
        std::fs::write(tree.join("turn"), format!("{name} in {turn}")).unwrap();
        if let Some((_, text)) = left.iter().find(|(who, _)| *who == name) {
            std::fs::write(tree.join("kept"), text).unwrap();
        } else {
            std::fs::remove_file(tree.join("turn")).unwrap();
        }
    }
    let worker = at.works(1, None, &at.first).await;
    at.makes_worktree(&at.first);
    let folder = crate::plan::worker_folder(&at.ctx.world.config, &at.ctx.plan.run, &worker);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(ANSWER_FILE), answer).unwrap();
    let taken = take(&at.ctx, &task(), 1, &worker, &at.first).await;
    let taken = taken.map(|author| author.map(|author| author.name)).map_err(|error| error.to_failure());
    (at, taken)
}

const BOTH: [(&str, &str); 2] = [("ann", "of ann"), ("ben", "of ben")];

#[tokio::test]
async fn the_last_change_of_the_participant_that_the_verdict_names_becomes_the_tasks_own() {
    for (name, who, turn) in [("ann", "ann", "1.1.3"), ("Ben", "ben", "1.1.4")] {
        let (at, taken) = debated(&BOTH, &format!("The best is this.\n[TAKE: {name}]\n")).await;

        assert_eq!(taken.unwrap().as_deref(), Some(who));
        let tree = at.ctx.plan.worktree(&task());
        assert_eq!(text(&tree.join("kept")).unwrap(), format!("of {who}"));
        assert_eq!(text(&tree.join("turn")).unwrap(), format!("{who} in {turn}"));
        let git = &at.ctx.world.ports.git;
        let own = git.branch(&at.ctx.plan.task_branch(&task())).unwrap().unwrap();
        assert!(git.is_ancestor(&at.first, &own).unwrap() && own != at.first);
        for turn in ["1.1.3", "1.1.4"] {
            let branch = at.ctx.plan.task_branch(&TaskId::new(turn).unwrap());
            assert_ne!(git.branch(&branch).unwrap(), Some(at.first.clone()), "{turn} is kept in its branch");
        }
    }
}

#[tokio::test]
async fn a_verdict_that_takes_no_change_or_none_that_there_is_changes_nothing() {
    for (left, answer, expected) in [
        (&BOTH[..], "Neither.", Ok(None)),
        (&BOTH[..1], "[TAKE: ben]", Err("the verdict takes the change of ben, and ann left one")),
        (&[], "[TAKE: ben]", Err("the verdict takes the change of ben, and nobody left one")),
    ] {
        let (at, taken) = debated(left, answer).await;

        assert_eq!(taken.map_err(|failure| failure.what), expected.map_err(str::to_owned), "{answer}");
        assert_eq!(text(&at.ctx.plan.worktree(&task()).join("kept")).unwrap(), "first\n");
    }
}
