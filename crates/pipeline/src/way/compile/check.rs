//! The gates of one task: defaults, additions and omissions of the plan, and whether each gate can judge.

use switchboard_protocol::error::{Exit, Failure, find as code_of};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::{Need, When};
use switchboard_protocol::text::{cut, listed};

use crate::gate::{self, DEFAULTS, Gate, Lack, OF_TEAM};
use crate::settings::Settings;

/// Name that leaves out every default.
const ALL: &str = "all";

/// Maximum number of tasks that a note names.
const MAX_NAMED: usize = 5;

/// A gate in a task's way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestedGate {
    pub(super) gate: &'static Gate,
    pub(super) need: Need,
    pub(super) when: When,
}

/// Why a plan's ways can't be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayRefusal {
    /// Code of the refusal.
    pub code: WayRefusalCode,
    /// Refused task; `None` for the plan as a whole.
    pub task: Option<TaskId>,
    /// Name of the step.
    pub step: String,
    /// Reason as text.
    pub reason: String,
    /// How to fix it, including a close match.
    pub hint: String,
}

/// Code for why a plan's ways can't be compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayRefusalCode {
    /// There is no gate with this name.
    UnknownGate,
    /// The gate is required but can't judge.
    CannotJudge,
    /// Units wait for each other.
    Circle,
    /// The compiled steps form no valid way; a defect.
    Bug,
}

impl WayRefusalCode {
    /// Returns the error code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::UnknownGate => "plan.unknown-gate",
            Self::CannotJudge => "gate.not-configured",
            Self::Circle => "plan.cycle",
            Self::Bug => "internal.bug",
        }
    }
}

impl WayRefusal {
    pub(super) fn bug(whose: &str, reason: &str) -> Self {
        let (reason, hint) = (format!("the way of {whose} is wrong: {reason}"), String::new());
        Self { code: WayRefusalCode::Bug, task: None, step: "compile".to_owned(), reason, hint }
    }

    /// Returns the refusal as one line.
    #[must_use]
    pub fn line(&self) -> String {
        let task = self.task.as_ref().map_or_else(|| "the plan".to_owned(), |task| format!("task {task}"));
        let hint = if self.hint.is_empty() { String::new() } else { format!("; {}", self.hint) };
        format!("{task}, step {}: {}{hint}", self.step, self.reason)
    }
}

/// Combines all refusals in one failure: the first one of the most serious kind names it, and each is a cause.
#[must_use]
pub fn failure(refusals: &[WayRefusal]) -> Failure {
    let exit = |refusal: &WayRefusal| code_of(refusal.code.code()).map_or(Exit::Failed, |code| code.exit);
    let worst = Exit::of_many(refusals.iter().map(exit));
    let Some(first) = refusals.iter().find(|refusal| Some(exit(refusal)) == worst) else {
        return Failure::new("internal.bug", "a plan was refused without a reason");
    };
    let what = match refusals.len() {
        1 => first.line(),
        count => format!("{count} steps of the plan can't be done; the first: {}", first.line()),
    };
    let mut failure = Failure::new(first.code.code(), what).hint(first.hint.clone());
    failure.cause = refusals.iter().map(WayRefusal::line).collect();
    failure
}

impl RequestedGate {
    fn new(gate: &'static Gate, need: Need) -> Self {
        Self { gate, need, when: When::Always }
    }

    /// Returns the key that distinguishes this gate's step from others.
    pub(super) fn key(&self) -> (String, u8, String) {
        let reason = match &self.when {
            When::Always => String::new(),
            When::Never { reason } => format!("never {reason}"),
            When::NotConfigured { reason } => format!("not configured {reason}"),
        };
        (self.gate.id.to_owned(), self.need as u8, reason)
    }

    /// Returns a note for a person before the run starts, if needed.
    pub(super) fn note(&self) -> Option<String> {
        match &self.when {
            When::Always => None,
            When::Never { reason } => Some(format!("gate {} is left out: {reason}", self.gate.id)),
            When::NotConfigured { reason } => Some(format!("gate {} is not configured: {reason}", self.gate.id)),
        }
    }
}

