//! Names of workers: two workers of one agent are two agents on the bus, `claude` and `claude-2`.
//!
//! A task claims the lowest free name when its first worker starts and keeps it until it is settled. So the attempts of
//! a task share an inbox and reserved files, and no two tasks do. The record names the agent of each worker, so that a
//! new daemon has the same claims.
//!
//! Names are not part of the pure state of a run: they are shared by all runs and by agents that a person started. A
//! name that was claimed but not recorded is not known to anyone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use switchboard_protocol::id::{AgentName, RunId, fold};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::StepId;

use crate::Error;
use crate::assignees::Assignee;
use crate::lock::lock;

/// Maximum length of an agent's name before a number, in bytes: a name has at most 64 bytes.
const STEM_BYTES: usize = 56;

/// Names claimed by the tasks of each run.
#[derive(Debug, Default)]
pub(crate) struct WorkerNames(Mutex<Claimed>);

/// Key of a claim: the workers that make a task's change, or those that judge it in a step.
pub(crate) type Key = (TaskId, Option<StepId>);

/// Names of all runs.
#[derive(Debug, Default)]
struct Claimed {
    runs: BTreeMap<RunId, Names>,
    /// All of these names, folded; each is claimed once.
    taken: BTreeSet<String>,
}

/// Names of one run.
#[derive(Debug, Default)]
struct Names {
    by_task: BTreeMap<Key, Assignee>,
    /// Keys of the claims, in the order of claiming.
    claims: Vec<Key>,
}

// === impl WorkerNames ===

impl WorkerNames {
    /// Claims a name for the workers of a task or of one of its steps; returns the present one if they have one.
    /// `is_taken` checks whether a name is taken.
    ///
    /// # Errors
    /// The error of `is_taken`, and [`Error::Missing`] if no name can be made from the agent's.
    pub(crate) fn claim(
        &self,
        (run, key): (&RunId, &Key),
        agent: &AgentName,
        is_scripted: bool,
        is_taken: impl Fn(&AgentName) -> Result<bool, Error>,
    ) -> Result<AgentName, Error> {
        let mut claimed = lock(&self.0);
        if let Some(known) = claimed.runs.get(run).and_then(|names| names.by_task.get(key)) {
            return Ok(known.name.clone());
        }
        let mut name = agent.clone();
        let mut number = 1_u64;
        while claimed.taken.contains(&name.folded()) || is_taken(&name)? {
            number = claimed.next_number(agent, number);
            name = numbered(agent, number)?;
        }
        let claim = Assignee { folded: name.folded(), name: name.clone(), is_scripted };
        claimed.add(run, key, claim);
        Ok(name)
    }

    /// Returns the name of the workers that make a task's change, if one was claimed.
    pub(crate) fn of(&self, run: &RunId, task: &TaskId) -> Option<AgentName> {
        let key = (task.clone(), None);
        lock(&self.0).runs.get(run).and_then(|names| names.by_task.get(&key)).map(|claim| claim.name.clone())
    }

    /// Returns all names of a run, in the order of its tasks.
    pub(crate) fn all(&self, run: &RunId) -> Vec<AgentName> {
        let claimed = lock(&self.0);
        let names = claimed.runs.get(run).into_iter().flat_map(|names| names.by_task.values());
        names.map(|claim| claim.name.clone()).collect()
    }

    /// Returns the names of a run that were claimed after its first `seen` claims and not released since, and the
    /// present number of claims.
    pub(crate) fn claimed_after(&self, run: &RunId, seen: usize) -> (BTreeMap<Key, Assignee>, usize) {
        let claimed = lock(&self.0);
        let Some(names) = claimed.runs.get(run) else { return (BTreeMap::new(), seen) };
        let since = names.claims.get(seen..).unwrap_or_default().iter();
        let claims = since.filter_map(|key| Some((key.clone(), names.by_task.get(key)?.clone())));
        (claims.collect(), names.claims.len())
    }

    /// Restores a claim from the record, unless the name is taken.
    pub(crate) fn restore(&self, run: &RunId, key: &Key, claim: Assignee) {
        let mut claimed = lock(&self.0);
        if !claimed.taken.contains(&claim.folded) {
            claimed.add(run, key, claim);
        }
    }

