//! Files that the project or the caller excludes from the checks: each is counted and named in the report.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use switchboard_protocol::finding::SkippedFile;
use switchboard_protocol::text::cut;
use toml_edit::Document;

use super::Entry;
use crate::error::Error;

/// Settings file of a repository; the globs are under `[checks]`.
pub(super) const SETTINGS: &str = ".switchboard/config.toml";

/// Returns the globs of the settings, the part of them that this crate reads; an error names the key.
fn read(settings: &str) -> Result<Vec<String>, String> {
    let document = Document::parse(settings).map_err(|error| error.message().to_owned())?;
    let Some(checks) = document.get("checks") else { return Ok(Vec::new()) };
    let checks = checks.as_table_like().ok_or("`checks` takes a table")?;
    if let Some((unknown, _)) = checks.iter().find(|(name, _)| *name != "exclude") {
        return Err(format!("`checks.{}`: unknown field, expected `exclude`", cut(unknown, 60)));
    }
    let Some(globs) = checks.get("exclude") else { return Ok(Vec::new()) };
    let texts = globs.as_array().and_then(|globs| globs.iter().map(|glob| Some(glob.as_str()?.to_owned())).collect());
    texts.ok_or_else(|| "`checks.exclude` takes a list of texts".to_owned())
}

/// Globs with the rules of `.gitignore`.
pub(super) struct Excluded {
    globs: Gitignore,
}

// === impl Excluded ===

impl Excluded {
    /// Joins the globs of a request with those of the settings. Invalid settings and invalid globs exclude nothing and
    /// are reported as problems.
    pub(super) fn new(settings: &str, asked: &[String], problems: &mut Vec<Error>) -> Self {
        let excluded = read(settings).unwrap_or_else(|why| {
            problems.push(Error::Settings { path: SETTINGS.into(), why });
            Vec::new()
        });
        let mut builder = GitignoreBuilder::new("");
        for glob in asked.iter().chain(&excluded) {
            if let Err(error) = builder.add_line(None, glob) {
                problems.push(Error::Glob { glob: glob.chars().take(300).collect(), why: error.to_string() });
            }
        }
        let globs = builder.build().unwrap_or_else(|error| {
            problems.push(Error::Glob { glob: "all of them together".into(), why: error.to_string() });
            Gitignore::empty()
        });
        Self { globs }
    }

    /// Removes the excluded files from a selection and returns them, each with the glob that matches it.
    pub(super) fn take(&self, entries: &mut Vec<Entry>, skipped: &mut Vec<SkippedFile>) -> Vec<SkippedFile> {
        if self.globs.is_empty() {
            return Vec::new();
        }
        let mut taken = Vec::new();
        entries.retain(|entry| match self.named(&entry.path) {
            Some(why) => {
                let path = entry.path.to_string_lossy().into_owned();
                taken.push(SkippedFile { path, why, is_missing: false });
                false
            }
            None => true,
        });
        skipped.retain(|file| match self.named(Path::new(&file.path)) {
            Some(why) => {
                taken.push(SkippedFile { path: file.path.clone(), why, is_missing: false });
                false
            }
            None => true,
        });
        taken.sort_unstable();
        // A file counts once, even if the index holds another version of it.
        taken.dedup();
        taken
    }

    fn named(&self, path: &Path) -> Option<String> {
        match self.globs.matched_path_or_any_parents(path, false) {
            ignore::Match::Ignore(glob) => Some(format!("excluded by `{}`", glob.original())),
            ignore::Match::Whitelist(_) | ignore::Match::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::{BaseContent, ContentSource};

    #[test]
    fn files_of_an_excluded_folder_are_taken_out_once_and_one_that_is_let_in_again_stays() {
        let mut problems = Vec::new();
        let excluded = Excluded::new(
            "[agents.a]\ncommand = ['x']\n[checks]\nexclude = ['vendor/', '!vendor/ours.py']\n",
            &["*.lock".into()],
            &mut problems,
        );
        let entry = |path: &str, is_staged_apart| Entry {
            is_staged_apart,
            ..Entry::new(path.into(), ContentSource::WorkTree, BaseContent::Nothing)
        };
        let mut entries =
            vec![entry("a.lock", false), entry("a.lock", true), entry("b/c.py", false), entry("vendor/x/y.js", false)];
        let mut skipped = vec![SkippedFile { path: "vendor/sub".into(), why: "a submodule".into(), is_missing: true }];

        let taken = excluded.take(&mut entries, &mut skipped);

        let named: Vec<_> = taken.iter().map(|file| (file.path.as_str(), file.why.as_str())).collect();
        let vendor = "excluded by `vendor/`";
        assert_eq!(named, [("a.lock", "excluded by `*.lock`"), ("vendor/sub", vendor), ("vendor/x/y.js", vendor)]);
        assert_eq!((entries.len(), skipped.len(), problems.len()), (1, 0, 0));
    }

    #[test]
    fn settings_and_globs_that_cannot_be_used_are_problems_and_exclude_nothing() {
        let mut problems = Vec::new();

        let excluded = Excluded::new("[checks]\nexclude = 3\n", &["{a".into()], &mut problems);
        let misspelt = Excluded::new("[checks]\nexcludes = ['a']\n", &[], &mut problems);

        assert!(excluded.globs.is_empty() && misspelt.globs.is_empty());
        let codes: Vec<_> = problems.iter().map(Error::code).collect();
        assert_eq!(codes, ["config.syntax", "request.bad-args", "config.syntax"]);
        assert!(problems[0].to_string().contains("`checks.exclude` takes a list of texts"), "{}", problems[0]);
        assert!(problems[2].to_string().contains("`checks.excludes`: unknown field"), "{}", problems[2]);
    }
}
