//! Functions whose whole body stands for one to come: an empty body, or one that only gives a dummy back.
//!
//! What is legally empty stays silent: methods (an interface may demand them), functions without arguments (a callback that
//! does nothing), bodies with a comment that says why, and names that say that nothing happens.

use switchboard_grammars::Language;
use tree_sitter::Node;

use super::found::{Placeholder, Weight};

/// What a language calls a function that stands by itself.
struct Shape {
    function: &'static [&'static str],
    /// Parents under which it is one.
    parents: &'static [&'static str],
    returns: &'static [&'static str],
}

/// Names of functions that may do nothing.
pub(super) const IDLE: [&str; 14] = [
    "depart", "noop", "no_op", "nop", "empty", "ignore", "dummy", "identity", "swallow", "discard", "assert", "unused",
    "pass", "visit",
];
/// Beginnings of names that promise work, and so more than a constant.
const WORK: [&str; 40] = [
    "add",
    "aggregate",
    "analyze",
    "apply",
    "authenticate",
    "authorize",
    "build",
    "calc",
    "compute",
    "convert",
    "count",
    "create",
    "decode",
    "decrypt",
    "delete",
    "encode",
    "encrypt",
    "extract",
    "fetch",
    "filter",
    "find",
    "format",
    "generate",
    "hash",
    "load",
    "merge",
    "multiply",
    "normalize",
    "parse",
    "process",
    "query",
    "render",
    "save",
    "search",
    "send",
    "sort",
    "sum",
    "transform",
    "update",
    "upload",
];
/// Values that say nothing, without spaces.
pub(super) const DUMMIES: [&str; 22] = [
    "null",
    "None",
    "nil",
    "undefined",
    "0",
    "0.0",
    "-1",
    "\"\"",
    "''",
    "[]",
    "{}",
    "()",
    "false",
    "true",
    "False",
    "True",
    "array()",
    "Vec::new()",
    "vec![]",
    "String::new()",
    "Ok(())",
    "Default::default()",
];

fn shape(language: Language) -> Option<Shape> {
    let shape = |function, parents, returns| Some(Shape { function, parents, returns });
    match language {
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            shape(&["function_declaration"], &["program", "export_statement"], &["return_statement"])
        }
        Language::Go => shape(&["function_declaration"], &["source_file"], &["return_statement"]),
        Language::Rust => shape(&["function_item"], &["source_file"], &["return_expression"]),
        Language::Php => shape(&["function_definition"], &["program"], &["return_statement"]),
        Language::Python => shape(&["function_definition"], &["module"], &["return_statement"]),
        Language::Ruby => shape(&["method"], &["program"], &["return"]),
        Language::Bash
        | Language::C
        | Language::CSharp
        | Language::Cpp
        | Language::Css
        | Language::Dart
        | Language::Ini
        | Language::Java
        | Language::Kotlin
        | Language::PowerShell
        | Language::Regex
        | Language::Swift => None,
    }
}

/// Returns whether a node is a function that does not do what its name says.
pub(super) fn of_function(node: Node<'_>, above: &[Node<'_>], text: &[u8], language: Language) -> Option<Placeholder> {
    let shape = shape(language)?;
    let stands_alone = above.last().is_some_and(|parent| shape.parents.contains(&parent.kind()));
    if !shape.function.contains(&node.kind()) || !stands_alone {
        return None;
    }
    let name = &text[node.child_by_field_name("name")?.byte_range()];
    let is_javascript = matches!(language, Language::JavaScript | Language::TypeScript | Language::Tsx);
    if is_javascript && name.first().is_some_and(u8::is_ascii_uppercase) {
        // A constructor: what it makes may begin empty.
        return None;
    }
    if (is_javascript || language == Language::Rust) && name.starts_with(b"_") {
        // Private or unused: no name that promises anything to others. Generators leave such ones empty.
        return None;
    }
    if is_javascript && (name == b"require" || name == b"define") {
        // What loads modules: this tells a compiler that somebody else has it.
        return None;
    }
    let name = words(name);
    let parameters = node.child_by_field_name("parameters")?;
    let body = node.child_by_field_name("body");
    if !takes_something(parameters, text) || is_idle(&name) {
        return None;
    }
    let Some(body) = body else {
        // Only in Ruby is a body that is not there an empty one.
        return (language == Language::Ruby).then(|| empty(node, &name));
    };
    if is_said_unused(node, text) {
        return None;
    }
    let has_comment = node.children(&mut node.walk()).any(|child| child.kind().contains("comment"));
    if has_comment {
        return None;
    }
    let body = body.named_child(0).filter(|child| child.kind() == "statement_list").unwrap_or(body);
    let statements: Vec<Node<'_>> = body.named_children(&mut body.walk()).filter(|node| !is_docstring(*node)).collect();
    match statements[..] {
        [] if body.named_child_count() == 0 && language != Language::Python && is_blank(body, text) => {
            Some(empty(node, &name))
        }
        [only] if shape.returns.contains(&only.kind()) || is_tail(only, language) => {
            (promises_work(&name) && gives_dummy(only, text, &DUMMIES)).then(|| Placeholder {
                weight: Weight::Asks,
                rule: "placeholder/code-stub-return".into(),
                what: "the whole function gives back a dummy",
                range: only.byte_range(),
            })
        }
        _ => None,
    }
}