    /// Releases the names of a run's tasks, except those that `keep` accepts.
    pub(crate) fn retain(&self, run: &RunId, keep: impl Fn(&TaskId) -> bool) {
        let mut claimed = lock(&self.0);
        let Claimed { runs, taken } = &mut *claimed;
        let Some(names) = runs.get_mut(run) else { return };
        for (_, claim) in names.by_task.extract_if(.., |(task, _), _| !keep(task)) {
            taken.remove(&claim.folded);
        }
    }

    /// Releases the names of a task.
    pub(crate) fn release_task(&self, run: &RunId, task: &TaskId) {
        let mut claimed = lock(&self.0);
        let Claimed { runs, taken } = &mut *claimed;
        let Some(names) = runs.get_mut(run) else { return };
        // The names of a task's steps follow that of its makers.
        let first = (task.clone(), None);
        let of_task: Vec<_> =
            names.by_task.range(&first..).map(|(key, _)| key).take_while(|key| key.0 == *task).cloned().collect();
        for claim in of_task.iter().filter_map(|key| names.by_task.remove(key)) {
            taken.remove(&claim.folded);
        }
    }

    /// Releases all names of a run.
    pub(crate) fn release(&self, run: &RunId) {
        let mut claimed = lock(&self.0);
        let Some(names) = claimed.runs.remove(run) else { return };
        for claim in names.by_task.values() {
            claimed.taken.remove(&claim.folded);
        }
    }
}

// === impl Claimed ===

impl Claimed {
    /// Returns the next number after this one that is in no claimed name of the agent.
    fn next_number(&self, agent: &AgentName, after: u64) -> u64 {
        let first = fold(&format!("{}-1", stem(agent.as_str())));
        let stem = first.strip_suffix('1').unwrap_or(&first);
        let is_free = |number: &u64| !self.taken.contains(&format!("{stem}{number}"));
        (after + 1..).find(is_free).unwrap_or(u64::MAX)
    }

    fn add(&mut self, run: &RunId, key: &Key, claim: Assignee) {
        self.taken.insert(claim.folded.clone());
        let replaced = self.runs.entry(run.clone()).or_default().add(key.clone(), claim);
        if let Some(replaced) = replaced {
            self.taken.remove(&replaced.folded);
        }
    }
}

// === impl Names ===

impl Names {
    /// Adds a claim; returns the one that it replaces.
    fn add(&mut self, key: Key, claim: Assignee) -> Option<Assignee> {
        self.claims.push(key.clone());
        self.by_task.insert(key, claim)
    }
}

fn numbered(agent: &AgentName, number: u64) -> Result<AgentName, Error> {
    AgentName::new(format!("{}-{number}", stem(agent.as_str())))
        .map_err(|_| Error::Missing(format!("a name for another worker of {agent}")))
}

