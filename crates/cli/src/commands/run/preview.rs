//! What a run will do, before it does anything.

use std::path::Path;

use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::text::quoted;
use switchboard_protocol::verb::run::{AgentChoice, StartRunReply};

use super::Shown;
use crate::context::Context;
use crate::output::{Tone, one_line};

/// Pairs of tasks that write the same files that are named.
const CONFLICTS: usize = 20;

/// Prints target branch, agents, work trees, tasks in order, and what the run will ask.
pub(super) fn print(preview: &StartRunReply, shown: &Shown<'_>, context: &mut Context) {
    let Shown { plan, merge, is_apart, .. } = shown;
    let out = &mut context.out;
    out.line(out.paint(Tone::Strong, &one_line(&plan.title, 100)));
    let base = preview.base.get(..9).unwrap_or(&preview.base);
    out.line(format!("from        {} at {base}", preview.target));
    out.line("onto        a branch of its own, switchboard/RUN");
    let moves = if *merge { "when every task is merged" } else { "only by `switchboard merge`" };
    out.line(format!("            {} itself moves {moves}", preview.target));
    // The last folder bears the run's id, which this one does not have yet.
    let worktrees = Path::new(&preview.worktrees).parent().unwrap_or(Path::new(""));
    out.line(format!("work trees  {}", worktrees.display()));
    for (number, wave) in preview.waves.iter().enumerate() {
        let head = if number == 0 { "tasks" } else { "then" };
        out.line(format!("{head:11} {}", wave.join(", ")));
    }
    out.line(format!("at once     {}", preview.max_workers));
    for conflict in preview.conflicts.iter().take(CONFLICTS) {
        let how = if *is_apart { "one after the other" } else { "beside each other, judged again on the merged tree" };
        let paths = one_line(&conflict.paths.join(", "), 120);
        out.line(format!("conflict    {} and {} write {paths}: {how}", conflict.a, conflict.b));
    }
    if let Some(more) = preview.conflicts.len().checked_sub(CONFLICTS).filter(|more| *more > 0) {
        out.line(format!("            and {more} pairs more"));
    }
    for agent in &preview.agents {
        out.line(format!("agent       {}: {}", agent.name, described(agent)));
    }
    if !preview.constrained.is_empty() {
        let tasks = one_line(&preview.constrained.join(", "), 200);
        out.line(format!("constrained {tasks}: four tools in a sandbox, their own trees and nothing else"));
    }
    for note in &preview.notes {
        out.line(format!("note        {}", one_line(note, 200)));
    }
    out.line("asks        what an agent may not decide for itself: switchboard needs");
    let is_full = preview.waves.iter().flatten().any(|task| !preview.constrained.contains(task));
    let is_agent = |agent: &AgentChoice| !agent.scripted && matches!(agent.driver, DriverSpec::Acp { .. });
    if is_full && preview.agents.iter().any(is_agent) {
        let warning = "its agents have your rights: they may run commands as you do";
        out.line(out.paint(Tone::Notice, &format!("trust       {warning}")));
    }
    out.line("");
}

fn described(agent: &AgentChoice) -> String {
    let (how, argv) = match &agent.driver {
        DriverSpec::Acp { argv } => ("speaks ACP", argv),
        DriverSpec::Exec { argv } => ("a command", argv),
    };
    let script = if agent.scripted { "a SCRIPT that plays an agent, " } else { "" };
    format!("{script}{how}: {}", one_line(&quoted(argv), 160))
}
