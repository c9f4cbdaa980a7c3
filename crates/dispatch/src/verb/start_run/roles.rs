//! Roles of a team as named in a request.

use std::collections::BTreeSet;

use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::plan::Plan;
use switchboard_protocol::role::{MAX_FALLBACK_MODELS, Rights, RoleName};
use switchboard_protocol::run::TeamLimits;
use switchboard_protocol::verb::run::RoleChoice;

use crate::plan::RunPart;

/// Returns the role that a choice concerns. A choice from a file that names no agent may concern any built-in role.
pub(crate) fn known(choice: &RoleChoice, has: &[RoleName]) -> Result<RoleName, Failure> {
    let id = &choice.role;
    match RoleName::of(id) {
        Some(role) if choice.agent.is_none() && *choice != RoleChoice::new(id.clone()) => Ok(role),
        Some(_) | None => RoleName::among(has, id.as_str()).map_err(|failure| failure.at("roles")),
    }
}

/// Refuses roles without a team, a role that no step of the plan has, and one that is named twice.
pub(super) fn check(choices: &[RoleChoice], plan: &Plan) -> Result<(), Failure> {
    let is_team = plan.switchboard.as_ref().is_some_and(|settings| settings.team == Some(true));
    let asked = plan.tasks().filter_map(|task| task.switchboard.as_ref()?.asks.map(|asks| asks.role));
    let has: BTreeSet<_> = RoleName::IN_TASKS.into_iter().filter(|_| is_team).chain(asked).collect();
    let bad = |what: String, hint: &str| Err(Failure::new("request.bad-args", what).at("roles").hint(hint));
    if let (true, Some(choice)) = (has.is_empty(), choices.first()) {
        return bad(
            format!("somebody is named for the role {}, and no team carries the plan out", choice.role),
            "set team",
        );
    }
    let has: Vec<_> = has.into_iter().collect();
    let mut seen = BTreeSet::new();
    for choice in choices {
        let id = &choice.role;
        let role = known(choice, &has)?;
        if role.id() != *id {
            return bad(format!("there is no role {id}"), &format!("did you mean {role}?"));
        }
        if !seen.insert(role) {
            return bad(format!("the role {role} is named twice"), "name it once");
        }
        if choice.fallback_models.len() > MAX_FALLBACK_MODELS {
            return bad(
                format!("the role {role} has more than {MAX_FALLBACK_MODELS} fallback models"),
                "leave some out",
            );
        }
    }
    Ok(())
}

/// Refuses a limit outside of its range.
pub(super) fn check_limits(limits: &TeamLimits) -> Result<(), Failure> {
    let bad = |what| Err(Failure::new("request.bad-args", what).at("team_limits"));
    limits.out_of_range().map_or(Ok(()), bad)
}

