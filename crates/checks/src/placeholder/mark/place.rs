//! Where a mark stands: in the place of code, or where none is missing.

use switchboard_syntax::notes::Note;
use tree_sitter::{Node, Tree};

use super::super::stub::{DUMMIES, gives_dummy};

/// Bodies that declare a type, and lists of parameters: a mark among their parts wishes for one more of them.
const DECLARED: [&str; 9] = [
    "enum_variant_list",
    "field_declaration_list",
    "ordered_field_declaration_list",
    "enumerator_list",
    "enum_body",
    "interface_body",
    "object_type",
    "parameters",
    "formal_parameters",
];

/// Comment lines below a mark in which code that is commented out begins.
const SHOWN: usize = 4;
/// Comment lines above a mark that explain a place rather than stand for it.
const EXPLAINED: usize = 2;

/// Returns whether a mark stands where nothing is left out: among the variants or fields that a type declares, or in code that is switched off or commented out.
pub(super) fn leaves_nothing_out(note: &Note, tree: &Tree, text: &[u8]) -> bool {
    let at = tree.root_node().descendant_for_byte_range(note.range.start, note.range.end);
    let mut outwards =
        std::iter::successors(at, |node| node.parent()).skip_while(|node| node.kind().contains("comment"));
    let is_declared = outwards.clone().next().is_some_and(|node| DECLARED.contains(&node.kind()));
    let is_off = |node: Node<'_>| {
        let condition = node.child_by_field_name("condition").filter(|_| node.kind() == "preproc_if");
        condition.is_some_and(|condition| &text[condition.byte_range()] == b"0")
    };
    is_declared || is_shown(note, at, text) || outwards.any(is_off)
}

/// Returns whether a mark stands behind `//` in a comment of the other kind: code is commented out there.
fn is_shown(note: &Note, at: Option<Node<'_>>, text: &[u8]) -> bool {
    let before = text[..note.range.start].rsplit(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let is_block =
        |comment: Node<'_>| comment.kind().contains("comment") && text[comment.byte_range()].starts_with(b"/*");
    before.starts_with(b"//") && at.is_some_and(is_block)
}

/// Returns whether a mark is all there is of a body, or stands beside nothing but a dummy.
pub(super) fn stands_for_code(note: &Note, tree: &Tree, text: &[u8]) -> bool {
    let at = tree.root_node().descendant_for_byte_range(note.range.start, note.range.end);
    let mut comment = at.filter(|node| node.kind().contains("comment"));
    // Where a comment has parts, the whole of it.
    while let Some(outer) = comment.and_then(|node| node.parent()).filter(|outer| outer.kind().contains("comment")) {
        comment = Some(outer);
    }
    let Some((comment, parent)) = comment.and_then(|comment| Some((comment, comment.parent()?))) else { return false };
    // Behind a statement that is commented out, it is about that.
    let is_about_shown = text[comment.start_byte()..note.range.start].contains(&b';');
    if is_about_shown || is_explained(comment) || is_default(parent) {
        return false;
    }
    if ["block", "body", "statement"].iter().any(|word| parent.kind().contains(word)) {
        return !is_handler(parent) && is_empty(parent, text);
    }
    // In Python a comment may stand before the block that it is about.
    comment.next_named_sibling().is_some_and(|next| next.kind() == "block" && !is_handler(next) && is_empty(next, text))
}

/// Returns whether a mark stands above code that is commented out, within the same run of comments: it is about that.
pub(super) fn is_above_shown(note: &Note, text: &[u8]) -> bool {
    let is_sign = |byte: &u8| b"#/*!- \t".contains(byte);
    let is_comment = |line: &&[u8]| ["//", "#", "*"].iter().any(|mark| line.starts_with(mark.as_bytes()));
    let rest = text[note.range.start..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_block =
        text[..note.range.start].trim_ascii_end().ends_with(b"/*") && !rest.trim_ascii_end().ends_with(b"*/");
    let below = text[note.range.end..].split(|byte| *byte == b'\n').skip(1).map(<[u8]>::trim_ascii);
    below.take_while(|line| is_comment(line) || (is_block && !line.is_empty())).take(SHOWN).any(|line| {
        let words = &line[line.iter().take_while(|byte| is_sign(byte)).count()..];
        // Sentences end in other signs.
        let is_code = words.last().is_some_and(|byte| b";{".contains(byte)) || words.ends_with(b"(");
        is_code && words.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
    })
}

/// Returns whether a mark stands in a body that is that of a function.
pub(super) fn is_in_body_of_function(note: &Note, tree: &Tree) -> bool {
    let at = tree.root_node().descendant_for_byte_range(note.range.start, note.range.end);
    let mut outwards =
        std::iter::successors(at, |node| node.parent()).skip_while(|node| node.kind().contains("comment"));
    // In Python a comment may stand before the block that it is about.
    outwards.next().is_some_and(|node| node.kind().contains("function") || is_of_function(node))
}

/// Returns whether lines of a comment above a mark say why nothing is done.
fn is_explained(comment: Node<'_>) -> bool {
    let mut row = comment.start_position().row;
    let above = std::iter::successors(comment.prev_named_sibling(), |node| node.prev_named_sibling());
    let is_next = |node: &Node<'_>| {
        let is_next = node.kind().contains("comment") && node.start_position().row + 1 == row;
        row = node.start_position().row;
        is_next
    };
    above.take_while(is_next).take(EXPLAINED).count() == EXPLAINED
}

/// Returns whether a block is the body of a method that a trait gives to types, which replace it where they have more.
fn is_default(block: Node<'_>) -> bool {
    let outer = block.parent().filter(|outer| outer.kind() == "function_item").and_then(|function| function.parent());
    outer.and_then(|list| list.parent()).is_some_and(|owner| owner.kind() == "trait_item")
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
        (Some(only), None) => {
            let is_nothing = matches!(&text[only.byte_range()], b"pass" | b"...");
            is_nothing || (is_of_function(block) && gives_dummy(only, text, &DUMMIES))
        }
        (Some(_), Some(_)) => false,
    }
}

/// Returns whether a block is the body of a function: under a condition a dummy may be the answer.
fn is_of_function(block: Node<'_>) -> bool {
    const LISTS: [&str; 5] = ["block", "statement_list", "body_statement", "compound_statement", "statement_block"];
    const FUNCTIONS: [&str; 7] = ["function", "method", "closure", "lambda", "arrow", "constructor", "accessor"];
    let mut outer = std::iter::successors(block.parent(), |node| node.parent());
    let owner = outer.find(|node| !LISTS.contains(&node.kind()));
    owner.is_some_and(|owner| FUNCTIONS.iter().any(|word| owner.kind().contains(word)))
}
