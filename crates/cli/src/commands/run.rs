//! `switchboard run`

pub(super) mod agents;
mod auto;
mod checklist;
pub(crate) mod cooperation;
mod follow;
mod line;
mod modes;
pub(super) mod place;
mod preview;
mod question;
mod scope;
mod team;
pub(crate) mod time;

pub(crate) use agents::inherited_env;

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use switchboard_daemon::Launch;
use switchboard_protocol::error::{Exit, Failure};
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::job::Mode;
use switchboard_protocol::plan::{AutoMerge, Plan};
use switchboard_protocol::run::way::UnitId;
use switchboard_protocol::run::{MAX_WORKERS, TeamLimits};
use switchboard_protocol::verb::run::{ResumeRun, ResumeRunRequest, StartRun, StartRunReply, StartRunRequest};

use crate::ask;
use crate::available::Available;
use crate::commands::{example, trust};
use crate::context::Context;
use crate::plan_file;
use crate::report::{Ending, Outcome};
use crate::role_files::RoleFiles;
use crate::settings::Agents;

/// Run a plan with agents in work trees, or continue a run
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: start_run, resume_run, get_run, next_unit")]
pub(crate) struct Args {
    /// The plan: a plan.json or a plan.md; or a request in words, which a team plans and carries out
    #[arg(required_unless_present_any = ["example", "resume"], conflicts_with_all = ["example", "resume"])]
    plan: Option<PathBuf>,
    /// Run a built-in example (`hello`, `team`) in a scratch folder, with scripts that play agents; `hello` when none is named
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = example::DEFAULT, conflicts_with_all = ["resume", "mode", "coordination", "agent_scope", "base"])]
    example: Option<String>,
    /// Continue a run that was interrupted; the newest when none is named
    #[arg(long, value_name = "RUN", num_args = 0..=1, conflicts_with_all = ["mode", "coordination", "agent_scope", "base"])]
    resume: Option<Option<String>>,
    /// Continue with phase after phase until the plan is done or needs you; a team then asks nobody between phases
    #[arg(long, conflicts_with_all = ["example", "resume"])]
    auto: bool,
    #[command(flatten)]
    scope: scope::ScopeFlags,
    /// The agent for tasks that name none
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The model of that agent, in the agent's own name for it; takes precedence over the plan
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["example", "resume"])]
    model: Option<String>,
    /// Print what would happen and start nothing
    #[arg(long)]
    dry_run: bool,
    /// Merge into your branch when every task is merged
    #[arg(long, conflicts_with = "auto_merge")]
    merge: bool,
    /// Whether to merge into your branch when every task is merged; as in the plan when left out, and `confirm` asks you then
    #[arg(long, value_name = "HOW", value_parser = auto_merges(), conflicts_with_all = ["example", "resume"])]
    auto_merge: Option<AutoMerge>,
    /// Run tasks that write the same files in parallel; their changes are judged again on the merged tree
    #[arg(long, conflicts_with_all = ["example", "resume"])]
    no_execution_graph: bool,
    /// Maximum number of workers at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_WORKERS)))]
    max_workers: Option<u32>,
    /// Have so many workers try each task, each in its own tree, and let the gates choose
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=8), conflicts_with_all = ["example", "resume"])]
    best_of: Option<u32>,
    /// Isolation of all workers: with your rights, or with four tools in a sandbox
    #[arg(long, value_name = "HOW", value_parser = isolations(), conflicts_with_all = ["example", "resume"])]
    isolation: Option<Isolation>,
    /// Start constrained workers even if this machine can't enforce all of it
    #[arg(long, conflicts_with_all = ["example", "resume"])]
    unenforced: bool,
    #[command(flatten)]
    team: team::TeamFlags,
    #[command(flatten)]
    cooperation: cooperation::CooperationFlags,
    #[command(flatten)]
    limits: crate::commands::budget::BudgetFlags,
    #[command(flatten)]
    times: time::TimeFlags,
    #[command(flatten)]
    place: place::PlaceFlags,
}

/// Parses the words for [`AutoMerge`].
fn auto_merges() -> impl TypedValueParser<Value = AutoMerge> {
    let words = PossibleValuesParser::new(AutoMerge::ALL.map(AutoMerge::as_str));
    words.map(|word| AutoMerge::of(&word).unwrap_or_default())
}

