//! Chooses the agents of a run: those that a plan names, and the one for tasks that name none.

mod instructions;

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::definition::AgentScope;
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::{AgentName, fold};
use switchboard_protocol::plan::{BestOf, Phase, Plan, Task, TaskSettings};
use switchboard_protocol::role::RoleName;
use switchboard_protocol::verb::run::{AgentChoice, InheritedEnv, RoleChoice};

use crate::ask;
use crate::available::own_sandbox::{self, Lack};
use crate::available::{Available, Candidate};
use crate::context::Context;

/// The chosen agents.
#[derive(Debug)]
pub(crate) struct Choice {
    /// How to start each agent that is needed.
    pub(crate) agents: Vec<AgentChoice>,
    /// Agent of the tasks that name none.
    pub(crate) default: Option<AgentName>,
    /// Names of the agents whose runs cost money.
    pub(crate) spends: Vec<String>,
    /// What some of the agents lack on this machine.
    pub(crate) lacks: Vec<String>,
}

/// Why a run needs an agent of its own.
const SOME_TASKS: &str = "some tasks name no agent";

/// What the command line sets about agents.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Named<'a> {
    /// The agent for tasks that name none.
    pub(crate) agent: Option<&'a str>,
    /// Model of that agent.
    pub(crate) model: Option<&'a str>,
    /// Agent of each role, if a team carries the plan out.
    pub(crate) roles: Option<&'a [RoleChoice]>,
    /// Roles that the team has.
    pub(crate) has: &'a [RoleName],
    /// Agents that a future plan of the team may name.
    pub(crate) coders: &'a [String],
    /// True if the team is still to make the plan; its tasks may name no agent.
    pub(crate) plans: bool,
    /// Scope of the definitions that count.
    pub(crate) scope: AgentScope,
    /// True if a part of the plan is debated, so that the participants named by plan and phases are needed.
    pub(crate) debates: bool,
}

/// Chooses the agents; asks a person at the terminal if several are possible.
///
/// # Errors
/// `agent.ambiguous`, `agent.unknown`, `agent.missing`, `agent.bad-definition`, `config.untrusted`, `config.syntax`.
pub(crate) fn choose(plan: &Plan, named: Named<'_>, context: &Context) -> Result<Choice, Failure> {
    let available = Available::within(named.scope, context)?;
    let mut wanted = needed_agents(plan, named.debates);
    wanted.has_unassigned_task |= named.plans;
    let mut lacking = SOME_TASKS.to_owned();
    if let Some(roles) = named.roles {
        let open = super::team::without_agent(roles, named.has);
        if let (false, [first, ..]) = (wanted.has_unassigned_task, open.as_slice()) {
            lacking = format!("nobody is named for the team's {first} (--role {first}=NAME)");
        }
        wanted.has_unassigned_task |= !open.is_empty();
        wanted.names.extend(roles.iter().filter_map(|role| role.agent.as_ref()).map(ToString::to_string));
    }
    wanted.names.extend(named.coders.iter().cloned());
    let default = match named.agent {
        Some(name) => Some(name.to_owned()),
        None if wanted.has_unassigned_task => one(&available, context, &lacking)?,
        None => None,
    };
    if let Some(name) = named.agent {
        has_work(name, &wanted, &available)?;
    }
    let mut choices = BTreeMap::new();
    let mut spends = Vec::new();
    let mut lacks = Vec::new();
    let candidates = available.candidates(context);
    for name in wanted.names.iter().chain(&wanted.of_commands).chain(&default) {
        let (choice, base) = choice(&agent_name(name)?, default.as_deref(), &available, context)?;
        // A command of the plan runs in place of the agent's program, and costs nothing.
        let is_program_run = wanted.names.contains(name) || default.as_ref() == Some(name);
        let is_dear = |candidate: &&Candidate| fold(&candidate.name) == base.folded();
        let dear = candidates.iter().find(is_dear).filter(|one| is_program_run && costs_money(one, &choice));
        spends.extend(dear.map(|candidate| candidate.name.clone()));
        lacks.extend(instructions::left_out(&base, context).filter(|_| is_program_run));
        choices.insert(fold(name), choice);
    }
    let default = default.map(|name| agent_name(&name)).transpose()?;
    if let Some(model) = named.model {
        let alone = (choices.len() == 1).then(|| choices.keys().next().cloned()).flatten();
        let whose = default.as_ref().map(AgentName::folded).or(alone);
        let Some(choice) = whose.and_then(|name| choices.get_mut(&name)) else {
            let what = "a model is named, and several agents or none could take it";
            return Err(Failure::new("agent.no-model", what).hint("name the model in the plan's x-switchboard"));
        };
        (choice.model, choice.model_first) = (Some(model.to_owned()), true);
    }
    spends.sort();
    spends.dedup();
    let lack = |choice: &AgentChoice| {
        let Lack { what, hint } = own_sandbox::lack(choice, &context.environment)?;
        Some(format!("{}: {what}; {hint}", choice.name))
    };
    lacks.extend(choices.values().filter_map(lack));
    Ok(Choice { agents: choices.into_values().collect(), default, spends, lacks })
}

