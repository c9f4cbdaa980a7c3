//! `switchboard budget`, and the flags of `run` that set one.

use switchboard_protocol::error::Failure;
use switchboard_protocol::run::{AtCeiling, Budget, BudgetScope, Ceiling};
use switchboard_protocol::verb::run::{GetRun, GetRunRequest, RunSummary, SetBudget, SetBudgetRequest, TaskCeiling};

use crate::client::Client;
use crate::context::Context;
use crate::output::{micro_usd, money};
use crate::report::Outcome;

/// Show or set what a run may cost
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: set_budget, get_run")]
pub(crate) struct Args {
    /// The run, or the beginning of its id; the newest when left out. `RUN/TASK` sets the ceiling of that task alone
    run: Option<String>,
    #[command(flatten)]
    flags: BudgetFlags,
    /// Lift the ceiling
    #[arg(long, conflicts_with = "budget")]
    none: bool,
}

/// Flags that set a budget.
#[derive(Debug, clap::Args)]
pub(crate) struct BudgetFlags {
    /// Maximum cost in dollars, e.g. 5 or 0.75
    #[arg(long, value_name = "USD", value_parser = micro_usd)]
    budget: Option<u64>,
    /// Maximum cost of each task in dollars, with all its workers
    #[arg(long, value_name = "USD", value_parser = micro_usd, requires = "budget")]
    task_budget: Option<u64>,
    /// Maximum cost in dollars of all runs of the same plan; takes precedence over the plan
    #[arg(long, value_name = "USD", value_parser = micro_usd)]
    plan_budget: Option<u64>,
    /// Amount to reserve for a worker before it starts, in dollars; estimated from earlier workers of the run when left out
    #[arg(long, value_name = "USD", value_parser = micro_usd, requires = "budget")]
    reserve: Option<u64>,
    /// What happens at the ceiling; a run begins with pause
    #[arg(long, value_name = "WHAT", value_enum, requires = "budget")]
    at_ceiling: Option<At>,
}

/// Action at the ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum At {
    /// Warn; the run goes on
    Warn,
    /// Cancel turns; the run goes on once the ceiling is raised
    Pause,
    /// Stop the run
    Halt,
}

// === impl BudgetFlags ===

impl BudgetFlags {
    /// Returns the ceiling of all runs of the plan.
    pub(crate) const fn plan_budget(&self) -> Option<u64> {
        self.plan_budget
    }

    /// Returns the budget; `None` without a ceiling.
    pub(crate) fn budget(&self) -> Option<Budget> {
        self.budget_after(None)
    }

    /// Returns the budget of a run that has one: what no flag names stays as it is. `None` without a ceiling.
    fn budget_after(&self, known: Option<&Budget>) -> Option<Budget> {
        let at_ceiling = self.at_ceiling.map(|at| match at {
            At::Warn => AtCeiling::Warn,
            At::Pause => AtCeiling::Pause,
            At::Halt => AtCeiling::Halt,
        });
        self.budget.map(|ceiling| Budget {
            ceiling,
            task: self.task_budget.or(known.and_then(|known| known.task)),
            reserve: self.reserve.or(known.and_then(|known| known.reserve)),
            at_ceiling: at_ceiling.or(known.map(|known| known.at_ceiling)).unwrap_or(AtCeiling::Pause),
        })
    }
}

/// Sets a budget, or prints it.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let mut client = context.daemon()?;
    if let Some((run, task)) = args.run.as_deref().and_then(|run| run.split_once('/')) {
        return of_task(args, (run, task), &mut client, context);
    }
    let plan = args.flags.plan_budget();
    if args.flags.budget.is_some() || args.none || plan.is_some() {
        let known = match args.none {
            true => None,
            false => {
                let about = GetRunRequest { run: args.run.clone(), ..GetRunRequest::default() };
                client.call::<GetRun>(&about)?.summary.budget
            }
        };
        let budget = args.flags.budget_after(known.as_ref()).or(known);
        client.call::<SetBudget>(&SetBudgetRequest { run: args.run.clone(), budget, plan, task: None })?;
    }
    let reply = client.call::<GetRun>(&GetRunRequest { run: args.run.clone(), ..GetRunRequest::default() })?;
    if context.json {
        let (summary, ceilings) = (&reply.summary, &reply.ceilings);
        let (total_micro_usd, is_budget_exceeded) = (reply.total_micro_usd, reply.is_budget_exceeded);
        context.out.json(&Shown { summary, total_micro_usd, is_budget_exceeded, ceilings });
    } else {
        context.out.line(format!("{}: {}", reply.summary.run, described(&reply.summary)));
        reply.ceilings.iter().filter_map(shared).for_each(|line| context.out.line(line));
    }
    Ok(())
}