/// Parses the words for [`Isolation`].
pub(super) fn isolations() -> impl TypedValueParser<Value = Isolation> {
    let words = PossibleValuesParser::new(Isolation::ALL.map(Isolation::as_str));
    words.map(|word| Isolation::of(&word).unwrap_or_default())
}

/// Runs the example, a plan, or the rest of a run.
pub(crate) fn run(args: Args, context: &mut Context) -> Outcome {
    match (&args.example, &args.resume) {
        (Some(name), _) => example::run(name, args.agent.as_deref(), context),
        (None, Some(run)) => resume(run.clone(), context),
        (None, None) => run_plan(args, context),
    }
}

/// A plan and where it was found.
struct Source {
    text: String,
    /// Path of the plan, as shown to people.
    name: String,
    plan: Plan,
}

// === impl Source ===

impl Source {
    /// Returns the source for a run without a plan: a team makes one.
    fn none() -> Self {
        let plan = serde_json::json!({ "schema_version": "1.0.0", "title": "a plan that a team makes", "swarm": "team", "phases": [] });
        let plan = serde_json::from_value(plan).expect("a plan without phases has the shape of one");
        Self { text: String::new(), name: String::new(), plan }
    }
}

/// Returns the request if the argument is one in words: no file has this name, and it doesn't look like a file name. Without `--team` it must have
/// more than one word, so that a misspelt file name is not taken for a request.
fn wish(is_team: bool, path: &Path, context: &Context) -> Option<String> {
    let words = path.to_str()?;
    let is_file = context.resolve(path).exists();
    let is_named_like_one = matches!(path.extension().and_then(|end| end.to_str()), Some("json" | "md"));
    let is_request = match (is_team, words.contains(char::is_whitespace)) {
        (true, true) => true,
        (true, false) => !words.contains('/') && !is_named_like_one,
        (false, true) => !is_named_like_one,
        (false, false) => false,
    };
    (is_request && !is_file).then(|| words.to_owned())
}

fn run_plan(mut args: Args, context: &mut Context) -> Outcome {
    let path = args.plan.take().unwrap_or_default();
    let path = path.as_path();
    let wish = wish(args.team.team, path, context);
    args.team.team |= wish.is_some();
    args.team.expect_team()?;
    let source = match &wish {
        Some(_) => Source::none(),
        None => read(path, context)?,
    };
    let args = &args;
    let scope = args.scope.unit()?;
    let plan = scope.as_ref().map_or_else(|| source.plan.clone(), |unit| unit.of_plan(&source.plan));
    let is_team = args.team.is_team(&source.plan);
    let settings = context.environment.config_folder();
    let settings = settings.as_deref().map(Agents::read).transpose()?.unwrap_or_default();
    let files = if is_team { Available::read(context)?.role_files() } else { RoleFiles::default() };
    let roles = args.team.choices(&source.plan, &settings, &files)?;
    let has = args.team.has();
    let named = agents::Named {
        agent: args.agent.as_deref(),
        roles: is_team.then_some(roles.as_slice()),
        has: &has,
        coders: &args.team.coders,
        plans: wish.is_some(),
        model: args.model.as_deref(),
        scope: args.cooperation.agent_scope.unwrap_or_default(),
        debates: args.cooperation.mode == Some(Mode::Debate) && !matches!(scope, Some(UnitId::Task(_))),
    };
    let mut choice = agents::choose(&plan, named, context)?;
    if files.has_untrusted() {
        let lack = "role files of this repository don't count until you trust them: switchboard trust";
        choice.lacks.push(lack.to_owned());
    }
    if wish.is_some() {
        // The team's plan does not exist yet; its commands are checked before it is run.
    } else if args.dry_run {
        trust::preview(&source.text, &source.name, context)?;
    } else {
        trust::require(&source.text, &source.name, path, context)?;
    }
    let worktrees = args.place.worktrees(context);
    let request = StartRunRequest {
        plan: source.text,
        source: source.name,
        agents: choice.agents,
        setup_env: context.environment.proxies(),
        default_agent: choice.default,
        team: is_team && !args.team.team,
        roles,
        turbo: args.team.turbo,
        team_limits: if is_team { settings.team } else { TeamLimits::default() },
        drive: args.team.drive(wish, args.auto),
        scope,
        max_workers: args.max_workers,
        worktrees: worktrees.as_ref().map(|(folder, _)| folder.clone()),
        base_path: None,
        base: args.place.base.clone(),
        merge: args.merge,
        auto_merge: args.auto_merge,
        best_of: args.best_of,
        worker_timeout_ms: args.times.timeout(),
        budget: args.limits.budget(),
        plan_budget: args.limits.plan_budget(),
        isolation: args.isolation,
        unenforced: args.unenforced,
        job: None,
        mode: args.cooperation.mode,
        coordination: args.cooperation.coordination.unwrap_or_default(),
        turn: None,
        dry_run: true,
        use_execution_graph: !args.no_execution_graph,
        parent_trace: None,
        ends_daemon: false,
    };
    let shown = Shown {
        plan: &source.plan,
        lacks: &choice.lacks,
        dry_run: args.dry_run,
        is_apart: request.use_execution_graph,
        worktrees_from: worktrees.map(|(_, from)| from),
        keeps_answers_only: false,
    };
    if args.auto && !args.team.team {
        return auto::run(request, shown, &choice.spends, context);
    }
    start(request, shown, &choice.spends, context)
}

