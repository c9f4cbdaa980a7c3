//! Marks such as `TODO` in comments: which of them say that code is missing.
//!
//! People merge marks all the time: of 1,525 patches that a distribution applies to 50 packages, 32 bring one, and all of these
//! ask whether something could be better. Such a mark is listed. One that says what is still to be written, that says
//! nothing, or that stands alone where code should, blocks.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};
use switchboard_syntax::notes::Note;
use tree_sitter::{Node, Tree};

use super::found::{Placeholder, Weight};
use super::stub::{DUMMIES, gives_dummy};

/// What a mark says of code that is not there: an order to write it, at the start, or a word for what stands in its place.
const MISSING: &str = r"(?x)
    ^(?:we\s|i\s|you\s)?(?:still\s)?(?:need(?:s|ed)?\sto\s|must\s|should\s|to\s|please\s)?(?:be\s)?
        (?:actually\s|properly\s|fully\s)?
        (?:implement(?:ed)?|add|handle|validate|finish|complete|write|fill|flesh|wire|hook|connect|create|build|integrate|stub|code|do)
        \b(?:\s\w+)*
  | \b(?:not|n't|never)\s(?:yet\s)?(?:implemented|done|finished|written|wired|connected|hooked)\b
  | \bunimplemented\b
  | \b(?:real|actual|proper)\s(?:\w+\s)?(?:implementation|logic|code|data|values?|calls?|queries|query|checks?|validation|response|api|database|service)\b
  | \b(?:placeholder|dummy|fake|mock(?:ed)?|stub(?:bed)?|hard-?coded)\b
  | ^(?:for\snow|later|here|more|me|this|soon)\W*$
";

/// Returns the marks of a file's comments, each with its weight.
pub(super) fn placeholders(notes: &[Note], tree: Option<&Tree>, text: &[u8]) -> Vec<Placeholder> {
    let placeholder = |note: &Note| {
        // The last two are mostly a remark about code that is there.
        let (rule, may_be_bare) = match note.tag {
            "TODO" => ("placeholder/comment-todo", true),
            "FIXME" => ("placeholder/comment-fixme", true),
            "TBD" | "WIP" => ("placeholder/comment-other", true),
            "HACK" | "XXX" => ("placeholder/comment-other", false),
            _ => return None,
        };
        let is_missing = says_missing(note, may_be_bare) || tree.is_some_and(|tree| stands_for_code(note, tree, text));
        let (weight, what) = if is_missing {
            (Weight::Blocks, "a mark for work that is left undone")
        } else {
            (Weight::Note, "a mark for work that somebody may do")
        };
        Some(Placeholder { weight, rule: rule.into(), what, range: note.range.clone() })
    };
    notes.iter().filter_map(placeholder).collect()
}

fn says_missing(note: &Note, may_be_bare: bool) -> bool {
    static WORDS: LazyLock<Regex> = LazyLock::new(|| {
        RegexBuilder::new(MISSING).unicode(false).case_insensitive(true).build().expect("a constant pattern")
    });
    let said = note.text.as_bytes().get(note.tag.len()..).unwrap_or_default();
    let said = without_owner(said.trim_ascii_start());
    let start = said.iter().position(u8::is_ascii_alphanumeric);
    start.map_or(may_be_bare, |start| WORDS.is_match(&said[start..]))
}

/// `TODO(ann): …`, `TODO[#12] …`: whose it is says nothing of what it is.
fn without_owner(said: &[u8]) -> &[u8] {
    let close = match said.first() {
        Some(b'(') => b')',
        Some(b'[') => b']',
        Some(_) | None => return said,
    };
    said.iter().position(|byte| *byte == close).map_or(said, |end| &said[end + 1..])
}

/// Returns whether a mark is all there is of a body, or stands beside nothing but a dummy.
fn stands_for_code(note: &Note, tree: &Tree, text: &[u8]) -> bool {
    let at = tree.root_node().descendant_for_byte_range(note.range.start, note.range.end);
    let mut comment = at.filter(|node| node.kind().contains("comment"));
    // Where a comment has parts, the whole of it.
    while let Some(outer) = comment.and_then(|node| node.parent()).filter(|outer| outer.kind().contains("comment")) {
        comment = Some(outer);
    }
    let Some((comment, parent)) = comment.and_then(|comment| Some((comment, comment.parent()?))) else { return false };
    if ["block", "body", "statement"].iter().any(|word| parent.kind().contains(word)) {
        return !is_handler(parent) && is_empty(parent, text);
    }
    // In Python a comment may stand before the block that it is about.
    comment.next_named_sibling().is_some_and(|next| next.kind() == "block" && is_empty(next, text))
}

/// Returns whether a block handles an error: that nothing is done about one is a choice.
fn is_handler(block: Node<'_>) -> bool {
    let handles = |node: Node<'_>| ["catch", "except", "rescue"].iter().any(|word| node.kind().contains(word));
    handles(block) || block.parent().is_some_and(handles)
}

/// Returns whether a block holds at most one statement, and that one is a dummy.
fn is_empty(block: Node<'_>, text: &[u8]) -> bool {
    let mut cursor = block.walk();
    let mut statements = block.named_children(&mut cursor).filter(|node| !node.kind().contains("comment"));
    match (statements.next(), statements.next()) {
        (None, _) => true,
        (Some(only), None) => matches!(&text[only.byte_range()], b"pass" | b"...") || gives_dummy(only, text, &DUMMIES),
        (Some(_), Some(_)) => false,
    }
}
