//! Files that a commit should not hold: programs that are found before the installed ones, caches that tools believe, and
//! reports of tests.

use super::change::{Change, ChangedFile};
use super::hit::{Hit, Weight};
use super::paths;

/// Findings of one kind that are listed.
const LISTED: usize = 5;

pub(super) fn hits(change: &Change) -> Vec<Hit> {
    let here = |file: &&ChangedFile| !file.is_deleted();
    let installed = change.files.iter().filter(here).filter(|file| paths::is_installed(&file.path));
    let mut hits = listed(installed, "tool-on-path", "lies where tools are looked for before the installed ones");
    let cached = change.files.iter().filter(here).filter(|file| paths::is_cache(&file.path));
    hits.extend(listed(cached, "cached-code", "is a cache that a tool may believe instead of the code"));
    let reports = change.files.iter().filter(here).filter(|file| paths::is_report(&file.path));
    hits.extend(reports.map(|file| {
        let weight = if paths::is_test_data(&file.path) { Weight::Told } else { Weight::Asks };
        Hit::new(
            "report-file",
            weight,
            &file.path,
            0..0,
            "looks like the report of a test run; no gate reads it".to_owned(),
        )
    }));
    hits
}

fn listed<'a>(files: impl Iterator<Item = &'a ChangedFile>, rule: &'static str, what: &str) -> Vec<Hit> {
    let files: Vec<&ChangedFile> = files.collect();
    let more = files.len().saturating_sub(LISTED);
    let hit = |(at, file): (usize, &&ChangedFile)| {
        let more = if at + 1 == LISTED && more > 0 { format!("; {more} more like it") } else { String::new() };
        Hit::new(rule, Weight::Asks, &file.path, 0..0, format!("the file {what}{more}"))
    };
    files.iter().take(LISTED).enumerate().map(hit).collect()
}
