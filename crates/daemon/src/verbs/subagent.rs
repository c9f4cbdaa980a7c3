//! `subagent`: a client of the verbs on runs. It starts no worker itself.

use std::time::Duration;

use switchboard_dispatch::Continuation;
use switchboard_pipeline::subagent::{self, Launch};
use switchboard_protocol::caller::CallerKind;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::RunId;
use switchboard_protocol::job::{Job, JobTask, Mode};
use switchboard_protocol::run::TeamLimits;
use switchboard_protocol::verb::run::StartRunRequest;
use switchboard_protocol::verb::subagent::{Subagent, SubagentAction, SubagentReply, SubagentRequest};

use super::Verbs;
use super::context::Context;
use super::route::Handle;
use crate::agents::{self, JobRequest};

/// Default wait of a launch for results, in milliseconds: below the minute after which clients give up on a tool.
const DEFAULT_WAIT: u64 = 45_000;

/// Maximum wait of a launch, in milliseconds.
const MAX_WAIT: u64 = 600_000;

impl Handle<Subagent> for Verbs {
    async fn handle(&self, call: &Context, request: SubagentRequest) -> Result<SubagentReply, Failure> {
        if request.wait_ms.is_some_and(|wait| wait > MAX_WAIT) {
            let what = format!("a call waits at most {MAX_WAIT} milliseconds");
            return Err(Failure::new("request.bad-args", what).at("wait_ms"));
        }
        let mut notes = Vec::new();
        let (run, usual) = match request.action {
            SubagentAction::Launch => {
                let launch = subagent::launch(&request)?;
                // Only agents: a person who repeats a request does so on purpose.
                let is_agent = call.caller.kind != CallerKind::Person;
                if let (true, Mode::Single, [one]) = (is_agent, launch.mode, launch.job.tasks.as_slice()) {
                    let agent = request.agent.as_ref().map(ToString::to_string).unwrap_or_default();
                    notes.extend(self.dispatch.delegated(call.caller.name.as_str(), &agent, &one.task)?);
                }
                (self.launch(call, &request, launch).await?, DEFAULT_WAIT)
            }
            SubagentAction::Status => (self.dispatch.run_named(subagent::named(&request)?)?, 0),
            SubagentAction::Resume => (self.go_on(call, &request).await?, DEFAULT_WAIT),
        };
        let limit = Duration::from_millis(request.wait_ms.unwrap_or(usual));
        self.dispatch.wait_for_run(&run, limit).await?;
        Ok(SubagentReply { notes, ..self.dispatch.subagent(&run).await? })
    }
}

// === impl Verbs ===

impl Verbs {
    /// Starts the run of a job.
    async fn launch(&self, call: &Context, request: &SubagentRequest, launch: Launch) -> Result<RunId, Failure> {
        let Launch { job, mode } = launch;
        let folder = call.caller.folder.clone().unwrap_or_else(|| self.place.root.clone());
        let scope = request.agent_scope;
        let wanted = JobRequest { job: job.clone(), mode, agent: request.agent.clone(), scope };
        let found = agents::found(self.dispatch.binary(), &folder, wanted).await?;
        let start = StartRunRequest {
            plan: String::new(),
            job: Some(job),
            mode: Some(mode),
            coordination: subagent::coordination(request),
            source: "job.json".to_owned(),
            agents: found.agents,
            setup_env: Vec::new(),
            default_agent: found.default,
            team: false,
            roles: Vec::new(),
            turbo: false,
            team_limits: TeamLimits::default(),
            drive: None,
            scope: None,
            base_path: None,
            base: None,
            max_workers: None,
            worktrees: None,
            merge: false,
            auto_merge: None,
            best_of: None,
            worker_timeout_ms: None,
            budget: None,
            plan_budget: None,
            isolation: Some(subagent::isolation(request)),
            unenforced: false,
            use_execution_graph: true,
            parent_trace: request.parent_trace.clone(),
            turn: None,
            dry_run: false,
            ends_daemon: false,
        };
        let started = self.dispatch.start_run(start, &call.caller, call.idempotency.clone()).await?;
        started.run.ok_or_else(|| Failure::new("internal.bug", "a run was started without an id"))
    }

    /// Continues a job that has ended.
    async fn go_on(&self, call: &Context, request: &SubagentRequest) -> Result<RunId, Failure> {
        let named = subagent::named(request)?;
        if request.follow_up.is_none() && request.agent.is_some() {
            let what = "what failed is tried again by who did it; another agent takes a follow-up";
            return Err(Failure::new("request.bad-args", what).at("agent"));
        }
        let follow_up = request.follow_up.as_deref();
        match self.dispatch.go_on(named, follow_up, call.idempotency.clone()).await? {
            Continuation::Same(run) => Ok(run),
            Continuation::Fresh { task, agent } => {
                let agent = request.agent.as_ref().map_or(agent, ToString::to_string);
                let one = JobTask { task, agent: Some(agent), model: None };
                let job = Job { tasks: vec![one], attempts: Some(1), ..Job::default() };
                self.launch(call, request, Launch { job, mode: Mode::Single }).await
            }
        }
    }
}
