//! Reads a run's events, including those of older versions: the upcaster of `task_added` and `task_extended`.

use serde::Deserialize;
use switchboard_protocol::event::RawEvent;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::run::way::{UnitId, Way};

use crate::way::recorded_before_ways;

/// Reads the events of one run in order. Before ways existed, a run was recorded as tasks with lists of gates. Such a
/// run is read as if each task had the way that versions of that time carried out.
#[derive(Debug, Default)]
pub struct Reader {
    started: Option<RunEvent>,
    tasks: Vec<OldTask>,
    parts: u32,
    is_open: bool,
}

/// Why an event of an older version can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} of an older version can't be read: {why}")]
pub struct Unreadable {
    kind: String,
    why: String,
}

/// Content of `task_added` and `task_extended`, version 1.
#[derive(Debug, Deserialize)]
struct OldTask {
    task: TaskId,
    #[serde(default)]
    depends: Vec<TaskId>,
    #[serde(default)]
    writes: Vec<String>,
    #[serde(default)]
    gates: Vec<String>,
    #[serde(default)]
    timeout_ms: Option<i64>,
}

impl Reader {
    /// Creates a reader for the beginning of a run.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a reader for events after the run's start.
    #[must_use]
    pub fn past_the_start() -> Self {
        Self { is_open: true, ..Self::default() }
    }

    /// Converts an event to today's events: usually to itself, and to none if it is not about the run's progress. The
    /// opening of an older run is returned as a whole after its last task.
    ///
    /// # Errors
    /// When an event of an older version doesn't have that version's shape.
    pub fn read(&mut self, event: &RawEvent) -> Result<Vec<RunEvent>, Unreadable> {
        match event.kind.as_str() {
            "task_added" | "task_extended" => self.read_old(&event.kind, event.facts.as_str()),
            "plan_recorded" => Ok(self.progress(plan_part(event.facts.as_str()).or_else(|| event.fact()))),
            // The first task shows that a run is an older one; until then its start is held back.
            "run_started" if !self.is_open => Ok(self.hold_start(event.fact::<RunEvent>())),
            _ => Ok(self.progress(event.fact::<RunEvent>())),
        }
    }

    fn progress(&mut self, fact: Option<RunEvent>) -> Vec<RunEvent> {
        let Some(fact) = fact.filter(RunEvent::is_progress) else { return Vec::new() };
        self.is_open = true;
        self.started.take().into_iter().chain([fact]).collect()
    }

    fn hold_start(&mut self, fact: Option<RunEvent>) -> Vec<RunEvent> {
        if let Some(RunEvent::RunStarted { parts, .. }) = &fact {
            self.parts = *parts;
        }
        let is_empty = self.parts == 0;
        self.started = fact;
        if is_empty { self.started.take().into_iter().collect() } else { Vec::new() }
    }

    fn read_old(&mut self, kind: &str, facts: &str) -> Result<Vec<RunEvent>, Unreadable> {
        let unreadable = |why: String| Unreadable { kind: kind.to_owned(), why };
        if self.is_open {
            // A repeated event.
            return Ok(Vec::new());
        }
        let more: OldTask = serde_json::from_str(facts).map_err(|error| unreadable(error.to_string()))?;
        self.parts = self.parts.saturating_sub(1);
        match self.tasks.iter_mut().find(|known| known.task == more.task) {
            Some(known) => {
                known.depends.extend(more.depends);
                known.writes.extend(more.writes);
                known.gates.extend(more.gates);
            }
            None => self.tasks.push(more),
        }
        if self.parts > 0 {
            return Ok(Vec::new());
        }
        self.is_open = true;
        self.opening().map_err(unreadable)
    }

    /// Returns the opening of the run as it would be recorded today.
    fn opening(&mut self) -> Result<Vec<RunEvent>, String> {
        let mut ways: Vec<(Vec<String>, switchboard_protocol::id::Digest)> = Vec::new();
        let mut events = Vec::new();
        for task in std::mem::take(&mut self.tasks) {
            let mut gates = Vec::new();
            task.gates.into_iter().for_each(|gate| {
                if !gates.contains(&gate) {
                    gates.push(gate)
                }
            });
            let known = ways.iter().find(|(known, _)| *known == gates).map(|(_, way)| *way);
            let way = match known {
                Some(way) => way,
                None => {
                    let (digest, recorded) = recorded(&gates)?;
                    ways.push((gates, digest));
                    events.push(recorded);
                    digest
                }
            };
            events.push(RunEvent::UnitAdded {
                unit: UnitId::Task(task.task),
                within: None,
                way,
                after: task.depends.into_iter().map(UnitId::Task).collect(),
                writes: task.writes,
                reads: Vec::new(),
                timeout_ms: task.timeout_ms,
            });
        }
        let Some(RunEvent::RunStarted { title, plan_hash, base, parts: _, max_workers }) = self.started.take() else {
            return Err("it comes before the run's start".to_owned());
        };
        let parts = u32::try_from(events.len()).unwrap_or(u32::MAX);
        events.insert(0, RunEvent::RunStarted { title, plan_hash, base, parts, max_workers });
        Ok(events)
    }
}

/// Reads a part of a plan without its text, which is no part of the state; `None` if it has another shape.
fn plan_part(facts: &str) -> Option<RunEvent> {
    #[derive(Deserialize)]
    struct PlanPart {
        part: u32,
        of: u32,
        #[serde(rename = "text")]
        _text: serde::de::IgnoredAny,
    }
    let PlanPart { part, of, .. } = serde_json::from_str(facts).ok()?;
    Some(RunEvent::PlanRecorded { part, of, text: String::new() })
}

fn recorded(gates: &[String]) -> Result<(switchboard_protocol::id::Digest, RunEvent), String> {
    let way: Way = recorded_before_ways(gates).map_err(|error| error.to_string())?;
    let digest = way.digest().map_err(|error| error.to_string())?;
    let text = serde_json::to_string(&way).map_err(|error| error.to_string())?;
    Ok((digest, RunEvent::WayRecorded { way: digest, part: 1, of: 1, text }))
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::event::{Facts, Lsn};
    use switchboard_protocol::time::Millis;

    use super::*;

    #[test]
    fn a_part_of_a_plan_is_read_without_its_text() {
        let facts = Facts::parse(r#"{"part":1,"of":2,"text":"{}"}"#).unwrap();
        let event = RawEvent { lsn: Lsn::default(), ts: Millis(0), kind: "plan_recorded".to_owned(), rev: 1, facts };

        let read = Reader::new().read(&event).unwrap();

        assert_eq!(read, [RunEvent::PlanRecorded { part: 1, of: 2, text: String::new() }]);
    }
}
