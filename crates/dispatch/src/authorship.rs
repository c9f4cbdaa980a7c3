//! Author and message of a run's commits.

use switchboard_process::git::Author;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::Task;
use switchboard_protocol::time::Millis;

/// Returns an agent as the author of a commit.
pub(crate) fn author(agent: &str, at: Millis) -> Author {
    Author { name: agent.to_owned(), email: format!("{}@agents.localhost", switchboard_protocol::id::fold(agent)), at }
}

/// Returns the message of a task's commits.
pub(crate) fn message(run: &RunId, task: &Task, attempt: u32) -> String {
    let title = crate::prompt::title(task);
    format!("{title}\n\nSwitchboard-Run: {run}\nSwitchboard-Task: {}\nSwitchboard-Attempt: {attempt}\n", task.id)
}
