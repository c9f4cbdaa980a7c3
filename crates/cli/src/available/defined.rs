//! Agents that files define: which configured agent each one uses, and which tools it is limited to.

use switchboard_agents::catalog;
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::{AgentName, fold};
use switchboard_protocol::isolation::Tool;
use switchboard_protocol::text::quoted;
use switchboard_protocol::verb::run::AgentChoice;

use super::Available;
use crate::context::Context;
use crate::definitions::{Definition, Origin};

// === impl Available ===

impl Available {
    /// Returns the definition of a name; `None` for a configured agent's name.
    ///
    /// # Errors
    /// `agent.bad-definition` for a file that can't be used, or if an agent of the settings has the same name; `config.untrusted` for a repository's.
    pub(crate) fn definition(&self, name: &AgentName) -> Result<Option<&Definition>, Failure> {
        let Some(found) = self.definitions.find(name)? else { return Ok(None) };
        if let Some(other) = self.configured_as(name) {
            let what = format!("{name} is an agent ({other}) and a definition");
            let failure = Failure::new("agent.bad-definition", what).at(found.path.display().to_string());
            return Err(failure.hint("give the definition another name"));
        }
        if found.origin == Origin::Project && !self.is_project_trusted {
            let what = format!("the definition of the agent {name} came with this repository");
            let failure = Failure::new("config.untrusted", what).at(found.path.display().to_string());
            return Err(failure.hint("read the file, then: switchboard trust"));
        }
        Ok(Some(found))
    }

    /// Checks whether a task can be given to an agent that a file defines. If the run's own agent plays it, that agent
    /// is not known here.
    ///
    /// # Errors
    /// As [`Available::definition`] and [`Available::defined`], with the file.
    pub(crate) fn check_definition(&self, one: &Definition, context: &Context) -> Result<(), Failure> {
        let checked = self.definition(&one.name).and_then(|_| match &one.agent {
            Some(base) => self.defined(one, base, context).map(drop),
            None => Ok(()),
        });
        let of_file = |failure: Failure| match failure.place.is_empty() {
            true => failure.at(one.path.display().to_string()),
            false => failure,
        };
        checked.map_err(of_file)
    }

    /// Returns where an agent of a name is configured; `None` if nowhere.
    fn configured_as(&self, name: &AgentName) -> Option<String> {
        let of_file = |agents: &crate::settings::Agents| agents.path.display().to_string();
        let files = [&self.user, &self.project].into_iter().find(|file| file.find(name.as_str()).is_some());
        let known = || catalog::find(name.as_str()).map(|known| known.title.to_owned());
        files.map(of_file).or_else(known)
    }

    /// Returns how to start an agent that a definition derives from a configured one.
    ///
    /// # Errors
    /// As [`Available::choice`]; `isolation.tools` if that agent's tools can't be limited this way.
    pub(crate) fn defined(
        &self,
        definition: &Definition,
        base: &AgentName,
        context: &Context,
    ) -> Result<AgentChoice, Failure> {
        // A definition with the name of a configured agent doesn't stop those that build on the agent.
        if self.configured_as(base).is_none() && self.definition(base)?.is_some() {
            let what = format!("{} is to be the agent {base}, which is a definition itself", definition.name);
            let failure = Failure::new("agent.bad-definition", what).at(definition.path.display().to_string());
            return Err(failure.hint("name a configured agent: `agent: NAME`"));
        }
        let choice = self.choice(base, context)?;
        can_be_cut(definition, &choice)?;
        Ok(AgentChoice {
            name: definition.name.clone(),
            model: definition.model.clone().or(choice.model),
            isolation: choice.isolation.max(definition.isolation),
            tools: definition.tools.clone(),
            ..choice
        })
    }
}

/// Checks whether an agent's tools can be limited: a script by its sandbox, a command to its shell, a known agent by its settings. For other
/// agents no way is known.
fn can_be_cut(definition: &Definition, choice: &AgentChoice) -> Result<(), Failure> {
    let (DriverSpec::Acp { argv } | DriverSpec::Exec { argv }) = &choice.driver;
    let is_cut = match &choice.driver {
        _ if definition.tools.is_empty() || choice.scripted => true,
        DriverSpec::Exec { .. } => definition.tools.contains(&Tool::Shell),
        DriverSpec::Acp { argv } => {
            catalog::of_command(argv).is_some_and(|known| known.cut_to(&definition.tools).is_some())
        }
    };
    if is_cut {
        return Ok(());
    }
    let tools: Vec<_> = definition.tools.iter().map(|tool| tool.as_str()).collect();
    let what =
        format!("{} is cut to {}, which {} can't be", definition.name, tools.join(", "), fold(choice.name.as_str()));
    let mut failure = Failure::new("isolation.tools", what).at(definition.path.display().to_string());
    failure.cause.push(quoted(argv));
    Err(failure.hint("take another agent, or leave `tools` out"))
}
