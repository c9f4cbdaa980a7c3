//! Assigns the roles of a team: from flags, then from the user's settings.

use std::collections::BTreeMap;

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::modes::OptionalSteps;
use switchboard_protocol::plan::Plan;
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::way::RoleId;
use switchboard_protocol::verb::run::{Drive, RoleChoice};

use crate::role_files::RoleFiles;
use crate::settings::Agents;

/// Flags about the team of a run.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TeamFlags {
    /// Have a team lead the run: it asks, explores, plans or checks the plan, and carries it out phase by phase, each change reviewed and tested by others
    #[arg(long, conflicts_with_all = ["example", "resume"])]
    pub(crate) team: bool,
    /// Skip review and tests by others for every change that is not critical
    #[arg(long, conflicts_with_all = ["example", "resume"])]
    pub(crate) turbo: bool,
    /// Agent of a role in the team: reviewer=codex; may be given several times
    #[arg(long = "role", value_name = "ROLE=AGENT", value_parser = named, conflicts_with_all = ["example", "resume"])]
    pub(crate) roles: Vec<(String, String)>,
    /// An agent that the team's plan may give tasks to, besides the one of --agent; may be given several times
    #[arg(long = "coder", value_name = "NAME")]
    pub(crate) coders: Vec<String>,
    /// The agent that has the architect's seat from the start: it plans, and begins each step of the others
    #[arg(long, value_name = "NAME", requires = "budget", value_parser = leader)]
    pub(crate) lead: Option<AgentName>,
    /// A step that the team takes in addition to the usual ones: specify, hallucination
    #[arg(long, value_name = "STEP", value_parser = step)]
    pub(crate) with: Vec<Optional>,
    /// A step that the team leaves out: briefing, clarify, consult, docs, drift
    #[arg(long, value_name = "STEP", value_parser = step)]
    pub(crate) without: Vec<Optional>,
}

/// A step that can be added or left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Optional {
    Briefing,
    Clarify,
    Consult,
    Specify,
    Docs,
    Drift,
    Hallucination,
}

// === impl Optional ===

impl Optional {
    const ALL: [(&str, Self); 7] = [
        ("briefing", Self::Briefing),
        ("clarify", Self::Clarify),
        ("consult", Self::Consult),
        ("specify", Self::Specify),
        ("docs", Self::Docs),
        ("drift", Self::Drift),
        ("hallucination", Self::Hallucination),
    ];

    fn of(self, steps: &mut OptionalSteps) -> &mut bool {
        match self {
            Self::Briefing => &mut steps.briefing,
            Self::Clarify => &mut steps.clarify,
            Self::Consult => &mut steps.consult,
            Self::Specify => &mut steps.specify,
            Self::Docs => &mut steps.docs,
            Self::Drift => &mut steps.drift,
            Self::Hallucination => &mut steps.hallucination,
        }
    }
}

fn step(word: &str) -> Result<Optional, String> {
    let found = Optional::ALL.into_iter().find(|(known, _)| *known == word);
    let all = || Optional::ALL.map(|(known, _)| known).join(", ");
    found.map(|(_, step)| step).ok_or_else(|| format!("the steps that may be left out: {}", all()))
}

// === impl TeamFlags ===

impl TeamFlags {
    /// Returns true if a team's steps are taken for each change.
    pub(crate) fn is_team(&self, plan: &Plan) -> bool {
        self.team || plan.switchboard.as_ref().is_some_and(|settings| settings.team == Some(true))
    }

    /// Rejects flags of a team that leads a run if no team does.
    ///
    /// # Errors
    /// `request.bad-args` with the flag.
    pub(crate) fn expect_team(&self) -> Result<(), Failure> {
        let flags = [
            ("--coder", !self.coders.is_empty()),
            ("--lead", self.lead.is_some()),
            ("--with", !self.with.is_empty()),
            ("--without", !self.without.is_empty()),
        ];
        match flags.iter().find(|(_, is_given)| *is_given && !self.team) {
            None => Ok(()),
            Some((flag, _)) => {
                let what = format!("{flag} belongs to a team, and none leads the run");
                Err(Failure::new("request.bad-args", what).hint("add --team"))
            }
        }
    }

