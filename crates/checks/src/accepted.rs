//! Marks findings as accepted: those named by an ignore comment with a reason, or by a baseline file.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

use regex::bytes::Regex;
use serde::Deserialize;
use switchboard_protocol::finding::Finding;

use crate::error::Error;
use crate::file_check::Look;
use switchboard_syntax::Source;

/// Maximum size of a baseline file, in bytes.
const BASELINE_BYTES: u64 = 20_000_000;
/// Maximum length of a reason repeated in a report, in characters.
const REASON_CHARS: usize = 120;

/// Matches an ignore comment: `switchboard:allow(rule, other-rule) why it is all right`.
static COMMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"switchboard:allow\(([A-Za-z0-9_*/, -]{1,200})\)([^\r\n]{0,400})").expect("a constant pattern")
});

/// Accepts the findings that stand on, or on the line below, a comment that names their rule.
pub(crate) fn allow_by_comment(look: Look, source: &Source) -> Look {
    let Look::Looked(mut findings) = look else {
        return look;
    };
    for finding in &mut findings {
        if let Some(reason) = comment_for(finding, source) {
            match reason {
                Some(reason) => accept(finding, reason),
                None => finding.remedy.push_str(" The ignore comment there gives no reason, so it does not count."),
            }
        }
    }
    Look::Looked(findings)
}

/// Finds the ignore comment for a finding. The inner `None` means that the comment has no reason.
fn comment_for(finding: &Finding, source: &Source) -> Option<Option<String>> {
    let line = finding.span.start_line as usize - 1;
    let same = source.lines().bytes(&source.text, line);
    let above = line.checked_sub(1).map(|above| source.lines().bytes(&source.text, above));
    // A comment above applies only if nothing else is on its line: a comment behind code applies to that code.
    let above = above.filter(|above| !above.trim_ascii_start().first().is_some_and(u8::is_ascii_alphanumeric));
    [Some(same), above].into_iter().flatten().find_map(|text| {
        let comment = COMMENT.captures(text)?;
        let rules = String::from_utf8_lossy(&comment[1]).into_owned();
        let named = rules.split(',').map(str::trim).any(|rule| rule == finding.rule || rule == finding.check.as_str());
        named.then(|| reason(&comment[2]))
    })
}

/// Reads the reason up to the end of the comment. Leaves out anything but plain words: it could be the secret that was
/// found.
fn reason(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let text = ["*/", "-->", "#}", "%>"].iter().fold(text.as_ref(), |text, end| text.split(end).next().unwrap_or(text));
    let is_plain = |word: &&str| {
        word.len() <= 24
            && !word.contains(['=', '"', '\'', '`', '@'])
            && !(word.len() > 7 && word.chars().any(|c| c.is_ascii_digit()))
    };
    let words: Vec<&str> = text.split_whitespace().filter(is_plain).collect();
    let reason: String = words.join(" ").trim_matches(['-', ':', ' ', '.']).chars().take(REASON_CHARS).collect();
    (reason.chars().filter(|c| c.is_alphabetic()).count() >= 3).then_some(reason)
}

fn accept(finding: &mut Finding, reason: String) {
    finding.blocks = false;
    finding.allowed = Some(reason);
}

/// Fingerprints of accepted findings.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Baseline {
    fingerprints: HashSet<String>,
}

// === impl Baseline ===

impl Baseline {
    /// Reads a baseline file below the root: a JSON object with `fingerprints`, an array of strings.
    pub(crate) fn read(root: &Path, path: Option<&str>) -> Result<Self, Error> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let unusable = |why: String| Error::Baseline { path: path.chars().take(300).collect(), why };
        let file = root.join(path).canonicalize().map_err(|error| unusable(error.to_string()))?;
        let size = file.metadata().map_err(|error| unusable(error.to_string()))?;
        if !file.starts_with(root) || !size.is_file() {
            return Err(unusable("it is no file below the folder that is checked".into()));
        }
        if size.len() > BASELINE_BYTES {
            return Err(unusable("it is larger than 20 MB".into()));
        }
        let text = std::fs::read(&file).map_err(|error| unusable(error.to_string()))?;
        serde_json::from_slice(&text)
            .map_err(|error| unusable(format!("line {}: expected an object with `fingerprints`", error.line())))
    }

    /// Accepts the findings whose fingerprints the baseline lists.
    pub(crate) fn accept(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        for finding in findings.iter_mut().filter(|finding| self.fingerprints.contains(&finding.fingerprint)) {
            accept(finding, "in the baseline".into());
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_needs_words_and_never_repeats_a_value() {
        assert_eq!(reason(b" a test key of the vendor */ x = \"v\""), Some("a test key of the vendor".into()));
        assert_eq!(reason(b" -- "), None);
        assert_eq!(reason(b" because hunter2hunter2 is old"), Some("because is old".into()));
    }
}