/// What is shown of a run before it starts.
pub(super) struct Shown<'a> {
    pub(super) plan: &'a Plan,
    /// What some of its agents lack on this machine.
    pub(super) lacks: &'a [String],
    /// True if the run is only shown, not started.
    pub(super) dry_run: bool,
    /// True if tasks that write the same files run one after the other.
    pub(super) is_apart: bool,
    /// Flag or variable that names the folder for work trees.
    pub(super) worktrees_from: Option<&'static str>,
    /// True if only what the agents say is kept.
    pub(super) keeps_answers_only: bool,
}

/// Shows what a run would do, starts it after confirmation, and follows it. `spends` names the agents that cost money.
pub(super) fn start(
    mut request: StartRunRequest,
    shown: Shown<'_>,
    spends: &[String],
    context: &mut Context,
) -> Outcome {
    let (mut client, started) = context.daemon_for(Launch { ends_with_run: true })?;
    let preview = client.call::<StartRun>(&request)?;
    show_preview(preview, &shown, context);
    if shown.dry_run {
        return Ok(());
    }
    refuse_to_spend_unasked(spends, context)?;
    if !context.environment.says_yes && context.can_ask() && !ask::yes("Start?", true)? {
        context.out.line("nothing was started");
        return Err(Ending::Said(Exit::Person));
    }
    request.dry_run = false;
    request.ends_daemon = started;
    // A person may have taken longer to answer than an unused daemon waits, so it is looked for again.
    let (mut client, _) = context.daemon_for(Launch { ends_with_run: true })?;
    let reply = client.call::<StartRun>(&request)?;
    if let (true, Some(run)) = (reply.already, &reply.run)
        && !context.json
    {
        context.out.line(format!("{run} does this already: following it"));
    }
    let run =
        reply.run.ok_or_else(|| Failure::new("daemon.other-version", "the daemon started a run without an id"))?;
    follow::follow(client, &run, reply.cursor, reply.auto_merge, context)
}

/// Rejects a run that costs money without a person's confirmation: at the terminal, where it is asked for next, or by `--yes`.
fn refuse_to_spend_unasked(spends: &[String], context: &Context) -> Result<(), Failure> {
    if spends.is_empty() || context.environment.says_yes || context.can_ask() {
        return Ok(());
    }
    let what = format!("runs with {} cost money, and nobody is asked here", spends.join(", "));
    Err(Failure::new("agent.spends", what).hint("look at it with --dry-run, then add --yes"))
}

fn show_preview(mut preview: StartRunReply, shown: &Shown<'_>, context: &mut Context) {
    preview.notes.extend(shown.lacks.iter().cloned());
    if !context.json {
        preview::print(&preview, shown, context);
    } else if shown.dry_run {
        context.out.json(&preview);
    }
}

fn resume(run: Option<String>, context: &mut Context) -> Outcome {
    let (mut client, started) = context.daemon_for(Launch { ends_with_run: true })?;
    let env = inherited_env(context);
    let reply = client.call::<ResumeRun>(&ResumeRunRequest { run, tasks: Vec::new(), ends_daemon: started, env })?;
    if !context.json {
        context.out.line(format!("{} is {}", reply.run, reply.state));
    }
    follow::follow(client, &reply.run, reply.cursor, AutoMerge::Manual, context)
}

fn read(path: &Path, context: &Context) -> Result<Source, Failure> {
    let name = path.display().to_string();
    let text = plan_file::read(path, context)?;
    let plan = switchboard_daemon::trust::plan(&text, &name)?;
    Ok(Source { text, name, plan })
}
