//! Ways of simulated units.

use std::collections::BTreeSet;

use switchboard_protocol::id::Digest;
use switchboard_protocol::plan::{RetryFrom, TaskId};
use switchboard_protocol::run::way::{
    CommandStep, GateId, Input, Join, Limits, Need, RoleId, Step, StepAction, StepId, Way, When, Zone,
};
use switchboard_protocol::run::{MAX_ATTEMPTS, MAX_LOSSES, MAX_REBASES, MAX_REPEATS, RunEvent};

/// Returns the need of a gate by its name.
pub(crate) fn need(gate: &str) -> Need {
    match gate {
        "gate0" => Need::Required,
        "gate1" => Need::IfConfigured,
        _ => Need::Advisory,
    }
}

/// Records a way that was not recorded before.
pub(crate) fn record(way: &Way, known: &mut BTreeSet<Digest>, events: &mut Vec<RunEvent>) {
    let digest = way.digest().expect("a way");
    if known.insert(digest) {
        let text = serde_json::to_string(way).expect("a way");
        events.push(RunEvent::WayRecorded { way: digest, part: 1, of: 1, text });
    }
}

/// Returns the way of a phase.
pub(crate) fn group() -> Way {
    Way { steps: vec![step("children", StepAction::Units { join: Join::All })] }
}

/// How a task is carried out, beside its gates.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kind {
    /// Quorums: tasks, and how many of them must be done.
    pub(crate) quorums: Vec<(Vec<TaskId>, u32)>,
    /// Task whose change its tree begins with.
    pub(crate) begins_on: Option<TaskId>,
    /// Tasks whose changes it chooses from.
    pub(crate) among: Vec<TaskId>,
    /// Result of the task.
    pub(crate) end: End,
}

/// Result of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum End {
    #[default]
    Merged,
    Draft,
    Candidate,
    Report,
}

/// A subtask: its id, the siblings that it waits for, and how it is carried out.
pub(crate) type Subtask = (TaskId, Vec<TaskId>, Kind);

fn part(whole: &TaskId, name: &str) -> TaskId {
    TaskId::new(format!("{whole}.{name}")).expect("an id")
}

/// Returns a chain of steps, of which the task itself is the last.
pub(crate) fn chain(whole: &TaskId, count: usize) -> (Kind, Vec<Subtask>) {
    let mut steps: Vec<Subtask> = Vec::new();
    for n in 1..count {
        let begins_on = steps.last().map(|(id, ..)| id.clone());
        let kind = Kind { begins_on: begins_on.clone(), end: End::Draft, ..Kind::default() };
        steps.push((part(whole, &format!("s{n}")), begins_on.into_iter().collect(), kind));
    }
    (Kind { begins_on: steps.last().map(|(id, ..)| id.clone()), ..Kind::default() }, steps)
}

/// Returns candidates, of which the task takes the best.
pub(crate) fn best_of(whole: &TaskId, count: usize) -> (Kind, Vec<Subtask>) {
    let among: Vec<_> = (1..=count).map(|n| part(whole, &format!("c{n}"))).collect();
    let candidate = |id: &TaskId| (id.clone(), Vec::new(), Kind { end: End::Candidate, ..Kind::default() });
    let candidates = among.iter().map(candidate).collect();
    (Kind { quorums: vec![(among.clone(), 1)], among, ..Kind::default() }, candidates)
}

/// Returns a debate: two rounds of reports before the task is carried out.
pub(crate) fn debate(whole: &TaskId, count: usize, least: u32) -> (Kind, Vec<Subtask>) {
    let round = |round: usize| (1..=count).map(move |n| part(whole, &format!("r{round}.p{n}"))).collect::<Vec<_>>();
    let quorum = |turns: &Vec<TaskId>| vec![(turns.clone(), least)];
    let turn = |id: &TaskId, before: &[TaskId], quorums| {
        (id.clone(), before.to_vec(), Kind { quorums, end: End::Report, ..Kind::default() })
    };
    let (first, second) = (round(1), round(2));
    let opening = first.iter().map(|id| turn(id, &[], Vec::new()));
    let replies = second.iter().map(|id| turn(id, &first, quorum(&first)));
    (Kind { quorums: quorum(&second), ..Kind::default() }, opening.chain(replies).collect())
}

/// Returns what makes the change or the report, in place of plain work.
fn maker_of(kind: &Kind, plain: &StepAction) -> StepAction {
    let StepAction::Work { role, .. } = plain else { return plain.clone() };
    if !kind.among.is_empty() {
        return StepAction::Choose { among: kind.among.clone() };
    }
    StepAction::Work {
        role: role.clone(),
        writes: if kind.end == End::Report { Vec::new() } else { vec![Zone::Source, Zone::Tests] },
        retry_from: RetryFrom::Change,
        begins_on: kind.begins_on.clone(),
        may_keep: kind.end == End::Draft,
        answer: None,
    }
}

