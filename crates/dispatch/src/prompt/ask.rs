//! What a worker is told whose role is asked something: its role, the question, and the form of its answer.

use std::fmt::Write as _;

use switchboard_pipeline::roles;
use switchboard_protocol::plan::Task;

use super::TOOLS;
use super::judge::Judging;
use crate::plan::RunPlan;

/// The prompt of a worker whose role is asked. What others have said is marked in the question.
pub(crate) fn ask(plan: &RunPlan, task: &Task, judging: &Judging<'_>) -> String {
    let Judging { work, again, instructions, has_tools, .. } = judging;
    let role = &work.role;
    let mut text = format!(
        "You are the {role} of a team that works on \"{}\".\n\n{}\n\n{}\n{READS}",
        plan.plan.title,
        plan.role_text(role).trim_end(),
        task.description.trim_end()
    );
    if !instructions.is_empty() {
        let _ = write!(text, "\nInstructions of the repository and its user for you:\n{}\n", instructions.trim_end());
    }
    if *has_tools {
        text.push_str(TOOLS);
    }
    if let Some(reason) = again {
        let _ = write!(text, "\nAn answer was given before and can't be used: {reason}\n");
    }
    if let Some(kind) = work.answer {
        let _ = write!(text, "\n{}", roles::form(kind));
    }
    text
}

const READS: &str = "\nThe repository is checked out in the current folder. You may read everything here. Change nothing: a change voids your answer.\n";
