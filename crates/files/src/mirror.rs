//! Writes `state.json` and `sessions/activity.jsonl`: copies of the log for programs that read these files.
//! Editing them changes nothing.

use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Folder;
use serde_json::{Map, Value, json};
use switchboard_protocol::agent::{Agent, AgentKind};
use switchboard_protocol::event::{Event, Lsn};
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::run::RunSummary;
use switchboard_store::Filter;

use crate::Error;
use crate::service::Service;

/// Minimum interval between updates of the copies.
const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// Number of events with which a new activity log begins, counted from the end.
const BEGIN: Lsn = 5000;

/// Number of events read at once.
const PAGE: usize = 500;

/// Size at which the activity log is rotated, in bytes.
const ROTATE_BYTES: u64 = 5 << 20;

/// Maximum length of a row's text, in characters.
const MAX_TEXT: usize = 800;

/// Number of bytes at the end of the activity log that are searched for its last row; a row has at most 4 KiB.
const TAIL: u64 = 64 << 10;

/// Prefixes of the kinds of events in the activity log, with the `type` of their rows.
const TYPES: [(&str, &str); 10] = [
    ("message_file_refused", "dispatch"),
    ("message_file_", ""),
    ("message_", "dispatch"),
    ("held_message_", "dispatch"),
    ("agent_", "ui_action"),
    ("need_", "workflow_event"),
    ("run_", "workflow_event"),
    ("task_", "workflow_event"),
    ("worker_intended", "workflow_event"),
    ("plan_", "plan_management"),
];

/// Words in a field's name that mark its value as a secret.
const SECRET: [&str; 7] = ["apikey", "password", "secret", "token", "authorization", "cookie", "privatekey"];

/// Progress of the copies.
#[derive(Default)]
pub(super) struct Mirror {
    last: Option<Instant>,
    state: String,
    written: Option<Lsn>,
    head: Lsn,
}

// === impl Mirror ===

impl Mirror {
    /// Runs one pass; returns true if the copies are behind because they were written a moment ago.
    pub(super) fn pass(&mut self, service: &Service, root: &Folder) -> Result<bool, Error> {
        let head = service.store.head().lsn;
        if self.last.is_some() && head == self.head {
            return Ok(false);
        }
        if self.last.is_some_and(|last| last.elapsed() < MIN_INTERVAL) {
            return Ok(true);
        }
        self.last = Some(Instant::now());
        self.head = head;
        let team =
            Team { agents: switchboard_bus::roster(&service.store)?, teams: switchboard_bus::teams(&service.store)? };
        let run = service.host.newest_run()?;
        let state = serde_json::to_string_pretty(&state(&team, run.as_ref()))? + "\n";
        if state != self.state || !root.has("state.json") {
            root.replace("state.json", state.as_bytes())?;
            self.state = state;
        }
        drop(root.make("sessions")?);
        self.log(service, head)?;
        Ok(false)
    }

    /// Appends new events. The log's last row holds its position, so a crash neither loses nor duplicates a row.
    fn log(&mut self, service: &Service, head: Lsn) -> Result<(), Error> {
        let path = service.project().join("sessions/activity.jsonl");
        let mut options = fs::OpenOptions::new();
        let nofollow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
        let mut file = options.create(true).read(true).append(true).mode(0o600).custom_flags(nofollow).open(&path)?;
        let mut at = match self.written {
            Some(at) if file.metadata()?.len() > 0 => at,
            Some(_) | None => mend(&mut file)?.unwrap_or_else(|| head.saturating_sub(BEGIN)),
        };
        at = at.min(head);
        while at < head {
            let events = service.store.events(at, &Filter::all(), PAGE).map_err(switchboard_bus::Error::from)?;
            let Some(last) = events.last() else { break };
            let rows: String = events.iter().filter_map(row).collect();
            file.write_all(rows.as_bytes())?;
            at = last.lsn;
        }
        self.written = Some(at);
        if file.metadata()?.len() > ROTATE_BYTES {
            rotate(&path, &service.now().to_string())?;
            self.written = None;
            fs::write(&path, marker(at))?;
        }
        Ok(())
    }
}

/// Cuts off an incomplete row left by a crash; returns the position in the last complete one.
fn mend(file: &mut fs::File) -> Result<Option<Lsn>, Error> {
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    let Some(end) = tail.iter().rposition(|byte| *byte == b'\n') else {
        file.set_len(0)?;
        return Ok(None);
    };
    file.set_len(size - (tail.len() - end - 1) as u64)?;
    let rows = tail[..end].split(|byte| *byte == b'\n').rev();
    Ok(rows.filter_map(|row| serde_json::from_slice::<Value>(row).ok()).find_map(|row| row.get("seq")?.as_u64()))
}

/// Returns the first row of a log that continues another.
fn marker(at: Lsn) -> String {
    json!({ "type": "log_rotated", "seq": at }).to_string() + "\n"
}

fn rotate(path: &Path, now: &str) -> std::io::Result<()> {
    let stamp = now.replace([':', '.'], "-");
    fs::rename(path, path.with_file_name(format!("activity-{stamp}.jsonl")))
}

