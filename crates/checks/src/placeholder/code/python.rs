//! Functions of Python whose body is a placeholder: `raise NotImplementedError`, `...`, `pass`.

use tree_sitter::Node;

use super::super::found::{Placeholder, Weight};
use super::super::words::{says_to_come, says_unfinished};
use super::super::{stub, test_double};
use super::{bytes, message, throw};

/// Parts of the name of a base class that make methods without a body right.
const BOUND: [&str; 6] = ["Protocol", "ABC", "Interface", "Base", "Abstract", "Mixin"];

pub(super) fn of_function(node: Node<'_>, above: &[Node<'_>], text: &[u8], path: &str) -> Option<Placeholder> {
    if node.kind() != "function_definition" {
        return None;
    }
    let body = node.child_by_field_name("body")?;
    let statements: Vec<Node<'_>> =
        body.named_children(&mut body.walk()).filter(|child| child.kind() != "comment").collect();
    let (first, rest) = statements.split_first()?;
    let is_docstring = |node: &Node<'_>| {
        node.kind() == "expression_statement" && node.named_child(0).is_some_and(|child| child.kind() == "string")
    };
    let (has_docstring, only) = match (is_docstring(first), rest) {
        (true, [only]) => (true, only),
        (false, []) => (false, first),
        _ => return None,
    };
    let class = above.iter().rev().find(|outer| outer.kind() == "class_definition");
    let is_decorated = above.last().is_some_and(|parent| parent.kind() == "decorated_definition");
    let words = message(bytes(*only, text));
    let raises =
        only.kind() == "raise_statement" && memchr::memmem::find(bytes(*only, text), b"NotImplementedError").is_some();
    let is_owed = class.is_some() || is_decorated;
    if raises && (says_unfinished(words) || (!is_owed && words.is_empty())) {
        let is_said = has_docstring && memchr::memmem::find(bytes(*first, text), b"NotImplementedError").is_some();
        let is_contract = is_said
            || (class.is_none() && is_handed_on(node, text))
            || is_said_never_called(above.last().copied().filter(|_| is_decorated).unwrap_or(node), text)
            || is_put_together(words)
            || (has_docstring && speaks_of_others(*first, text))
            || class.is_some_and(|class| calls_itself(*class, node, text))
            || class.is_some_and(|class| overrides_several(*class, text))
            || class.is_some_and(|class| is_for_others(*class, node, words, text));
        // In a class it is as often what subclasses owe, unless it says that it is to come.
        let is_open = class.is_some() && !says_to_come(words);
        return Some(match (is_contract, is_open) {
            (true, _) => throw(*only, Weight::Note),
            (false, true) => throw(*only, Weight::Asks),
            (false, false) => throw(*only, Weight::Blocks),
        });
    }
    if above.iter().any(|outer| is_for_types(*outer, text)) {
        return None;
    }
    let is_plain = above.last().is_some_and(|parent| parent.kind() == "module");
    let is_ellipsis = bytes(*only, text) == b"...";
    if says_why(*only, text) || is_idle(node, text) {
        return None;
    }
    // What nobody outside is to call stands in for a value, e.g. to have its type.
    let is_private = name(node, text).is_some_and(|name| name.starts_with(b"_"));
    let takes_something = node.child_by_field_name("parameters").is_some_and(|list| list.named_child_count() > 0);
    let is_stub = if has_docstring {
        // A description and no code: in a class only where nothing says that others fill it in.
        let is_alone = is_plain && !is_written_again(node, text);
        is_ellipsis
            && !is_decorated
            && (is_alone || class.is_some_and(|class| is_filled_in_here(*class, text) && !is_interface(*class, text)))
    } else {
        (only.kind() == "pass_statement" || is_ellipsis)
            && is_plain
            && takes_something
            && !is_private
            && !is_handed_on(node, text)
            && promises_work(node, text)
    };
    (is_stub && !path.ends_with(".pyi") && !test_double::is_file(path)).then(|| Placeholder {
        // In a class it is mostly a hook, and what only passes may do so.
        weight: match (has_docstring, class) {
            (true, None) => Weight::Blocks,
            (false, _) => Weight::Asks,
            (true, Some(_)) => Weight::Note,
        },
        rule: "placeholder/code-stub-body".into(),
        what: "the whole function does nothing",
        range: only.byte_range(),
    })
}

/// Returns whether the name of a function promises work. Of nine others in published packages that only `pass`, eight were hooks of a
/// framework or test data.
fn promises_work(function: Node<'_>, text: &[u8]) -> bool {
    name(function, text).is_some_and(|name| stub::promises_work(&stub::words(name)))
}

fn name<'a>(function: Node<'_>, text: &'a [u8]) -> Option<&'a [u8]> {
    function.child_by_field_name("name").map(|name| bytes(name, text))
}

/// Returns whether a class that has a base raises in three methods or more: it does not do all that the base does.
fn overrides_several(class: Node<'_>, text: &[u8]) -> bool {
    class.child_by_field_name("superclasses").is_some()
        && memchr::memmem::find_iter(bytes(class, text), "raise NotImplementedError").take(3).count() == 3
}

/// Returns whether the comment above a function says that nobody calls it.
fn is_said_never_called(function: Node<'_>, text: &[u8]) -> bool {
    let above = function.prev_named_sibling().filter(|node| node.kind() == "comment");
    above.is_some_and(|comment| memchr::memmem::find(bytes(comment, text), b"never").is_some())
}

/// Returns whether a class that has a base calls a method that only raises: subclasses are to write it.
fn calls_itself(class: Node<'_>, method: Node<'_>, text: &[u8]) -> bool {
    let call = [b"self.", name(method, text).unwrap_or_default(), b"("].concat();
    class.child_by_field_name("superclasses").is_some() && memchr::memmem::find(bytes(class, text), &call).is_some()
}

