//! The languages, and how each says hello.

use std::fmt;
use std::str::FromStr;

/// A language that can be greeted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    English,
    German,
}

impl Language {
    /// Every language, in the order in which they were added.
    pub const ALL: &'static [Language] = &[Language::English, Language::German];

    /// The word that opens a greeting.
    pub fn hello(self) -> &'static str {
        match self {
            Language::English => "Hello",
            Language::German => "Hallo",
        }
    }

    /// The code by which it is chosen.
    pub fn code(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::German => "de",
        }
    }
}

/// No language has this code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownLanguage(pub String);

impl fmt::Display for UnknownLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no language has the code {:?}", self.0)
    }
}

impl std::error::Error for UnknownLanguage {}

impl FromStr for Language {
    type Err = UnknownLanguage;

    fn from_str(code: &str) -> Result<Self, Self::Err> {
        let found = Language::ALL.iter().find(|language| language.code() == code);
        found.copied().ok_or_else(|| UnknownLanguage(code.to_owned()))
    }
}
