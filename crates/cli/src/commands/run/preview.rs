//! Prints what a run will do, before it starts.

use std::path::Path;

use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::plan::AutoMerge;
use switchboard_protocol::run::{Access, Conflict};
use switchboard_protocol::text::quoted;
use switchboard_protocol::verb::run::{AgentChoice, StartRunReply};

use super::Shown;
use crate::context::Context;
use crate::output::{Tone, one_line};

/// Maximum number of conflicts, and of derived dependencies, that are named.
const CONFLICTS: usize = 20;

/// Maximum number of commands that are named of those that run under the name of one agent.
const COMMANDS: usize = 5;

/// Prints target branch, agents, work trees, tasks in order, and the run's questions.
pub(super) fn print(preview: &StartRunReply, shown: &Shown<'_>, context: &mut Context) {
    let Shown { plan, is_apart, worktrees_from, keeps_answers_only, .. } = shown;
    let out = &mut context.out;
    out.line(out.paint(Tone::Strong, &one_line(&plan.title, 100)));
    let base = preview.base.get(..9).unwrap_or(&preview.base);
    out.line(format!("from        {} at {base}", preview.target));
    out.line("onto        a branch of its own, switchboard/RUN");
    let moves = match preview.auto_merge {
        AutoMerge::Auto => "when every task is merged",
        AutoMerge::Confirm => "when every task is merged and you say yes (switchboard needs)",
        AutoMerge::Manual => "only by `switchboard merge`",
    };
    out.line(format!("            {} itself moves {moves}", preview.target));
    // The last folder has the run's id in its name, which does not exist yet.
    let worktrees = Path::new(&preview.worktrees).parent().unwrap_or(Path::new(""));
    let from = match (worktrees_from, preview.worktrees_from.as_str()) {
        (Some(from), _) => format!(" (from {from})"),
        (None, "default" | "") => String::new(),
        (None, from) => format!(" (from {from})"),
    };
    out.line(format!("work trees  {}{from}", worktrees.display()));
    if *keeps_answers_only {
        out.line("keeps       what the agents say; what they change in files only with --change");
    }
    for (number, wave) in preview.waves.iter().enumerate() {
        let head = if number == 0 { "tasks" } else { "then" };
        out.line(format!("{head:11} {}", wave.join(", ")));
    }
    out.line(format!("at once     {}", preview.max_workers));
    for conflict in preview.conflicts.iter().take(CONFLICTS) {
        let how = if *is_apart { "one after the other" } else { "beside each other, judged again on the merged tree" };
        out.line(format!("conflict    {}: {how}", one_line(&described_conflict(conflict), 160)));
    }
    if let Some(more) = preview.conflicts.len().checked_sub(CONFLICTS).filter(|more| *more > 0) {
        out.line(format!("            and {more} pairs more"));
    }
    for edge in preview.derived.iter().take(CONFLICTS) {
        let path = one_line(&edge.path, 100);
        out.line(format!("derived     {} after {}: it needs {path}, which that one makes", edge.task, edge.on));
    }
    if let Some(more) = preview.derived.len().checked_sub(CONFLICTS).filter(|more| *more > 0) {
        out.line(format!("            and {more} dependencies more"));
    }
    for left in &preview.skipped {
        let head = if left.code.is_deferral() { "deferred" } else { "left out" };
        out.line(format!("{head:11} {}: {} [{}]", left.id, one_line(&left.detail, 160), left.code.as_str()));
    }
    for same in preview.agents.chunk_by(|one, next| one.name == next.name) {
        for agent in same.iter().take(COMMANDS) {
            out.line(format!("agent       {}: {}", agent.name, described(agent)));
        }
        if let Some(more) = same.len().checked_sub(COMMANDS).filter(|more| *more > 0) {
            out.line(format!("            and {more} commands more"));
        }
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

/// Describes a conflict, such as `1.1 and 1.2 write a.txt; 1.1 writes b.txt, 1.2 reads it`.
fn described_conflict(conflict: &Conflict) -> String {
    let Conflict { a, b, paths } = conflict;
    let with = |of_a: Access, of_b: Access| {
        let paths: Vec<_> =
            paths.iter().filter(|one| (one.a, one.b) == (of_a, of_b)).map(|one| one.path.as_str()).collect();
        (!paths.is_empty()).then(|| paths.join(", "))
    };
    let both = with(Access::Write, Access::Write).map(|paths| format!("{a} and {b} write {paths}"));
    let mixed =
        [(Access::Write, Access::Read), (Access::Read, Access::Write)].into_iter().filter_map(|(of_a, of_b)| {
            let paths = with(of_a, of_b)?;
            Some(format!("{a} {} and {b} {} {paths}", of_a.verb(), of_b.verb()))
        });
    both.into_iter().chain(mixed).collect::<Vec<_>>().join("; ")
}

fn described(agent: &AgentChoice) -> String {
    let (how, argv) = match &agent.driver {
        DriverSpec::Acp { argv } => ("speaks ACP", argv),
        DriverSpec::Exec { argv } => ("a command", argv),
    };
    let script = if agent.scripted { "a SCRIPT that plays an agent, " } else { "" };
    format!("{script}{how}: {}", one_line(&quoted(argv), 160))
}
