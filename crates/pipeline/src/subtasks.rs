//! Splits tasks that several workers share: chains, debates and the best of several tries become subtasks of their
//! task.
//!
//! All other code handles tasks only: a subtask has a worker, a tree, a budget and a log like every task. Its id begins
//! with its task's.
//!
//! | setting | subtasks | the task itself |
//! |---|---|---|
//! | `chain` | `1.1.s1` … : a [`WorkResult::Draft`] each, which begins on the change of the one before | the last step |
//! | `best_of` | `1.1.c1` … : an [`WorkResult::Candidate`] each | chooses among those that passed their gates |
//! | `merge` of the plan | none; `1.slice-api` beside them is the merge of a group as a whole | is merged into its group's branch |
//! | `team` of the plan | `1.1.design` before a task on a user interface: the designer's [`WorkResult::Report`] | does the work, knowing what was designed |
//! | `debate` | `1.1.r1.p1` … : an [`WorkResult::Report`] of each participant in each round | does the work, or reports, knowing all that was said |

mod landing;
mod marks;
mod prompt;
mod shape;

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::error::Failure;
use switchboard_protocol::plan::{
    AskSettings, BestOf, DebateSettings, Phase, Plan, Task, TaskId, TaskResult, TaskSettings, WorkerSettings,
};
use switchboard_protocol::role::RoleName;

pub use landing::into;
pub use marks::{is_over, taken};
pub use prompt::prompt;
pub use shape::{Expanded, PromptSource, Quorum, Shape, WorkResult};

use crate::settings;
use crate::team::design;

/// Default number of rounds of a debate.
const ROUNDS: u32 = 2;

/// Number of silent turns in a row after which a participant is not asked again.
const MAX_ABSENCES: usize = 2;

/// Splits all tasks that several workers share. The same plan always results in the same subtasks.
///
/// # Errors
/// `plan.mode` with every task whose settings contradict each other; `plan.cycle` if groups that merge as a whole wait
/// for each other.
pub fn expand(plan: &Plan) -> Result<Expanded, Failure> {
    landing::add(plan, informed(plan, taken_apart(plan)?))
}

/// Adds reports to the prompts of the tasks that depend on them, except tasks whose description is replaced by another
/// prompt.
fn informed(plan: &Plan, mut expanded: Expanded) -> Expanded {
    let of_plan: BTreeSet<&TaskId> = plan.tasks().filter(|task| task.is_report()).map(|task| &task.id).collect();
    for task in expanded.plan.tasks().filter(|_| !of_plan.is_empty()) {
        let mut reports: Vec<_> = task.depends.iter().filter(|on| of_plan.contains(on)).cloned().collect();
        let told = expanded.shapes.get(&task.id).map(|shape| shape.told.clone()).unwrap_or_default();
        let is_told_else = match told {
            PromptSource::Task => false,
            PromptSource::Informed { reports: designed } => {
                reports.extend(designed);
                false
            }
            PromptSource::Step { .. } | PromptSource::Turn { .. } | PromptSource::Decision { .. } => true,
        };
        if !reports.is_empty() && !is_told_else {
            expanded.shapes.entry(task.id.clone()).or_default().told = PromptSource::Informed { reports };
        }
    }
    expanded
}

fn taken_apart(plan: &Plan) -> Result<Expanded, Failure> {
    let has_design = |phase: &Phase| phase.tasks.iter().any(|task| is_designed(plan, phase, task));
    if !plan.tasks().any(is_special) && !plan.phases.iter().any(has_design) {
        return Ok(Expanded { plan: plan.clone(), shapes: BTreeMap::new(), notes: Vec::new() });
    }
    let ids: BTreeSet<&TaskId> = plan.tasks().map(|task| &task.id).collect();
    let mut expander = Expander { plan, ids, shapes: BTreeMap::new(), notes: Vec::new(), refusals: Vec::new() };
    let mut expanded = plan.clone();
    for (phase, source) in expanded.phases.iter_mut().zip(&plan.phases) {
        phase.tasks = source.tasks.iter().flat_map(|task| expander.task(source, task)).collect();
    }
    let Expander { shapes, notes, refusals, .. } = expander;
    let Some((task, reason)) = refusals.first() else {
        return Ok(Expanded { plan: expanded, shapes, notes });
    };
    let mut failure = Failure::new("plan.mode", format!("task {task}: {reason}"));
    failure.cause = refusals.iter().map(|(task, reason)| format!("task {task}: {reason}")).collect();
    Err(failure)
}