/// Sets the ceiling of one task.
fn of_task(args: &Args, (run, task): (&str, &str), client: &mut Client, context: &mut Context) -> Outcome {
    let Args { flags, none, .. } = args;
    let bad = |what: &str| Failure::new("request.bad-args", what.to_owned());
    if flags.task_budget.is_some() || flags.plan_budget.is_some() || flags.reserve.is_some() {
        return Err(bad("of one task only --budget or --none is set").into());
    }
    if flags.budget.is_none() && !none {
        return Err(bad("say --budget USD or --none; `switchboard show RUN/TASK` says what it has cost").into());
    }
    let ceiling = TaskCeiling { task: task.to_owned(), ceiling: flags.budget };
    let request = SetBudgetRequest { run: Some(run.to_owned()), budget: None, plan: None, task: Some(ceiling) };
    let reply = client.call::<SetBudget>(&request)?;
    if context.json {
        context.out.json(&reply);
        return Ok(());
    }
    context.out.line(match money(flags.budget) {
        Some(ceiling) => format!("{}/{task} may cost {ceiling}", reply.run),
        None => format!("{}/{task} has no ceiling of its own", reply.run),
    });
    Ok(())
}

/// JSON output: the run without its tasks.
#[derive(serde::Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    summary: &'a RunSummary,
    total_micro_usd: u64,
    is_budget_exceeded: bool,
    ceilings: &'a [Ceiling],
}

/// Describes a ceiling that the run shares with others, in one line.
fn shared(ceiling: &Ceiling) -> Option<String> {
    let whose = match ceiling.of {
        BudgetScope::Run => return None,
        BudgetScope::Plan => "all runs of this plan",
        BudgetScope::Day => "all runs of today (UTC)",
    };
    let (spent, most) = (money(Some(ceiling.spent))?, money(Some(ceiling.ceiling))?);
    let reached = if ceiling.is_reached() { ", reached" } else { "" };
    Some(format!("{whose}: {spent} of {most} spent{reached}, {}", then(ceiling.at_ceiling)))
}

const fn then(at_ceiling: AtCeiling) -> &'static str {
    match at_ceiling {
        AtCeiling::Warn => "then it goes on",
        AtCeiling::Pause => "then it is paused",
        AtCeiling::Halt => "then it is stopped",
    }
}

/// Describes what a run has spent, its ceiling, and the action at the ceiling.
pub(crate) fn described(run: &RunSummary) -> String {
    let spent = run.micro_usd.unwrap_or(0).saturating_add(run.estimated_micro_usd.unwrap_or(0));
    let spent = money(Some(spent)).unwrap_or_default();
    let estimated = match money(run.estimated_micro_usd) {
        Some(estimated) => {
            format!(
                " ({estimated} of it estimated: by the price of tokens, or as its reservation where a worker told nothing)"
            )
        }
        None => String::new(),
    };
    match &run.budget {
        None => format!("{spent} spent{estimated}, no ceiling"),
        Some(budget) => {
            let ceiling = money(Some(budget.ceiling)).unwrap_or_default();
            let then = then(budget.at_ceiling);
            let each = money(budget.task).map(|task| format!(", each task at most {task}")).unwrap_or_default();
            format!("{spent} of {ceiling} spent{estimated}, {then}{each}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_ceiling_leaves_what_no_flag_names() {
        let known = Budget { ceiling: 1, task: Some(2), reserve: Some(3), at_ceiling: AtCeiling::Halt };
        let raised =
            BudgetFlags { budget: Some(9), task_budget: None, plan_budget: None, reserve: None, at_ceiling: None };
        assert_eq!(raised.budget_after(Some(&known)), Some(Budget { ceiling: 9, ..known }));

        let named = BudgetFlags { reserve: Some(4), at_ceiling: Some(At::Warn), ..raised };
        let after = Budget { ceiling: 9, task: Some(2), reserve: Some(4), at_ceiling: AtCeiling::Warn };
        assert_eq!(named.budget_after(Some(&known)), Some(after));
        let new = Budget { ceiling: 9, task: None, reserve: Some(4), at_ceiling: AtCeiling::Warn };
        assert_eq!(named.budget(), Some(new));
    }
}
