//! Start specification of a worker's shim: the agent's program and environment, its prompt, tools, limits and
//! isolation.

use switchboard_pipeline::settings::Settings;
use switchboard_pipeline::subtasks::{self, Shape};
use switchboard_pipeline::team::retry::Retry;
use switchboard_protocol::frame::{
    DriverSpec, FRAME_VERSION, McpCommand, SANDBOX_VERSION, TOOL_LIST_VERSION, WorkerLimits, WorkerSpec, WrapUp,
};
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::Refusal;
use switchboard_protocol::verb::run::AgentChoice;
use switchboard_protocol::worker::PortRange;

use super::{Judged, WorkerSetup};
use crate::effect::context::Ctx;
use crate::{Error, isolation, plan, prompt, worker_messages};

/// Maximum number of messages in a first prompt; `check_inbox` or a later turn delivers the others.
const FIRST_MAIL: usize = 10;

/// Returns the specification for the shim's start.
pub(super) fn spec(
    ctx: &Ctx,
    id: &TaskId,
    attempt: u32,
    setup: WorkerSetup,
    refusals: &[Refusal],
) -> Result<WorkerSpec, Error> {
    let (folder, is_kept_out) = (setup.path(ctx, id), setup.is_kept_out(ctx));
    let cwd = plan::text(&folder);
    let WorkerSetup {
        worker,
        token,
        choice,
        task,
        settings,
        start_point,
        ports,
        replies,
        isolation,
        plan_state,
        judged,
        model: (model, _),
        temperature,
        role_text,
        retry,
        note,
        is_by_hand,
        first: _,
    } = setup;
    let usual = Shape::default();
    let shape = ctx.plan.shape(id).unwrap_or(&usual);
    let sandbox = isolation::sandbox(ctx, isolation, &choice, settings.hosts.as_deref(), is_kept_out);
    let previous = prompt::Previous {
        role: role_text,
        retry: retry.as_ref().map(Retry::render),
        work: subtasks::prompt(shape, &task.description, |task| replies.of(task)),
        result: shape.result,
        is_proposal: shape.is_proposal,
        refusals,
        has_change: start_point.content.as_ref() != Some(&start_point.base),
        denied: switchboard_needs::denied_to(&ctx.world.store, &ctx.plan.run, id.as_str())?,
        allowed: allowed(ctx, id)?,
        advice: note,
        notes: switchboard_needs::notes(&ctx.world.store, &ctx.plan.run, id.as_str())?,
        may_ask: !isolation.is_full(),
        plan_state,
        has_tools: !matches!(choice.driver, DriverSpec::Exec { .. }) && ctx.plan.coordination.is_managed(),
    };
    let is_guarded = settings.team || judged.is_some();
    let is_prompted = !matches!(choice.driver, DriverSpec::Exec { .. });
    let permissions = choice.permissions.in_plan(settings.permissions);
    let temperature_args = temperature.as_deref().map(|text| choice.temperature_arguments(text)).unwrap_or_default();
    let (model_args, model_env) = model.as_deref().map(|model| choice.model_arguments(model)).unwrap_or_default();
    let model_given = model.is_some() && choice.takes_model();
    let is_managed = is_prompted && ctx.plan.coordination.is_managed();
    // Messages that are not in the prompt of a worker that judges must not count as seen.
    let mail = match is_prompted && judged.is_none() {
        true if is_managed => ctx.world.ports.mail.waiting(&choice.name, FIRST_MAIL)?,
        true => worker_messages::unseen(&ctx.world, (&ctx.plan.run, id), &choice.name, FIRST_MAIL)?,
        false => Vec::new(),
    };
    let identity = identity(ctx, id, (attempt, judged.as_ref()), &worker, &token, &choice);
    let mut env = ctx.world.config.env.clone();
    env.extend(choice.env.iter().filter(|(name, _)| !model_env.iter().any(|(told, _)| told == name)).cloned());
    env.extend(model_env);
    env.extend(ports.into_iter().flat_map(PortRange::env));
    env.extend(identity.iter().cloned());
    // The folder for work trees may lie in the repository.
    let around = folder.parent().filter(|_| is_kept_out);
    env.extend(around.map(|around| ("GIT_CEILING_DIRECTORIES".to_owned(), plan::text(around))));
    Ok(WorkerSpec {
        v: match &sandbox {
            Some(sandbox) if !sandbox.tools.is_empty() => TOOL_LIST_VERSION,
            Some(_) => SANDBOX_VERSION,
            None => FRAME_VERSION,
        },
        prompt: match &judged {
            Some(judged) => judged.prompt(ctx, &task, attempt, &choice.instructions, previous.has_tools),
            None => prompt::first(&ctx.plan, &task, attempt, &choice.instructions, &previous, &mail),
        },
        mail: mail.into_iter().map(|message| message.id).collect(),
        folder: plan::text(&plan::worker_folder(&ctx.world.config, &ctx.plan.run, &worker)),
        worker,
        run: ctx.plan.run.clone(),
        task: id.to_string(),
        agent: choice.name,
        attempt,
        driver: with_args(choice.driver, [model_args, temperature_args].concat()),
        permissions,
        model,
        model_given,
        cwd,
        socket: plan::text(&ctx.world.config.socket),
        token,
        mcp: is_managed.then(|| bridge(ctx, identity)),
        env,
        limits: limits(ctx, &settings, is_by_hand, is_guarded),
        by_hand: is_by_hand,
        wrap_up: is_prompted.then(|| wrap_up(&settings)),
        sandbox,
        signals: Some(plan::text(&plan::signals_folder(&ctx.world.config, &ctx.plan.run))),
    })
}