    /// Returns the roles that the team has.
    pub(crate) fn has(&self) -> Vec<RoleName> {
        if self.team { self.steps().roles() } else { RoleName::IN_TASKS.to_vec() }
    }

    fn steps(&self) -> OptionalSteps {
        let mut steps = OptionalSteps::default();
        self.with.iter().for_each(|step| *step.of(&mut steps) = true);
        self.without.iter().for_each(|step| *step.of(&mut steps) = false);
        steps
    }

    /// Returns how the team leads the run; `None` if no team does.
    pub(crate) fn drive(&self, request: Option<String>, auto: bool) -> Option<Drive> {
        self.team.then(|| Drive { request, steps: self.steps(), auto, lead: self.lead.clone() })
    }

    /// Returns the agent and model of each role.
    ///
    /// # Errors
    /// For an unknown role or one that is named twice, for a bad name, and for roles without a team.
    pub(crate) fn choices(
        &self,
        plan: &Plan,
        settings: &Agents,
        files: &RoleFiles,
    ) -> Result<Vec<RoleChoice>, Failure> {
        if !self.is_team(plan) {
            let Some((role, _)) = self.roles.first() else { return Ok(Vec::new()) };
            let what = format!("--role {role} names somebody of a team, and none carries the plan out");
            return Err(Failure::new("request.bad-args", what).hint("add --team"));
        }
        // Settings are for all teams: roles that this team lacks are ignored.
        let all = self.has();
        let has = |role: &RoleId| all.iter().any(|known| known.id() == *role);
        let mut choices: BTreeMap<RoleId, RoleChoice> =
            files.choices()?.into_iter().map(|choice| (choice.role.clone(), choice)).collect();
        for (role, described) in settings.roles.iter().filter(|(role, _)| has(role)) {
            let agent = described.agent.as_deref().map(agent).transpose()?;
            let choice = choices.entry(role.clone()).or_insert_with(|| RoleChoice::new(role.clone()));
            choice.agent = agent;
            choice.model = described.model.clone().or(choice.model.take());
        }
        let mut named = BTreeMap::new();
        for (name, wanted) in &self.roles {
            let role = RoleName::among(&all, name)?.id();
            if let Some(other) = named.insert(role.clone(), wanted) {
                let what = format!("--role names two agents for the {role}: {other} and {wanted}");
                return Err(Failure::new("request.bad-args", what).hint("name one"));
            }
            let of_settings = settings.roles.get(&role).and_then(|described| described.model.as_ref());
            let choice = choices.entry(role.clone()).or_insert_with(|| RoleChoice::new(role.clone()));
            choice.agent = Some(agent(wanted)?);
            // A model of the settings belongs to the agent of the settings.
            if choice.model.as_ref() == of_settings {
                choice.model = None;
            }
        }
        Ok(choices.into_values().collect())
    }
}

/// Returns the roles that the team needs and nobody is named for.
pub(crate) fn without_agent(choices: &[RoleChoice], has: &[RoleName]) -> Vec<RoleName> {
    let is_named =
        |needed: &RoleName| choices.iter().any(|choice| choice.role == needed.id() && choice.agent.is_some());
    // Few tasks have a designer; the run's agent takes that role where one is needed.
    has.iter().filter(|role| **role != RoleName::Designer && !is_named(role)).copied().collect()
}

fn named(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((role, agent)) if !role.is_empty() && !agent.is_empty() => Ok((role.to_owned(), agent.to_owned())),
        Some(_) | None => Err("write ROLE=AGENT, as in reviewer=codex".to_owned()),
    }
}

fn leader(name: &str) -> Result<AgentName, String> {
    AgentName::new(name).map_err(|error| error.to_string())
}

fn agent(name: &str) -> Result<AgentName, Failure> {
    AgentName::new(name).map_err(|error| {
        Failure::new("agent.unknown", format!("{name:?} can't be the name of an agent")).because(&error)
    })
}
