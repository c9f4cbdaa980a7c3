//! `switchboard agents`

mod definitions;

use switchboard_protocol::agent::Agent;
use switchboard_protocol::definition::AgentScope;
use switchboard_protocol::team::Team;
use switchboard_protocol::verb::agent::{GetTeamRoster, GetTeamRosterRequest};

use crate::available::Available;
use crate::context::Context;
use crate::output::{Output, Table, one_line, when};
use crate::report::Outcome;

use definitions::Listed;
pub(crate) use definitions::refused;

/// List the team: names, roles, status, unread mail, teams within it, and agents that files define
#[derive(Debug, clap::Args)]
#[command(after_help = "Verb: get_team_roster")]
pub(crate) struct Args {}

/// Requests the team and prints it.
pub(crate) fn run(_: &Args, context: &mut Context) -> Outcome {
    let roster = context.daemon()?.call::<GetTeamRoster>(&GetTeamRosterRequest {})?;
    let available = Available::within(AgentScope::Both, context)?;
    let definitions = Listed::of(&available, context);
    if context.json {
        let mut shown = serde_json::json!(roster);
        definitions.add(&mut shown);
        context.out.json(&shown);
        return Ok(());
    }
    show_agents(&roster.agents, context);
    show_teams(&roster.teams, &mut context.out);
    definitions.show(&mut context.out);
    Ok(())
}

fn show_agents(agents: &[Agent], context: &mut Context) {
    if agents.is_empty() {
        context.out.line("nobody has registered yet");
        return;
    }
    let mut table = Table::new(&["AGENT", "KIND", "ROLE", "UNREAD", "LAST SEEN", "STATUS"]);
    for agent in agents {
        let kind = if agent.is_scripted { "script" } else { agent.kind.as_str() };
        let status = match agent.status_message.as_str() {
            "" => agent.status.clone(),
            message => format!("{}: {message}", agent.status),
        };
        let cells = [agent.name.to_string(), kind.to_owned(), one_line(&agent.role, 20), agent.unread.to_string()];
        table.row(cells.into_iter().chain([when(agent.last_seen), one_line(&status, 60)]));
    }
    context.out.table(&table);
}

fn show_teams(teams: &[Team], out: &mut Output) {
    if teams.is_empty() {
        return;
    }
    out.line("");
    let mut table = Table::new(&["TEAM", "KIND", "CAN", "MEMBERS"]);
    for team in teams {
        let kind = if team.is_composite { "composite" } else { "manual" };
        let members: Vec<_> = team.members.iter().map(ToString::to_string).collect();
        let can = one_line(&team.capabilities.join(", "), 30);
        table.row([team.name.to_string(), kind.to_owned(), can, one_line(&members.join(", "), 100)]);
    }
    out.table(&table);
}