/// Returns the variables that the settings let agents inherit from this command, for a run that goes on. An agent that
/// can't be used now gets none, and keeps those that it has.
pub(crate) fn inherited_env(context: &Context) -> Vec<InheritedEnv> {
    let Ok(available) = Available::within(AgentScope::Both, context) else { return Vec::new() };
    let configured = available.candidates(context).into_iter().filter_map(|candidate| {
        let name = AgentName::new(candidate.name).ok()?;
        available.choice(&name, context).ok()
    });
    let defined = available.definitions.list.iter().filter_map(|definition| {
        let base = definition.agent.as_ref()?;
        available.definition(&definition.name).ok()?;
        available.defined(definition, base, context).ok()
    });
    let with_env = configured.chain(defined).filter(|choice| !choice.env.is_empty());
    with_env.map(|AgentChoice { name, driver, env, .. }| InheritedEnv { agent: name, driver, env }).collect()
}

/// Rejects an agent of the command line that would get no task: naming it must have an effect.
fn has_work(name: &str, wanted: &NeededAgents, available: &Available) -> Result<(), Failure> {
    let is_named = wanted.names.iter().any(|other| fold(other) == fold(name));
    let is_base = wanted.names.iter().any(|other| available.definitions.is_without_agent(other));
    if wanted.has_unassigned_task || is_named || is_base || !wanted.has_work() {
        return Ok(());
    }
    let names: Vec<_> = wanted.names.iter().map(String::as_str).collect();
    let assignees = if names.is_empty() {
        "each has a command".to_owned()
    } else {
        format!("the plan gives them to {}", names.join(", "))
    };
    let what = format!("--agent {name} would do no task: {assignees}");
    Err(Failure::new("request.bad-args", what).hint("leave it out, or change the plan's `agent` and `command`"))
}

/// Returns true if runs of an agent cost money: a command if its settings say so, an agent that calls a model unless its settings deny it.
fn costs_money(candidate: &Candidate, choice: &AgentChoice) -> bool {
    match &choice.driver {
        DriverSpec::Acp { .. } => candidate.spends && !choice.scripted,
        DriverSpec::Exec { .. } => candidate.says_spends,
    }
}

/// Returns how to start an agent, with its instructions, and the configured agent behind it. A definition that names none uses the run's agent.
fn choice(
    name: &AgentName,
    default: Option<&str>,
    available: &Available,
    context: &Context,
) -> Result<(AgentChoice, AgentName), Failure> {
    let Some(definition) = available.definition(name)? else {
        let choice = available.choice(name, context)?;
        let instructions = instructions::of(name, available, context)?;
        return Ok((AgentChoice { instructions, ..choice }, name.clone()));
    };
    let is_itself = |other: &&str| fold(other) != name.folded();
    let base = match (&definition.agent, default.filter(is_itself)) {
        (Some(agent), _) => agent.clone(),
        (None, Some(default)) => agent_name(default)?,
        (None, None) => {
            let chosen = one(available, context, SOME_TASKS).map_err(|failure| {
                failure.at(definition.path.display().to_string()).hint("say which it is: `agent: NAME` in the file")
            })?;
            let none = || Failure::new("agent.unknown", format!("no agent is there that {name} could be"));
            agent_name(&chosen.ok_or_else(none)?)?
        }
    };
    let choice = available.defined(definition, &base, context)?;
    let shared = instructions::of(&base, available, context)?;
    let parts = [shared.as_str(), definition.instructions.as_str()];
    let instructions = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    Ok((AgentChoice { instructions, ..choice }, base))
}

/// Returns the only agent, or the one that a person names; `lacking` says what it is needed for. An agent whose runs cost money is never taken without being
/// named, even if it is the only one.
fn one(available: &Available, context: &Context, lacking: &str) -> Result<Option<String>, Failure> {
    let candidates = available.candidates(context);
    if let [only] = candidates.as_slice()
        && !only.spends
    {
        return Ok(Some(only.name.clone()));
    }
    let names: Vec<_> = candidates.iter().map(|candidate| candidate.name.as_str()).collect();
    if names.is_empty() {
        return Ok(None);
    }
    if context.can_ask() {
        let chosen = ask::choose(&format!("Which agent is the run's own? It has to have one: {lacking}."), &names)?;
        if let Some(name) = chosen {
            return Ok(Some(name.to_owned()));
        }
    }
    let what = format!("{lacking}, and Switchboard does not choose one for you");
    let hint = format!("name one: --agent {}", names.join(" | --agent "));
    Err(Failure::new("agent.ambiguous", what).hint(hint))
}

