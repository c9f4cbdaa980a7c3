//! Where a comment stands: in the place of code, or where none is missing.

use std::ops::Range;

use switchboard_syntax::notes::Note;
use tree_sitter::{Node, Tree};

use super::stub::{DUMMIES, gives_dummy};

/// Members of types, and parameters: a mark among them asks for one more.
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

/// How many comment lines below a mark are searched for code that is commented out.
const SHOWN: usize = 4;
/// From so many comment lines above or below it, a mark has an explanation: somebody chose to leave the place as it is.
const EXPLAINED: usize = 2;

/// Returns whether a mark stands where no code can be missing: among the members of a type, or in code that is commented out or disabled.
pub(super) fn leaves_nothing_out(note: &Note, tree: &Tree, text: &[u8]) -> bool {
    let at = tree.root_node().descendant_for_byte_range(note.range.start, note.range.end);
    let mut outwards =
        std::iter::successors(at, |node| node.parent()).skip_while(|node| node.kind().contains("comment"));
    let is_declared = outwards.clone().next().is_some_and(|node| DECLARED.contains(&node.kind()));
    let is_off = |node: Node<'_>| {
        let condition = node.child_by_field_name("condition").filter(|_| node.kind() == "preproc_if");
        condition.is_some_and(|condition| &text[condition.byte_range()] == b"0")
    };
    is_declared || is_shown(note, at, text) || is_uncovered(note, tree, text) || outwards.any(is_off)
}

/// Returns whether the coverage report leaves out the empty block of a mark: nobody is meant to get there.
fn is_uncovered(note: &Note, tree: &Tree, text: &[u8]) -> bool {
    const IGNORED: [&str; 3] = ["no cover", "c8 ignore", "istanbul ignore"];
    let Some((comment, parent)) = comment_of(&note.range, tree) else { return false };
    let block = comment.next_named_sibling().filter(|next| next.kind() == "block").unwrap_or(parent);
    let end =
        text[block.end_byte()..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| block.end_byte() + at);
    let written = &text[block.start_byte()..end];
    is_empty(block, text) && IGNORED.iter().any(|word| memchr::memmem::find(written, word.as_bytes()).is_some())
}

/// Returns whether a mark stands in code that is commented out: behind `//` in a block comment, or indented behind the sign.
fn is_shown(note: &Note, at: Option<Node<'_>>, text: &[u8]) -> bool {
    /// Prose stands one or two spaces behind the sign; code that is commented out keeps its indentation.
    const INDENT: usize = 3;
    let line = text[..note.range.start].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let before = line.trim_ascii();
    let is_block = |comment: Node<'_>| is_comment(comment) && text[comment.byte_range()].starts_with(b"/*");
    let is_indented = matches!(before, b"#" | b"//") && line.len() - line.trim_ascii_end().len() >= INDENT;
    is_indented || (before.starts_with(b"//") && at.is_some_and(is_block))
}

/// The comment around a range, and the node around it.
fn comment_of<'t>(range: &Range<usize>, tree: &'t Tree) -> Option<(Node<'t>, Node<'t>)> {
    let at = tree.root_node().descendant_for_byte_range(range.start, range.end);
    let mut comment = at.filter(|node| is_comment(*node))?;
    // Some grammars split a comment into parts.
    while let Some(outer) = comment.parent().filter(|outer| is_comment(*outer)) {
        comment = outer;
    }
    Some((comment, comment.parent()?))
}

/// Returns where the comment around a range starts.
pub(super) fn start_of_comment(range: &Range<usize>, tree: &Tree) -> Option<usize> {
    comment_of(range, tree).map(|(comment, _)| comment.start_byte())
}

/// Returns whether the block of a mark has no other code, or only a dummy.
pub(super) fn stands_for_code(note: &Note, tree: &Tree, text: &[u8]) -> bool {
    let Some((comment, parent)) = comment_of(&note.range, tree) else { return false };
    // Behind a statement that is commented out, it is about that.
    let is_about_shown = text[comment.start_byte()..note.range.start].contains(&b';');
    let is_of_type = [Some(parent), parent.parent()].into_iter().flatten().any(|owner| owner.kind().contains("class"));
    if is_about_shown || is_of_type || is_explained(comment) || is_default(parent) {
        return false;
    }
    if ["block", "body", "statement"].iter().any(|word| parent.kind().contains(word)) {
        return !is_handler(parent) && is_empty(parent, text);
    }
    // In Python a comment may stand before the block that it is about.
    comment.next_named_sibling().is_some_and(|next| next.kind() == "block" && !is_handler(next) && is_empty(next, text))
}