/// Returns the beginning of a name that leaves room for a number.
fn stem(name: &str) -> &str {
    name[..name.floor_char_boundary(STEM_BYTES)].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(n: u32) -> TaskId {
        TaskId::new(format!("1.{n}")).unwrap()
    }

    fn agent(name: &str) -> AgentName {
        AgentName::new(name).unwrap()
    }

    fn claim(names: &WorkerNames, run: u64, n: u32, of: &str) -> String {
        let run = RunId::from_bits(run);
        let is_taken = |name: &AgentName| Ok(name.as_str() == "ben-2");
        names.claim((&run, &(task(n), None)), &agent(of), false, is_taken).unwrap().to_string()
    }

    #[test]
    fn each_task_gets_the_lowest_free_name_and_keeps_it_until_it_is_settled() {
        let names = WorkerNames::default();

        assert_eq!(claim(&names, 1, 1, "claude"), "claude");
        assert_eq!(claim(&names, 1, 2, "Claude"), "Claude-2");
        assert_eq!(claim(&names, 2, 1, "claude"), "claude-3", "names are those of all runs");
        assert_eq!(claim(&names, 1, 1, "claude"), "claude", "the next attempt");

        names.retain(&RunId::from_bits(1), |task| task.as_str() != "1.1");
        assert_eq!(claim(&names, 1, 3, "claude"), "claude");
    }

    #[test]
    fn a_numbered_name_that_another_agent_has_is_left_to_it() {
        let names = WorkerNames::default();

        assert_eq!(claim(&names, 1, 1, "ben"), "ben");
        assert_eq!(claim(&names, 1, 2, "ben"), "ben-3");
    }

    #[test]
    fn who_judges_a_change_has_another_name_than_who_made_it_and_keeps_it_with_the_task() {
        let (names, run) = (WorkerNames::default(), RunId::from_bits(1));
        let review = (task(1), Some(StepId::new("review").unwrap()));

        assert_eq!(claim(&names, 1, 1, "claude"), "claude");
        let of_review = names.claim((&run, &review), &agent("claude"), false, |_| Ok(false)).unwrap();
        assert_eq!(of_review.as_str(), "claude-2");
        assert_eq!(names.of(&run, &task(1)), Some(agent("claude")));
        names.retain(&run, |task| task.as_str() == "1.1");
        assert_eq!(names.all(&run).len(), 2);
    }

    #[test]
    fn a_restored_name_is_one_tasks() {
        let (names, run) = (WorkerNames::default(), RunId::from_bits(1));
        let ann = Assignee { name: agent("ann"), folded: "ann".to_owned(), is_scripted: false };
        names.restore(&run, &(task(7), None), ann.clone());
        names.restore(&run, &(task(1), None), ann);

        assert_eq!(names.of(&run, &task(7)), Some(agent("ann")));
        assert_eq!(claim(&names, 1, 1, "ann"), "ann-2");
    }

    #[test]
    fn a_settled_task_releases_all_its_names_and_no_others() {
        let (names, run) = (WorkerNames::default(), RunId::from_bits(1));
        let review = (task(1), Some(StepId::new("review").unwrap()));
        claim(&names, 1, 1, "claude");
        names.claim((&run, &review), &agent("claude"), false, |_| Ok(false)).unwrap();
        claim(&names, 1, 10, "claude");

        names.release_task(&run, &task(1));

        assert_eq!(names.all(&run), [agent("claude-3")]);
        assert_eq!([claim(&names, 1, 2, "claude"), claim(&names, 1, 3, "claude")], ["claude", "claude-2"]);
        names.release(&run);
        assert_eq!(claim(&names, 2, 1, "claude"), "claude", "those of a run are free with it");
    }

    #[test]
    fn a_restored_name_replaces_the_one_that_its_task_had() {
        let (names, run) = (WorkerNames::default(), RunId::from_bits(1));
        claim(&names, 1, 1, "claude");
        names.restore(
            &run,
            &(task(1), None),
            Assignee { name: agent("ann"), folded: "ann".to_owned(), is_scripted: false },
        );

        assert_eq!(names.of(&run, &task(1)), Some(agent("ann")));
        assert_eq!(claim(&names, 1, 2, "claude"), "claude");
    }

    #[test]
    fn claims_are_told_once_and_not_after_they_were_released() {
        let (names, run) = (WorkerNames::default(), RunId::from_bits(1));
        claim(&names, 1, 1, "claude");
        let (first, seen) = names.claimed_after(&run, 0);
        claim(&names, 1, 2, "claude");
        claim(&names, 1, 3, "claude");
        names.release_task(&run, &task(3));

        let (second, seen) = names.claimed_after(&run, seen);

        assert_eq!(first.into_keys().collect::<Vec<_>>(), [(task(1), None)]);
        assert_eq!(second.into_keys().collect::<Vec<_>>(), [(task(2), None)]);
        assert!(names.claimed_after(&run, seen).0.is_empty());
    }

    #[test]
    fn the_longest_names_can_be_numbered() {
        let (names, longest) = (WorkerNames::default(), "ü".repeat(32));
        claim(&names, 1, 1, &longest);

        assert_eq!(claim(&names, 1, 2, &longest), format!("{}-2", "ü".repeat(28)));
    }
}
