//! How much is checked of a task: its tier, computed from the paths that it declares and its description when its way is compiled.
//!
//! | tier | what changes | steps of a team beside the gates |
//! |---|---|---|
//! | 0 metadata | ignore files, licence, list of authors | none |
//! | 1 docs | documents | `review` |
//! | 2 code | everything else, and what is not known | `impact` where a contract changes, `review`, `security_review` where it is called for, `tests`, `adversarial_tests` |
//! | 3 critical | sign-in, sessions, keys, interfaces, what runs with credentials | those of code, review and tests twice |
//!
//! The turbo mode leaves review and tests of everything below tier 3 out. When a step is about to begin, the change itself is assessed beside what the
//! plan said of it: a tier is raised, never lowered.

mod left_out;
mod path;
mod words;

use std::collections::BTreeSet;

pub use left_out::{Wishes, left_out, steps};

/// How much a change can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Nothing that runs or is read by users.
    Metadata,
    /// What people read.
    Docs,
    /// What runs.
    Code,
    /// What guards, or runs with credentials.
    Critical,
}

impl Tier {
    /// Its number, 0 to 3.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Metadata => 0,
            Self::Docs => 1,
            Self::Code => 2,
            Self::Critical => 3,
        }
    }

    /// Its name on screens and in evidence.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Docs => "docs",
            Self::Code => "code",
            Self::Critical => "critical",
        }
    }

    /// The higher of two tiers.
    #[must_use]
    pub fn raise(self, other: Self) -> Self {
        self.max(other)
    }
}

/// What a task was assessed as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// The tier.
    pub tier: Tier,
    /// Why: the path or word that decided, and what it stands for.
    pub because: BTreeSet<String>,
    /// Paths and words for which the security review is made.
    pub security: BTreeSet<String>,
    /// Paths and words for which the designer comes before the coder.
    pub ui: BTreeSet<String>,
}

// === impl Assessment ===

impl Assessment {
    /// Assesses a task by the paths that it declares, or by those that it has written, and its description. Nothing declared counts as code.
    #[must_use]
    pub fn of<S: AsRef<str>>(paths: &[S], description: &str) -> Self {
        let mut found =
            Self { tier: Tier::Metadata, because: BTreeSet::new(), security: BTreeSet::new(), ui: BTreeSet::new() };
        if paths.is_empty() {
            found.count(Tier::Code, "no path is declared".to_owned());
        }
        for path in paths.iter().map(AsRef::as_ref) {
            let (tier, why) = path::tier(path);
            found.count(tier, format!("{path}: {why}"));
            if tier == Tier::Critical {
                found.security.insert(path.to_owned());
            }
            if path::is_ui(path) {
                found.ui.insert(path.to_owned());
            }
        }
        // A document about sign-in guards nothing.
        let words = if found.tier >= Tier::Code { words::security(description) } else { Vec::new() };
        for word in words {
            found.count(Tier::Critical, format!("the description says `{word}`"));
            found.security.insert(word);
        }
        found.ui.extend(words::ui(description));
        found
    }

    /// Takes over what a later assessment of the same task found, as after a capture. The tier never gets lower and nothing is forgotten.
    #[must_use]
    pub fn raise(mut self, later: Self) -> Self {
        self.count_all(later.tier, later.because);
        self.security.extend(later.security);
        self.ui.extend(later.ui);
        self
    }

    /// Whether a security review is made.
    #[must_use]
    pub fn is_security_relevant(&self) -> bool {
        !self.security.is_empty()
    }

    /// Whether the designer comes before the coder.
    #[must_use]
    pub fn is_ui(&self) -> bool {
        !self.ui.is_empty()
    }

    fn count(&mut self, tier: Tier, why: String) {
        self.count_all(tier, BTreeSet::from([why]));
    }

    /// The reasons of the highest tier are kept.
    fn count_all(&mut self, tier: Tier, why: BTreeSet<String>) {
        if tier > self.tier {
            self.because.clear();
        }
        if tier >= self.tier {
            self.because.extend(why);
        }
        self.tier = self.tier.raise(tier);
    }
}

#[cfg(test)]
mod tests;