/// Returns true if several workers share a task, or its result is a report.
fn is_special(task: &Task) -> bool {
    task.switchboard.as_ref().is_some_and(|settings| {
        let TaskSettings { chain, debate, best_of, asks, .. } = settings;
        settings.is_report() || asks.is_some() || chain.is_some() || debate.is_some() || best_of.is_some()
    })
}

/// Returns true if a designer prepares a task that a single worker does.
fn is_designed(plan: &Plan, phase: &Phase, task: &Task) -> bool {
    !is_special(task) && design::is_wanted(&settings::of(plan, phase, task))
}

struct Expander<'a> {
    plan: &'a Plan,
    ids: BTreeSet<&'a TaskId>,
    shapes: BTreeMap<TaskId, Shape>,
    notes: Vec<String>,
    refusals: Vec<(TaskId, String)>,
}

// === impl Expander ===

impl Expander<'_> {
    /// Returns a task and its subtasks.
    fn task(&mut self, phase: &Phase, task: &Task) -> Vec<Task> {
        if is_designed(self.plan, phase, task) {
            return self.designed(task).unwrap_or_else(|reason| {
                self.refusals.push((task.id.clone(), reason));
                vec![task.clone()]
            });
        }
        let Some(settings) = &task.switchboard else { return vec![task.clone()] };
        let is_report = settings.is_report();
        if let Some(reason) = no_question(settings, is_report) {
            self.refusals.push((task.id.clone(), reason));
            return vec![task.clone()];
        }
        if let Some(reason) = unused(settings, is_report) {
            self.refusals.push((task.id.clone(), reason));
            return vec![task.clone()];
        }
        let modes = [settings.chain.is_some(), settings.debate.is_some(), settings.best_of.is_some()];
        let expanded = match (modes.iter().filter(|mode| **mode).count(), settings) {
            (0, _) if is_report => Ok(self.report(task, settings)),
            (0, _) => Ok(vec![task.clone()]),
            (1, TaskSettings { chain: Some(steps), .. }) => self.chain(task, settings, steps, is_report),
            (1, TaskSettings { debate: Some(debate), .. }) => self.debate((phase, task), settings, debate, is_report),
            (1, TaskSettings { best_of: Some(_), .. }) if is_report => {
                Err("best_of compares changes, and a report is none".to_owned())
            }
            (1, TaskSettings { best_of: Some(best_of), .. }) => self.best_of(task, settings, best_of),
            _ => Err("only one of chain, debate and best_of can be said of a task".to_owned()),
        };
        expanded.unwrap_or_else(|reason| {
            self.refusals.push((task.id.clone(), reason));
            vec![task.clone()]
        })
    }

    fn report(&mut self, task: &Task, settings: &TaskSettings) -> Vec<Task> {
        let shape = Shape { result: WorkResult::Report, asks: settings.asks, ..Shape::default() };
        self.shapes.insert(task.id.clone(), shape);
        vec![task.clone()]
    }

    /// Returns the design subtask, and the task that gets its report.
    fn designed(&mut self, task: &Task) -> Result<Vec<Task>, String> {
        let id = self.id(task, "design")?;
        let asks = Some(AskSettings { role: RoleName::Designer, answer: AnswerKind::Design });
        let own = TaskSettings { result: Some(TaskResult::Report), asks, ..TaskSettings::default() };
        let design = Task { id: id.clone(), files_touched: Vec::new(), switchboard: Some(own), ..task.clone() };
        let shape = Shape { of: Some(task.id.clone()), result: WorkResult::Report, asks, ..Shape::default() };
        self.shapes.insert(id.clone(), shape);
        let mut whole = task.clone();
        whole.depends.push(id.clone());
        self.shapes
            .insert(task.id.clone(), Shape { told: PromptSource::Informed { reports: vec![id] }, ..Shape::default() });
        Ok(vec![design, whole])
    }

    fn chain(
        &mut self,
        task: &Task,
        settings: &TaskSettings,
        steps: &[WorkerSettings],
        is_report: bool,
    ) -> Result<Vec<Task>, String> {
        let mut tasks = Vec::new();
        let mut before: Vec<TaskId> = Vec::new();
        for (number, step) in (1..).zip(steps) {
            let is_last = number == steps.len();
            let template = step.prompt.clone().unwrap_or_default();
            prompt::check(&template, number)?;
            if number > 1 && !template.contains(prompt::PREVIOUS) && !template.contains(prompt::STEP) {
                let note = format!(
                    "step {number} of task {} is not shown what earlier steps said: its prompt has no {}",
                    task.id,
                    prompt::PREVIOUS
                );
                self.notes.push(note);
            }
            let id = if is_last { task.id.clone() } else { self.id(task, &format!("s{number}"))? };
            let mut made = subtask(task, settings, step, id.clone());
            made.depends.extend(before.last().cloned());
            let result = match (is_last, is_report) {
                (true, false) => WorkResult::Merged,
                (true, true) => WorkResult::Report,
                (false, _) => WorkResult::Draft,
            };
            if !is_last {
                made.description.clone_from(&template);
            }
            let told = PromptSource::Step { template, task: task.description.clone(), before: before.clone() };
            let of = (!is_last).then(|| task.id.clone());
            let begins_on = before.last().cloned();
            self.shapes.insert(id.clone(), Shape { of, result, begins_on, told, ..Shape::default() });
            tasks.push(made);
            before.push(id);
        }
        Ok(tasks)
    }

    fn best_of(&mut self, task: &Task, settings: &TaskSettings, best_of: &BestOf) -> Result<Vec<Task>, String> {
        let one = |agent: Option<&String>| WorkerSettings { agent: agent.cloned(), ..WorkerSettings::default() };
        let workers: Vec<_> = match best_of {
            BestOf::Count(count) => (0..*count).map(|_| one(None)).collect(),
            BestOf::Agents(agents) if settings.command.is_some() && !agents.is_empty() => {
                return Err("the task has a command, so that other agents can't try it".to_owned());
            }
            BestOf::Agents(agents) => agents.iter().map(|agent| one(Some(agent))).collect(),
        };
        let mut tasks = Vec::new();
        let mut among = Vec::new();
        for (number, worker) in (1..).zip(&workers) {
            let id = self.id(task, &format!("c{number}"))?;
            let shape = Shape { of: Some(task.id.clone()), result: WorkResult::Candidate, ..Shape::default() };
            self.shapes.insert(id.clone(), shape);
            tasks.push(subtask(task, settings, worker, id.clone()));
            among.push(id);
        }
        let mut whole = task.clone();
        whole.depends.extend(among.iter().cloned());
        let quorums = vec![Quorum { of: among.clone(), least: 1 }];
        self.shapes.insert(task.id.clone(), Shape { quorums, among, ..Shape::default() });
        tasks.push(whole);
        Ok(tasks)
    }

    fn debate(
        &mut self,
        (phase, task): (&Phase, &Task),
        settings: &TaskSettings,
        debate: &DebateSettings,
        is_report: bool,
    ) -> Result<Vec<Task>, String> {
        let names = names(phase, settings, &debate.participants);
        let count = u32::try_from(debate.participants.len()).unwrap_or(u32::MAX);
        let least = debate.quorum.unwrap_or(count.div_ceil(2));
        if least > count {
            return Err(format!("a quorum of {least} can't be reached by {count} participants"));
        }
        let (rounds, mut tasks) = (debate.rounds.unwrap_or(ROUNDS), Vec::new());
        let mut spoken: Vec<Vec<(String, TaskId)>> = Vec::new();
        for round in 1..=rounds {
            let mut turns = Vec::new();
            for (at, participant) in debate.participants.iter().enumerate() {
                let id = self.id(task, &format!("r{round}.p{}", at + 1))?;
                let mut made = subtask(task, settings, participant, id.clone());
                made.description = format!("round {round} of the debate about {}: {}", task.id, names[at]);
                let before = spoken.last().cloned().unwrap_or_default();
                made.depends.extend(before.iter().map(|(_, id)| id.clone()));
                if let Some(own) = &mut made.switchboard {
                    own.attempts = Some(1);
                    if debate.round_minutes.is_some() {
                        (own.timeout_minutes, own.wrap_up_minutes) = (debate.round_minutes, None);
                    }
                }
                let told = PromptSource::Turn {
                    name: names[at].clone(),
                    position: participant.prompt.clone(),
                    task: task.description.clone(),
                    round,
                    rounds,
                    before,
                };
                let of = Some(task.id.clone());
                let quorums = quorums(&spoken, at, least);
                let shape = Shape {
                    of,
                    result: WorkResult::Report,
                    quorums,
                    told,
                    is_proposal: !is_report,
                    ..Shape::default()
                };
                self.shapes.insert(id.clone(), shape);
                tasks.push(made);
                turns.push((names[at].clone(), id));
            }
            spoken.push(turns);
        }
        let mut whole = task.clone();
        whole.depends.extend(spoken.last().into_iter().flatten().map(|(_, id)| id.clone()));
        let quorums = spoken.last().map(|turns| quorum(turns, least)).into_iter().collect();
        let all =
            (1..).zip(spoken).flat_map(|(round, turns)| turns.into_iter().map(move |(name, id)| (round, name, id)));
        let result = if is_report { WorkResult::Report } else { WorkResult::Merged };
        let told = PromptSource::Decision { turns: all.collect(), may_take: !is_report };
        self.shapes.insert(task.id.clone(), Shape { result, quorums, told, ..Shape::default() });
        tasks.push(whole);
        Ok(tasks)
    }

    /// Returns the id of a subtask; fails if another task has it.
    fn id(&self, task: &Task, name: &str) -> Result<TaskId, String> {
        let text = format!("{}.{name}", task.id);
        let id = TaskId::new(text.clone()).map_err(|_| format!("its id is too long for its subtasks ({text:?})"))?;
        if self.ids.contains(&id) {
            return Err(format!("the plan has a task {id}, which is the id of one of its subtasks"));
        }
        Ok(id)
    }
}

