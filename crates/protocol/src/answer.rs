//! Answers: what a worker in a role says at the end of its step, as data of one schema for each kind of answer.
//!
//! [`Answer::find`] takes the last fenced JSON block of a text, [`Answer::read`] a value. Both refuse what is not exactly of the schema, with a
//! reason that can be given back to the agent ([`BadAnswer`]). Nothing is ever read out of prose.

mod bad;
mod example;
mod fence;
mod outline;
mod planning;
mod retrospective;
mod review;
mod shape;
mod strict;
mod work;

use std::fmt;
use std::sync::OnceLock;

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use bad::BadAnswer;
pub use example::example;
pub use outline::outline;
pub use planning::{
    Decision, DecisionKind, Exploration, Guidance, PlanDraft, Question, Questions, Reality, RealityItem, RealityStatus,
    Spec, SpecItem, SplitTask,
};
pub use retrospective::{
    Approach, ApproachResult, Directive, DirectiveCategory, DirectiveScope, ErrorClass, Retrospective, TaskComplexity,
};
pub use review::{
    Checked, Issue, Owasp, PlanReview, PlanVerdict, Review, ReviewVerdict, Risk, SecurityFinding, SecurityReview,
    Severity, Verification, VerifierVerdict,
};
pub use work::{AddedTests, Design, Docs, TestFailure, TestVerdict, Tests, Token, Work};

/// Largest answer in bytes: it is recorded as the body of one event.
pub const MAX_ANSWER_BYTES: usize = crate::event::MAX_BODY_BYTES;

/// Longest text of a field in characters: what an explorer may say in a whole report is enough for one issue.
pub const MAX_TEXT: usize = 2_000;

/// Longest path or name of a test in characters, as in a plan ([`crate::plan::MAX_PATH_BYTES`]).
pub const MAX_PATH: usize = crate::plan::MAX_PATH_BYTES;

/// Longest name of a domain, as of any id ([`crate::id::MAX_ID_BYTES`]).
pub const MAX_NAME: usize = crate::id::MAX_ID_BYTES;

/// Longest list, like that of the findings of a check in opencode-swarm (100).
pub const MAX_LIST: usize = 100;

/// Most questions of a clarification: more of them are a specification, and not asked one by one.
pub const MAX_QUESTIONS: usize = 3;

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
        }
    };
}

macro_rules! declare {
    ($($kind:ident $type:ident $word:literal;)*) => {
        /// What kind of answer a step wants.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[expect(missing_docs, reason = "each is explained at its type")]
        pub enum AnswerKind {
            $($kind,)*
        }

        /// An answer of a role.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", content = "answer", rename_all = "snake_case")]
        #[expect(missing_docs, reason = "each is explained at its type")]
        pub enum Answer {
            $($kind($type),)*
        }

        impl AnswerKind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// Its word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }
        }

        impl Answer {
            /// Which kind it is.
            #[must_use]
            pub const fn kind(&self) -> AnswerKind {
                match self {
                    $(Self::$kind(_) => AnswerKind::$kind,)*
                }
            }

            fn typed(kind: AnswerKind, value: Value) -> Result<Self, BadAnswer> {
                match kind {
                    $(AnswerKind::$kind => typed(value).map(Self::$kind),)*
                }
            }
        }

        fn made(kind: AnswerKind, generator: &mut SchemaGenerator) -> Value {
            match kind {
                $(AnswerKind::$kind => generator.root_schema_for::<$type>().to_value(),)*
            }
        }

        /// The schemas of all answers by their kinds, and the definitions that they share.
        #[must_use]
        pub fn schemas() -> Value {
            let mut generator = SchemaGenerator::default();
            let mut answers = Map::new();
            $(answers.insert($word.to_owned(), generator.subschema_for::<$type>().to_value());)*
            json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "answers": answers,
                "$defs": generator.take_definitions(true) })
        }
    };
}

for_each_answer!(declare);

// === impl AnswerKind ===

