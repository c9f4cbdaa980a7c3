//! `set_team`, `remove_team`, and the members of a team.

use std::collections::BTreeMap;

use switchboard_protocol::agent::Agent;
use switchboard_protocol::error::{Failure, near_matches};
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{AgentName, fold};
use switchboard_protocol::team::{MAX_MEMBERS, MAX_TEAMS, Team, TeamEvent, TeamName};
use switchboard_protocol::text::cut;
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::team::{RemoveTeamReply, RemoveTeamRequest, SetTeamReply, SetTeamRequest};
use switchboard_store::{Guard, Query, Row, Store};

use crate::error::refuse;
use crate::register_agent::check_words;
use crate::teams::{MEMBERS, TEAMS};
use crate::{Call, Error, repeated, resolve, roster};

/// Maximum number of capabilities of a team.
const MAX_CAPABILITIES: usize = 8;
/// Maximum number of attempts at a change that races with another one of the same team.
const ATTEMPTS: u32 = 8;

/// Creates a team, or changes its settings and members.
///
/// # Errors
/// A refusal (a member that is not registered, too many, a composite team without its one member, a word that is too
/// long, too many teams) or a failure of the store.
pub async fn set_team(store: &Store, call: &Call, request: SetTeamRequest) -> Result<SetTeamReply, Error> {
    check(&request)?;
    let members = registered(store, &request.members)?;
    if request.is_composite && members.len() != 1 {
        let what = format!("a composite team has one member, not {}", members.len());
        return refuse(Failure::new("request.bad-args", what));
    }
    let name = request.team.clone();
    change(store, call, &name, |before| {
        let set = TeamEvent::TeamSet {
            team: before.map_or(&request.team, |team| &team.name).clone(),
            composite: request.is_composite,
            capabilities: request.capabilities.clone(),
            created_at: before.map(|team| team.created_at),
        };
        let old = before.map_or(&[][..], |team| &team.members);
        let old: BTreeMap<_, _> = old.iter().map(|member| (member.folded(), member.clone())).collect();
        let gone = old.iter().filter(|(id, _)| !members.contains_key(*id)).map(|(_, member)| member.clone());
        let come = members.iter().filter(|(id, _)| !old.contains_key(*id)).map(|(_, member)| member.clone());
        let team = || request.team.clone();
        let gone = gone.map(|member| TeamEvent::TeamMemberRemoved { team: team(), member });
        let come = come.map(|member| TeamEvent::TeamMemberAdded { team: team(), member });
        Ok(std::iter::once(set).chain(gone).chain(come).collect())
    })
    .await?;
    let team = team(store, &name)?.ok_or_else(|| Error::BadRow { what: "no team", text: name.to_string() })?;
    Ok(SetTeamReply { team })
}

/// Removes a team; its members stay on the roster.
///
/// # Errors
/// `bus.unknown-team`, or a failure of the store.
pub async fn remove_team(store: &Store, call: &Call, request: RemoveTeamRequest) -> Result<RemoveTeamReply, Error> {
    let name = request.team;
    let unknown = unknown(store, &name)?;
    if team(store, &name)?.is_none() {
        repeated::or_refuse(store, call.idempotency.as_ref(), unknown.clone()).await?;
        return Ok(RemoveTeamReply { team: name });
    }
    change(store, call, &name, |before| {
        let Some(before) = before else { return refuse(unknown.clone()) };
        let removed = |member: &AgentName| TeamEvent::TeamMemberRemoved { team: name.clone(), member: member.clone() };
        let last = TeamEvent::TeamRemoved { team: name.clone() };
        Ok(before.members.iter().map(removed).chain([last]).collect())
    })
    .await?;
    Ok(RemoveTeamReply { team: name })
}

/// Returns all teams by name.
///
/// # Errors
/// When the store can't be read.
pub fn teams(store: &Store) -> Result<Vec<Team>, Error> {
    let mut members: BTreeMap<String, Vec<AgentName>> = BTreeMap::new();
    for row in store.read(&Query::table(MEMBERS))? {
        members.entry(row.try_text("team")?.to_owned()).or_default().push(agent_name(&row)?);
    }
    let rows = store.read(&Query::table(TEAMS).limit(MAX_TEAMS))?;
    rows.iter().map(|row| of_row(row, members.remove(row.try_text("id")?).unwrap_or_default())).collect()
}

