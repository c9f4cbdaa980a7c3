//! Reading a `plan.md`, line by line.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_protocol::plan::Plan;
use switchboard_protocol::text::cut;

use super::carry::{self, Carry, Level, Sparse};
use super::{Parsed, Warning, task_body, task_line};
use crate::plan_json::{self, PlanError, Position};

/// Title of a plan without one.
pub(super) const UNTITLED: &str = "Untitled Plan";
/// Swarm of a plan without one.
pub(super) const DEFAULT_SWARM: &str = "default-swarm";

/// Maximum length of a line as a warning shows it, in characters.
const MAX_SHOWN: usize = 60;

const HASH_MARK: &str = "<!-- PLAN_HASH:";

pub(super) fn parse(text: &str) -> Result<Parsed, PlanError> {
    plan_json::check_text(text)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { fields: header_fields(text), ..Reader::default() };
    for (at, line) in (1..).zip(text.split('\n')) {
        reader.line(at, line.trim_end_matches('\r'));
    }
    if reader.phases.is_empty() {
        let error = PlanError::syntax(Some(Position { line: 1, column: 1 }), "a line `## Phase 1: name`", "no phase");
        return Err(PlanError {
            hint: "a plan.md needs at least one phase with a task `- [ ] 1.1: …`".to_owned(),
            ..error
        });
    }
    let warnings = std::mem::take(&mut reader.warnings);
    let (value, lines) = reader.finish();
    let plan: Plan = plan_json::read(value, |pointer| nearest(&lines, pointer))?;
    Ok(Parsed { plan, updated: updated(text), warnings })
}

pub(super) fn has_phase(text: &str) -> bool {
    text.lines().any(|line| phase_header(line).is_some())
}

/// Returns the hash in the first line.
pub(super) fn header_hash(text: &str) -> Option<&str> {
    Some(text.lines().next()?.trim().strip_prefix(HASH_MARK)?.strip_suffix("-->")?.trim())
}

/// Returns the time of the last change according to the text.
pub(super) fn updated(text: &str) -> Option<String> {
    let line = |line: &str| {
        let shown = line.split_once("| Updated:").filter(|_| line.starts_with("Phase:")).map(|(_, updated)| updated);
        shown.or_else(|| line.strip_prefix("Last Updated:")).map(|updated| updated.trim().to_owned())
    };
    before_phases(text).find_map(|text| line(text.trim())).filter(|updated| !updated.is_empty())
}

fn before_phases(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| phase_header(line).is_none())
}

/// Reads the fields of the plan from the lines before the first phase.
pub(super) fn header_fields(text: &str) -> Sparse {
    let mut fields = Sparse::new();
    let mut overview: Option<Vec<&str>> = None;
    for line in before_phases(text) {
        let line = line.trim();
        if line.starts_with("## ") || line == "---" {
            let begins = line == "## Overview" && !fields.contains_key("overview");
            keep_overview(&mut fields, overview.take());
            overview = begins.then(Vec::new);
        } else if let Some(lines) = overview.as_mut().filter(|_| !line.starts_with("<!--")) {
            lines.push(line);
        } else {
            header_line(&mut fields, line);
        }
    }
    keep_overview(&mut fields, overview);
    if header_hash(text).is_none() {
        fields.insert("migration_status".to_owned(), "migrated".into());
    }
    fields
}

fn keep_overview(fields: &mut Sparse, lines: Option<Vec<&str>>) {
    let text = lines.map(|lines| lines.join("\n").trim().to_owned()).filter(|text| !text.is_empty());
    if let Some(text) = text {
        fields.insert("overview".to_owned(), text.into());
    }
}

fn header_line(fields: &mut Sparse, line: &str) {
    let phase = |rest: &str| {
        let digits: String = rest.trim().chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().ok().map(Value::from)
    };
    let filled = |rest: &str| Some(rest.trim()).filter(|text| !text.is_empty()).map(Value::from);
    let (name, value) = if let Some(rest) = line.strip_prefix("# ") {
        ("title", filled(rest))
    } else if let Some(rest) = line.strip_prefix("Swarm:") {
        ("swarm", filled(rest))
    } else if let Some(rest) = line.strip_prefix("Phase:").or_else(|| line.strip_prefix("Current Phase:")) {
        ("current_phase", phase(rest))
    } else if let Some(rest) = line.strip_prefix("Created:") {
        ("created", filled(rest))
    } else {
        return;
    };
    if let Some(value) = value.filter(|_| !fields.contains_key(name)) {
        fields.insert(name.to_owned(), value);
    }
}

