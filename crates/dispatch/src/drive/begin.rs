//! Starts a run that a team leads. All refusals happen before anything starts.

use std::collections::BTreeSet;

use serde_json::json;
use switchboard_pipeline::modes::facts_of_plan;
use switchboard_pipeline::{plan_hash, plan_json, roles};
use switchboard_process::git::Oid;
use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{Digest, RunId};
use switchboard_protocol::modes::{ModeEvent, OptionalSteps, Proceed, Setup as Begun};
use switchboard_protocol::plan::{AutoMerge, Plan};
use switchboard_protocol::role::{RoleName, Zone};
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::run::way::RoleId;
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::lead::LEASE_MS;
use switchboard_protocol::verb::run::{Drive, MAX_REQUEST, RoleChoice, StartRunReply, StartRunRequest};
use switchboard_store::{Batch, Idempotency, Query};

use super::earlier;
use super::phase::is_of_tasks;
use super::record::Record;
use super::setup::Setup;
use crate::error::shape;
use crate::future::BoxFuture;
use crate::verb::start_run;
use crate::work::{RUNS, run_id};
use crate::{Dispatch, Error, plan, progress};

/// Maximum number of earlier runs of the same plan that are examined, newest first.
const EARLIER: u64 = 20;

// === impl Dispatch ===

