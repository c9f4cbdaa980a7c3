//! What throws by right: methods that a subclass owes, a function made for that, the end of a list of cases, and what stands in for
//! something that a platform lacks.

use tree_sitter::Node;

use super::super::{stub, words::says_to_come, words::says_unfinished};
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
            || ["overridden", "abstract"].iter().any(|word| memchr::memmem::find(&name, word.as_bytes()).is_some())
    };
    before.take(20).any(is_case) || named.into_iter().any(says_so)
}

/// Returns whether a throw stands in a method whose comment says that others write it, in a class whose name or comment says that others extend it, or where at least two methods
/// say of themselves, by name, that they are not implemented.
pub(super) fn is_owed(above: &[Node<'_>], text: &[u8]) -> bool {
    if above.iter().rev().take(4).any(|outer| is_said_abstract(*outer, text)) {
        return true;
    }
    let Some(class) = above.iter().rev().find(|outer| is_class(outer)) else {
        return is_owed_by_prototype(above, text);
    };
    let name = class.child_by_field_name("name").map(|name| bytes(name, text)).unwrap_or_default();
    if class.kind().contains("abstract") || is_base_name(name) || is_extended(name, text) {
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

/// Returns whether a throw is all of a member that something else asks for: of a class that has a base or an interface, of an object, or one that
/// is assigned to an object. There `not implemented` is mostly an answer; `not implemented yet` is none, and neither is what an editor writes.
pub(super) fn is_of_member(node: Node<'_>, above: &[Node<'_>], text: &[u8]) -> bool {
    if above.iter().any(|outer| is_class(outer) && is_of_platform(*outer, text)) {
        return true;
    }
    if says_to_come(bytes(node, text)) {
        return false;
    }
    let is_function = |outer: &Node<'_>| ["function", "method", "arrow"].iter().any(|word| outer.kind().contains(word));
    let Some(at) = above.iter().rposition(is_function) else { return false };
    let Some(owner) = at.checked_sub(1).map(|at| above[at]) else { return false };
    match owner.kind() {
        "pair" | "object" => true,
        // What a module exports is a function like any other.
        "assignment_expression" => owner.child_by_field_name("left").is_some_and(|left| {
            matches!(left.kind(), "member_expression" | "subscript_expression")
                && !bytes(left, text).starts_with(b"exports.")
                && !bytes(left, text).starts_with(b"module.")
        }),
        _ => at.checked_sub(2).map(|at| above[at]).filter(is_class).is_some_and(has_heritage),
    }
}

fn has_heritage(class: Node<'_>) -> bool {
    const HERITAGE: [&str; 6] = [
        "class_heritage",
        "base_class_clause",
        "superclass",
        "super_interfaces",
        "base_clause",
        "class_interface_clause",
    ];
    class.named_children(&mut class.walk()).any(|child| HERITAGE.contains(&child.kind()))
}

/// Returns whether a class does for one platform what another names, as its own name says: `MarketWeb extends …`.
fn is_of_platform(class: Node<'_>, text: &[u8]) -> bool {
    const PLATFORMS: [&str; 9] = ["web", "browser", "android", "ios", "wasm", "windows", "linux", "macos", "electron"];
    let name = class.child_by_field_name("name").map(|name| stub::words(bytes(name, text))).unwrap_or_default();
    name.last().is_some_and(|word| PLATFORMS.contains(&word.as_str())) && has_heritage(class)
}

/// Returns whether a file is named as one of base classes: `step/base.js`.
pub(super) fn is_base_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    is_base_name(name.split('.').next().unwrap_or(name).as_bytes())
}

/// Returns whether a class has one of the words in its name.
fn is_base_name(name: &[u8]) -> bool {
    stub::words(name).iter().any(|word| NAMES.contains(&word.as_str()))
}

/// Returns whether a class of the same file extends this one.
pub(super) fn is_extended(class: &[u8], text: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    let is_named = |word: &str| {
        let words = [word.as_bytes(), class].concat();
        memchr::memmem::find_iter(text, &words).any(|at| !text.get(at + words.len()).is_some_and(is_part))
    };
    !class.is_empty() && ["extends ", ": public ", ", public "].iter().any(|word| is_named(word))
}

/// `Base.prototype.next = function () { … }`, where the name says it or another constructor calls this one.
fn is_owed_by_prototype(above: &[Node<'_>], text: &[u8]) -> bool {
    let assigned = above.iter().rev().take(4).find(|outer| outer.kind() == "assignment_expression");
    let left = assigned.and_then(|node| node.child_by_field_name("left")).map(|left| bytes(left, text));
    let Some((class, at)) = left.and_then(|left| Some((left, memchr::memmem::find(left, b".prototype.")?))) else {
        return false;
    };
    let class = &class[..at];
    is_base_name(class) || memchr::memmem::find(text, &[class, b".call(this"].concat()).is_some()
}

/// Returns whether a throw stands in for what a platform lacks: below a condition on `typeof`.
pub(super) fn is_for_platform(above: &[Node<'_>], text: &[u8]) -> bool {
    /// Longer statements are whole programs that ask where they run.
    const LONGEST: usize = 2_000;
    let asks = |node: &Node<'_>| {
        let condition = node.child_by_field_name("condition").filter(|_| node.kind() == "if_statement");
        condition.is_some_and(|condition| memchr::memmem::find(bytes(condition, text), b"typeof ").is_some())
    };
    above.iter().rev().take_while(|node| node.byte_range().len() <= LONGEST).any(asks)
}

/// `@abstract` above a method, or a comment in it that speaks of those who override it.
fn is_said_abstract(method: Node<'_>, text: &[u8]) -> bool {
    let is_method = matches!(method.kind(), "method_definition" | "method_declaration" | "function_definition");
    let has = |said: &[u8], word: &str| memchr::memmem::find(said, word.as_bytes()).is_some();
    let speaks = |body: Node<'_>| {
        let mut cursor = body.walk();
        let mut comments = body.named_children(&mut cursor).filter(|child| child.kind().contains("comment"));
        comments.any(|comment| SAID.iter().any(|word| has(&bytes(comment, text).to_ascii_lowercase(), word)))
    };
    is_method
        && (comments_above(method, text)
            .any(|said| has(&said, "@abstract") || (has(&said, "@throws") && has(&said, "not implemented")))
            || method.child_by_field_name("body").is_some_and(speaks))
}

/// Returns whether a comment above a throw takes it out of the coverage report: nobody is to get there.
pub(super) fn is_left_out_of_coverage(throw: Node<'_>, text: &[u8]) -> bool {
    comments_above(throw, text).any(|said| memchr::memmem::find(&said, b"ignore next").is_some())
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
