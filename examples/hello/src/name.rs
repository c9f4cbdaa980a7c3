//! A name that can be greeted: something is in it, and it stays on one line.

use std::fmt;

/// A name without blanks around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(String);

/// Why a text is not a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameError {
    Empty,
    ManyLines,
}

impl Name {
    /// Takes a text, without the blanks around it.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.contains(['\n', '\r']) {
            return Err(NameError::ManyLines);
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NameError::Empty => "a name has to have something in it",
            NameError::ManyLines => "a name stays on one line",
        })
    }
}

impl std::error::Error for NameError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_around_a_name_do_not_count() {
        assert_eq!(Name::new("  Ada ").unwrap().as_str(), "Ada");
    }

    #[test]
    fn refuses_what_could_not_be_greeted() {
        assert_eq!(Name::new("  "), Err(NameError::Empty));
        assert_eq!(Name::new("a\nb"), Err(NameError::ManyLines));
    }
}
