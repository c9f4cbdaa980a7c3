//! Lists of words in requests.

use serde::{Deserialize, Serialize};

use crate::schema::JsonSchema;

/// A list of words, or a text with commas between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Words {
    /// `a,b`
    Text(String),
    /// `["a", "b"]`
    List(Vec<String>),
}

impl Default for Words {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Words {
    /// Returns the words, without empty ones.
    #[must_use]
    pub fn list(&self) -> Vec<String> {
        let words: Vec<&str> = match self {
            Self::Text(text) => text.split(',').collect(),
            Self::List(words) => words.iter().map(String::as_str).collect(),
        };
        words.into_iter().map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    /// Returns true if there is no word.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list().is_empty()
    }
}
