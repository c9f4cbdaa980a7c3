//! Statements that only stand for code to come, told by the tree.

use switchboard_grammars::Language;
use tree_sitter::{Node, Tree};

use super::found::Placeholder;
use super::words::says_unfinished;
use super::{stub, text as strings, typed};
use switchboard_syntax::tree::each_node_below;

/// Lists the placeholder statements of a file.
pub(crate) fn placeholders(tree: &Tree, text: &[u8], language: Language, path: &str) -> Vec<Placeholder> {
    let mut found = Vec::new();
    let is_for_tests = is_for_tests(path);
    each_node_below(tree, |node, above| {
        let placeholder = match language {
            Language::Rust => of_rust(node, text),
            Language::Python => of_python(node, above, text, path),
            Language::JavaScript | Language::TypeScript | Language::Tsx => of_throw(node, text, &["throw_statement"]),
            Language::Java | Language::Php | Language::Dart => {
                of_throw(node, text, &["throw_statement", "throw_expression"])
            }
            Language::CSharp => of_csharp(node, text),
            Language::Kotlin => of_call(node, text, &[b"TODO"]),
            Language::Swift => of_call(node, text, &[b"fatalError", b"preconditionFailure"]),
            Language::Go => of_call(node, text, &[b"panic"]),
            Language::Ruby => of_call(node, text, &[b"raise"]),
            Language::Bash
            | Language::C
            | Language::Cpp
            | Language::Css
            | Language::Ini
            | Language::PowerShell
            | Language::Regex => None,
        };
        found.extend(placeholder);
        if is_for_tests {
            return;
        }
        let placeholder = stub::of_function(node, above, text, language)
            .or_else(|| typed::of_function(node, above, text, language))
            .or_else(|| strings::of_string(node, above, text));
        found.extend(placeholder.filter(|_| language != Language::Rust || !is_in_tests(above, text)));
    });
    found
}

fn bytes<'a>(node: Node<'_>, text: &'a [u8]) -> &'a [u8] {
    &text[node.byte_range()]
}

fn throw(node: Node<'_>) -> Placeholder {
    Placeholder {
        rule: "placeholder/code-throw-todo".into(),
        what: "this only says that it is not implemented",
        range: node.byte_range(),
    }
}

/// `todo!()`, `unimplemented!()`, and a panic that says the same.
fn of_rust(node: Node<'_>, text: &[u8]) -> Option<Placeholder> {
    if node.kind() != "macro_invocation" {
        return None;
    }
    let name = bytes(node.child_by_field_name("macro")?, text);
    let is_promise = name == b"todo" || name == b"unimplemented";
    let is_unfinished = name == b"panic" && says_unfinished(bytes(node, text));
    (is_promise || is_unfinished).then(|| throw(node))
}

fn of_python(node: Node<'_>, above: &[Node<'_>], text: &[u8], path: &str) -> Option<Placeholder> {
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
    let is_method = above.iter().any(|outer| outer.kind() == "class_definition");
    let is_plain = above.last().is_some_and(|parent| parent.kind() == "module");
    let is_abstract = is_method || above.last().is_some_and(|parent| parent.kind() == "decorated_definition");
    let message = message(bytes(*only, text));
    let raises = only.kind() == "raise_statement" && contains(bytes(*only, text), b"NotImplementedError");
    let is_promise = raises && (says_unfinished(message) || (!is_abstract && message.is_empty()));
    let is_empty = only.kind() == "pass_statement" || bytes(*only, text) == b"...";
    // What nobody outside is to call stands in for a value, e.g. to have its type.
    let is_private = node.child_by_field_name("name").is_some_and(|name| bytes(name, text).starts_with(b"_"));
    let is_stub =
        is_empty && is_plain && !has_docstring && !is_private && !is_for_tests(path) && !path.ends_with(".pyi");
    if is_promise {
        return Some(throw(*only));
    }
    is_stub.then(|| Placeholder {
        rule: "placeholder/code-stub-body".into(),
        what: "the whole function does nothing",
        range: only.byte_range(),
    })
}

/// The text of an error behind its name.
fn message(raised: &[u8]) -> &[u8] {
    let message = raised.iter().position(|byte| *byte == b'(').map_or(&b""[..], |at| &raised[at..]);
    if message == b"()" { b"" } else { message }
}

fn is_for_tests(path: &str) -> bool {
    path.split('/').any(|part| {
        part.starts_with("test") || part.contains("_test") || part == "idlelib" || part.starts_with("conftest")
    })
}

/// The tests that stand in a Rust file itself.
fn is_in_tests(above: &[Node<'_>], text: &[u8]) -> bool {
    above.iter().any(|outer| {
        let name = (outer.kind() == "mod_item").then(|| outer.child_by_field_name("name"));
        name.flatten().is_some_and(|name| matches!(bytes(name, text), b"tests" | b"test"))
    })
}

/// `throw new Error("not implemented")`, of any kind of error.
fn of_throw(node: Node<'_>, text: &[u8], kinds: &[&str]) -> Option<Placeholder> {
    let is_it =
        kinds.contains(&node.kind()) && node.byte_range().len() < 300 && says_unfinished(message(bytes(node, text)));
    is_it.then(|| throw(node))
}

fn of_csharp(node: Node<'_>, text: &[u8]) -> Option<Placeholder> {
    let is_throw = ["throw_statement", "throw_expression"].contains(&node.kind());
    (is_throw && contains(bytes(node, text), b"NotImplementedException")).then(|| throw(node))
}

/// A call of one of these names; one that is no promise by itself must say so in its message.
fn of_call(node: Node<'_>, text: &[u8], names: &[&[u8]]) -> Option<Placeholder> {
    if !["call_expression", "call"].contains(&node.kind()) || node.byte_range().len() > 300 {
        return None;
    }
    let call = bytes(node, text);
    let name = names
        .iter()
        .find(|name| call.starts_with(name) && !call.get(name.len()).is_some_and(u8::is_ascii_alphanumeric))?;
    let is_promise = **name == *b"TODO" || says_unfinished(&call[name.len()..]);
    is_promise.then(|| throw(node))
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}
