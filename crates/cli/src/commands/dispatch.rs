//! `switchboard dispatch`

use switchboard_protocol::error::Failure;
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::job::{Job, JobTask, Mode};
use switchboard_protocol::plan::TaskResult;
use switchboard_protocol::run::{MAX_WORKERS, TeamLimits};
use switchboard_protocol::verb::run::StartRunRequest;

use crate::commands::budget::BudgetFlags;
use crate::commands::run::cooperation::CooperationFlags;
use crate::commands::run::place::PlaceFlags;
use crate::commands::run::time::TimeFlags;
use crate::commands::run::{self, Shown, agents, isolations};
use crate::context::Context;
use crate::report::Outcome;

/// Have agents do something that is in no plan, and print their answers
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: start_run")]
pub(crate) struct Args {
    /// The task; several for `parallel`, the steps of a `chain` (`{previous}` is the answer of the step before), or the positions in a `debate`
    #[arg(required_unless_present = "topic")]
    tasks: Vec<String>,
    /// The agent; several times: one for each task, in their order
    #[arg(long, value_name = "NAME")]
    agent: Vec<String>,
    /// The topic of a debate
    #[arg(long, value_name = "TEXT")]
    topic: Option<String>,
    /// The agent that decides at the end of a debate; the first participant's agent when left out
    #[arg(long, value_name = "NAME", requires = "topic")]
    decides: Option<String>,
    /// Number of rounds of a debate
    #[arg(long, value_name = "N", requires = "topic")]
    rounds: Option<u32>,
    /// How many participants must reply in a round of a debate
    #[arg(long, value_name = "N", requires = "topic")]
    quorum: Option<u32>,
    /// Merge the changes into the run's branch once the gates have passed them; otherwise only the answers are kept
    #[arg(long)]
    change: bool,
    /// Have so many workers try each task, each in its own tree, and let the gates choose; their answers are not kept
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=8), conflicts_with = "topic")]
    best_of: Option<u32>,
    #[command(flatten)]
    cooperation: CooperationFlags,
    /// Isolation of all workers: with your rights, or with four tools in a sandbox
    #[arg(long, value_name = "HOW", value_parser = isolations())]
    isolation: Option<Isolation>,
    /// Start constrained workers even if this machine can't enforce all of it
    #[arg(long)]
    unenforced: bool,
    /// Maximum number of workers at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_WORKERS)))]
    max_workers: Option<u32>,
    #[command(flatten)]
    limits: BudgetFlags,
    #[command(flatten)]
    times: TimeFlags,
    #[command(flatten)]
    place: PlaceFlags,
    /// Print what would happen and start nothing
    #[arg(long)]
    dry_run: bool,
}

/// Starts a job and follows it.
pub(crate) fn run(args: &Args, context: &mut Context) -> Outcome {
    let (job, mode) = args.job()?;
    let text = job.plan(mode);
    let plan = switchboard_daemon::trust::plan(&text, "job.json")?;
    let one_agent = args.agent.first().filter(|_| args.agent.len() == 1);
    let scope = args.cooperation.agent_scope.unwrap_or_default();
    let named = agents::Named {
        agent: one_agent.map(String::as_str),
        model: None,
        roles: None,
        has: &[],
        coders: &[],
        plans: false,
        scope,
        debates: false,
    };
    let choice = agents::choose(&plan, named, context)?;
    let worktrees = args.place.worktrees(context);
    let request = StartRunRequest {
        plan: String::new(),
        source: "job.json".to_owned(),
        job: Some(job),
        mode: Some(mode),
        coordination: args.cooperation.coordination.unwrap_or_default(),
        agents: choice.agents,
        setup_env: context.environment.proxies(),
        default_agent: choice.default,
        team: false,
        roles: Vec::new(),
        turbo: false,
        team_limits: TeamLimits::default(),
        drive: None,
        scope: None,
        base_path: None,
        base: args.place.base.clone(),
        max_workers: args.max_workers,
        worktrees: worktrees.as_ref().map(|(folder, _)| folder.clone()),
        merge: false,
        auto_merge: None,
        best_of: args.best_of,
        worker_timeout_ms: args.times.timeout(),
        budget: args.limits.budget(),
        plan_budget: args.limits.plan_budget(),
        isolation: args.isolation,
        unenforced: args.unenforced,
        turn: None,
        dry_run: true,
        use_execution_graph: true,
        parent_trace: None,
        ends_daemon: false,
    };
    let shown = Shown {
        plan: &plan,
        lacks: &choice.lacks,
        dry_run: args.dry_run,
        is_apart: true,
        worktrees_from: worktrees.map(|(_, from)| from),
        keeps_answers_only: !args.change && args.best_of.is_none(),
    };
    run::start(request, shown, &choice.spends, context)
}

// === impl Args ===

impl Args {
    /// Builds the job and its mode.
    fn job(&self) -> Result<(Job, Mode), Failure> {
        // Participants of a debate need no task: each agent counts as one.
        let count = if self.topic.is_some() { self.tasks.len().max(self.agent.len()) } else { self.tasks.len() };
        if self.agent.len() > 1 && self.agent.len() != count {
            let what = format!("{} agents are named for {count} tasks", self.agent.len());
            return Err(Failure::new("request.bad-args", what).hint("name one for all, or one for each").at("agent"));
        }
        // One agent is the run's; several belong to one task each.
        let agent = |at: usize| self.agent.get(at).filter(|_| self.agent.len() > 1).cloned();
        let task = |at: usize| JobTask {
            task: self.tasks.get(at).cloned().unwrap_or_default(),
            agent: agent(at),
            model: None,
        };
        let decides = || self.decides.clone().or_else(|| agent(0));
        let topic = self.topic.as_ref().map(|topic| JobTask { task: topic.clone(), agent: decides(), model: None });
        let result = (self.change || self.best_of.is_some()).then_some(TaskResult::Change);
        let tasks = (0..count).map(task).collect();
        let job = Job { tasks, topic, rounds: self.rounds, quorum: self.quorum, result, attempts: None };
        let mode = self.cooperation.mode.unwrap_or_else(|| job.usual_mode());
        match job.unsupported_field(mode) {
            None => Ok((job, mode)),
            Some((field, why)) => Err(Failure::new("request.bad-args", why).at(field)),
        }
    }
}