/// A phase's header line.
pub(super) struct PhaseHeader {
    /// Id, name and status; defaults left out.
    pub(super) fields: Sparse,
    /// A status word that is unknown.
    pub(super) unknown: Option<String>,
}

/// Reads `## Phase 2: name [STATUS]`, also with three `#`.
pub(super) fn phase_header(line: &str) -> Option<PhaseHeader> {
    let line = line.trim();
    let rest = line.strip_prefix("##")?;
    let rest = rest.strip_prefix('#').unwrap_or(rest).trim_start();
    let rest = strip_word(rest, "phase")?.trim_start();
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let id: u64 = rest[..digits].parse().ok()?;
    let rest = rest[digits..].trim_start();
    let rest = rest.strip_prefix(':').unwrap_or(rest).trim();
    let mut header = PhaseHeader { fields: Sparse::new(), unknown: None };
    header.fields.insert("id".to_owned(), id.into());
    let name = match rest.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        Some((name, word)) => {
            match status(word) {
                Some("pending") => {}
                Some(status) => drop(header.fields.insert("status".to_owned(), status.into())),
                None => header.unknown = Some(word.to_owned()),
            }
            name.trim_end()
        }
        None => rest,
    };
    if !name.is_empty() {
        header.fields.insert("name".to_owned(), name.into());
    }
    Some(header)
}

fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    let rest = &text[word.len()..];
    (head.eq_ignore_ascii_case(word) && rest.starts_with(char::is_whitespace)).then_some(rest)
}

fn status(word: &str) -> Option<&'static str> {
    match word.trim().to_lowercase().as_str() {
        "complete" | "completed" => Some("complete"),
        "in progress" | "in_progress" | "inprogress" => Some("in_progress"),
        "pending" => Some("pending"),
        "blocked" => Some("blocked"),
        "closed" => Some("closed"),
        _ => None,
    }
}

#[derive(Default)]
struct Reader {
    fields: Sparse,
    order: Vec<Value>,
    phases: Vec<PhaseDraft>,
    /// True if lines still belong to the last phase.
    inside: bool,
    warnings: Vec<Warning>,
}

#[derive(Default)]
struct PhaseDraft {
    line: u32,
    shown: Option<Value>,
    fields: Sparse,
    order: Vec<Value>,
    tasks: Vec<TaskDraft>,
}

#[derive(Default)]
struct TaskDraft {
    line: u32,
    /// Length of the white space before the task's line.
    indent: usize,
    shown: Option<Value>,
    fields: Sparse,
}

impl Reader {
    fn line(&mut self, at: u32, line: &str) {
        if let Some((level, carry)) = Carry::read(line) {
            match carry {
                Ok(carry) => self.carry(at, level, carry),
                Err(error) => self.warn(at, format!("the comment doesn't parse: {error}")),
            }
        } else if let Some(header) = phase_header(line) {
            self.phase(at, header);
        } else if line.starts_with("# ") || line.starts_with("## ") {
            self.inside = false;
        } else if self.inside {
            self.inside_phase(at, line);
        } else if task_line::checkbox(line).is_some() {
            self.warn(
                at,
                "this task is in no phase, and is not run; a phase begins with `## Phase 1: name`".to_owned(),
            );
        }
    }

    fn phase(&mut self, at: u32, header: PhaseHeader) {
        if let Some(word) = header.unknown {
            self.warn(at, format!("[{word}] is no status of a phase; taken as pending"));
        }
        let shown = header.fields.get("id").cloned();
        self.phases.push(PhaseDraft { line: at, shown, fields: header.fields, ..PhaseDraft::default() });
        self.inside = true;
    }

