//! Prompt of a worker whose role is asked a question: its role, the question, and the form of the answer.

use switchboard_protocol::plan::Task;

use super::judge::{Judging, close};
use crate::plan::RunPlan;

/// Returns the prompt of a worker whose role is asked a question. Texts of others are marked in the question.
pub(crate) fn ask(plan: &RunPlan, task: &Task, judging: &Judging<'_>) -> String {
    let role = &judging.work.role;
    let mut text = format!(
        "You are the {role} of a team that works on \"{}\".\n\n{}\n\n{}\n{}",
        plan.plan.title,
        plan.role_text(role).trim_end(),
        task.description.trim_end(),
        if plan.is_kept_out(judging.work) { KEPT_OUT } else { READS }
    );
    close(&mut text, judging);
    text
}

/// Text for a role that may not read the repository.
pub(super) const KEPT_OUT: &str = "\nWhat you judge by stands in this text. The current folder is empty, and you don't read the repository. Write nothing: a file that you leave voids your answer.\n";

const READS: &str = "\nThe repository is checked out in the current folder. You may read everything here. Change nothing: a change voids your answer.\n";
