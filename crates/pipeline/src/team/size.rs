//! The size of a task and whether it is a single task, computed from its files and description. The `size` in the plan can only raise it.
//!
//! | size | files | verbs | acceptance |
//! |---|---|---|---|
//! | SMALL | 1 | one | there |
//! | MEDIUM | 2, or not known | one, perhaps with a test, an export or a description of the same thing | there |
//! | LARGE | more than 2, a folder or a glob | several: `and`, `plus`, `with`, `then` joins two | – |
//!
//! A LARGE task is refused until it is split.

mod compound;
mod delegation;
mod placeholders;
mod verbs;

use std::collections::BTreeSet;

use switchboard_protocol::plan::{Plan, Task, TaskId, TaskSize, TaskStatus};

use crate::paths::Pattern;
pub use compound::{Joined, joined};
pub use delegation::delegation;
pub use placeholders::placeholders;

/// Maximum number of files of one task: a reviewer reads them together with their callers.
pub const MAX_FILES: usize = 2;

/// Folders whose files have no extension.
const PLAIN_FILES: [&str; 3] = ["bin", "scripts", "hooks"];

/// Files without an extension that are written in small letters. Capitalised ones are known by that.
const KNOWN_FILES: [&str; 16] = [
    "changelog",
    "codeowners",
    "configure",
    "containerfile",
    "dockerfile",
    "earthfile",
    "gemfile",
    "gradlew",
    "jenkinsfile",
    "justfile",
    "license",
    "makefile",
    "mvnw",
    "procfile",
    "rakefile",
    "readme",
];

/// Why a plan or a delegation is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalKind {
    /// The task touches more than [`MAX_FILES`] files.
    TooManyFiles,
    /// The description joins two verbs.
    CompoundVerb,
    /// The plan declares the task as large.
    DeclaredLarge,
    /// The task has no acceptance criteria.
    AcceptanceMissing,
    /// A text contains an unfilled placeholder in brackets.
    Placeholder,
    /// A delegation names more than one task.
    SeveralTasks,
    /// A delegation asks for several tasks without naming them.
    BatchingLanguage,
}

/// Why a task, a plan or a delegation is refused, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Kind of refusal.
    pub kind: RefusalKind,
    /// Refused task; `None` for the plan or the delegation as a whole.
    pub task: Option<TaskId>,
    /// What was found, as text.
    pub reason: String,
    /// What to do instead.
    pub remedy: String,
}

/// Number of files that a task declares to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// The task declares no files.
    Unknown,
    /// This number of files, each by its name.
    Exactly(usize),
    /// The declaration contains a folder or a glob.
    Many,
}

/// Measurements of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// Size of the task.
    pub size: TaskSize,
    /// Number of files that the task declares.
    pub files: Files,
    /// Verbs that its description joins, if any.
    pub joined: Option<Joined>,
    /// True if the plan declares it larger than it measures.
    pub is_declared: bool,
    /// True if the task has acceptance criteria.
    pub has_acceptance: bool,
}

/// Measures a task. `is_folder` returns true for declared paths that are folders: according to the base's tree if that
/// is known, else [`is_folder_by_name`].
#[must_use]
pub fn measure(task: &Task, is_folder: impl Fn(&str) -> bool) -> Measured {
    let files = files(task, is_folder);
    let joined = joined(&task.description);
    let computed = match (&joined, files) {
        (Some(_), _) | (None, Files::Many) => TaskSize::Large,
        (None, Files::Exactly(count)) if count > MAX_FILES => TaskSize::Large,
        (None, Files::Exactly(0 | 1)) if !compound::has_companion(&task.description) => TaskSize::Small,
        (None, Files::Exactly(_) | Files::Unknown) => TaskSize::Medium,
    };
    let size = if rank(task.size) > rank(computed) { task.size } else { computed };
    let has_acceptance = task.acceptance.as_deref().is_some_and(|text| text.contains(char::is_alphanumeric));
    Measured { size, files, joined, is_declared: size != computed, has_acceptance }
}

