//! Answers: what a worker in a role returns at the end of its step, as data of one schema for each kind of answer.
//!
//! [`Answer::find`] takes the last fenced JSON block of a text, [`Answer::read`] a value. Both refuse what does not match the schema exactly, with a
//! reason that can be returned to the agent ([`BadAnswer`]). Nothing is ever inferred from prose.

mod bad;
mod example;
mod fence;
mod impact;
mod kind;
mod limits;
mod outline;
mod planning;
mod retrospective;
mod review;
mod shape;
mod work;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use bad::BadAnswer;
pub use example::example;
pub use impact::{ChangeClass, ContractChange, Impact};
pub use kind::AnswerKind;
pub use limits::{MAX_ANSWER_BYTES, MAX_LIST, MAX_NAME, MAX_PATH, MAX_QUESTIONS, MAX_TEXT};
pub use outline::{outline, outline_of};
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

macro_rules! declare {
    ($($kind:ident $type:ident $word:literal;)*) => {
        /// An answer of a role.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", content = "answer", rename_all = "snake_case")]
        #[expect(missing_docs, reason = "each is explained at its type")]
        pub enum Answer {
            $($kind($type),)*
        }

        impl Answer {
            /// Returns the kind of the answer.
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

        /// Returns the schemas of all answers by kind, with the definitions that they share.
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

kind::for_each_answer!(declare);

// === impl Answer ===

impl Answer {
    /// Reads an answer of the given kind.
    ///
    /// # Errors
    /// When the value does not match the schema, contradicts itself, or is the example from the prompt.
    pub fn read(kind: AnswerKind, value: &Value) -> Result<Self, BadAnswer> {
        shape::check(value, schema(kind))?;
        if value == example(kind) {
            return Err(BadAnswer::Example);
        }
        let answer = Self::typed(kind, value.clone())?;
        answer.contradiction().map_or(Ok(answer), |what| Err(BadAnswer::Contradiction { what: what.to_owned() }))
    }

    /// Finds an answer of the given kind in an agent's text: its last fenced JSON block. Runs in time linear in the length of the text.
    ///
    /// # Errors
    /// When there is no such block, the block is not an answer of that kind, or the text holds several different answers
    /// or verdicts, also where one of them is no complete answer.
    pub fn find(kind: AnswerKind, text: &str) -> Result<Self, BadAnswer> {
        let found = fence::scan(text);
        let (mut first, mut verdicts) = (None, BTreeSet::new());
        let mut last = Err(found.missing_reason());
        for block in &found.blocks {
            let value = json_of(block);
            // The example from the prompt gives no verdict.
            let given = value.as_ref().ok().filter(|value| *value != example(kind));
            verdicts.extend(given.and_then(|value| value.get("verdict")?.as_str()).map(str::to_owned));
            last = value.and_then(|value| Self::read(kind, &value));
            let is_other = last.as_ref().is_ok_and(|answer| first.get_or_insert_with(|| answer.clone()) != answer);
            if is_other || verdicts.len() > 1 {
                return Err(BadAnswer::Several);
            }
        }
        last
    }

    /// Returns the contradiction within the answer, if there is one.
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
            Self::Impact(answer) => answer.contradiction(),
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

/// Returns the JSON of a block.
fn json_of(block: &fence::Block<'_>) -> Result<Value, BadAnswer> {
    if block.text.len() > MAX_ANSWER_BYTES {
        return Err(BadAnswer::TooLarge { bytes: block.text.len() });
    }
    if block.text.trim().is_empty() {
        return Err(BadAnswer::NoBlock);
    }
    match (crate::strict_json::parse(block.text), block.problem) {
        (Ok(value), None) => Ok(value),
        (_, Some(fence::Problem::Unclosed)) => Err(BadAnswer::Unclosed { line: block.line }),
        (_, Some(fence::Problem::Nested)) => Err(BadAnswer::Nested { line: block.line }),
        (Err(error), None) => Err(BadAnswer::NotJson {
            line: block.line + error.line(),
            what: crate::text::cut(&error.to_string(), bad::MAX_SHOWN),
        }),
    }
}

/// Returns the JSON Schema of a kind of answer.
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