/// Returns the way of a task whose change is made by several workers or none.
pub(crate) fn special(gates: usize, kind: &Kind) -> Way {
    let plain = task(gates).steps;
    let quorum = |(number, (of, least)): (usize, &(Vec<TaskId>, u32))| {
        let join = Join::Quorum { of: of.clone(), least: *least };
        step(&format!("quorum{number}"), StepAction::Units { join })
    };
    let mut steps: Vec<_> = kind.quorums.iter().enumerate().map(quorum).collect();
    let after: Vec<_> = steps.iter().map(|step| step.id.clone()).collect();
    let maker = match kind.among.is_empty() {
        true => StepId::work(),
        false => StepId::new("choose").expect("an id"),
    };
    for mut step in plain {
        let is_maker = step.id == StepId::work();
        let is_wanted = match (kind.end, &step.does) {
            _ if is_maker => true,
            (End::Merged, _)
            | (End::Candidate, StepAction::Check { .. } | StepAction::Command { kind: CommandStep::LintFix, .. }) => {
                true
            }
            (End::Draft | End::Report | End::Candidate, _) => false,
        };
        if !is_wanted {
            continue;
        }
        if is_maker {
            step.id = maker.clone();
            step.after.clone_from(&after);
            step.does = maker_of(kind, &step.does);
            if !kind.among.is_empty() {
                step.limits = Limits::default();
            }
        }
        let renamed = |id: &StepId| if *id == StepId::work() { maker.clone() } else { id.clone() };
        step.after = step.after.iter().map(renamed).collect();
        step.back = step.back.as_ref().map(renamed);
        for read in &mut step.reads {
            if let Input::Output(id) = read {
                *id = renamed(id);
            }
        }
        steps.push(step);
    }
    // A merge waits for all that may refuse the change.
    let ids: Vec<_> = steps.iter().map(|step| step.id.clone()).collect();
    if let Some((merge, before)) =
        steps.iter_mut().rev().zip([ids.len() - 1]).next().filter(|(last, _)| last.does == StepAction::Merge)
    {
        merge.after = ids[..before].to_vec();
    }
    Way { steps }
}

/// Returns the question to a person about a task with this number of gates: always asked, asked only for findings of
/// gates, or never.
fn question(gates: usize) -> Option<Option<String>> {
    match gates {
        0 => None,
        1 => Some(Some("may it be merged?".to_owned())),
        _ => Some(None),
    }
}

/// Returns the way of a task with this number of gates.
pub(crate) fn task(gates: usize) -> Way {
    let zones = vec![Zone::Source, Zone::Tests];
    let work = step(
        "work",
        StepAction::Work {
            role: RoleId::new("coder").expect("a role"),
            writes: zones.clone(),
            retry_from: RetryFrom::Change,
            begins_on: None,
            may_keep: false,
            answer: None,
        },
    );
    let limits = Limits { attempts: MAX_ATTEMPTS, losses: MAX_LOSSES, refusals: MAX_REPEATS, ..Limits::default() };
    let mut steps = vec![Step { reads: vec![Input::Spec], limits, ..work }];
    let mut judged = ids(&["work"]);
    if gates == 3 {
        judged = ids(&["work", "lint_fix"]);
        let fix = step("lint_fix", StepAction::Command { kind: CommandStep::LintFix, writes: zones.clone() });
        steps.push(Step { after: ids(&["work"]), reads: vec![Input::Output(StepId::work())], back: None, ..fix });
    }
    for gate in 0..gates {
        let name = format!("gate{gate}");
        let check = step(&name, StepAction::Check { gate: GateId::new(name.clone()).expect("a gate") });
        steps.push(Step { after: judged.clone(), reads: vec![Input::Tree], need: need(&name), ..check });
    }
    if let Some(question) = question(gates) {
        let after = steps.iter().map(|step| step.id.clone()).collect();
        steps.push(Step { after, reads: vec![Input::Tree], ..step("confirm", StepAction::Ask { question }) });
    }
    let rebase = step("rebase", StepAction::Command { kind: CommandStep::Rebase, writes: zones });
    let reads = vec![Input::Output(StepId::work()), Input::Head];
    let after: Vec<_> = steps.iter().map(|step| step.id.clone()).collect();
    steps.push(Step { after, reads, limits: Limits { runs: MAX_REBASES, ..Limits::default() }, ..rebase });
    let after = steps.iter().map(|step| step.id.clone()).collect();
    steps.push(Step { after, reads: vec![Input::Tree, Input::Head], ..step("merge", StepAction::Merge) });
    Way { steps }
}

pub(crate) fn step(id: &str, does: StepAction) -> Step {
    let back = match &does {
        StepAction::Units { .. } => None,
        StepAction::Work { .. }
        | StepAction::Choose { .. }
        | StepAction::Check { .. }
        | StepAction::Command { .. }
        | StepAction::Ask { .. }
        | StepAction::Merge => Some(StepId::work()),
    };
    Step {
        id: StepId::new(id).expect("an id"),
        does,
        after: Vec::new(),
        reads: Vec::new(),
        when: When::Always,
        need: Need::Required,
        back,
        limits: Limits::default(),
    }
}

fn ids(names: &[&str]) -> Vec<StepId> {
    names.iter().map(|name| StepId::new(*name).expect("an id")).collect()
}