/// Returns the present members of a team, for a message to all of them; with a role, only those that have it.
///
/// # Errors
/// `bus.unknown-team`, `bus.empty-team` (no member present, or none with that role), a failure of the store.
pub fn members(store: &Store, name: &TeamName, role: Option<&str>) -> Result<Vec<Agent>, Error> {
    let Some(team) = team(store, name)? else { return refuse(unknown(store, name)?) };
    let agents = team.members.iter().map(|member| roster::agent(store, member)).collect::<Result<Vec<_>, _>>()?;
    let here: Vec<_> = agents.into_iter().flatten().filter(|agent| !agent.has_left).collect();
    if here.is_empty() {
        let failure = Failure::new("bus.empty-team", format!("the team {} has no member who is there", team.name));
        return refuse(failure.hint("set_team puts agents into it"));
    }
    let Some(role) = role else { return Ok(here) };
    let fitting: Vec<_> = here.into_iter().filter(|agent| fold(&agent.role) == fold(role)).collect();
    if fitting.is_empty() {
        let role = cut(role, 40);
        let failure = Failure::new("bus.empty-team", format!("nobody in the team {} has the role {role:?}", team.name));
        return refuse(failure.hint("get_team_roster lists who has which role"));
    }
    Ok(fitting)
}

fn check(request: &SetTeamRequest) -> Result<(), Error> {
    check_words(&request.capabilities)?;
    let capabilities = ("capabilities", request.capabilities.len(), MAX_CAPABILITIES);
    let limits = [("members", request.members.len(), MAX_MEMBERS), capabilities];
    match limits.into_iter().find(|(_, size, limit)| size > limit) {
        Some((what, size, limit)) => {
            refuse(Failure::new("request.bad-args", format!("a team has at most {limit} {what}, not {size}")))
        }
        None => Ok(()),
    }
}

/// Returns the members by folded name, as written in the roster; one that is named twice counts once.
fn registered(store: &Store, names: &[AgentName]) -> Result<BTreeMap<String, AgentName>, Error> {
    let mut members = BTreeMap::new();
    for name in names {
        let Some(agent) = roster::agent(store, name)? else {
            return refuse(resolve::unknown(store, name.as_str())?);
        };
        members.insert(name.folded(), agent.name);
    }
    Ok(members)
}

/// Decides on the present team and commits, and decides again if it has changed meanwhile.
async fn change(
    store: &Store,
    call: &Call,
    name: &TeamName,
    decide: impl Fn(Option<&Team>) -> Result<Vec<TeamEvent>, Error>,
) -> Result<(), Error> {
    let subject = format!("team/{}", name.folded());
    for attempt in 1.. {
        let rev = store.rev(&subject)?;
        let before = team(store, name)?;
        let mut batch = call.batch().expect(subject.clone(), rev);
        for event in decide(before.as_ref())? {
            batch = batch.event(NewEvent::of(&event, subject.clone(), call.caller.name.as_str())?);
        }
        if before.is_none() {
            let refusal = Failure::new("bus.too-many-teams", format!("there are {MAX_TEAMS} teams already"));
            let refusal = refusal.hint("remove_team removes one");
            batch = batch.guard(Guard::Fewer { query: Query::table(TEAMS), than: MAX_TEAMS, refusal });
        }
        match store.commit(batch).await {
            Ok(_) => break,
            Err(switchboard_store::Error::Conflict { .. }) if attempt < ATTEMPTS => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn team(store: &Store, name: &TeamName) -> Result<Option<Team>, Error> {
    let id = name.folded();
    let Some(row) = store.get(TEAMS, &[id.as_str().into()])? else { return Ok(None) };
    let members = store.read(&Query::table(MEMBERS).eq("team", id))?;
    of_row(&row, members.iter().map(agent_name).collect::<Result<_, _>>()?).map(Some)
}

fn of_row(row: &Row, members: Vec<AgentName>) -> Result<Team, Error> {
    let name = row.try_text("name")?;
    Ok(Team {
        name: TeamName::new(name).map_err(|_| Error::BadRow { what: "a team's name", text: name.to_owned() })?,
        is_composite: row.get_bool("composite"),
        capabilities: serde_json::from_str(row.try_text("capabilities")?)?,
        members,
        created_at: Millis(row.try_int("created_at")?),
    })
}

fn agent_name(row: &Row) -> Result<AgentName, Error> {
    let name = row.try_text("name")?;
    AgentName::new(name).map_err(|_| Error::BadRow { what: "a member's name", text: name.to_owned() })
}

fn unknown(store: &Store, name: &TeamName) -> Result<Failure, Error> {
    let teams = teams(store)?;
    let near = near_matches(name.as_str(), teams.iter().map(|team| team.name.as_str()));
    let failure = Failure::new("bus.unknown-team", format!("no team is called {name}"));
    Ok(match near.as_slice() {
        [] => failure.hint("get_team_roster lists the teams"),
        near => failure.hint(format!("did you mean {}?", near.join(", "))),
    })
}