impl Dispatch {
    /// Starts a run that a team leads; a dry run returns what is known about the run before it begins.
    ///
    /// # Errors
    /// When the request, its plan, the repository or the agents are at fault, or the store fails.
    pub(crate) fn start_driven<'a>(
        &'a self,
        mut request: StartRunRequest,
        caller: &'a Caller,
        call: Option<Idempotency>,
    ) -> BoxFuture<'a, Result<StartRunReply, Error>> {
        Box::pin(async move {
            let drive = request.drive.take().unwrap_or_default();
            fits(&request, &drive)?;
            let given = match request.plan.is_empty() {
                true => None,
                false => Some(plan::read(&request.plan, &request.source)?),
            };
            let is_dry = request.dry_run;
            let mut reply = self.probe(&request, &drive, given.as_ref(), caller).await?;
            let retrospectives = earlier::retrospectives(&self.world.store, None)?.len();
            reply.notes.extend(left_out(drive.steps, retrospectives));
            if is_dry {
                return Ok(reply);
            }
            let run = self.world.fresh_run()?;
            let title = match (&given, &drive.request) {
                (Some(plan), _) => plan.title.clone(),
                (None, request) => first_line(request.as_deref().unwrap_or_default()),
            };
            (reply.branch, reply.run) = (format!("switchboard/{run}"), Some(run.clone()));
            let setup = Setup {
                template: template(&request, caller),
                title: cut(&title, progress::TITLE),
                by: caller.name.clone(),
            };
            setup.write(&self.world, &run).await?;
            let (approved, from_phase) = match &given {
                Some(plan) => self.earlier(plan, &reply.base).await?,
                None => (None, None),
            };
            let begun = Begun {
                request: drive.request.as_ref().map(|text| Digest::of(text.as_bytes())),
                plan: given.as_ref().map(facts_of_plan),
                approved,
                from_phase,
                retrospectives: u32::try_from(retrospectives).unwrap_or(u32::MAX),
                is_empty_project: self.is_empty(&reply.base).await?,
                person: caller.name.clone(),
                proceed: proceed(&drive, given.as_ref()),
                steps: drive.steps,
                limits: request.team_limits.into(),
            };
            let body = given.as_ref().map(plan_json::write).or(drive.request).unwrap_or_default();
            let tree = start_run::tree(&self.world, &request, caller).await?.tree_name();
            let configured = configured(&run, (&request, tree), &setup, &reply, given.as_ref());
            let configured =
                NewEvent::of(&configured, format!("run/{run}"), caller.name.as_str()).map_err(shape("a run"))?;
            let record = Record::fold(&self.world.store, &run)?;
            let (begins, begun) = record.draft(ModeEvent::Began { setup: begun }, body, caller.name.as_str())?;
            let mut batch = Batch::synced().event(configured).event(begins);
            if let Some(agent) = drive.lead {
                let fence = begun.next_fence();
                let taken = ModeEvent::SeatTaken { agent, fence, lease_ms: LEASE_MS, by: caller.name.clone() };
                let (taken, _) = Record::draft_after(&begun, (&run, caller.name.as_str()), taken, String::new())?;
                batch = batch.event(taken);
            }
            if let Some(budget) = request.budget {
                let set = RunEvent::BudgetSet { budget: Some(budget), plan: None, day: false };
                batch = batch
                    .event(NewEvent::of(&set, format!("run/{run}"), caller.name.as_str()).map_err(shape("a budget"))?);
            }
            batch.idempotency = call;
            batch.reply = serde_json::to_value(&reply).map_err(shape("a reply"))?;
            // Held until the driver exists, so that a call from the architect's seat waits for it.
            let _starting = self.world.starting.lock().await;
            let committed = self.world.commit(batch).await?;
            self.world.crash("run-recorded");
            if !committed.repeated {
                self.start_driver(&run, None).await?;
            }
            serde_json::from_value(committed.reply).map_err(shape("a reply"))
        })
    }

    /// Checks what a start would refuse: the plan as it would run phase by phase, or the roles that are asked first.
    async fn probe(
        &self,
        request: &StartRunRequest,
        drive: &Drive,
        given: Option<&Plan>,
        caller: &Caller,
    ) -> Result<StartRunReply, Error> {
        check_roles(&request.roles, &drive.steps.roles())?;
        let (asked, roles) = questions(drive);
        let ask = StartRunRequest {
            plan: asked.to_string(),
            source: "team.json".to_owned(),
            team: false,
            turbo: false,
            dry_run: true,
            roles: request.roles.iter().filter(|choice| roles.contains(&choice.role)).cloned().collect(),
            ..request.clone()
        };
        let reply = Box::pin(self.start_plan(ask, None, caller, None)).await?;
        let of_tasks: Vec<_> = request.roles.iter().filter(|choice| is_of_tasks(choice)).cloned().collect();
        let whole = match given {
            Some(_) => request.clone(),
            None => StartRunRequest { plan: any_task().to_string(), source: "team.json".to_owned(), ..request.clone() },
        };
        let run = StartRunRequest { team: true, drive: Some(drive.clone()), dry_run: true, roles: of_tasks, ..whole };
        let run = Box::pin(self.start_plan(run, None, caller, None)).await?;
        let more = reply.agents.iter().filter(|agent| run.agents.iter().all(|known| known.name != agent.name));
        let agents = run.agents.iter().chain(more).cloned().collect();
        if given.is_none() {
            let notes = vec!["a team makes the plan first: what it does is shown as it happens".to_owned()];
            return Ok(StartRunReply { agents, waves: Vec::new(), skipped: Vec::new(), notes, ..reply });
        }
        Ok(StartRunReply { agents, ..run })
    }

    /// Returns what an earlier run of the same plan left: its approval, and the first phase that is not in this run's
    /// start commit.
    async fn earlier(&self, plan: &Plan, base: &str) -> Result<(Option<Digest>, Option<u64>), Error> {
        let same = Query::table(RUNS).eq("plan_hash", plan_hash::whole(plan)).desc("seq").limit(EARLIER);
        let facts = facts_of_plan(plan);
        for row in self.world.store.read(&same)?.iter().filter(|row| row.get_text("mode").is_some()) {
            let record = Record::fold(&self.world.store, &run_id(row)?)?;
            let Some(known) = record.state().known() else { continue };
            if known.approval.as_ref().map(|approval| approval.plan) != Some(facts.plan) {
                continue;
            }
            let (branch, base) = (row.try_text("branch")?.to_owned(), Oid::parse(base)?);
            let is_there = self.world.git(move |git| match git.branch(&branch)? {
                Some(head) => git.is_ancestor(&head, &base),
                None => Ok(false),
            });
            let open = facts.phases.iter().find(|phase| !known.done.contains(phase)).copied();
            let first_open = open.or_else(|| Some(facts.phases.last()? + 1));
            let goes_on = !known.done.is_empty() && is_there.await?;
            return Ok((Some(facts.plan), first_open.filter(|_| goes_on)));
        }
        Ok((None, None))
    }

    /// Returns true if a commit holds nothing to explore.
    async fn is_empty(&self, base: &str) -> Result<bool, Error> {
        let base = Oid::parse(base)?;
        let files = self.world.git(move |git| git.files_of(&base)).await?;
        let is_code = |path: &String| matches!(roles::zone_of(path), Zone::Production | Zone::Test | Zone::Build);
        Ok(!files.iter().map(|path| plan::text(path)).any(|path| is_code(&path)))
    }
}

