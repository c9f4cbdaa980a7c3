//! Tests what follows from the rights of a role: the tools of its workers, and what they are told.

use serde_json::json;
use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::isolation::Tool;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::role::{self, Rights, RoleName, WriteRights};
use switchboard_protocol::run::StepWork;
use switchboard_protocol::run::way::{StepId, Zone};
use switchboard_protocol::verb::run::{AgentChoice, RoleChoice};

use super::run_plan;
use crate::plan::RunPlan;
use crate::prompt::{Judging, judge};

fn reviews(writes: &[Zone]) -> StepWork {
    let (answer, input) = (Some(AnswerKind::Review), Digest::ZERO);
    StepWork { role: RoleName::Reviewer.id(), writes: writes.to_vec(), answer, input }
}

/// Returns a plan whose reviewer has these rights.
fn plan_with(rights: Rights) -> RunPlan {
    let mut plan = run_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));
    let role = RoleName::Reviewer.id();
    plan.roles.insert(role.clone(), RoleChoice { rights: Some(rights), ..RoleChoice::new(role) });
    plan
}

fn writes_source() -> WriteRights {
    WriteRights { zones: [role::Zone::Production].into(), ..WriteRights::default() }
}

#[test]
fn a_worker_has_the_tools_that_its_role_allows_and_its_agent_has() {
    let read_only = || Rights { read: true, ..Rights::default() };
    let cases = [
        (read_only(), vec![Tool::Read, Tool::Search]),
        (Rights { write: writes_source(), ..read_only() }, vec![Tool::Read, Tool::Search, Tool::Edit]),
        (Rights { execute: true, ..read_only() }, vec![Tool::Read, Tool::Search, Tool::Shell]),
        (Rights { execute: true, write: writes_source(), ..read_only() }, Vec::new()),
    ];
    for (rights, expected) in cases {
        let plan = plan_with(rights.clone());
        let of = |driver, tools: &[Tool]| {
            let agent = AgentChoice::new(AgentName::new("ann").unwrap(), driver);
            let (_, settings) = plan.settings(&TaskId::new("1.1").unwrap()).unwrap();
            plan.tools(&AgentChoice { tools: tools.to_vec(), ..agent }, &settings, &reviews(&[]))
        };
        let argv = || vec!["agent".to_owned()];

        assert_eq!(of(DriverSpec::Acp { argv: argv() }, &[]), expected, "{rights:?}");
        assert_eq!(of(DriverSpec::Acp { argv: argv() }, &[Tool::Search]), [Tool::Search], "{rights:?}");
        assert_eq!(of(DriverSpec::Exec { argv: argv() }, &[]), [], "a command has the shell of its sandbox");
    }
}

#[test]
fn a_worker_that_makes_a_change_has_the_tools_of_a_role_in_a_team_only() {
    let plan = plan_with(Rights { read: true, ..Rights::default() });
    let agent = AgentChoice::new(AgentName::new("ann").unwrap(), DriverSpec::Acp { argv: vec!["agent".to_owned()] });
    let tools = |team: bool, answer: Option<AnswerKind>| {
        let (_, mut settings) = plan.settings(&TaskId::new("1.1").unwrap()).unwrap();
        settings.team = team;
        plan.tools(&agent, &settings, &StepWork { answer, ..reviews(&[]) })
    };

    assert_eq!(tools(false, None), [], "all four");
    assert_eq!(tools(true, None), [Tool::Read, Tool::Search]);
    assert_eq!(tools(false, Some(AnswerKind::Review)), [Tool::Read, Tool::Search]);
}

#[test]
fn a_worker_that_judges_is_told_what_it_may_read_and_write() {
    let told = |read: bool, writes: &[Zone]| {
        let plan = plan_with(Rights { read, ..Rights::default() });
        let judging = Judging {
            step: &StepId::new("review").unwrap(),
            work: &reviews(writes),
            attempt: 1,
            again: None,
            diff: "+a",
            contracts: None,
            instructions: "",
            has_tools: false,
        };
        let task = plan.plan.tasks().next().unwrap();
        let instructed = judge(&plan, task, &Judging { instructions: "be brief\n", ..judging });
        let text = judge(&plan, task, &judging);
        let for_you = "Instructions of the repository and its user for you:";
        assert!(instructed.contains(&format!("{for_you}\nbe brief\n")) && !text.contains(for_you), "{instructed}");
        ["The current folder is empty", "You may read everything", "You may add and change tests"]
            .map(|words| text.contains(words))
    };

    assert_eq!(told(false, &[]), [true, false, false]);
    assert_eq!(told(true, &[]), [false, true, false]);
    assert_eq!(told(false, &[Zone::Tests]), [false, false, true]);
}
