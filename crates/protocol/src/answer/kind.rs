//! The kinds of answers, and the type of each.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::schema::JsonSchema;

/// Calls a macro with each kind of answer and its type.
macro_rules! for_each_answer {
    ($m:ident) => {
        $m! {
            Review Review "review";
            SecurityReview SecurityReview "security_review";
            Tests Tests "tests";
            Exploration Exploration "exploration";
            Reality Reality "reality";
            Guidance Guidance "guidance";
            Questions Questions "questions";
            PlanDraft PlanDraft "plan_draft";
            PlanReview PlanReview "plan_review";
            Drift Verification "drift";
            Hallucination Verification "hallucination";
            Design Design "design";
            Docs Docs "docs";
            Retrospective Retrospective "retrospective";
            Work Work "work";
            Decision Decision "decision";
            Spec Spec "spec";
            Impact Impact "impact";
        }
    };
}

pub(super) use for_each_answer;

macro_rules! declare {
    ($($kind:ident $type:ident $word:literal;)*) => {
        /// Kind of answer that a step asks for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[expect(missing_docs, reason = "each is explained at its type")]
        pub enum AnswerKind {
            $($kind,)*
        }

        impl AnswerKind {
            /// All kinds of answers.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// Returns the kind as a word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }
        }
    };
}

for_each_answer!(declare);

// === impl AnswerKind ===

impl AnswerKind {
    /// Returns the kind with this word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.as_str() == word)
    }
}

impl fmt::Display for AnswerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