/// Returns why a task can't be delegated.
#[must_use]
pub fn task_refusals(task: &Task, is_folder: impl Fn(&str) -> bool) -> Vec<Refusal> {
    let measured = measure(task, &is_folder);
    let refusal =
        |kind, reason, remedy: &str| Refusal { kind, task: Some(task.id.clone()), reason, remedy: remedy.to_owned() };
    let mut found = Vec::new();
    let split = "split it: one task for each pair of files that change together";
    match measured.files {
        Files::Exactly(count) if count > MAX_FILES => {
            let reason = format!("task {} touches {count} files, at most {MAX_FILES} are one task", task.id);
            found.push(refusal(RefusalKind::TooManyFiles, reason, split));
        }
        Files::Many => {
            for path in task.files_touched.iter().filter(|path| is_glob(path) || is_folder(path)) {
                let (what, hint) = kind_of_many(path);
                let id = &task.id;
                let reason = format!("task {id} touches {path}, {what}, which counts as more than {MAX_FILES} files");
                let remedy = format!("name the files, and split the task where they are more than two{hint}");
                found.push(refusal(RefusalKind::TooManyFiles, reason, &remedy));
            }
        }
        Files::Exactly(_) | Files::Unknown => {}
    }
    if let Some(joined) = &measured.joined {
        let reason = format!("the description of task {} joins two verbs: {joined}", task.id);
        let remedy = "make two tasks of it, the second with the first in `depends`";
        found.push(refusal(RefusalKind::CompoundVerb, reason, remedy));
    }
    if found.is_empty() && measured.size == TaskSize::Large {
        let reason = format!("the plan calls task {} large", task.id);
        found.push(refusal(
            RefusalKind::DeclaredLarge,
            reason,
            "split it, or call it small or medium if it is one task",
        ));
    }
    if !measured.has_acceptance {
        let reason = format!("task {} has no acceptance", task.id);
        found.push(refusal(RefusalKind::AcceptanceMissing, reason, "say in `acceptance` how one sees that it is done"));
    }
    found
}

/// Returns why a team can't carry out a plan: tasks to be split, missing acceptance criteria, placeholders. Tasks that
/// are done or set aside are not measured.
#[must_use]
pub fn plan_refusals(plan: &Plan, is_folder: impl Fn(&str) -> bool) -> Vec<Refusal> {
    let mut found = placeholders(plan);
    let is_open = |task: &&Task| !matches!(task.status, TaskStatus::Completed | TaskStatus::Closed);
    found.extend(plan.tasks().filter(is_open).flat_map(|task| task_refusals(task, &is_folder)));
    found
}

/// Returns true if a declared path looks like a folder: it ends in `/`, or its last part has no extension and is
/// neither capitalised (`Makefile`), nor well known (`justfile`), nor in a folder of programs (`bin/`, `scripts/`).
#[must_use]
pub fn is_folder_by_name(path: &str) -> bool {
    let normal = path.replace('\\', "/");
    let parts: Vec<_> = normal.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let Some((name, folders)) = parts.split_last() else { return true };
    let is_program = folders.iter().any(|folder| PLAIN_FILES.contains(folder));
    let is_known = KNOWN_FILES.contains(name);
    let is_file = name.contains('.') || name.starts_with(char::is_uppercase) || is_program || is_known;
    normal.ends_with('/') || !is_file
}

fn files(task: &Task, is_folder: impl Fn(&str) -> bool) -> Files {
    if task.files_touched.is_empty() {
        return Files::Unknown;
    }
    if task.files_touched.iter().any(|path| is_glob(path) || is_folder(path)) {
        return Files::Many;
    }
    let normal = |path: &String| Pattern::parse(path).map_or_else(|_| path.clone(), |path| path.as_str().to_owned());
    Files::Exactly(task.files_touched.iter().map(normal).collect::<BTreeSet<_>>().len())
}

fn is_glob(path: &str) -> bool {
    path.contains(['*', '?', '{', '['])
}

/// Returns what a declared path is that stands for many files, and what else to do if it is meant as one.
fn kind_of_many(path: &str) -> (&'static str, &'static str) {
    if is_glob(path) {
        ("a glob", "")
    } else if path.ends_with(['/', '.']) || !is_folder_by_name(path) {
        ("a folder", "")
    } else {
        let hint = "; a new file without an extension is known as one if its name is capitalised (`Makefile`) or well known \
                    (`justfile`), or if it is in bin/, scripts/ or hooks/";
        ("a folder by its name", hint)
    }
}

const fn rank(size: TaskSize) -> u8 {
    match size {
        TaskSize::Small => 0,
        TaskSize::Medium => 1,
        TaskSize::Large => 2,
    }
}

#[cfg(test)]
mod tests;
