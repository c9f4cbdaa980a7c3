//! Steps that change files. Nothing outside the work tree is touched.

use std::fs;
use std::io::Write;
use std::path::Path;

use super::Player;
use crate::confine;

/// A change of one file.
pub(super) enum Edit {
    Write(String),
    Append(String),
    Replace { find: String, with: String },
    Delete,
}

// === impl Player ===

impl Player {
    pub(super) fn edit(&mut self, path: &str, edit: Edit) -> Result<(), String> {
        let path = self.fill(path)?;
        let (verb, kind) = match &edit {
            Edit::Write(_) => ("Write", "edit"),
            Edit::Append(_) => ("Extend", "edit"),
            Edit::Replace { .. } => ("Edit", "edit"),
            Edit::Delete => ("Delete", "delete"),
        };
        let call = self.begin(&format!("{verb} {path}"), kind, Some(&path));
        let done = confine::inside(&self.cwd, Path::new(&path)).and_then(|file| edit.apply(&file, &path));
        self.finish(&call, done.is_ok());
        done
    }
}

// === impl Edit ===

impl Edit {
    fn apply(self, file: &Path, shown: &str) -> Result<(), String> {
        let failed = |e: std::io::Error| format!("{shown}: {e}");
        if let (Some(folder), false) = (file.parent(), matches!(self, Self::Delete)) {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        match self {
            Self::Write(content) => fs::write(file, content).map_err(failed),
            Self::Append(content) => {
                let opened = fs::OpenOptions::new().create(true).append(true).open(file);
                opened.and_then(|mut open| open.write_all(content.as_bytes())).map_err(failed)
            }
            Self::Replace { find, with } => {
                let text = fs::read_to_string(file).map_err(failed)?;
                if find.is_empty() || !text.contains(&find) {
                    return Err(format!("{shown} does not hold the text to be replaced"));
                }
                fs::write(file, text.replace(&find, &with)).map_err(failed)
            }
            Self::Delete => fs::remove_file(file).map_err(failed),
        }
    }
}
