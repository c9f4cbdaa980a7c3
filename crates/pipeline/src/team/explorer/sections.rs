//! Finds the sections of a report.

use super::violation::{Rule, Violation};
use crate::team::prose::{Line, LineKind};

/// A section that the rules refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Structure,
    Patterns,
    Complexity,
    Runtime,
    Changes,
    Consumers,
    Constraints,
    FollowUp,
    Domains,
    Signals,
    Migration,
    Observations,
}

impl Section {
    const ALL: [Self; 12] = [
        Self::Structure,
        Self::Patterns,
        Self::Complexity,
        Self::Runtime,
        Self::Changes,
        Self::Consumers,
        Self::Constraints,
        Self::FollowUp,
        Self::Domains,
        Self::Signals,
        Self::Migration,
        Self::Observations,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Structure => "STRUCTURE",
            Self::Patterns => "PATTERNS",
            Self::Complexity => "COMPLEXITY INDICATORS",
            Self::Runtime => "RUNTIME/BEHAVIORAL CONCERNS",
            Self::Changes => "OBSERVED CHANGES",
            Self::Consumers => "CONSUMERS_AFFECTED",
            Self::Constraints => "RELEVANT CONSTRAINTS",
            Self::FollowUp => "FOLLOW-UP CANDIDATE AREAS",
            Self::Domains => "DOMAINS",
            Self::Signals => "COMPATIBILITY SIGNALS",
            Self::Migration => "MIGRATION_SURFACE",
            Self::Observations => "OBSERVATIONS",
        }
    }

    /// Returns other spellings of the name.
    const fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Runtime => &["RUNTIME/BEHAVIOURAL CONCERNS", "RUNTIME AND BEHAVIORAL CONCERNS"],
            Self::Changes => &["CONTRACT CHANGES"],
            Self::Structure
            | Self::Patterns
            | Self::Complexity
            | Self::Consumers
            | Self::Constraints
            | Self::FollowUp
            | Self::Domains
            | Self::Signals
            | Self::Migration
            | Self::Observations => &[],
        }
    }

    /// Returns the section that a line begins, with the text after its name.
    fn begun_by(line: &str) -> Option<(Self, &str)> {
        let text = line.trim().trim_start_matches(|c: char| "#*-_ ".contains(c) || c.is_ascii_digit());
        let text = text.trim_start_matches(['.', ')', ' ', '*', '_']);
        let is_marked = line.trim_start().starts_with(['#', '*']);
        Self::ALL.into_iter().find_map(|section| {
            let names = [section.name()].into_iter().chain(section.aliases().iter().copied());
            names.filter_map(|name| after(text, name, is_marked)).next().map(|rest| (section, rest))
        })
    }
}

/// Returns the text after a name at the beginning of a line, if only a colon, a dash or a bracket separates them. A
/// name in lower case counts if it is marked as a heading or a colon follows.
fn after<'a>(text: &'a str, name: &str, is_marked: bool) -> Option<&'a str> {
    let head = text.get(..name.len())?;
    let fold = |c: char| if "_-/ ".contains(c) { ' ' } else { c.to_ascii_uppercase() };
    if !head.chars().map(fold).eq(name.chars().map(fold)) {
        return None;
    }
    let rest = text[name.len()..].trim_start_matches(['*', '_', ' ', '\t']);
    let in_capitals = !head.contains(|c: char| c.is_ascii_lowercase());
    let (divides, is_colon) = (rest.is_empty() || rest.starts_with([':', '—', '–', '(', '-']), rest.starts_with(':'));
    let begins = divides && (in_capitals || is_marked || is_colon);
    begins.then(|| rest.trim_start_matches([':', '—', '–', '-', '*', '_', ' ']))
}

/// A section of a report.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) section: Section,
    /// Number of its first line, from 1.
    pub(super) line: usize,
    /// Text after the name on that line.
    pub(super) inline: String,
    /// The lines below.
    pub(super) body: &'a [Line<'a>],
}

/// Sections of a report, in order.
#[derive(Debug)]
pub(super) struct Sections<'a>(Vec<Part<'a>>);

// === impl Sections ===

impl<'a> Sections<'a> {
    pub(super) fn read(lines: &'a [Line<'a>]) -> Self {
        let begins: Vec<_> = lines
            .iter()
            .enumerate()
            .filter(|(_, line)| line.kind == LineKind::Prose)
            .filter_map(|(at, line)| Section::begun_by(&line.prose).map(|(section, rest)| (at, section, rest)))
            .collect();
        let ends = begins.iter().skip(1).map(|(at, ..)| *at).chain([lines.len()]);
        let part = |(&(at, section, rest), end): (&(usize, Section, &str), usize)| Part {
            section,
            line: lines[at].number,
            inline: rest.to_owned(),
            body: &lines[at + 1..end],
        };
        Self(begins.iter().zip(ends).map(part).collect())
    }

    pub(super) fn of(&self, section: Section) -> impl Iterator<Item = &Part<'a>> {
        self.0.iter().filter(move |part| part.section == section)
    }

    /// Returns a violation if a section is missing or empty.
    pub(super) fn lacks(&self, section: Section) -> Option<Violation> {
        let name = section.name();
        let Some(first) = self.of(section).next() else {
            return Some(Violation {
                line: None,
                rule: Rule::Section,
                found: format!("no section {name}"),
                instead: format!("`{name}:` and what was observed, or `none observed`"),
            });
        };
        let says = |part: &Part<'_>| {
            !part.inline.trim().is_empty() || part.body.iter().any(|line| line.raw.contains(char::is_alphanumeric))
        };
        (!self.of(section).any(says)).then(|| Violation {
            line: Some(first.line),
            rule: Rule::EmptySection,
            found: format!("{name} is empty"),
            instead: "what was observed, or `none observed`".to_owned(),
        })
    }
}