/// Returns whether the place of a comment shows a gap: its block ends there, or goes on with a statement that does nothing.
/// Behind a statement, on the same line, that statement has to do nothing or to set a constant.
pub(super) fn leaves_gap(range: &Range<usize>, tree: &Tree, text: &[u8]) -> bool {
    let Some((comment, parent)) = comment_of(range, tree) else { return false };
    let row = comment.start_position().row;
    if let Some(statement) = comment.prev_named_sibling().filter(|before| before.end_position().row == row) {
        return !is_comment(statement) && (does_nothing(statement, text) || sets_dummy(statement, text));
    }
    let mut behind = std::iter::successors(comment.next_named_sibling(), |node| node.next_named_sibling());
    let next = behind.find(|node| !is_comment(*node));
    // In Python a comment may stand before the block that it is about.
    let next = next.map(|next| next.named_child(0).filter(|_| next.kind() == "block").unwrap_or(next));
    let ends_block = |parent: Node<'_>| is_code(parent) && !is_handler(parent);
    !is_explained(comment) && next.map_or_else(|| ends_block(parent), |next| does_nothing(next, text))
}

/// Returns whether a mark stands behind the head of a block, on its line: there it is about the head.
pub(super) fn is_behind_head(range: &Range<usize>, text: &[u8]) -> bool {
    let line = text[..range.start].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let signs = line.iter().rev().take_while(|byte| b"/*# \t".contains(byte)).count();
    line[..line.len() - signs].last().is_some_and(|byte| b"{:".contains(byte))
}

/// Returns whether at most this many statements stand behind a comment in its block.
pub(super) fn few_follow(range: &Range<usize>, tree: &Tree, most: usize) -> bool {
    let Some((comment, _)) = comment_of(range, tree) else { return true };
    let behind = std::iter::successors(comment.next_named_sibling(), |node| node.next_named_sibling());
    let mut behind = behind.filter(|node| !is_comment(*node));
    match behind.next() {
        Some(block) if block.kind() == "block" => block.named_child_count() <= most,
        Some(_) => behind.count() < most,
        None => true,
    }
}

fn is_comment(node: Node<'_>) -> bool {
    node.kind().contains("comment")
}

/// Returns whether a node holds statements, not the members of a type.
fn is_code(node: Node<'_>) -> bool {
    const HOLDS: [&str; 6] = ["block", "body", "statement", "closure", "case", "clause"];
    const MEMBERS: [&str; 5] = ["class", "interface", "enum", "struct", "declaration_list"];
    let owner = node.parent().map_or("", |owner| owner.kind());
    HOLDS.iter().any(|word| node.kind().contains(word))
        && !MEMBERS.iter().any(|word| node.kind().contains(word) || owner.contains(word))
}

/// Returns whether a statement does nothing: `pass`, `break`, `return None`, an arm or a function that is a dummy.
fn does_nothing(statement: Node<'_>, text: &[u8]) -> bool {
    let written = text[statement.byte_range()].trim_ascii_end();
    let written = written.strip_suffix(b";").or_else(|| written.strip_suffix(b",")).unwrap_or(written);
    if matches!(written, b"pass" | b"..." | b"break" | b"continue" | b"return")
        || gives_dummy(statement, text, &DUMMIES)
    {
        return true;
    }
    if statement.kind() == "match_arm" {
        return [b"=> ()".as_slice(), b"=> {}"].iter().any(|nothing| written.ends_with(nothing));
    }
    let body = statement.child_by_field_name("body");
    if let Some(body) = body.filter(|_| statement.kind().contains("function") || statement.kind().contains("method")) {
        return is_empty(body, text);
    }
    statement.kind().starts_with("return") && statement.named_child(0).is_some_and(|value| is_constant(value, text))
}

/// Returns whether a statement sets a variable or a field to a constant: `self.zone = ""`.
fn sets_dummy(statement: Node<'_>, text: &[u8]) -> bool {
    let inner = statement.named_child(0).filter(|_| statement.named_child_count() == 1).unwrap_or(statement);
    let value = inner.child_by_field_name("right").or_else(|| inner.child_by_field_name("value"));
    value.is_some_and(|value| is_constant(value, text))
}

/// A literal, or the member of an enumeration: `CheckResult.PASSED`.
fn is_constant(value: Node<'_>, text: &[u8]) -> bool {
    let written = &text[value.byte_range()];
    let is_literal = ["literal", "string", "number", "integer", "float", "true", "false", "null", "none", "nil"]
        .iter()
        .any(|kind| value.kind().contains(kind));
    let is_path = written.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.:".contains(byte));
    let is_upper =
        written.first().is_some_and(u8::is_ascii_uppercase) && written.iter().any(|byte| b".:".contains(byte));
    (is_literal && value.named_child_count() <= 2 && written.len() <= 40) || (is_path && is_upper)
}

