//! Finds changed files that equal an older commit's version: the change may be copied from the history. This is only
//! reported: to restore a version is often right.

use std::path::Path;

use super::change::Change;
use super::hit::{Consequence, Hit};
use super::language::TestLanguage;
use crate::git::Git;

/// Maximum number of files that are compared with the history.
const MAX_FILES: usize = 20;

/// Lists the files that equal an older version; empty if git can't answer in time.
pub(super) fn hits(change: &Change, git: &Git, base: &str, judged: Option<&str>) -> Vec<Hit> {
    let files = change.files.iter().filter(|file| file.blob.is_some() && !file.is_deleted() && !file.is_new());
    let files: Vec<_> = files.filter(|file| TestLanguage::of(&file.path).is_some()).take(MAX_FILES).collect();
    if files.is_empty() {
        return Vec::new();
    }
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let Ok(past) = git.past_blobs(&paths) else { return Vec::new() };
    files
        .iter()
        .filter_map(|file| {
            let blob = file.blob.as_ref()?;
            let (commit, ..) = past
                .iter()
                .filter(|(commit, ..)| Some(commit.as_str()) != judged)
                .find(|(_, path, old)| path == Path::new(&file.path) && old == blob)?;
            let short: String = commit.chars().take(12).collect();
            let of_base = if commit == base { ", the base" } else { "" };
            let message = format!("the file is as commit {short}{of_base} had it: the change may be copied from there");
            Some(Hit::new("from-history", Consequence::Reported, &file.path, 0..0, message))
        })
        .collect()
}
