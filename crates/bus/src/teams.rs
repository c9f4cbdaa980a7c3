//! Projection of teams and their members.

use switchboard_protocol::event::Event;
use switchboard_protocol::team::TeamEvent;
use switchboard_store::{Change, Column, Projection, Row, Table};

/// One row per team, keyed by the folded name.
pub(crate) const TEAMS: &str = "teams";
/// One row per member of a team, keyed by both folded names.
pub(crate) const MEMBERS: &str = "team_members";

static TABLES: [Table; 2] = [
    Table {
        name: TEAMS,
        columns: &[
            Column::text("id"),
            Column::text("name"),
            Column::int("composite"),
            Column::text("capabilities"),
            Column::int("created_at"),
        ],
        key: &["id"],
        indexes: &[],
        sparse: &[],
    },
    Table {
        name: MEMBERS,
        columns: &[Column::text("team"), Column::text("member"), Column::text("name")],
        key: &["team", "member"],
        indexes: &[],
        sparse: &[],
    },
];

/// Projector of teams.
#[derive(Debug, Clone, Copy, Default)]
pub struct Teams;

impl Projection for Teams {
    fn tables(&self) -> &'static [Table] {
        &TABLES
    }

    fn version(&self) -> u32 {
        1
    }

    fn prefixes(&self) -> &'static [&'static str] {
        &["team_"]
    }

    fn project(&self, event: &Event) -> Vec<Change> {
        event.fact::<TeamEvent>().map_or_else(Vec::new, |fact| vec![change(event, fact)])
    }
}

fn change(event: &Event, fact: TeamEvent) -> Change {
    match fact {
        TeamEvent::TeamSet { team, composite, capabilities, created_at } => {
            let row = Row::new()
                .with("id", team.folded())
                .with("name", team.as_str())
                .with("composite", composite)
                .with("capabilities", serde_json::json!(capabilities).to_string())
                .with("created_at", created_at.unwrap_or(event.ts));
            Change::put(TEAMS, row)
        }
        TeamEvent::TeamMemberAdded { team, member } => {
            let row = Row::new().with("team", team.folded()).with("member", member.folded());
            Change::put(MEMBERS, row.with("name", member.as_str()))
        }
        TeamEvent::TeamMemberRemoved { team, member } => {
            Change::delete(MEMBERS, [team.folded().into(), member.folded().into()])
        }
        TeamEvent::TeamRemoved { team } => Change::delete(TEAMS, [team.folded().into()]),
    }
}
