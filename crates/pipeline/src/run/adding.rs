//! How a run gets its tasks.

use switchboard_protocol::plan::TaskId;

use super::record::Record;
use super::step::Consequences;
use super::{Header, Refused, RunState};
use crate::paths::Pattern;

impl RunState {
    pub(super) fn run_started(&mut self, header: Header) -> Result<Consequences, Refused> {
        match &self.header {
            Some(known) if *known == header => Ok(Vec::new()),
            Some(_) => Err(Refused::illegal("the run has started already, with other settings")),
            None if header.max_workers == 0 => Err(Refused::illegal("a run needs at least one worker")),
            None => {
                self.header = Some(header);
                Ok(Vec::new())
            }
        }
    }

    pub(super) fn task_added(
        &mut self,
        id: &TaskId,
        timeout_ms: Option<i64>,
        lists: &Lists<'_>,
    ) -> Result<Consequences, Refused> {
        if self.by_id.contains_key(id) {
            return Ok(Vec::new());
        }
        if self.header.is_none() || self.is_open() {
            return Err(Refused::illegal(format!("task {id} comes before the run's start or after its last task")));
        }
        let lists = self.resolve(id, lists)?;
        let at = self.records.len();
        self.records.push(Record::new(id.clone(), timeout_ms));
        self.by_id.insert(id.clone(), at);
        self.unsettled += 1;
        self.extend(at, lists);
        Ok(Vec::new())
    }

    pub(super) fn task_extended(&mut self, id: &TaskId, part: u32, lists: &Lists<'_>) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        let known = self.records[at].parts;
        if part <= known {
            return Ok(Vec::new());
        }
        if part != known + 1 || self.is_open() {
            return Err(Refused::illegal(format!("part {part} of task {id} doesn't follow on part {known}")));
        }
        let lists = self.resolve(id, lists)?;
        self.records[at].parts = part;
        self.extend(at, lists);
        Ok(Vec::new())
    }

    /// Reads the lists of a task, all of them or none.
    fn resolve(&self, id: &TaskId, lists: &Lists<'_>) -> Result<Resolved, Refused> {
        let known = |depends: &TaskId| {
            let unknown =
                || Refused::illegal(format!("task {id} depends on {depends}, which comes later or not at all"));
            self.by_id.get(depends).copied().filter(|_| depends != id).ok_or_else(unknown)
        };
        let path = |text: &String| {
            Pattern::parse(text).map_err(|why| Refused::illegal(format!("task {id} declares to write {text:?}: {why}")))
        };
        Ok(Resolved {
            depends: lists.depends.iter().map(known).collect::<Result<_, _>>()?,
            writes: lists.writes.iter().map(path).collect::<Result<_, _>>()?,
            gates: lists.gates.to_vec(),
        })
    }

    fn extend(&mut self, at: usize, lists: Resolved) {
        for dependency in lists.depends {
            if self.records[at].depends.insert(dependency) {
                self.records[dependency].dependents.push(at);
                self.records[at].unmet += 1;
            }
        }
        let record = &mut self.records[at];
        for gate in lists.gates {
            if !record.gates.contains(&gate) {
                record.gates.push(gate);
            }
        }
        let first_new = record.writes.len();
        record.writes.extend(lists.writes);
        self.parts += 1;
        self.queue.declare(at, &self.records[at], first_new);
        self.await_dependencies(at);
    }
}

/// The lists of a task as an event has them.
pub(super) struct Lists<'a> {
    pub(super) depends: &'a [TaskId],
    pub(super) writes: &'a [String],
    pub(super) gates: &'a [String],
}

/// The lists of a task, read.
struct Resolved {
    depends: Vec<usize>,
    writes: Vec<Pattern>,
    gates: Vec<String>,
}