/// Returns a note with the tasks that it is about.
pub(super) fn noted(note: &str, tasks: &[TaskId], total: usize) -> String {
    if tasks.len() == total {
        return format!("{note} (all tasks)");
    }
    format!("{note} (task {})", listed(tasks.iter().map(TaskId::as_str), MAX_NAMED))
}

/// Returns the gates of a task in the order of their steps, and all errors in them.
pub(super) fn gates(task: &TaskId, settings: &Settings) -> (Vec<RequestedGate>, Vec<WayRefusal>) {
    let mut wanted: Vec<RequestedGate> =
        DEFAULTS.iter().filter_map(|(id, need)| Some(RequestedGate::new(gate::find(id)?, *need))).collect();
    if settings.team {
        wanted.extend(OF_TEAM.iter().filter_map(|(id, need)| Some(RequestedGate::new(gate::find(id)?, *need))));
    }
    if settings.declares_files() || settings.team {
        wanted.extend(gate::find(gate::SCOPE).map(|gate| RequestedGate::new(gate, Need::Required)));
    }
    if settings.lint.is_some() && !settings.team {
        wanted.extend(gate::find("lint").map(|gate| RequestedGate::new(gate, Need::Required)));
    }
    let mut refusals = Vec::new();
    for name in &settings.gates {
        refusals.extend(take(&mut wanted, name).map(|unknown| unknown_gate(task, unknown)));
    }
    for gate in &mut wanted {
        refusals.extend(configure(gate, settings).map(|lack| cannot_judge(task, gate.gate, lack)));
    }
    (wanted, refusals)
}

/// Adds a gate or leaves one out; returns the name if it is unknown.
fn take<'a>(wanted: &mut Vec<RequestedGate>, name: &'a str) -> Option<&'a str> {
    let (left_out, name) = name.strip_prefix('-').map_or((false, name), |name| (true, name));
    let never = || When::Never { reason: "the plan says so".to_owned() };
    if left_out && name == ALL {
        wanted.iter_mut().for_each(|gate| gate.when = never());
        return None;
    }
    let Some(gate) = gate::find(name) else { return Some(name) };
    let known = wanted.iter_mut().find(|known| known.gate.id == gate.id);
    match (known, left_out) {
        (Some(known), true) => known.when = never(),
        (Some(known), false) => (known.need, known.when) = (Need::Required, When::Always),
        (None, true) => {}
        (None, false) => wanted.push(RequestedGate::new(gate, Need::Required)),
    }
    None
}

/// Determines whether a gate applies; returns what is missing if it is required but can't judge.
fn configure(wanted: &mut RequestedGate, settings: &Settings) -> Option<Lack> {
    if !wanted.when.is_always() {
        return None;
    }
    match (wanted.gate.lacks(settings), wanted.need) {
        (None, Need::Required | Need::IfConfigured) => {
            wanted.need = Need::Required;
            None
        }
        (None, Need::Advisory) => None,
        (Some(lack), Need::Required) => Some(lack),
        (Some(lack), Need::IfConfigured | Need::Advisory) => {
            wanted.when = When::NotConfigured { reason: lack.reason() };
            None
        }
    }
}

fn unknown_gate(task: &TaskId, name: &str) -> WayRefusal {
    let hint = match gate::near(name).first() {
        Some(near) => format!("did you mean {near}?"),
        None => {
            let names: Vec<_> = gate::REGISTRY.iter().map(|gate| gate.id).collect();
            format!("there are: {}", names.join(", "))
        }
    };
    let shown = cut(name, 64);
    WayRefusal {
        code: WayRefusalCode::UnknownGate,
        task: Some(task.clone()),
        reason: format!("there is no gate {shown:?}"),
        step: shown,
        hint,
    }
}

fn cannot_judge(task: &TaskId, gate: &Gate, lack: Lack) -> WayRefusal {
    WayRefusal {
        code: WayRefusalCode::CannotJudge,
        task: Some(task.clone()),
        step: gate.id.to_owned(),
        reason: format!("the gate is required and can't judge: {}", lack.reason()),
        hint: lack.hint(),
    }
}