impl AnswerKind {
    /// The one of a word.
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

// === impl Answer ===

impl Answer {
    /// Reads an answer of a kind.
    ///
    /// # Errors
    /// When the value is not of the schema, contradicts itself, or is the example of the prompt.
    pub fn read(kind: AnswerKind, value: &Value) -> Result<Self, BadAnswer> {
        shape::check(value, schema(kind))?;
        if value == example(kind) {
            return Err(BadAnswer::Example);
        }
        let answer = Self::typed(kind, value.clone())?;
        answer.contradiction().map_or(Ok(answer), |what| Err(BadAnswer::Contradiction { what: what.to_owned() }))
    }

    /// Finds the answer of a kind in what an agent wrote: its last fenced JSON block. Time grows with the length of the text.
    ///
    /// # Errors
    /// When there is no such block, it is not an answer of that kind, or the text holds several answers that differ.
    pub fn find(kind: AnswerKind, text: &str) -> Result<Self, BadAnswer> {
        let found = fence::scan(text);
        let mut answers: Vec<Self> = Vec::new();
        let mut last = Err(found.why_none());
        for block in &found.blocks {
            last = Self::of_block(kind, block);
            if let Ok(answer) = &last
                && !answers.contains(answer)
            {
                answers.push(answer.clone());
                if answers.len() > 1 {
                    return Err(BadAnswer::Several);
                }
            }
        }
        last
    }

    fn of_block(kind: AnswerKind, block: &fence::Block<'_>) -> Result<Self, BadAnswer> {
        if block.text.len() > MAX_ANSWER_BYTES {
            return Err(BadAnswer::TooLarge { bytes: block.text.len() });
        }
        if block.text.trim().is_empty() {
            return Err(BadAnswer::NoBlock);
        }
        match (strict::parse(block.text), block.problem) {
            (Ok(value), None) => Self::read(kind, &value),
            (_, Some(fence::Problem::Unclosed)) => Err(BadAnswer::Unclosed { line: block.line }),
            (_, Some(fence::Problem::Nested)) => Err(BadAnswer::Nested { line: block.line }),
            (Err(error), None) => Err(BadAnswer::NotJson {
                line: block.line + error.line(),
                what: crate::text::cut(&error.to_string(), bad::MAX_SHOWN),
            }),
        }
    }

    /// What in it contradicts itself, if anything does.
    fn contradiction(&self) -> Option<&'static str> {
        match self {
            Self::Review(answer) => answer.contradiction(),
            Self::SecurityReview(answer) => answer.contradiction(),
            Self::Tests(answer) => answer.contradiction(),
            Self::PlanDraft(answer) => answer.contradiction(),
            Self::PlanReview(answer) => answer.contradiction(),
            Self::Drift(answer) | Self::Hallucination(answer) => answer.contradiction(),
            Self::Work(answer) => answer.contradiction(),
            Self::Decision(answer) => answer.contradiction(),
            Self::Spec(answer) => answer.contradiction(),
            Self::Exploration(_)
            | Self::Reality(_)
            | Self::Guidance(_)
            | Self::Questions(_)
            | Self::Design(_)
            | Self::Docs(_)
            | Self::Retrospective(_) => None,
        }
    }
}

/// The JSON Schema of a kind of answer.
#[must_use]
pub fn schema(kind: AnswerKind) -> &'static Value {
    static SCHEMAS: [OnceLock<Value>; AnswerKind::ALL.len()] = [const { OnceLock::new() }; AnswerKind::ALL.len()];
    SCHEMAS[kind as usize].get_or_init(|| made(kind, &mut SchemaGenerator::default()))
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, BadAnswer> {
    serde_json::from_value(value).map_err(|error| {
        let found = crate::text::cut(&error.to_string(), bad::MAX_SHOWN);
        BadAnswer::WrongShape {
            pointer: String::new(),
            expected: "an answer of the schema".to_owned(),
            found,
            near: None,
        }
    })
}

#[cfg(test)]
mod tests;