/// Returns whether a description speaks of those who override a method or extend its class.
fn speaks_of_others(docstring: Node<'_>, text: &[u8]) -> bool {
    let said = bytes(docstring, text).to_ascii_lowercase();
    ["subclass", "sub-class", "child class", "derived class", "overrid", "abstract"]
        .iter()
        .any(|word| memchr::memmem::find(&said, word.as_bytes()).is_some())
}

/// Returns whether a comment stands behind a statement: nothing is done there on purpose.
fn says_why(only: Node<'_>, text: &[u8]) -> bool {
    let rest = text[only.end_byte()..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    rest.trim_ascii_start().starts_with(b"#")
}

/// Returns whether a function may do nothing, by its name.
fn is_idle(function: Node<'_>, text: &[u8]) -> bool {
    let name = function.child_by_field_name("name").map(|name| stub::words(bytes(name, text))).unwrap_or_default();
    stub::is_idle(&name)
}

/// `NotImplementedError(f"{node} is not implemented")`: it tells of a value that is not handled.
fn is_put_together(words: &[u8]) -> bool {
    let first = words.strip_prefix(b"(").unwrap_or(words).trim_ascii_start();
    (first.starts_with(b"f\"") || first.starts_with(b"f'")) && words.contains(&b'{')
}

/// Returns whether a file has another function of the name: this one is there for its types and its description.
fn is_written_again(function: Node<'_>, text: &[u8]) -> bool {
    let Some(name) = function.child_by_field_name("name") else { return false };
    let head = [b"def ", bytes(name, text), b"("].concat();
    memchr::memmem::find_iter(text, &head).take(2).count() == 2
}

/// Returns whether a file hands a function on as a value, e.g. registers it: there one that does nothing is an answer.
fn is_handed_on(function: Node<'_>, text: &[u8]) -> bool {
    let Some(name) = name(function, text) else { return false };
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(*byte, b'_' | b'"' | b'\'');
    memchr::memmem::find_iter(text, name).any(|at| {
        let rest = &text[at + name.len()..];
        let is_whole = !at.checked_sub(1).is_some_and(|before| is_part(&text[before]));
        let next = rest.trim_ascii_start().first();
        let is_assigned = text[..at].trim_ascii_end().ends_with(b"=");
        let ends = is_assigned || matches!(next, Some(b',' | b')' | b']' | b'}'));
        is_whole && rest.first().is_none_or(|byte| !is_part(byte) && *byte != b'(') && ends
    })
}

/// `if TYPE_CHECKING:`: what stands below only tells a reader of types.
fn is_for_types(outer: Node<'_>, text: &[u8]) -> bool {
    let condition = outer.child_by_field_name("condition").filter(|_| outer.kind() == "if_statement");
    condition.is_some_and(|condition| bytes(condition, text).ends_with(b"TYPE_CHECKING"))
}

/// Returns whether a class names methods for others to write: two or more, and none of them has a body.
fn is_interface(class: Node<'_>, text: &[u8]) -> bool {
    let Some(body) = class.child_by_field_name("body") else { return false };
    let mut cursor = body.walk();
    let mut methods = 0;
    for child in body.named_children(&mut cursor) {
        let method = child.child_by_field_name("definition").unwrap_or(child);
        if method.kind() != "function_definition" {
            continue;
        }
        if !bytes(method, text).trim_ascii_end().ends_with(b"...") {
            return false;
        }
        methods += 1;
    }
    methods >= 2
}

/// Returns whether a method is what subclasses owe: its class is called a base class, has abstract methods or is extended in the same file,
/// or the message names the method.
fn is_for_others(class: Node<'_>, method: Node<'_>, words: &[u8], text: &[u8]) -> bool {
    let name = |node: Node<'_>| node.child_by_field_name("name").map(|name| bytes(name, text)).unwrap_or_default();
    let has = |text: &[u8], word: &[u8]| memchr::memmem::find(text, word).is_some();
    let bases = class.child_by_field_name("superclasses").map(|bases| bytes(bases, text)).unwrap_or_default();
    let described = class.child_by_field_name("body").and_then(|body| body.named_child(0));
    let is_base = BOUND.iter().any(|word| has(name(class), word.as_bytes()))
        || has(bases, b"ABC")
        || described.is_some_and(|first| first.kind() == "expression_statement" && speaks_of_others(first, text));
    is_base
        || has(bytes(class, text), b"abstractmethod")
        || is_extended(name(class), text)
        || (name(method).len() > 3 && has(words, name(method)))
}

/// Returns whether a class of the same file has this one among its bases.
fn is_extended(class: &[u8], text: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    memchr::memmem::find_iter(text, class).any(|at| {
        let line = text[..at].rsplit(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_start();
        let is_base = line.starts_with(b"class ") && line.contains(&b'(');
        let is_whole = |byte: Option<&u8>| !byte.is_some_and(is_part);
        is_base && is_whole(text.get(at - 1)) && is_whole(text.get(at + class.len()))
    })
}

/// Returns whether the methods of a class are written in it: none of its bases is a protocol or leaves them to subclasses.
fn is_filled_in_here(class: Node<'_>, text: &[u8]) -> bool {
    let name = class.child_by_field_name("name").map(|name| bytes(name, text)).unwrap_or_default();
    let bases = class.child_by_field_name("superclasses").map(|bases| bytes(bases, text)).unwrap_or_default();
    !BOUND.iter().any(|word| [name, bases].iter().any(|part| memchr::memmem::find(part, word.as_bytes()).is_some()))
}
