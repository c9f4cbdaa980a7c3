//! Start request of a simulated run.

use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::job::Coordination;
use switchboard_protocol::run::TeamLimits;
use switchboard_protocol::verb::run::{AgentChoice, StartRunRequest};

use super::stage::Stage;

/// Returns the request for a run of a plan.
pub(super) fn request(stage: &Stage, plan: &str) -> Result<StartRunRequest, Failure> {
    let agent = |name: &str| {
        let driver = DriverSpec::Acp { argv: vec!["agent".to_owned()] };
        AgentName::new(name).map(|name| AgentChoice::new(name, driver))
    };
    let bad = |error: switchboard_protocol::id::IdError| Failure::new("internal.bug", error.to_string());
    let (ann, ben) = (agent("ann").map_err(bad)?, agent("ben").map_err(bad)?);
    Ok(StartRunRequest {
        team: false,
        roles: Vec::new(),
        turbo: false,
        team_limits: TeamLimits::default(),
        drive: None,
        plan: plan.to_owned(),
        source: "plan.json".to_owned(),
        setup_env: Vec::new(),
        default_agent: Some(ann.name.clone()),
        agents: vec![ann, ben],
        scope: None,
        base_path: None,
        base: None,
        max_workers: Some(stage.spec.max_workers.unwrap_or_else(|| 1 + u32::try_from(stage.below(4)).unwrap_or(0))),
        worktrees: None,
        merge: stage.chance(200),
        auto_merge: None,
        best_of: None,
        worker_timeout_ms: None,
        budget: stage.budget,
        plan_budget: None,
        isolation: None,
        unenforced: false,
        job: None,
        mode: None,
        coordination: Coordination::Managed,
        turn: None,
        dry_run: false,
        use_execution_graph: true,
        parent_trace: None,
        ends_daemon: false,
    })
}