/// The agents that a plan's tasks need.
#[derive(Debug, Default, PartialEq, Eq)]
struct NeededAgents {
    names: BTreeSet<String>,
    /// Agents under whose settings commands of the plan run.
    of_commands: BTreeSet<String>,
    /// True if some task names no agent and has no command.
    has_unassigned_task: bool,
    /// True if some task has a command.
    has_command: bool,
}

// === impl NeededAgents ===

impl NeededAgents {
    /// Returns true if any task is left to do.
    fn has_work(&self) -> bool {
        self.has_unassigned_task || self.has_command || !self.names.is_empty()
    }
}

fn needed_agents(plan: &Plan, debates: bool) -> NeededAgents {
    let mut wanted = NeededAgents::default();
    if debates {
        let of_phases = plan.phases.iter().filter_map(|phase| phase.switchboard.as_ref()?.debate.as_ref());
        let of_plan = plan.switchboard.iter().filter_map(|settings| settings.debate.as_ref());
        let agents =
            of_phases.chain(of_plan).flat_map(|debate| &debate.participants).filter_map(|one| one.agent.clone());
        wanted.names.extend(agents);
    }
    for phase in &plan.phases {
        for task in phase.tasks.iter().filter(|task| phase.may_do(task)) {
            let usual = TaskSettings::default();
            let settings = task.switchboard.as_ref().unwrap_or(&usual);
            let of_task = agent_of(plan, phase, task);
            for (agent, has_command) in workers(settings) {
                match agent.or(of_task.filter(|_| !has_command)) {
                    named if has_command => {
                        wanted.has_command = true;
                        wanted.of_commands.extend(named.map(str::to_owned));
                    }
                    Some(name) => {
                        wanted.names.insert(name.to_owned());
                    }
                    None => wanted.has_unassigned_task = true,
                }
            }
        }
    }
    wanted
}

/// Returns the workers of a task: the agent, if one is named for the worker, and true if a command does the work.
fn workers(settings: &TaskSettings) -> Vec<(Option<&str>, bool)> {
    let own = (settings.agent.as_deref(), settings.command.is_some());
    let mut workers = Vec::new();
    let participants = settings.debate.iter().flat_map(|debate| &debate.participants);
    for worker in settings.chain.iter().flatten().chain(participants) {
        let says = worker.agent.is_some() || worker.command.is_some();
        workers.push(if says { (worker.agent.as_deref(), worker.command.is_some()) } else { own });
    }
    match &settings.best_of {
        Some(BestOf::Agents(agents)) => workers.extend(agents.iter().map(|agent| (Some(agent.as_str()), false))),
        // All steps of a chain name their workers.
        None if settings.chain.is_some() => {}
        Some(BestOf::Count(_)) | None => workers.push(own),
    }
    workers
}

fn agent_of<'a>(plan: &'a Plan, phase: &'a Phase, task: &'a Task) -> Option<&'a str> {
    let of_task = task.switchboard.as_ref().and_then(|settings| settings.agent.as_deref());
    let of_phase = phase.switchboard.as_ref().and_then(|settings| settings.agent.as_deref());
    let of_plan = plan.switchboard.as_ref().and_then(|settings| settings.agent.as_deref());
    of_task.or(of_phase).or(of_plan)
}

fn agent_name(name: &str) -> Result<AgentName, Failure> {
    AgentName::new(name).map_err(|error| {
        Failure::new("agent.unknown", format!("{name:?} can't be the name of an agent")).because(&error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(settings: &str) -> Plan {
        let task = |id: &str, rest: &str| format!(r#"{{"id":"{id}","phase":1,"description":"d"{rest}}}"#);
        let tasks = [
            task("1.1", r#","x-switchboard":{"agent":"ada"}"#),
            task("1.2", r#","x-switchboard":{"command":["true"]}"#),
            task("1.3", ""),
        ];
        let text = format!(
            r#"{{"schema_version":"1.0.0","title":"t","swarm":"s"{settings},"phases":[{{"id":1,"name":"p","tasks":[{}]}}]}}"#,
            tasks.join(",")
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_task_with_a_command_needs_nobody_and_one_without_a_name_does() {
        let wanted = needed_agents(&plan(""), false);

        assert_eq!(
            wanted,
            NeededAgents {
                names: ["ada".to_owned()].into(),
                has_unassigned_task: true,
                has_command: true,
                ..NeededAgents::default()
            }
        );
    }

    #[test]
    fn the_plans_own_agent_does_what_names_nobody() {
        let wanted = needed_agents(&plan(r#","x-switchboard":{"agent":"ben"}"#), false);

        assert_eq!(
            wanted,
            NeededAgents {
                names: ["ada".to_owned(), "ben".to_owned()].into(),
                has_command: true,
                ..NeededAgents::default()
            }
        );
    }
}
