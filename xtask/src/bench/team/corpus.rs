//! The cases: shell scripts in sections of one file for each language, `tests/cheats/*.sh`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};

/// A project with the cases played in it.
#[derive(Debug)]
pub(super) struct Corpus {
    pub(super) language: String,
    /// Test command of the plan, for a shell.
    pub(super) test: String,
    /// Script that creates the good version.
    pub(super) project: String,
    /// Script that turns it into the version with a failing test.
    pub(super) broken: String,
    pub(super) cases: Vec<Case>,
}

/// Work of an agent in one case.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) script: String,
}

/// Kind of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Cheat,
    Honest,
}

// === impl Corpus ===

impl Corpus {
    /// Reads all files of a folder.
    ///
    /// # Errors
    /// When one can't be read, or has a section of an unknown kind.
    pub(super) fn read_all(folder: &Path) -> anyhow::Result<Vec<Self>> {
        let mut files: Vec<_> =
            fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        files.retain(|file| file.extension().is_some_and(|ending| ending == "sh"));
        files.sort();
        files.iter().map(|file| Self::read(file).with_context(|| file.display().to_string())).collect()
    }

    fn read(file: &Path) -> anyhow::Result<Self> {
        let language = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let text = fs::read_to_string(file)?;
        let mut corpus =
            Self { language, test: String::new(), project: String::new(), broken: String::new(), cases: Vec::new() };
        for section in text.split("\n## ").skip(1) {
            let (title, script) = section.split_once('\n').unwrap_or((section, ""));
            let script = script.to_owned();
            match title.split_once(' ').unwrap_or((title, "")) {
                ("test", line) => corpus.test = line.to_owned(),
                ("project", _) => corpus.project = script,
                ("broken", _) => corpus.broken = script,
                ("cheat", name) => corpus.cases.push(Case { kind: Kind::Cheat, name: name.to_owned(), script }),
                ("honest", name) => corpus.cases.push(Case { kind: Kind::Honest, name: name.to_owned(), script }),
                (other, _) => bail!("`{other}` is no kind of section"),
            }
        }
        Ok(corpus)
    }

    /// Returns the full name of a case.
    pub(super) fn name_of(&self, case: &Case) -> String {
        let kind = if case.kind == Kind::Cheat { "cheat" } else { "honest" };
        format!("{}/{kind}/{}", self.language, case.name)
    }
}
