//! `switchboard budget`, and the flags of `run` that set one.

use switchboard_protocol::run::{AtCeiling, Budget};
use switchboard_protocol::verb::run::{GetRun, GetRunRequest, RunSummary, SetBudget, SetBudgetRequest};

use crate::context::Context;
use crate::output::{micro_usd, money};
use crate::report::Outcome;

/// Show or set what a run may cost
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: set_budget, get_run")]
pub(crate) struct Args {
    /// The run, or the beginning of its id; the newest when left out
    run: Option<String>,
    #[command(flatten)]
    flags: BudgetFlags,
    /// Lift the ceiling
    #[arg(long, conflicts_with = "budget")]
    none: bool,
}

/// The flags that set a budget.
#[derive(Debug, clap::Args)]
pub(crate) struct BudgetFlags {
    /// Ceiling in dollars, e.g. 5 or 0.75
    #[arg(long, value_name = "USD", value_parser = micro_usd)]
    budget: Option<u64>,
    /// Ceiling of each task in dollars, with all its workers
    #[arg(long, value_name = "USD", value_parser = micro_usd, requires = "budget")]
    task_budget: Option<u64>,
    /// What is set aside for a worker before it starts, in dollars; told from earlier workers of the run without it
    #[arg(long, value_name = "USD", value_parser = micro_usd, requires = "budget")]
    reserve: Option<u64>,
    /// What happens at the ceiling
    #[arg(long, value_name = "WHAT", value_enum, requires = "budget", default_value_t = At::Pause)]
    at_ceiling: At,
}

/// What happens at the ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum At {
    /// It is said, and the run goes on
    Warn,
    /// Turns are cancelled; the run goes on once the ceiling is raised
    Pause,
    /// The run is stopped
    Halt,
}

// === impl BudgetFlags ===

impl BudgetFlags {
    /// Returns the budget; `None` without a ceiling.
    pub(crate) fn budget(&self) -> Option<Budget> {
        let at_ceiling = match self.at_ceiling {
            At::Warn => AtCeiling::Warn,
            At::Pause => AtCeiling::Pause,
            At::Halt => AtCeiling::Halt,
        };
        self.budget.map(|ceiling| Budget { ceiling, task: self.task_budget, reserve: self.reserve, at_ceiling })
    }
}

/// Sets a budget, or shows it.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let mut client = context.daemon()?;
    let budget = args.flags.budget();
    if budget.is_some() || args.none {
        client.call::<SetBudget>(&SetBudgetRequest { run: args.run.clone(), budget })?;
    }
    let reply = client.call::<GetRun>(&GetRunRequest { run: args.run.clone(), diff: false })?;
    if context.json {
        context.out.json(&reply.summary);
    } else {
        context.out.line(format!("{}: {}", reply.summary.run, described(&reply.summary)));
    }
    Ok(())
}

/// What is spent, of how much, and what happens then.
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
            let then = match budget.at_ceiling {
                AtCeiling::Warn => "then it goes on",
                AtCeiling::Pause => "then it is paused",
                AtCeiling::Halt => "then it is stopped",
            };
            let each = money(budget.task).map(|task| format!(", each task at most {task}")).unwrap_or_default();
            format!("{spent} of {ceiling} spent{estimated}, {then}{each}")
        }
    }
}
