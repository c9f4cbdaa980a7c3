//! Jobs: work that is requested without a plan; and two properties of a run that neither its plan nor its isolation defines: how its workers work
//! together, and whether they have mail.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::plan::TaskResult;
use crate::schema::JsonSchema;

/// How the workers of a run work together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One worker alone.
    Single,
    /// Workers side by side.
    Parallel,
    /// Workers in rounds: each sees the answers of the round before; then one decides.
    Debate,
    /// Workers one after the other, each on the result of the one before. The first failure ends the chain.
    Chain,
}

// === impl Mode ===

impl Mode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::Single, Self::Parallel, Self::Debate, Self::Chain];

    /// Returns the mode as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Parallel => "parallel",
            Self::Debate => "debate",
            Self::Chain => "chain",
        }
    }

    /// Returns the mode with this word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}

/// Whether the workers of a run take part in the mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Coordination {
    /// Workers are on the roster and have an inbox; full workers also have Switchboard's tools.
    #[default]
    Managed,
    /// Workers are on no roster, get no mail, and have none of Switchboard's tools.
    Standalone,
}

// === impl Coordination ===

impl Coordination {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Managed, Self::Standalone];

    /// Returns the coordination as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::Standalone => "standalone",
        }
    }

    /// Returns the coordination with this word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }

    /// Returns true for the default, which records leave out.
    #[must_use]
    pub fn is_managed(&self) -> bool {
        *self == Self::Managed
    }
}

/// Work without a plan, described by the request itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Tasks: one for `single`, up to 8 for `parallel`, 2 to 16 steps of a `chain`, 2 to 8 participants of a `debate`.
    pub tasks: Vec<JobTask>,
    /// Topic of a debate, and the agent that decides. Only for a debate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<JobTask>,
    /// Rounds of a debate, 1 to 5; 2 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Number of participants that have to reply in a round of a debate; by default half of them, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<u32>,
    /// Result of the work: `report` (default) keeps the answer; `change` passes the change to the gates and merges it into the run's branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<TaskResult>,
    /// Maximum attempts of each task; by default as the agent's settings say. Participants of a debate have one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
}

/// One worker of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobTask {
    /// Instruction of the worker. In a chain `{previous}` stands for the last answer of the step before; in a debate this is the position to take.
    pub task: String,
    /// Name of the configured agent; by default the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Model, by the agent's own name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Maximum number of tasks of a job that run side by side, as requested.
pub const MAX_PARALLEL: usize = 8;

/// Minimum number of workers that share a task: participants of a debate, steps of a chain, tries of the same task.
pub const MIN_SHARED: u32 = 2;

/// Maximum number of participants of a debate, and of workers that try the same task: each costs as much as the task alone would.
pub const MAX_SHARED: u32 = 8;

/// Maximum number of steps of a chain.
pub const MAX_STEPS: u32 = 16;

/// Maximum number of attempts that a plan or a job may set for a task.
pub const MAX_PLAN_ATTEMPTS: u32 = 20;

/// Maximum number of rounds of a debate.
pub const MAX_ROUNDS: u32 = 5;

/// Default number of workers of a job at once.
pub const JOB_WORKERS: u32 = 4;

// === impl Job ===

impl Job {
    /// Returns the mode of a request that names none: with a topic a debate; with several tasks parallel.
    #[must_use]
    pub const fn usual_mode(&self) -> Mode {
        match (&self.topic, self.tasks.len()) {
            (Some(_), _) => Mode::Debate,
            (None, 1) => Mode::Single,
            (None, _) => Mode::Parallel,
        }
    }

    /// Returns the field that does not fit a mode, and why; `None` if all fit.
    #[must_use]
    pub fn unsupported_field(&self, mode: Mode) -> Option<(&'static str, String)> {
        let count = self.tasks.len();
        let (least, most) = match mode {
            Mode::Single => (1, 1),
            Mode::Parallel => (1, MAX_PARALLEL),
            Mode::Debate => (MIN_SHARED as usize, MAX_SHARED as usize),
            Mode::Chain => (MIN_SHARED as usize, MAX_STEPS as usize),
        };
        if !(least..=most).contains(&count) {
            let what = match mode {
                Mode::Single | Mode::Parallel => "tasks",
                Mode::Debate => "participants",
                Mode::Chain => "steps",
            };
            let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
            return Some(("job.tasks", format!("the mode {} takes {wanted} {what}, found {count}", mode.as_str())));
        }
        if let Some(attempts) = self.attempts.filter(|attempts| !(1..=MAX_PLAN_ATTEMPTS).contains(attempts)) {
            return Some(("job.attempts", format!("a task is tried 1 to {MAX_PLAN_ATTEMPTS} times, found {attempts}")));
        }
        if mode == Mode::Debate {
            return self.misfit_of_debate(count);
        }
        if let Some(at) = self.tasks.iter().position(JobTask::is_blank) {
            return Some(("job.tasks", format!("task number {} is empty", at + 1)));
        }
        let of_debate = [("job.topic", self.topic.is_some()), ("job.rounds", self.rounds.is_some())];
        let of_debate = of_debate.into_iter().chain([("job.quorum", self.quorum.is_some())]);
        let said = of_debate.into_iter().find(|(_, is_said)| *is_said)?.0;
        Some((said, format!("it belongs to a debate, and the mode is {}", mode.as_str())))
    }

