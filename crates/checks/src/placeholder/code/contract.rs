//! Classes that others extend: what their methods throw is what a subclass owes.

use tree_sitter::Node;

use super::super::{stub, words::says_unfinished};
use super::bytes;

/// Words of the name of a class that others extend.
const NAMES: [&str; 4] = ["abstract", "base", "interface", "protocol"];
/// Words of the comment above one, in small letters.
const SAID: [&str; 5] = ["abstract", "subclass", "sub-class", "overrid", "interface"];

/// Returns whether a throw stands in a class whose name or comment says that others extend it, or where at least two methods
/// say of themselves, by name, that they are not implemented.
pub(super) fn is_owed(above: &[Node<'_>], text: &[u8]) -> bool {
    let Some(class) = above.iter().rev().find(|outer| is_class(outer)) else { return false };
    let name = class.child_by_field_name("name").map(|name| stub::words(bytes(name, text))).unwrap_or_default();
    if class.kind().contains("abstract") || name.iter().any(|word| NAMES.contains(&word.as_str())) {
        return true;
    }
    let outer = class.parent().filter(|parent| parent.kind() == "export_statement").unwrap_or(*class);
    let comment = outer.prev_named_sibling().filter(|before| before.kind().contains("comment"));
    let said = comment.map(|comment| bytes(comment, text).to_ascii_lowercase()).unwrap_or_default();
    if SAID.iter().any(|word| memchr::memmem::find(&said, word.as_bytes()).is_some()) {
        return true;
    }
    let Some(body) = class.child_by_field_name("body") else { return false };
    let mut cursor = body.walk();
    body.named_children(&mut cursor).filter(|method| says_its_name(*method, text)).take(2).count() == 2
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
