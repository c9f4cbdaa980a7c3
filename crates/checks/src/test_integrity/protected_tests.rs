//! Protects tests that others wrote for a change in progress: later workers on the change must keep them.

use switchboard_protocol::finding::HandedTests;
use switchboard_syntax::Parsers;

use super::compare;
use super::hit::{Consequence, Hit};
use super::language::TestLanguage;
use super::suite::Suite;
use crate::error::Error;
use crate::git::{Blob, Blobs, Git};

/// Rules that refuse the change if the test was written for it.
const FATAL: [&str; 2] = ["test-deleted", "test-skipped"];

/// Compares the tests as they were written with their state in the change.
pub(super) fn hits(handed: &[HandedTests], git: &Git, blobs: &Blobs, parsers: &mut Parsers) -> Result<Vec<Hit>, Error> {
    let mut hits = Vec::new();
    let text = |commit: &str, path: &str| -> Result<Option<String>, Error> {
        let Some(id) = git.blob_at(commit, path)? else { return Ok(None) };
        let Blob::Content(text) = blobs.read(&id)? else { return Ok(None) };
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    };
    for one in handed {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for path in &one.paths {
            let Some(was) = text(&one.commit, path)? else { continue };
            let is = text(&one.until, path)?;
            match TestLanguage::of(path) {
                None => hits.extend(unread(path, &was, is.as_deref())),
                Some(language) => {
                    before.extend(Suite::read(path, was, language, true, parsers));
                    after.extend(Suite::read(path, is.unwrap_or_default(), language, true, parsers));
                }
            }
        }
        let compared = compare::compare(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>());
        hits.extend(compared.hits.into_iter().filter(|hit| hit.consequence > Consequence::Reported));
    }
    for hit in &mut hits {
        if FATAL.contains(&hit.rule) {
            hit.consequence = Consequence::Refused;
        }
        hit.message.push_str("; it was written for this task, and the change has to pass it");
    }
    Ok(hits)
}

/// Judges a test file of a language that is not parsed.
fn unread(path: &str, was: &str, is: Option<&str>) -> Option<Hit> {
    let Some(is) = is else {
        return Some(Hit::new(
            "test-deleted",
            Consequence::Refused,
            path,
            0..0,
            "the test file was deleted".to_owned(),
        ));
    };
    let is_kept = was.lines().filter(|line| !line.trim().is_empty()).all(|line| is.lines().any(|kept| kept == line));
    (!is_kept).then(|| {
        Hit::new("not-looked-at", Consequence::NeedsReview, path, 0..0, "the test file was changed".to_owned())
    })
}