/// Returns which optional steps the run leaves out without a request for it, and why.
fn left_out(steps: OptionalSteps, retrospectives: usize) -> Option<String> {
    let is_left_out = steps.briefing && retrospectives == 0;
    is_left_out.then(|| {
        "the briefing is left out: no earlier run of this repository that a team led has left a retrospective"
            .to_owned()
    })
}

/// Refuses settings that have no effect in a run led by a team.
fn fits(request: &StartRunRequest, drive: &Drive) -> Result<(), Failure> {
    let bad = |field: &str, what: &str| Err(Failure::new("request.bad-args", what.to_owned()).at(field.to_owned()));
    let wanted = drive.request.as_deref().map(str::trim);
    match (request.plan.is_empty(), wanted) {
        (true, None | Some("")) => return bad("drive.request", "a team wants a request or a plan"),
        (false, Some(_)) => return bad("drive.request", "a team begins with a request or a plan, not both"),
        (true, Some(text)) if text.len() > MAX_REQUEST => {
            return bad("drive.request", &format!("a request has at most {MAX_REQUEST} bytes"));
        }
        (true | false, _) => {}
    }
    if let (Some(agent), None) = (&drive.lead, request.budget) {
        let what = format!("{agent} may have its workers spend no more than a ceiling, and the run has none");
        return Err(Failure::new("seat.no-ceiling", what).hint("add --budget USD"));
    }
    let unheeded = [
        ("job", request.job.is_some()),
        ("mode", request.mode.is_some()),
        ("scope", request.scope.is_some()),
        ("turn", request.turn.is_some()),
        ("best_of", request.best_of.is_some()),
        ("plan_budget", request.plan_budget.is_some()),
        ("parent_trace", request.parent_trace.is_some()),
    ];
    if let Some((field, _)) = unheeded.into_iter().find(|(_, is_said)| *is_said) {
        return bad(field, &format!("a run that a team leads does not heed {field}"));
    }
    Ok(())
}

/// Refuses a role that this team doesn't have, or that is named twice.
fn check_roles(choices: &[RoleChoice], has: &[RoleName]) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    for choice in choices {
        let role = start_run::roles::known(choice, has)?;
        if role.id() != choice.role || !seen.insert(role) {
            let what = format!("the role {role} is named twice, or in another spelling");
            return Err(Failure::new("request.bad-args", what).at("roles").hint("name it once, as it is written here"));
        }
        if choice.disabled && has.contains(&role) {
            let what = format!("the team needs the role {role}, and that is disabled");
            return Err(Failure::new("role.disabled", what).hint("switchboard roles shows the file that says so"));
        }
        if role == RoleName::Docs && (choice.temperature.is_some() || !choice.fallback_models.is_empty()) {
            let what = "documentation is a task of its own, which heeds no temperature and no fallback models of the role docs";
            return Err(Failure::new("plan.no-effect", what).hint("leave them out of the role, or --without docs"));
        }
    }
    Ok(())
}

/// Returns a plan that asks each role of the modes once, and those roles. Checking it refuses at the start whatever
/// would keep one of them from answering.
fn questions(drive: &Drive) -> (serde_json::Value, BTreeSet<RoleId>) {
    let answers = [
        (RoleName::Architect, AnswerKind::PlanDraft),
        (RoleName::Explorer, AnswerKind::Exploration),
        (RoleName::Sme, AnswerKind::Guidance),
        (RoleName::Critic, AnswerKind::PlanReview),
        (RoleName::CriticDriftVerifier, AnswerKind::Drift),
        (RoleName::CriticHallucinationVerifier, AnswerKind::Hallucination),
    ];
    let has = drive.steps.roles();
    let asked: Vec<_> = answers.into_iter().filter(|(role, _)| has.contains(role)).collect();
    let task = |(at, (role, answer)): (usize, &(RoleName, AnswerKind))| {
        json!({ "id": format!("1.{}", at + 1), "phase": 1, "description": role.as_str(),
            "x-switchboard": { "result": "report", "asks": { "role": role.as_str(), "answer": answer.as_str() } } })
    };
    let tasks: Vec<_> = asked.iter().enumerate().map(task).collect();
    let phase = json!({ "id": 1, "name": "roles", "tasks": tasks });
    let plan = json!({ "schema_version": "1.0.0", "title": "roles", "swarm": "team", "phases": [phase] });
    (plan, asked.iter().map(|(role, _)| role.id()).collect())
}