/// Returns whether a mark stands above code that is commented out, in the same run of comments.
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
        let begins_block = ["for ", "if ", "def ", "while ", "class ", "with ", "try:", "else:"];
        if words.ends_with(b":") && begins_block.iter().any(|word| words.starts_with(word.as_bytes())) {
            return true;
        }
        let is_code = words.last().is_some_and(|byte| b";{".contains(byte)) || words.ends_with(b"(");
        is_code && words.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
    })
}

/// Returns whether the block of a mark is the body of a function.
pub(super) fn is_in_body_of_function(note: &Note, tree: &Tree) -> bool {
    let at = tree.root_node().descendant_for_byte_range(note.range.start, note.range.end);
    let mut outwards =
        std::iter::successors(at, |node| node.parent()).skip_while(|node| node.kind().contains("comment"));
    // In Python a comment may stand before the block that it is about.
    outwards.next().is_some_and(|node| node.kind().contains("function") || is_of_function(node))
}

/// Returns whether comment lines above or below a mark say why nothing is done.
fn is_explained(comment: Node<'_>) -> bool {
    run_of_comments(comment, |node| node.prev_named_sibling()) >= EXPLAINED
        || run_of_comments(comment, |node| node.next_named_sibling()) >= EXPLAINED
}

/// Counts the comments on the lines next to one.
fn run_of_comments<'t>(comment: Node<'t>, step: impl Fn(Node<'t>) -> Option<Node<'t>>) -> usize {
    let mut row = comment.start_position().row;
    let is_next = |node: &Node<'_>| {
        let is_next = is_comment(*node) && node.start_position().row.abs_diff(row) == 1;
        row = node.start_position().row;
        is_next
    };
    std::iter::successors(step(comment), |node| step(*node)).take_while(is_next).count()
}

/// Returns whether a block is the default body of a trait's method.
fn is_default(block: Node<'_>) -> bool {
    let outer = block.parent().filter(|outer| outer.kind() == "function_item").and_then(|function| function.parent());
    outer.and_then(|list| list.parent()).is_some_and(|owner| owner.kind() == "trait_item")
}

/// Returns whether a block handles an error. Ignoring one is a choice.
fn is_handler(block: Node<'_>) -> bool {
    let handles = |node: Node<'_>| ["catch", "except", "rescue"].iter().any(|word| node.kind().contains(word));
    handles(block) || block.parent().is_some_and(handles)
}

/// Returns whether a block has no statement, or only a dummy.
fn is_empty(block: Node<'_>, text: &[u8]) -> bool {
    let mut cursor = block.walk();
    let mut statements = block.named_children(&mut cursor).filter(|node| !node.kind().contains("comment"));
    match (statements.next(), statements.next()) {
        (None, _) => true,
        (Some(only), None) => {
            let is_nothing = matches!(&text[only.byte_range()], b"pass" | b"...");
            is_nothing
                || (is_of_function(block) && (gives_dummy(only, text, &DUMMIES) || gives_parameter(only, block, text)))
        }
        (Some(_), Some(_)) => false,
    }
}

/// Returns whether a statement only gives a parameter of its function back.
fn gives_parameter(statement: Node<'_>, body: Node<'_>, text: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let written = text[statement.byte_range()].trim_ascii_end();
    let value = written.strip_prefix(b"return ").unwrap_or(written);
    let value = value.strip_suffix(b";").unwrap_or(value);
    let head = body.parent().map_or(&b""[..], |owner| &text[owner.start_byte()..body.start_byte()]);
    value.iter().all(is_part) && head.split(|byte| !is_part(byte)).any(|word| word == value)
}

/// Returns whether a block is the body of a function: under a condition a dummy may be the answer.
fn is_of_function(block: Node<'_>) -> bool {
    const LISTS: [&str; 5] = ["block", "statement_list", "body_statement", "compound_statement", "statement_block"];
    const FUNCTIONS: [&str; 7] = ["function", "method", "closure", "lambda", "arrow", "constructor", "accessor"];
    let mut outer = std::iter::successors(block.parent(), |node| node.parent());
    let owner = outer.find(|node| !LISTS.contains(&node.kind()));
    owner.is_some_and(|owner| FUNCTIONS.iter().any(|word| owner.kind().contains(word)))
}
