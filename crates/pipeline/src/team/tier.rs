//! How thoroughly a task is checked: its tier, computed from its declared paths and description when its way is
//! compiled.
//!
//! | tier | what changes | steps of a team beside the gates |
//! |---|---|---|
//! | 0 metadata | ignore files, licence, list of authors | none |
//! | 1 docs | documents | `review` |
//! | 2 code | everything else, and what is not known | `impact` where a contract changes, `review`, `security_review` where it is called for, `tests`, `adversarial_tests` |
//! | 3 critical | sign-in, sessions, keys, interfaces, what runs with credentials | those of code, review and tests twice |
//!
//! The turbo mode leaves out review and tests below tier 3. When a step is about to begin, the change itself is
//! assessed in addition to the plan: a tier is raised, never lowered.

mod left_out;
mod path;
mod words;

use std::collections::BTreeSet;

pub use left_out::{Wishes, left_out, steps};

/// How much damage a change can cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Files that neither run nor are read by users.
    Metadata,
    /// Documents for people.
    Docs,
    /// Code that runs.
    Code,
    /// Code that protects something, or runs with credentials.
    Critical,
}

impl Tier {
    /// Returns the number of the tier, 0 to 3.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Metadata => 0,
            Self::Docs => 1,
            Self::Code => 2,
            Self::Critical => 3,
        }
    }

    /// Returns the name of the tier on screens and in evidence.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Docs => "docs",
            Self::Code => "code",
            Self::Critical => "critical",
        }
    }

    /// Returns the higher of two tiers.
    #[must_use]
    pub fn raise(self, other: Self) -> Self {
        self.max(other)
    }
}

/// Assessment of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// Tier of the task.
    pub tier: Tier,
    /// Reasons: the path or word that decided, and what it stands for.
    pub because: BTreeSet<String>,
    /// Paths and words that require the security review.
    pub security: BTreeSet<String>,
    /// Paths and words that require a designer before the coder.
    pub ui: BTreeSet<String>,
}

// === impl Assessment ===

impl Assessment {
    /// Assesses a task by the paths that it declares or has written, and by its description. Without paths, it counts
    /// as code.
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
        // A document about sign-in protects nothing.
        let words = if found.tier >= Tier::Code { words::security(description) } else { Vec::new() };
        for word in words {
            found.count(Tier::Critical, format!("the description says `{word}`"));
            found.security.insert(word);
        }
        found.ui.extend(words::ui(description));
        found
    }

    /// Merges a later assessment of the same task, such as after a capture. The tier never decreases, and no reason is
    /// lost.
    #[must_use]
    pub fn raise(mut self, later: Self) -> Self {
        self.count_all(later.tier, later.because);
        self.security.extend(later.security);
        self.ui.extend(later.ui);
        self
    }

    /// Returns true if a security review is required.
    #[must_use]
    pub fn is_security_relevant(&self) -> bool {
        !self.security.is_empty()
    }

    /// Returns true if a designer comes before the coder.
    #[must_use]
    pub fn is_ui(&self) -> bool {
        !self.ui.is_empty()
    }

    fn count(&mut self, tier: Tier, why: String) {
        self.count_all(tier, BTreeSet::from([why]));
    }

    /// Raises the tier; keeps the reasons of the highest one.
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
