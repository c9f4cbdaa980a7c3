//! Warns a coder once about a changed file outside of its task, which the gate `scope` would refuse, while it can still
//! undo the change.

use std::collections::BTreeSet;

use switchboard_protocol::text::cut;
use switchboard_protocol::worker::WorkerEvent;

use super::repeat::{CHANGING, Finding, FindingKind, Reaction};
use crate::settings::Settings;

/// Maximum length of a path in a warning, in bytes.
const PATH_BYTES: usize = 200;

/// Checks a coder's changes against the declarations of its task.
#[derive(Debug, Clone)]
pub struct Advisory {
    settings: Settings,
    /// Path of the work tree as tools name it.
    root: String,
    is_told: bool,
}

// === impl Advisory ===

impl Advisory {
    /// Creates the check for a worker in the tree `root` whose task has these settings.
    #[must_use]
    pub fn new(settings: Settings, root: impl Into<String>) -> Self {
        Self { settings, root: root.into(), is_told: false }
    }

    /// Suppresses further warnings, because the worker was warned before.
    pub fn silence(&mut self) {
        self.is_told = true;
    }

    /// Folds an event of the worker. Returns the first file that it changed outside of its task; the gate names later
    /// ones.
    pub fn step(&mut self, event: &WorkerEvent) -> Option<Finding> {
        let WorkerEvent::ToolCalled { tool_kind, status, paths, .. } = event else { return None };
        if self.is_told || status != "completed" || !CHANGING.contains(&tool_kind.as_str()) {
            return None;
        }
        let inside = |path: &String| match path.strip_prefix(&self.root) {
            Some(rest) => rest.strip_prefix('/').map(str::to_owned),
            // Files elsewhere on the machine are not part of the change.
            None => (!path.starts_with('/')).then(|| path.trim_start_matches("./").to_owned()),
        };
        let files: BTreeSet<String> = paths.iter().filter_map(inside).collect();
        let outside = self.settings.outside(files.iter().map(String::as_str), &files);
        let first = outside.first()?;
        let words = format!("{} is not in the task's {}", cut(first.file, PATH_BYTES), first.of);
        self.is_told = true;
        Some(Finding { kind: FindingKind::Scope, reaction: Reaction::Warn, words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(path: &str, kind: &str, status: &str) -> WorkerEvent {
        WorkerEvent::ToolCalled {
            call: "1".to_owned(),
            title: "Edit".to_owned(),
            tool_kind: kind.to_owned(),
            status: status.to_owned(),
            paths: vec![path.to_owned()],
            why: String::new(),
        }
    }

    fn advisory() -> Advisory {
        let files_touched = vec!["src/a.rs".to_owned()];
        Advisory::new(Settings { files_touched, team: true, ..Settings::default() }, "/trees/1.1")
    }

    #[test]
    fn the_first_undeclared_file_is_told_and_no_other() {
        let mut advisory = advisory();

        for (path, kind, status) in [
            ("/trees/1.1/src/a.rs", "edit", "completed"),
            ("/trees/1.1/src/b.rs", "read", "completed"),
            ("/trees/1.1/src/b.rs", "edit", "failed"),
            ("/trees/1.1/src/b.rs", "edit", "pending"),
            ("/tmp/notes", "edit", "completed"),
        ] {
            assert_eq!(advisory.step(&edited(path, kind, status)), None, "{path} {kind} {status}");
        }
        let found = advisory.step(&edited("/trees/1.1/tests/b.rs", "edit", "completed")).unwrap();

        assert_eq!((found.kind.as_str(), found.reaction), ("scope", Reaction::Warn));
        assert_eq!(found.words, "tests/b.rs is not in the task's files_touched");
        assert_eq!(advisory.step(&edited("./src/c.rs", "edit", "completed")), None);
    }

    #[test]
    fn a_path_from_the_root_of_the_tree_counts_and_a_worker_that_was_told_hears_no_more() {
        let mut told = advisory();
        told.silence();

        assert!(advisory().step(&edited("./src/c.rs", "delete", "completed")).is_some());
        assert_eq!(told.step(&edited("./src/c.rs", "delete", "completed")), None);
    }
}
