//! Finds the problems of a text in a language that has a grammar.

use switchboard_grammars::Language;

use crate::problem::{self, Problem};
use crate::{accepted_by_grammar, rust, tidied};

/// Lists the problems of a text: those of the grammar, those that the grammar accepts and the language does not, and
/// for Rust those of the parser that procedural macros use.
pub(crate) fn problems_of(tree: &tree_sitter::Tree, text: &[u8], language: Language) -> Vec<Problem> {
    let seen = problem::all(tree, text);
    if language != Language::Rust {
        return if seen.is_empty() { accepted_by_grammar::mistakes(tree, text, language) } else { seen };
    }
    match rust::opinion(&tidied::tidied(language, text)) {
        rust::SecondParse::Fine => Vec::new(),
        rust::SecondParse::Wrong(problem) if seen.is_empty() => vec![problem],
        rust::SecondParse::Wrong(_) | rust::SecondParse::None => seen,
    }
}
