//! Resolves names written by people and agents.

use switchboard_protocol::agent::{Agent, AgentKind};
use switchboard_protocol::error::{Failure, near_matches};
use switchboard_protocol::id::{AgentName, fold};
use switchboard_store::{Query, Store};

use crate::agents::AGENTS;
use crate::error::refuse;
use crate::{Error, roster};

/// Aliases of names common to every team.
const CANONICAL: [(&str, &str); 1] = [("lead-coder", "lead")];
/// Maximum number of agents listed for an ambiguous name.
const MAX_LISTED: usize = 8;

/// Resolves a text to an agent: the one with that name in any spelling; else the only one with that role; else the only
/// terminal, or else the only other agent, with that second name. `lead coder` also matches `lead`. Agents that have
/// left never match.
///
/// # Errors
/// `bus.unknown-recipient` with similar names, `bus.ambiguous-recipient` with the matches, `request.bad-args` for a
/// text that can't be a name; a failure of the store.
pub fn resolve(store: &Store, text: &str) -> Result<Agent, Error> {
    let text = text.trim();
    AgentName::new(text).map_err(|error| Error::Refused(Failure::new("request.bad-args", error.to_string())))?;
    let folded = fold(text);
    let canonical = CANONICAL.iter().find(|(word, _)| *word == folded).map(|(_, name)| *name);
    let spellings: Vec<_> = std::iter::once(folded.as_str()).chain(canonical).collect();
    for id in &spellings {
        if let Some(agent) = only(present(store, "id", id)?) {
            return Ok(agent);
        }
    }
    let mut fitting = Vec::new();
    for column in ["role_id", "friendly_id"] {
        for id in &spellings {
            let found = present(store, column, id)?;
            match closest(&found, column) {
                [one] => return Ok(one.clone()),
                several => fitting.extend(several.iter().cloned()),
            }
        }
    }
    if fitting.is_empty() { refuse(unknown(store, text)?) } else { refuse(ambiguous(text, &fitting)) }
}

/// Returns the present agents with this value in a column.
fn present(store: &Store, column: &'static str, id: &str) -> Result<Vec<Agent>, Error> {
    let query = Query::table(AGENTS).eq(column, id).ne("gone", 1_i64).limit(MAX_LISTED as u64 + 1);
    store.read(&query)?.iter().map(|row| Ok(roster::of_row(store, row)?.agent)).collect()
}

fn only(mut agents: Vec<Agent>) -> Option<Agent> {
    if agents.len() == 1 { agents.pop() } else { None }
}

/// Prefers a terminal with a second name over other agents.
fn closest<'a>(found: &'a [Agent], column: &str) -> &'a [Agent] {
    let mut terminals = found.iter().enumerate().filter(|(_, agent)| agent.kind == AgentKind::Terminal);
    match (column, terminals.next(), terminals.next()) {
        ("friendly_id", Some((at, _)), None) => &found[at..=at],
        _ => found,
    }
}

fn ambiguous(text: &str, fitting: &[Agent]) -> Failure {
    let mut names: Vec<_> = fitting.iter().map(|agent| agent.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let more = if names.len() > MAX_LISTED { " …" } else { "" };
    names.truncate(MAX_LISTED);
    let what = format!("{text} could be {}{more}", names.join(", "));
    Failure::new("bus.ambiguous-recipient", what).hint("say the name of the one that you mean")
}

/// Returns the refusal for an unknown name, with the nearest names.
pub(crate) fn unknown(store: &Store, text: &str) -> Result<Failure, Error> {
    let agents = roster::roster(store)?;
    if let Some(gone) = agents.iter().find(|agent| agent.name.folded() == fold(text)) {
        let failure = Failure::new("bus.unknown-recipient", format!("{} has left", gone.name));
        return Ok(failure.hint("get_team_roster lists those who are there"));
    }
    let here = agents.iter().filter(|agent| !agent.has_left);
    let near = near_matches(text, here.map(|agent| agent.name.as_str()));
    let failure = Failure::new("bus.unknown-recipient", format!("no agent is called {text}"));
    Ok(match near.as_slice() {
        [] => failure.hint("get_team_roster lists everybody; register_agent adds a name"),
        near => failure.hint(format!("did you mean {}?", near.join(", "))),
    })
}