/// Returns a plan whose only task takes every step of a team's tasks: what keeps a role of these steps from its work is
/// refused before a plan is made.
fn any_task() -> serde_json::Value {
    let task = json!({ "id": "1.1", "phase": 1, "description": "Change the page of the session",
        "acceptance": "it is changed", "files_touched": ["any-task/session.tsx"] });
    let phase = json!({ "id": 1, "name": "any task", "tasks": [task] });
    json!({ "schema_version": "1.0.0", "title": "any task", "swarm": "team", "phases": [phase] })
}

fn proceed(drive: &Drive, given: Option<&Plan>) -> Proceed {
    let of_plan = given.and_then(|plan| plan.execution_profile.as_ref()).is_some_and(|profile| profile.auto_proceed);
    match (drive.auto, of_plan) {
        (true, _) => Proceed::AutoFlag,
        (false, true) => Proceed::AutoProceed,
        (false, false) => Proceed::Ask,
    }
}

/// Returns the request with which every part is started.
fn template(request: &StartRunRequest, caller: &Caller) -> StartRunRequest {
    StartRunRequest {
        plan: String::new(),
        source: String::new(),
        team: false,
        merge: false,
        auto_merge: Some(AutoMerge::Manual),
        dry_run: false,
        ends_daemon: false,
        base_path: request.base_path.clone().or_else(|| caller.folder.as_deref().map(plan::text)),
        ..request.clone()
    }
}

fn configured(
    run: &RunId,
    (request, tree): (&StartRunRequest, String),
    setup: &Setup,
    reply: &StartRunReply,
    given: Option<&Plan>,
) -> RunEvent {
    RunEvent::RunConfigured {
        run: run.clone(),
        title: setup.title.clone(),
        plan_hash: given.map(plan_hash::whole).unwrap_or_default(),
        source: cut(&request.source, 150),
        target: reply.target.clone(),
        base: reply.base.clone(),
        branch: reply.branch.clone(),
        worktrees: worktrees(reply),
        default_agent: request.default_agent.clone(),
        merge: reply.auto_merge == AutoMerge::Auto,
        tasks: 0,
        isolation: request.isolation,
        unenforced: request.unenforced,
        coordination: request.coordination,
        tree,
        timeout: request.worker_timeout_ms.unwrap_or_default(),
        confirms_merge: reply.auto_merge == AutoMerge::Confirm,
        plan_key: String::new(),
        asked: String::new(),
    }
}

/// Returns the folder of the work trees, taken from the path that the reply names for a run.
fn worktrees(reply: &StartRunReply) -> String {
    let path = std::path::Path::new(&reply.worktrees);
    path.parent().map(plan::text).unwrap_or_else(|| reply.worktrees.clone())
}

