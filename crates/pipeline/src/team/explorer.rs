//! A linter for explorers' reports: observations in the expected sections, without verdicts or instructions.
//!
//! A report is plain text or Markdown. A section begins with its name on a line of its own or before a colon: `STRUCTURE:`, `## STRUCTURE`.

mod chains;
mod classes;
mod sections;
mod violation;

pub use chains::CHAIN_LEVELS;
pub use violation::{Rule, Violation};

use super::prose::{self, Word};
use classes::Classes;
use sections::{Section, Sections};

/// Limit for the length of a report in characters (exclusive): the architect reads it whole, together with the answers
/// of other roles.
pub const REPORT_CHARS: usize = 2_000;

/// Words of judgement or instruction, and what an observation uses instead.
const REFUSED: [(&[&str], &str); 12] = [
    (&["verdict"], "COMPATIBILITY SIGNALS: COMPATIBLE, INCOMPATIBLE or UNCERTAIN"),
    (&["migration_needed"], "MIGRATION_SURFACE: how many call sites refer to what changes"),
    (&["migration", "needed"], "MIGRATION_SURFACE: how many call sites refer to what changes"),
    (&["review", "needed"], "FOLLOW-UP CANDIDATE AREAS: what was observed, with a number"),
    (&["review_needed"], "FOLLOW-UP CANDIDATE AREAS: what was observed, with a number"),
    (&["dead"], "what was looked for and not found: `no caller found in src/`"),
    (&["missing"], "what was looked for and not found: `3 of 9 exports have no doc comment`"),
    (&["must"], "the condition as it is: `callers hold the lock`"),
    (&["should"], "the condition as it is: `the function has 12 parameters`"),
    (&["needs"], "the condition as it is: `the function reads DATABASE_URL`"),
    (&["knowledge_updates"], "OBSERVATIONS: what was observed"),
    (&["knowledge", "updates"], "OBSERVATIONS: what was observed"),
];

/// Endings of host names that look like file extensions.
const HOSTS: [&str; 4] = [".com", ".org", ".net", ".io"];

/// Kind of report that an explorer was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportMode {
    /// A map of the code.
    #[default]
    Map,
    /// An analysis of who is affected by changes of contracts.
    Impact,
    /// A briefing based on what earlier work has left.
    CuratorInit,
    /// An addition to the briefing after a phase.
    CuratorPhase,
}

/// Requirements for a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Brief {
    /// Kind of report.
    pub mode: ReportMode,
    /// True if the request names files, so that the report must list changes in them.
    pub names_files: bool,
}

// === impl Brief ===

impl Brief {
    /// Parses a delegation: `CURATOR_INIT` and `CURATOR_PHASE` name their mode, `Integration impact analysis` and
    /// listed contract changes stand for impact, and a path with an extension is a file.
    #[must_use]
    pub fn of(delegation: &str) -> Self {
        let words: Vec<Word> = prose::words(delegation);
        let has = |phrase: &[&str]| prose::find(&words, phrase).next().is_some();
        let asks_impact =
            has(&["integration", "impact"]) || has(&["contract", "changes"]) || has(&["contract_changes"]);
        let mode = if has(&["curator_init"]) {
            ReportMode::CuratorInit
        } else if has(&["curator_phase"]) {
            ReportMode::CuratorPhase
        } else if asks_impact {
            ReportMode::Impact
        } else {
            ReportMode::Map
        };
        Self { mode, names_files: delegation.split_whitespace().any(names_file) }
    }

    fn sections(self) -> Vec<Section> {
        let always = [Section::Constraints, Section::FollowUp, Section::Domains];
        let map = [Section::Structure, Section::Patterns, Section::Complexity, Section::Runtime];
        match self.mode {
            ReportMode::CuratorInit | ReportMode::CuratorPhase => vec![Section::Observations],
            ReportMode::Map => {
                let changes = self.names_files.then_some(Section::Changes);
                map.into_iter().chain(changes).chain(always).collect()
            }
            ReportMode::Impact => map.into_iter().chain([Section::Changes, Section::Consumers]).chain(always).collect(),
        }
    }
}

/// Returns all violations of a report, by line; those of the whole report come first.
#[must_use]
pub fn violations(report: &str, brief: Brief) -> Vec<Violation> {
    let lines = prose::lines(report);
    let sections = Sections::read(&lines);
    let mut found: Vec<_> = length(report).into_iter().collect();
    found.extend(brief.sections().into_iter().filter_map(|wanted| sections.lacks(wanted)));
    found.extend(refused_words(report));
    found.extend(sections.of(Section::Signals).flat_map(|part| Classes::SIGNALS.violations(part)));
    if brief.mode == ReportMode::Impact {
        found.extend(sections.of(Section::Changes).flat_map(|part| Classes::CHANGES.violations(part)));
    }
    found.extend(chains::violations(&lines));
    found.sort_by_key(|violation| (violation.line, violation.rule));
    found
}

fn length(report: &str) -> Option<Violation> {
    let chars = report.chars().count();
    (chars >= REPORT_CHARS).then(|| Violation {
        line: None,
        rule: Rule::Length,
        found: format!("{chars} characters"),
        instead: format!("fewer than {REPORT_CHARS}: the observations that the request asks about first"),
    })
}

fn refused_words(report: &str) -> Vec<Violation> {
    let words = prose::words(&without_paths(report));
    let of = |(phrase, instead): &(&[&str], &str)| -> Vec<Violation> {
        let at = prose::find(&words, phrase);
        at.map(|at| Violation {
            line: Some(words[at].line),
            rule: Rule::Word,
            found: phrase.join(" "),
            instead: format!("{instead}; a name of the code stands in a code span"),
        })
        .collect()
    };
    REFUSED.iter().flat_map(of).collect()
}

/// Blanks the file paths in a text, since a folder's name may be any word.
fn without_paths(text: &str) -> String {
    let line = |line: &str| {
        let word = |word: &str| if word.contains('/') && is_file(word) { "_".to_owned() } else { word.to_owned() };
        let indent: String = line.chars().take_while(|c| c.is_whitespace()).collect();
        indent + &line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns true if a word is a file path: its last part has an extension of one to five letters or digits, optionally
/// followed by a line number.
fn is_file(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !(c.is_alphanumeric() || c == '_'));
    let name = word.rsplit('/').next().unwrap_or(word);
    let name = name.split(':').next().unwrap_or(name);
    name.rsplit_once('.').is_some_and(|(stem, ending)| {
        let starts = ending.starts_with(|c: char| c.is_ascii_lowercase());
        let plain = ending.len() <= 5 && ending.chars().all(|c| c.is_ascii_alphanumeric());
        !stem.is_empty() && starts && plain && !matches!(stem, "e" | "i")
    })
}

/// Returns true if a word of a request names a file, not a library (`Node.js`) or a host.
fn names_file(word: &str) -> bool {
    let has_folder = word.contains('/') && !word.contains("://");
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let is_library = word.starts_with(char::is_uppercase) && word.ends_with(".js");
    let is_host = HOSTS.iter().any(|ending| word.ends_with(ending));
    is_file(word) && !word.contains("://") && (has_folder || !(is_library || is_host))
}

#[cfg(test)]
mod tests;