    fn inside_phase(&mut self, at: u32, line: &str) {
        let Some(phase) = self.phases.last_mut() else { return };
        let read = task_line::checkbox(line).or_else(|| task_line::numbered(line));
        if let Some(mut read) = read {
            read.take_id_of(phase.fields.get("id"));
            let (shown, indent) = (read.fields.get("id").cloned(), indent(line));
            phase.tasks.push(TaskDraft { line: at, indent, shown, fields: read.fields });
            if let Some(odd) = read.odd {
                self.warn(at, odd);
            }
            return;
        }
        let is_empty = matches!(line.trim(), "" | "---") || line.trim_start().starts_with("<!--");
        let problem = match phase.tasks.last_mut() {
            _ if is_empty => None,
            Some(task) => task_body::read(&mut task.fields, &line[indent(line).min(task.indent)..]),
            None => match line.trim().strip_prefix("Estimated:") {
                Some(size) => {
                    phase.fields.insert("estimated".to_owned(), size.trim().into());
                    None
                }
                None => Some("it stands outside of any task, and no agent reads it".to_owned()),
            },
        };
        if let Some(problem) = problem {
            self.warn(at, format!("{:?}: {problem}", cut(line.trim(), MAX_SHOWN)));
        }
    }

    /// Assigns a comment to the line that shows its id, else to the last line without an id.
    fn carry(&mut self, at: u32, level: Level, mut carry: Carry) {
        let of = carry.of.take();
        let order = std::mem::take(&mut carry.order);
        let found = match level {
            Level::Plan => {
                self.order = order;
                Some(&mut self.fields)
            }
            Level::Phase => {
                let phase = self.phases.iter_mut().rev().find(|phase| phase.shown == of);
                phase.map(|phase| {
                    phase.order = order;
                    &mut phase.fields
                })
            }
            Level::Task => {
                let tasks = self.phases.iter_mut().rev().flat_map(|phase| phase.tasks.iter_mut().rev());
                tasks.into_iter().find(|task| task.shown == of).map(|task| &mut task.fields)
            }
        };
        match found {
            Some(fields) => carry.apply(fields),
            None => {
                let whose = of.map_or_else(|| "a line without id".to_owned(), |of| of.to_string());
                self.warn(at, format!("this comment belongs to {whose}, which is gone; it is left out"));
            }
        }
    }

    fn warn(&mut self, line: u32, what: String) {
        self.warnings.push(Warning { line, what });
    }

    /// Returns the plan as JSON, and the line of each phase and task by its pointer.
    fn finish(self) -> (Value, BTreeMap<String, u32>) {
        let mut lines = BTreeMap::from([(String::new(), 1)]);
        let phases = carry::reorder(self.phases, &self.order, |phase| phase.fields.get("id").cloned());
        let mut values = Vec::new();
        for (p, phase) in phases.into_iter().enumerate() {
            lines.insert(format!("/phases/{p}"), phase.line);
            let tasks = phase.finish_tasks();
            let drafts = tasks.iter().enumerate();
            lines.extend(drafts.map(|(t, task)| (format!("/phases/{p}/tasks/{t}"), task.line)));
            let mut fields = phase.fields;
            let name = format!("Phase {}", fields.get("id").unwrap_or(&Value::Null));
            fields.entry("name").or_insert_with(|| name.into());
            fields.insert("tasks".to_owned(), tasks.into_iter().map(|task| Value::Object(task.fields)).collect());
            values.push(Value::Object(fields));
        }
        let mut fields = self.fields;
        fields.entry("schema_version").or_insert_with(|| json!("1.0.0"));
        fields.entry("title").or_insert_with(|| UNTITLED.into());
        fields.entry("swarm").or_insert_with(|| DEFAULT_SWARM.into());
        fields.insert("phases".to_owned(), values.into());
        (Value::Object(fields), lines)
    }
}

impl PhaseDraft {
    /// Returns the tasks with ids and phases filled in, in the plan's order.
    fn finish_tasks(&self) -> Vec<TaskDraft> {
        let id = self.fields.get("id").cloned().unwrap_or(Value::Null);
        let mut tasks = Vec::new();
        for (count, task) in self.tasks.iter().enumerate() {
            let mut fields = task.fields.clone();
            fields.entry("id").or_insert_with(|| format!("{id}.{}", count + 1).into());
            fields.entry("phase").or_insert_with(|| id.clone());
            tasks.push(TaskDraft { shown: None, fields, ..*task });
        }
        carry::reorder(tasks, &self.order, |task| task.fields.get("id").cloned())
    }
}

/// Returns the length of the white space at a line's beginning, in bytes.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// Returns the line of the phase or task that contains a pointer.
fn nearest(lines: &BTreeMap<String, u32>, pointer: &str) -> Option<Position> {
    let mut at = pointer;
    loop {
        if let Some(line) = lines.get(at) {
            return Some(Position { line: *line, column: 1 });
        }
        at = &at[..at.rfind('/')?];
    }
}
