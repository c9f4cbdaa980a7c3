//! Finds files that a commit should not hold: programs that are found before the installed ones, caches that tools
//! trust, and reports of tests.

use switchboard_protocol::finding::CheckCommand;

use super::change::Change;
use super::changed_file::ChangedFile;
use super::hit::{Consequence, Hit};
use super::paths;

/// Maximum number of findings listed of one kind.
const LISTED: usize = 5;

pub(super) fn hits(change: &Change, commands: &[CheckCommand]) -> Vec<Hit> {
    let before = path_folders(commands);
    let here = |file: &&ChangedFile| !file.is_deleted();
    let installed = change.files.iter().filter(here).filter(|file| is_found_first(&file.path, &before));
    let mut hits = listed(installed, "tool-on-path", "lies where tools are looked for before the installed ones");
    let cached = change.files.iter().filter(here).filter(|file| paths::is_cache(&file.path));
    hits.extend(listed(cached, "cached-code", "is a cache that a tool may believe instead of the code"));
    let reports = change.files.iter().filter(here).filter(|file| paths::is_report(&file.path));
    hits.extend(reports.map(|file| {
        let consequence =
            if paths::is_test_data(&file.path) { Consequence::Reported } else { Consequence::NeedsReview };
        Hit::new(
            "report-file",
            consequence,
            &file.path,
            0..0,
            "looks like the report of a test run; no gate reads it".to_owned(),
        )
    }));
    hits
}

/// Returns whether a file lies where programs are found before those of the system.
pub(super) fn is_found_first(path: &str, before: &[String]) -> bool {
    paths::is_installed(path)
        || before.iter().any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
}

/// Returns the folders of the repository that the gates' commands put on `PATH`.
pub(super) fn path_folders(commands: &[CheckCommand]) -> Vec<String> {
    let words = commands.iter().flat_map(|command| &command.argv).flat_map(|word| word.split_whitespace());
    let values =
        words.filter_map(|word| word.split_once("PATH=").filter(|(name, _)| name.is_empty()).map(|(_, value)| value));
    let folders = values.flat_map(|value| value.split(':'));
    let own = folders.map(|folder| {
        folder.trim_matches(['"', '\'', ';']).trim_start_matches("$PWD/").trim_start_matches("./").trim_end_matches('/')
    });
    own.filter(|folder| !folder.is_empty() && !folder.starts_with(['/', '$', '~'])).map(str::to_owned).collect()
}

fn listed<'a>(files: impl Iterator<Item = &'a ChangedFile>, rule: &'static str, what: &str) -> Vec<Hit> {
    let files: Vec<&ChangedFile> = files.collect();
    let more = files.len().saturating_sub(LISTED);
    let hit = |(at, file): (usize, &&ChangedFile)| {
        let more = if at + 1 == LISTED && more > 0 { format!("; {more} more like it") } else { String::new() };
        Hit::new(rule, Consequence::NeedsReview, &file.path, 0..0, format!("the file {what}{more}"))
    };
    files.iter().take(LISTED).enumerate().map(hit).collect()
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::finding::CommandKind;

    use super::*;

    #[test]
    fn a_folder_that_a_command_puts_on_path_is_looked_into_first() {
        let argv = ["sh", "-c", "PATH=./tools:$PATH:/usr/bin make test"].map(str::to_owned).to_vec();
        let command = CheckCommand { kind: CommandKind::Test, argv, cwd: None, time_limit_s: None, env: Vec::new() };

        let folders = path_folders(&[command]);

        assert_eq!(folders, ["tools"]);
        assert!(is_found_first("tools/make", &folders) && !is_found_first("toolset/make", &folders));
    }
}