/// Returns a driver with additional arguments for its program.
fn with_args(driver: DriverSpec, more: Vec<String>) -> DriverSpec {
    let with = |argv: Vec<String>| argv.into_iter().chain(more).collect();
    match driver {
        DriverSpec::Acp { argv } => DriverSpec::Acp { argv: with(argv) },
        DriverSpec::Exec { argv } => DriverSpec::Exec { argv: with(argv) },
    }
}

/// Returns the titles of what a person has allowed the task since it was denied.
fn allowed(ctx: &Ctx, id: &TaskId) -> Result<Vec<String>, Error> {
    let allowed = switchboard_needs::allowed_since(&ctx.world.store, &ctx.plan.run, id.as_str())?;
    Ok(allowed.into_iter().map(|need| need.title).collect())
}

/// Returns the identity of the worker, for itself and the processes it starts. The token is its authority towards the
/// daemon.
fn identity(
    ctx: &Ctx,
    id: &TaskId,
    (attempt, judged): (u32, Option<&Judged>),
    worker: &WorkerId,
    token: &str,
    choice: &AgentChoice,
) -> Vec<(String, String)> {
    let of_step = judged.map(|judged| {
        [("SWITCHBOARD_STEP", judged.step.to_string()), ("SWITCHBOARD_ROLE", judged.work.role.to_string())]
    });
    let own = [
        ("SWITCHBOARD_WORKER", worker.to_string()),
        ("SWITCHBOARD_AGENT", choice.name.to_string()),
        ("SWITCHBOARD_RUN", ctx.plan.run.to_string()),
        ("SWITCHBOARD_TASK", id.to_string()),
        ("SWITCHBOARD_ATTEMPT", attempt.to_string()),
        ("SWITCHBOARD_TOKEN", token.to_owned()),
        ("SWITCHBOARD_SOCKET", plan::text(&ctx.world.config.socket)),
    ];
    own.into_iter().chain(of_step.into_iter().flatten()).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn bridge(ctx: &Ctx, identity: Vec<(String, String)>) -> McpCommand {
    let argv = vec![plan::text(&ctx.world.config.binary), "mcp".to_owned()];
    McpCommand { name: "switchboard".to_owned(), argv, env: identity }
}

/// Returns when the agent is told to finish. An agent that takes no second prompt is not told.
fn wrap_up(settings: &Settings) -> WrapUp {
    let (told_at, ends_at) = settings.limits_ms();
    let after_ms = u64::try_from(told_at).unwrap_or(0);
    WrapUp { after_ms, notice: prompt::wrap_up(ends_at.saturating_sub(told_at)) }
}

fn limits(ctx: &Ctx, settings: &Settings, is_by_hand: bool, is_guarded: bool) -> WorkerLimits {
    let mut limits = ctx.world.config.limits;
    if let Some(limit) = settings.timeout_ms {
        // The engine stops a late attempt itself; the shim's limit is only a fallback.
        limits.wall_ms = u64::try_from(limit).unwrap_or(0) + 60_000;
    }
    if is_guarded {
        // The step of a silent worker is taken back; the shim's limit is only a fallback.
        limits.idle_ms = u64::from(ctx.plan.limits.stale_minutes + 1) * 60_000;
    }
    if is_by_hand {
        // A placeholder worker prints nothing.
        limits.idle_ms = limits.wall_ms;
    }
    limits
}