/// Returns why a task that sets `asks` can't ask a role.
fn no_question(settings: &TaskSettings, is_report: bool) -> Option<String> {
    settings.asks.as_ref()?;
    let TaskSettings { command, chain, debate, best_of, .. } = settings;
    if !is_report {
        return Some("asks wants an answer, and the task's result is a change: say \"result\": \"report\"".to_owned());
    }
    let others = [
        ("command", command.is_some()),
        ("chain", chain.is_some()),
        ("debate", debate.is_some()),
        ("best_of", best_of.is_some()),
    ];
    let (name, _) = others.into_iter().find(|(_, is_said)| *is_said)?;
    Some(format!("{name} says who does the task, and asks does already"))
}

/// Returns why a setting of a task would have no effect, if there is one.
fn unused(settings: &TaskSettings, is_report: bool) -> Option<String> {
    let TaskSettings { gates, test, scope, exclude, retry_from, confirm, agent, model, best_of, .. } = settings;
    let of_changes = [
        ("gates", gates.is_some()),
        ("test", test.is_some()),
        ("scope", scope.is_some()),
        ("exclude", exclude.is_some()),
        ("retry_from", retry_from.is_some()),
        ("confirm", confirm.is_some()),
    ];
    if let Some((name, _)) = of_changes.into_iter().find(|(_, is_said)| is_report && *is_said) {
        return Some(format!("{name} is about a change, and the task's result is a report"));
    }
    let of_one = [("agent", agent.is_some()), ("model", model.is_some())];
    let is_list = matches!(best_of, Some(BestOf::Agents(_)));
    let (name, _) = of_one.into_iter().find(|(_, is_said)| is_list && *is_said)?;
    Some(format!("{name} has no effect beside best_of, which lists the agents"))
}