/// Returns whether a linter is told, in the line above or behind the head, that the parameters are not used on purpose.
pub(super) fn is_said_unused(node: Node<'_>, text: &[u8]) -> bool {
    let above = text[..node.start_byte()].trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let head = text[node.start_byte()..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    [above, head].iter().any(|line| memchr::memmem::find(line, b"no-unused-vars").is_some())
}

/// Returns whether a name says that nothing happens: `ignore_all`, `summary_noop`, `do_nothing`.
pub(super) fn is_idle(name: &[String]) -> bool {
    name.first().is_none_or(|word| IDLE.contains(&word.as_str()))
        || name.last().is_some_and(|word| word == "noop" || word == "nothing")
}

/// Returns whether a name promises more than a constant or an empty body.
pub(super) fn promises_work(name: &[String]) -> bool {
    name.first().is_some_and(|word| WORK.iter().any(|work| word.starts_with(work)))
}

pub(super) fn empty(node: Node<'_>, name: &[String]) -> Placeholder {
    let what = "the whole function does nothing";
    Placeholder {
        weight: if promises_work(name) { Weight::Asks } else { Weight::Note },
        rule: "placeholder/code-stub-body".into(),
        what,
        range: node.byte_range(),
    }
}

/// The words of a name in small letters: `fetchUser`, `fetch_user`.
pub(super) fn words(name: &[u8]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_small = false;
    for &byte in name {
        let begins = byte.is_ascii_uppercase() && was_small;
        was_small = byte.is_ascii_lowercase();
        if !byte.is_ascii_alphanumeric() {
            words.push(String::new());
            continue;
        }
        if begins || words.is_empty() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push(byte.to_ascii_lowercase() as char);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns whether a parameter is meant to be used: one whose name begins with `_` is not.
fn takes_something(parameters: Node<'_>, text: &[u8]) -> bool {
    let mut cursor = parameters.walk();
    parameters.named_children(&mut cursor).any(|parameter| {
        let written = &text[parameter.byte_range()];
        !parameter.kind().contains("comment") && !written.starts_with(b"_") && written != b"$_"
    })
}

fn is_docstring(node: Node<'_>) -> bool {
    node.kind() == "expression_statement" && node.named_child(0).is_some_and(|child| child.kind() == "string")
}

fn is_blank(body: Node<'_>, text: &[u8]) -> bool {
    text[body.byte_range()].iter().all(|byte| byte.is_ascii_whitespace() || matches!(byte, b'{' | b'}'))
}

/// The last expression of a Rust or Ruby body is what it gives back.
fn is_tail(node: Node<'_>, language: Language) -> bool {
    matches!(language, Language::Rust | Language::Ruby) && !node.kind().ends_with("statement")
}

/// Returns whether a statement or expression gives one of these values back.
pub(super) fn gives_dummy(statement: Node<'_>, text: &[u8], dummies: &[&str]) -> bool {
    let written = String::from_utf8_lossy(&text[statement.byte_range()]);
    let value = written.strip_prefix("return").unwrap_or(&written).trim().trim_end_matches(';');
    let value: String = value.chars().filter(|c| !c.is_whitespace()).collect();
    dummies.contains(&value.as_str())
}
