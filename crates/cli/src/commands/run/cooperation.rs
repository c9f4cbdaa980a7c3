//! Flags for how the workers of a run work together.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use switchboard_protocol::definition::AgentScope;
use switchboard_protocol::job::{Coordination, Mode};

/// Flags for how workers work together.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct CooperationFlags {
    /// How the workers work together; as in the plan when left out
    #[arg(long, value_name = "MODE", value_parser = modes())]
    pub(crate) mode: Option<Mode>,
    /// Whether workers have mail, and full workers our tools; managed when left out
    #[arg(long, value_name = "HOW", value_parser = coordinations())]
    pub(crate) coordination: Option<Coordination>,
    /// Whose agent definitions count: yours, this repository's, or both; yours when left out
    #[arg(long, value_name = "WHOSE", value_parser = scopes())]
    pub(crate) agent_scope: Option<AgentScope>,
}

/// Parses the words for [`AgentScope`].
fn scopes() -> impl TypedValueParser<Value = AgentScope> {
    let words = PossibleValuesParser::new(AgentScope::ALL.map(AgentScope::as_str));
    words.map(|word| AgentScope::of(&word).unwrap_or_default())
}

/// Parses the words for [`Mode`].
pub(crate) fn modes() -> impl TypedValueParser<Value = Mode> {
    let words = PossibleValuesParser::new(Mode::ALL.map(Mode::as_str));
    words.map(|word| Mode::of(&word).unwrap_or(Mode::Single))
}

/// Parses the words for [`Coordination`].
pub(crate) fn coordinations() -> impl TypedValueParser<Value = Coordination> {
    let words = PossibleValuesParser::new(Coordination::ALL.map(Coordination::as_str));
    words.map(|word| Coordination::of(&word).unwrap_or_default())
}