/// Returns what must be said before a participant's next turn: enough turns of the last round, and one of its own
/// recent turns.
fn quorums(spoken: &[Vec<(String, TaskId)>], at: usize, least: u32) -> Vec<Quorum> {
    let round = spoken.last().map(|turns| quorum(turns, least));
    let lately = spoken.iter().rev().take(MAX_ABSENCES).map(|turns| turns[at].1.clone());
    let lately: Vec<_> = lately.collect();
    let own = (lately.len() == MAX_ABSENCES).then_some(Quorum { of: lately, least: 1 });
    round.into_iter().chain(own).collect()
}

fn quorum(turns: &[(String, TaskId)], least: u32) -> Quorum {
    Quorum { of: turns.iter().map(|(_, id)| id.clone()).collect(), least }
}

/// Returns a copy of a task for one worker.
fn subtask(task: &Task, settings: &TaskSettings, worker: &WorkerSettings, id: TaskId) -> Task {
    let mut own = TaskSettings { chain: None, debate: None, best_of: None, ..settings.clone() };
    if worker.agent.is_some() || worker.command.is_some() {
        own.agent.clone_from(&worker.agent);
        own.command.clone_from(&worker.command);
        own.model = None;
    }
    own.model = worker.model.clone().or(own.model);
    Task { id, switchboard: Some(own), ..task.clone() }
}

/// Returns the names of participants: their agents', with a number for an agent that takes part more than once.
fn names(phase: &Phase, settings: &TaskSettings, participants: &[WorkerSettings]) -> Vec<String> {
    let usual = || settings.agent.clone().or_else(|| phase.switchboard.as_ref()?.agent.clone());
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let name = |participant: &WorkerSettings| {
        let agent = participant.agent.clone().or_else(|| usual().filter(|_| participant.command.is_none()));
        let name = agent.unwrap_or_else(|| "participant".to_owned());
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name } else { format!("{name}-{count}") }
    };
    participants.iter().map(name).collect()
}

#[cfg(test)]
mod tests;
