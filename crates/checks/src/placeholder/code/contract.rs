//! What throws by right: methods that a subclass owes, a function made for that, and the end of a list of cases.

use tree_sitter::Node;

use super::super::{stub, words::says_unfinished};
use super::bytes;

/// Words of the name of a class that others extend.
const NAMES: [&str; 4] = ["abstract", "base", "interface", "protocol"];
/// Words of the comment above one, in small letters.
const SAID: [&str; 5] = ["abstract", "subclass", "sub-class", "overrid", "interface"];

/// Returns whether a throw ends a list of cases, or its function is called by what it does: `notImplemented`.
pub(super) fn is_last_case(node: Node<'_>, above: &[Node<'_>], text: &[u8]) -> bool {
    let before = std::iter::successors(node.prev_named_sibling(), |node| node.prev_named_sibling());
    let is_case = |node: Node<'_>| matches!(node.kind(), "if_statement" | "switch_statement");
    let named = above.iter().rev().take(4).filter_map(|outer| outer.child_by_field_name("name"));
    let says_so = |name: Node<'_>| {
        let name = bytes(name, text).to_ascii_lowercase();
        ["notimplemented", "not_implemented", "unimplemented"].iter().any(|word| name == word.as_bytes())
    };
    before.take(20).any(is_case) || named.into_iter().any(says_so)
}

/// Returns whether a throw stands in a method whose comment says that others write it, in a class whose name or comment says that others extend it, or where at least two methods
/// say of themselves, by name, that they are not implemented.
pub(super) fn is_owed(above: &[Node<'_>], text: &[u8]) -> bool {
    if above.iter().rev().take(4).any(|outer| is_said_abstract(*outer, text)) {
        return true;
    }
    let Some(class) = above.iter().rev().find(|outer| is_class(outer)) else { return false };
    let name = class.child_by_field_name("name").map(|name| stub::words(bytes(name, text))).unwrap_or_default();
    if class.kind().contains("abstract") || name.iter().any(|word| NAMES.contains(&word.as_str())) {
        return true;
    }
    let outer = class.parent().filter(|parent| parent.kind() == "export_statement").unwrap_or(*class);
    if comments_above(outer, text)
        .any(|said| SAID.iter().any(|word| memchr::memmem::find(&said, word.as_bytes()).is_some()))
    {
        return true;
    }
    let Some(body) = class.child_by_field_name("body") else { return false };
    let mut cursor = body.walk();
    body.named_children(&mut cursor).filter(|method| says_its_name(*method, text)).take(2).count() == 2
}

/// `@abstract` above a method.
fn is_said_abstract(method: Node<'_>, text: &[u8]) -> bool {
    let is_method = matches!(method.kind(), "method_definition" | "method_declaration" | "function_definition");
    is_method && comments_above(method, text).any(|said| memchr::memmem::find(&said, b"@abstract").is_some())
}

/// The comments right above a node, in small letters.
fn comments_above<'a>(node: Node<'a>, text: &'a [u8]) -> impl Iterator<Item = Vec<u8>> + 'a {
    let before = std::iter::successors(node.prev_named_sibling(), |node| node.prev_named_sibling());
    before
        .take_while(|node| node.kind().contains("comment"))
        .take(10)
        .map(|node| bytes(node, text).to_ascii_lowercase())
}

fn is_class(node: &Node<'_>) -> bool {
    matches!(node.kind(), "class" | "class_specifier" | "abstract_class_declaration" | "class_declaration")
}

/// `install() { throw new Error("install() not implemented") }`
fn says_its_name(method: Node<'_>, text: &[u8]) -> bool {
    /// Longer methods do more than to throw.
    const LONGEST: usize = 600;
    let (Some(name), Some(body)) = (method.child_by_field_name("name"), method.child_by_field_name("body")) else {
        return false;
    };
    let (name, body) = (bytes(name, text), bytes(body, text));
    let is_named = || memchr::memmem::find(body, name).is_some();
    body.len() <= LONGEST && memchr::memmem::find(body, b"throw").is_some() && says_unfinished(body) && is_named()
}