fn first_line(request: &str) -> String {
    request.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("a request").to_owned()
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::id::AgentName;

    use super::*;

    #[test]
    fn a_briefing_is_left_out_only_if_it_is_wanted_and_there_is_nothing_to_tell() {
        let left_out = |briefing, retrospectives| {
            left_out(OptionalSteps { briefing, ..OptionalSteps::default() }, retrospectives).is_some()
        };

        assert!(left_out(true, 0));
        assert!(!left_out(true, 1) && !left_out(false, 0));
    }

    fn drive(request: Option<&str>) -> Drive {
        let steps = OptionalSteps::default();
        Drive { request: request.map(str::to_owned), steps, auto: false, lead: None }
    }

    #[test]
    fn a_team_begins_with_a_request_or_a_plan_and_takes_nothing_that_it_would_not_heed() {
        let refused = |facts: serde_json::Value, drive: &Drive| {
            let mut whole = json!({ "plan": "", "source": "", "agents": [] });
            whole.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
            let request: StartRunRequest = serde_json::from_value(whole).unwrap();
            fits(&request, drive).err().map(|failure| (failure.code, failure.place, failure.what))
        };
        let says = |facts: serde_json::Value, drive: &Drive| {
            let (code, place, what) = refused(facts, drive).unwrap();
            format!("{code} {place}: {what}")
        };
        let (longest, asked) = ("x".repeat(MAX_REQUEST), drive(Some("Add numbers")));

        for none in [None, Some(""), Some(" \n")] {
            assert!(says(json!({}), &drive(none)).contains("a team wants a request or a plan"), "{none:?}");
        }
        assert_eq!(refused(json!({ "plan": "{}" }), &drive(None)), None);
        assert!(says(json!({ "plan": "{}" }), &asked).contains("not both"));
        assert_eq!(refused(json!({}), &drive(Some(&format!(" {longest} ")))), None);
        assert!(says(json!({}), &drive(Some(&format!("{longest}x")))).contains("at most 65536 bytes"));
        let led = Drive { lead: AgentName::new("lea").ok(), ..drive(Some("Add numbers")) };
        assert!(says(json!({}), &led).starts_with("seat.no-ceiling"));
        assert_eq!(refused(json!({ "budget": { "ceiling": 5 } }), &led), None);
        for (field, value) in [
            ("job", json!({ "tasks": [{ "task": "look" }] })),
            ("mode", json!("chain")),
            ("scope", json!({ "phase": 1 })),
            ("turn", json!({ "number": 1, "kind": "first", "why": "it is next" })),
            ("best_of", json!(2)),
            ("plan_budget", json!(5)),
            ("parent_trace", json!("00-1")),
        ] {
            let what = format!("request.bad-args {field}: a run that a team leads does not heed {field}");
            assert_eq!(says(json!({ field: value }), &asked), what);
        }
    }

    #[test]
    fn the_next_phase_begins_without_a_question_if_the_request_or_else_the_plan_says_so() {
        let plan = |auto_proceed: Option<bool>| {
            let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": [],
                "execution_profile": auto_proceed.map(|auto_proceed| json!({ "auto_proceed": auto_proceed })) });
            serde_json::from_value::<Plan>(plan).unwrap()
        };
        let of = |auto, plan: Option<&Plan>| proceed(&Drive { auto, ..drive(None) }, plan);

        assert_eq!([of(true, None), of(true, Some(&plan(Some(true))))], [Proceed::AutoFlag; 2]);
        assert_eq!(of(false, Some(&plan(Some(true)))), Proceed::AutoProceed);
        assert_eq!(
            [of(false, None), of(false, Some(&plan(None))), of(false, Some(&plan(Some(false))))],
            [Proceed::Ask; 3]
        );
    }

    #[test]
    fn a_run_has_the_first_line_of_its_request_as_its_title() {
        assert_eq!(first_line("\n  \n  Add numbers  \nand texts"), "Add numbers");
        assert_eq!(first_line(" \n"), "a request");
    }

    #[test]
    fn a_role_is_named_once_by_its_own_id_and_only_if_the_team_can_do_without_what_is_disabled() {
        let of = |id: &str, agent: Option<&str>| {
            let agent = agent.map(|name| AgentName::new(name).unwrap());
            RoleChoice { agent, ..RoleChoice::new(RoleId::new(id).unwrap()) }
        };
        let has = [RoleName::Coder, RoleName::Reviewer, RoleName::Docs];
        let code = |choices: &[RoleChoice]| check_roles(choices, &has).err().map(|failure| failure.code);
        let disabled = |id: &str| RoleChoice { disabled: true, ..of(id, None) };

        assert_eq!(code(&[]), None);
        assert_eq!(code(&[of("coder", Some("ann")), of("reviewer", Some("ben")), disabled("sme")]), None);
        for choices in [
            vec![of("coder", Some("ann")), of("coder", Some("ben"))],
            vec![of("nobody", Some("ann"))],
            vec![of("sme", Some("ann"))],
        ] {
            assert!(code(&choices).is_some(), "{choices:?}");
        }
        assert_eq!(code(&[disabled("reviewer")]).as_deref(), Some("role.disabled"));
        let warm = RoleChoice { temperature: Some("1".to_owned()), ..of("docs", Some("ann")) };
        assert_eq!(code(&[warm]).as_deref(), Some("plan.no-effect"));
    }
}
