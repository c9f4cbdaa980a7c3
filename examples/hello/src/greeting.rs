//! Puts a greeting together.

use crate::Language;

/// Greets somebody in a language.
pub fn greet(name: &str, language: Language) -> String {
    format!("{}, {name}!", language.hello())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greets_by_name() {
        assert_eq!(greet("Ada", Language::English), "Hello, Ada!");
    }
}