    /// Returns the field that a debate can't have, and why. A participant may take no position.
    fn misfit_of_debate(&self, participants: usize) -> Option<(&'static str, String)> {
        if self.topic.as_ref().is_none_or(JobTask::is_blank) {
            return Some(("job.topic", "a debate needs to know what it is about".to_owned()));
        }
        if let Some(rounds) = self.rounds.filter(|rounds| !(1..=MAX_ROUNDS).contains(rounds)) {
            return Some(("job.rounds", format!("a debate has 1 to {MAX_ROUNDS} rounds, found {rounds}")));
        }
        let quorum = self.quorum.filter(|quorum| *quorum == 0 || *quorum as usize > participants)?;
        Some(("job.quorum", format!("1 to {participants} of the participants can reply, found {quorum}")))
    }

    /// Returns the plan for the job, as the text of a plan.json. A job that does not fit its mode makes a plan that is refused.
    #[must_use]
    pub fn plan(&self, mode: Mode) -> String {
        let mut usual = json!({ "result": self.result.unwrap_or(TaskResult::Report) });
        put(&mut usual, "attempts", self.attempts);
        let with = |name: &str, value: Value| {
            let mut settings = usual.clone();
            settings[name] = value;
            settings
        };
        let tasks: Vec<Value> = match mode {
            Mode::Single | Mode::Parallel => {
                (1..).zip(&self.tasks).map(|(number, task)| task.in_plan(number, usual.clone())).collect()
            }
            Mode::Chain => {
                let steps: Vec<_> = self.tasks.iter().map(|task| task.of_many("prompt")).collect();
                let first = self.tasks.first().map_or("", |task| task.task.as_str());
                let whole = JobTask { task: first.to_owned(), ..JobTask::default() };
                vec![whole.in_plan(1, with("chain", json!(steps)))]
            }
            Mode::Debate => {
                let participants: Vec<_> = self.tasks.iter().map(|task| task.of_many("prompt")).collect();
                let mut debate = json!({ "participants": participants });
                put(&mut debate, "rounds", self.rounds);
                put(&mut debate, "quorum", self.quorum);
                let topic = self.topic.clone().unwrap_or_default();
                vec![topic.in_plan(1, with("debate", debate))]
            }
        };
        let title = self.topic.iter().chain(&self.tasks).map(JobTask::title).next().unwrap_or_default();
        let phase = json!({ "id": 1, "name": "job", "tasks": tasks });
        json!({ "schema_version": "1.0.0", "title": title, "swarm": "job", "phases": [phase] }).to_string()
    }
}

// === impl JobTask ===

impl JobTask {
    fn in_plan(&self, number: usize, mut settings: Value) -> Value {
        put(&mut settings, "agent", self.agent.as_ref());
        put(&mut settings, "model", self.model.as_ref());
        json!({ "id": format!("1.{number}"), "phase": 1, "description": self.task, "x-switchboard": settings })
    }

    fn is_blank(&self) -> bool {
        self.task.trim().is_empty()
    }

    /// Returns the plan entry of one of several workers on a task.
    fn of_many(&self, told: &str) -> Value {
        let mut worker = json!({});
        put(&mut worker, told, Some(&self.task).filter(|task| !task.is_empty()));
        put(&mut worker, "agent", self.agent.as_ref());
        put(&mut worker, "model", self.model.as_ref());
        worker
    }

    /// Returns the first words of the task, for a list of runs.
    fn title(&self) -> String {
        let line = self.task.lines().find(|line| !line.trim().is_empty()).unwrap_or("a job");
        crate::text::cut(line.trim(), 80)
    }
}

fn put(object: &mut Value, name: &str, value: Option<impl Serialize>) {
    if let Some(value) = value {
        object[name] = json!(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(count: usize) -> Job {
        let task = |number: usize| JobTask { task: format!("do {number}"), ..JobTask::default() };
        Job { tasks: (1..=count).map(task).collect(), ..Job::default() }
    }

    #[test]
    fn what_does_not_go_with_a_mode_is_named() {
        let misfit = |job: &Job, mode| job.unsupported_field(mode).map(|(field, _)| field);
        let topic = JobTask { task: "why".to_owned(), ..JobTask::default() };
        let debate = Job { topic: Some(topic), ..job(2) };

        assert_eq!(misfit(&job(2), Mode::Single), Some("job.tasks"));
        assert_eq!(misfit(&job(9), Mode::Parallel), Some("job.tasks"));
        assert_eq!(misfit(&job(1), Mode::Chain), Some("job.tasks"));
        assert_eq!(misfit(&job(2), Mode::Debate), Some("job.topic"));
        assert_eq!(misfit(&debate, Mode::Parallel), Some("job.topic"));
        assert_eq!(misfit(&Job { rounds: Some(2), ..job(1) }, Mode::Single), Some("job.rounds"));
        assert_eq!(misfit(&Job { quorum: Some(2), ..job(2) }, Mode::Chain), Some("job.quorum"));
        for (job, mode) in
            [(job(1), Mode::Single), (job(8), Mode::Parallel), (job(16), Mode::Chain), (debate, Mode::Debate)]
        {
            assert_eq!(misfit(&job, mode), None, "{mode:?}");
        }
    }
}