/// Refuses role settings that can't be applied to the worker's agent, and a role that no agent may have.
pub(super) fn applicable(choices: &[RoleChoice], parts: &[RunPart<'_>]) -> Result<(), Failure> {
    let coder = RoleName::Coder.id();
    for RunPart { task, settings, work, choice } in
        parts.iter().filter(|part| part.settings.team || part.work.is_some())
    {
        let role = work.map_or(&coder, |work| &work.role);
        // A command of the plan has no coder role.
        if work.is_none() && settings.command.is_some() {
            continue;
        }
        let Some(said) = choices.iter().find(|said| said.role == *role) else { continue };
        if said.disabled {
            let what = format!("task {task} needs the role {role}, and that is disabled");
            return Err(Failure::new("role.disabled", what).hint("switchboard roles shows the file that says so"));
        }
        let is_of_tree = work.is_none_or(|work| !work.writes.is_empty());
        if is_of_tree && said.rights.as_ref().is_some_and(|rights| !rights.read) {
            let what =
                format!("task {task} needs the role {role}, and that may not read: it changes files in a work tree");
            return Err(Failure::new("plan.no-effect", what).hint("give it `read` among its `rights`"));
        }
        let is_read_only = said.rights.as_ref().is_some_and(Rights::is_read_only);
        if is_read_only && work.is_none() && !settings.files_touched.is_empty() {
            let what = format!("task {task} changes files, and the role {role} may write nothing");
            return Err(Failure::new("plan.no-effect", what).hint("give it zones in `write`"));
        }
        let is_command = matches!(choice.driver, DriverSpec::Exec { .. });
        let (agent, hint) = (&choice.name, "leave it out of the role, or name another agent for it");
        if is_command && (said.model.is_some() || !said.fallback_models.is_empty()) {
            let what =
                format!("the role {role} names models, and its agent {agent} is a command that can't be told one");
            return Err(Failure::new("agent.no-model", what).hint(hint));
        }
        if said.temperature.is_some() && choice.temperature_args.is_empty() {
            let what = format!("the role {role} sets a temperature, and its agent {agent} can't be told one");
            return Err(
                Failure::new("plan.no-effect", what).hint(format!("{hint}; or say `temperature_args` of {agent}"))
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use switchboard_pipeline::settings::Settings;
    use switchboard_protocol::id::{AgentName, Digest};
    use switchboard_protocol::role::{WriteRights, Zone};
    use switchboard_protocol::run::StepWork;
    use switchboard_protocol::run::way::{self, RoleId};
    use switchboard_protocol::verb::run::AgentChoice;

    use super::*;

    fn plan(is_team: bool, of_task: serde_json::Value) -> Plan {
        let task = serde_json::json!({ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": of_task });
        serde_json::from_value(serde_json::json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s",
            "phases": [{ "id": 1, "name": "one", "tasks": [task] }], "x-switchboard": { "team": is_team } }))
        .unwrap()
    }

    #[test]
    fn roles_that_would_not_be_heeded_are_refused() {
        let choice = |role: &str| RoleChoice {
            agent: Some(AgentName::new("ada").unwrap()),
            ..RoleChoice::new(RoleId::new(role).unwrap())
        };
        let refused = |roles: &[&str], is_team: bool| {
            let choices: Vec<_> = roles.iter().map(|role| choice(role)).collect();
            check(&choices, &plan(is_team, serde_json::json!({})))
                .map_err(|failure| (failure.code, failure.what, failure.hint))
        };

        assert_eq!(refused(&["reviewer", "test_engineer"], true), Ok(()));
        assert_eq!(refused(&[], false), Ok(()));
        for (roles, is_team, words) in [
            (&["reviewer"][..], false, "no team carries the plan out"),
            (&["reviewer", "reviewer"], true, "named twice"),
            (&["docs"], true, "no step of a team's tasks is for the role docs"),
            (&["coder"], true, "the coder is each task's own agent"),
            (&["test-engineer"], true, "there is no role test-engineer"),
        ] {
            let (code, what, hint) = refused(roles, is_team).unwrap_err();
            assert!(code == "request.bad-args" && what.contains(words) && !hint.is_empty(), "{roles:?}: {what}");
        }
        let fallback_models = vec!["m".to_owned(); MAX_FALLBACK_MODELS + 1];
        let many = check(&[RoleChoice { fallback_models, ..choice("reviewer") }], &plan(true, serde_json::json!({})));
        assert!(many.unwrap_err().what.contains("has more than 3 fallback models"));
        let of_file = RoleChoice { disabled: true, ..RoleChoice::new(RoleId::new("coder").unwrap()) };
        let of_team = plan(true, serde_json::json!({}));
        assert_eq!(check(&[of_file], &of_team), Ok(()), "what a file says of the coder names nobody");
        assert_eq!(refused(&["reviwer"], true).unwrap_err().2, "did you mean reviewer?");
        let asking = plan(
            false,
            serde_json::json!({ "result": "report", "asks": { "role": "critic", "answer": "plan_review" } }),
        );
        assert_eq!(check(&[choice("critic")], &asking).map_err(|failure| failure.what), Ok(()));
        assert!(check(&[choice("sme")], &asking).is_err());
    }

    /// Worker that a test looks at: its step, if it judges, whether the plan names a command in place of a coder, the files
    /// of its task, and its agent.
    struct Of {
        work: Option<StepWork>,
        has_command: bool,
        files: &'static [&'static str],
        driver: fn(Vec<String>) -> DriverSpec,
        temperature_args: &'static [&'static str],
    }

    fn step(writes: Vec<way::Zone>) -> StepWork {
        StepWork { role: RoleId::new("reviewer").unwrap(), writes, answer: None, input: Digest::ZERO }
    }

    /// Returns the code and the text of the refusal of a role's settings for this worker of a team.
    fn refused(of: &Of, said: &RoleChoice) -> Option<(String, String)> {
        let facts = if of.has_command { serde_json::json!({ "command": ["make"] }) } else { serde_json::json!({}) };
        let plan = crate::tests::run_plan(&serde_json::json!([{ "id": "1.1", "phase": 1, "description": "d",
            "files_touched": of.files, "x-switchboard": facts }]));
        let task = switchboard_protocol::plan::TaskId::new("1.1").unwrap();
        let (_, settings) = plan.settings(&task).unwrap();
        let settings = Settings { team: true, ..settings };
        let driver = (of.driver)(vec!["agent".to_owned()]);
        let mut choice = AgentChoice::new(AgentName::new("ada").unwrap(), driver);
        choice.temperature_args = of.temperature_args.iter().map(|arg| (*arg).to_owned()).collect();
        let part = RunPart { task: &task, settings, work: of.work.as_ref(), choice };
        applicable(std::slice::from_ref(said), &[part]).err().map(|failure| (failure.code.to_string(), failure.what))
    }

    #[test]
    fn settings_of_a_role_that_its_worker_can_not_follow_are_refused_and_no_others() {
        let acp = |argv| DriverSpec::Acp { argv };
        let coder = || Of { work: None, has_command: false, files: &["src/a.rs"], driver: acp, temperature_args: &[] };
        let judge = |writes| Of { work: Some(step(writes)), ..coder() };
        let command = || Of { driver: |argv| DriverSpec::Exec { argv }, ..coder() };
        let named = |role: &str| RoleChoice::new(RoleId::new(role).unwrap());
        let reviewer = || named("reviewer");
        let rights = |read, zones: &[Zone]| {
            let write = WriteRights { zones: zones.iter().copied().collect(), ..WriteRights::default() };
            Some(Rights { read, write, ..Rights::default() })
        };
        let disabled = |of| RoleChoice { disabled: true, ..of };
        let blind = |of| RoleChoice { rights: rights(false, &[Zone::Production]), ..of };
        let read_only = |of| RoleChoice { rights: rights(true, &[]), ..of };
        let model = || RoleChoice { model: Some("m".to_owned()), ..named("coder") };
        let fallback = || RoleChoice { fallback_models: vec!["m".to_owned()], ..named("coder") };
        let warm = || RoleChoice { temperature: Some("1".to_owned()), ..named("coder") };

        for (of, said, code, words) in [
            (coder(), disabled(named("coder")), "role.disabled", "the role coder, and that is disabled"),
            (judge(Vec::new()), disabled(reviewer()), "role.disabled", "the role reviewer, and that is disabled"),
            (Of { has_command: true, ..judge(Vec::new()) }, disabled(reviewer()), "role.disabled", "the role reviewer"),
            (coder(), blind(named("coder")), "plan.no-effect", "may not read"),
            (judge(vec![way::Zone::Tests]), blind(reviewer()), "plan.no-effect", "may not read"),
            (coder(), read_only(named("coder")), "plan.no-effect", "the role coder may write nothing"),
            (command(), model(), "agent.no-model", "is a command"),
            (command(), fallback(), "agent.no-model", "is a command"),
            (coder(), warm(), "plan.no-effect", "sets a temperature"),
        ] {
            let (found, what) = refused(&of, &said).unwrap_or_else(|| panic!("{said:?}"));
            assert!(found == code && what.contains(words), "{said:?}: {found} {what}");
        }
        for (of, said) in [
            (coder(), disabled(reviewer())),
            (Of { has_command: true, ..coder() }, disabled(named("coder"))),
            (coder(), RoleChoice { rights: rights(true, &[Zone::Production]), ..named("coder") }),
            (judge(Vec::new()), blind(reviewer())),
            (judge(Vec::new()), read_only(reviewer())),
            (Of { files: &[], ..coder() }, read_only(named("coder"))),
            (coder(), model()),
            (command(), named("coder")),
            (Of { temperature_args: &["-t"], ..coder() }, warm()),
        ] {
            assert_eq!(refused(&of, &said), None, "{said:?}");
        }
    }
}