/// Returns the row of an event: facts only, never the text of a message.
fn row(event: &Event) -> Option<String> {
    let (_, kind) = TYPES.iter().find(|(begin, _)| event.kind.starts_with(begin))?;
    if kind.is_empty() {
        return None;
    }
    let mut payload = Map::new();
    payload.insert("event".to_owned(), json!(event.kind));
    payload.insert("actor".to_owned(), json!(event.actor));
    // The store takes no facts that can't be read; an imported log may have a number that no `f64` holds.
    let facts = event.facts.to_value().unwrap_or_else(|_| json!(event.facts.as_str()));
    payload.insert("facts".to_owned(), redact(&facts));
    let row = json!({ "timestamp": event.ts.to_string(), "type": kind, "payload": payload,
        "correlationId": event.subject, "seq": event.lsn });
    Some(row.to_string() + "\n")
}

fn redact(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) if text.chars().count() > MAX_TEXT => {
            json!(text.chars().take(MAX_TEXT).chain("… [cut]".chars()).collect::<String>())
        }
        Value::String(_) => value.clone(),
        Value::Array(items) => items.iter().map(redact).collect(),
        Value::Object(fields) => {
            let hide = |name: &str| {
                let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
                SECRET.iter().any(|word| name.to_ascii_lowercase().contains(word))
            };
            let of = |(name, value): (&String, &Value)| {
                (name.clone(), if hide(name) { json!("[REDACTED]") } else { redact(value) })
            };
            Value::Object(fields.iter().map(of).collect())
        }
    }
}

/// Agents and teams for `state.json`.
struct Team {
    agents: Vec<Agent>,
    teams: Vec<switchboard_protocol::team::Team>,
}

/// Returns the content of `state.json`. The session is the newest run; fields without an equivalent (workflows) are
/// present and empty.
fn state(team: &Team, run: Option<&RunSummary>) -> Value {
    let (mut terminals, mut chats) = (Map::new(), Map::new());
    for agent in &team.agents {
        let of = |team: &&switchboard_protocol::team::Team| {
            team.members.iter().any(|member| member.folded() == agent.name.folded())
        };
        let friendly = if agent.friendly_name.is_empty() { agent.name.as_str() } else { &agent.friendly_name };
        let common = json!({ "role": agent.role, "status": agent.status, "statusMessage": agent.status_message,
            "friendlyName": friendly, "icon": agent.icon, "color": agent.color, "lastSeen": agent.last_seen.to_string(),
            "team": team.teams.iter().find(of).map(|team| &team.name), "activeWorkflow": null, "unread": agent.unread });
        let Value::Object(mut entry) = common else { continue };
        match agent.kind {
            AgentKind::Terminal => {
                entry.insert("purpose".to_owned(), json!(agent.purpose));
                entry.insert("pid".to_owned(), json!(agent.pid));
                terminals.insert(agent.name.to_string(), Value::Object(entry));
            }
            AgentKind::Chat | AgentKind::Worker | AgentKind::Person => {
                entry.insert("type".to_owned(), json!(agent.kind));
                entry.insert("interface".to_owned(), json!(agent.interface));
                entry.insert("capabilities".to_owned(), json!(agent.capabilities));
                chats.insert(agent.name.to_string(), Value::Object(entry));
            }
        }
    }
    let teams: Map<String, Value> = team.teams.iter().map(|team| (team.name.folded(), of_team(team))).collect();
    json!({ "session": session(run), "context": {}, "tasks": [], "teams": teams, "terminals": terminals, "chatAgents": chats })
}

fn of_team(team: &switchboard_protocol::team::Team) -> Value {
    json!({ "name": team.name, "members": team.members, "isComposite": team.is_composite,
        "capabilities": team.capabilities, "createdAt": team.created_at.to_string() })
}

fn session(run: Option<&RunSummary>) -> Value {
    let is_live = run.is_some_and(|run| run.state == "running");
    let time = |at: Option<Millis>| at.map(|at| at.to_string());
    json!({
        "id": run.map(|run| &run.run), "status": if is_live { "IN_PROGRESS" } else { "IDLE" },
        "startTime": time(run.map(|run| run.started_at)), "endTime": time(run.and_then(|run| run.ended_at)),
        "lastOutcome": run.filter(|_| !is_live).map(|run| &run.state),
        "activeWorkflow": null, "suspendedWorkflows": [], "activePersona": null, "currentStep": 0,
        "activeWorkflowPhase": 0, "workflowToolInvocations": [],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_long_texts_do_not_get_into_the_activity_log() {
        let facts = json!({ "api_key": "s3cret", "list": [{ "sessionToken": "s3cret", "id": "msg_1" }],
            "note": "x".repeat(2000) });

        let shown = redact(&facts).to_string();

        assert!(!shown.contains("s3cret") && shown.contains("msg_1") && shown.contains("[cut]"), "{shown}");
    }

    #[test]
    fn half_a_row_that_a_crash_left_is_cut_off() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"{\"seq\":4}\n{\"seq\":7}\n{\"seq\":9").unwrap();

        assert_eq!(mend(&mut file).unwrap(), Some(7));

        assert_eq!(file.metadata().unwrap().len(), 20);
        let mut broken = tempfile::tempfile().unwrap();
        broken.write_all(b"{\"seq\":4").unwrap();
        assert_eq!(mend(&mut broken).unwrap(), None);
        assert_eq!(broken.metadata().unwrap().len(), 0);
    }
}
