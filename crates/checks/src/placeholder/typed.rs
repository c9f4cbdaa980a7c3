//! Functions of Java, C#, Kotlin, Swift, C and C++ whose whole body stands for one to come.
//!
//! Their methods are bound by interfaces and base classes, so more of them are legally empty than elsewhere: only a name that
//! promises work counts, where nothing outside can have asked for the method and nobody can replace it.

use switchboard_grammars::Language;
use tree_sitter::Node;

use super::found::{Placeholder, Weight};
use super::stub::{DUMMIES, empty, gives_dummy, promises_work, words};

/// Words before a body that say that somebody else asked for the function, may replace it, or that it is one of several.
const BOUND: [&str; 9] =
    ["override", "Override", "virtual", "abstract", "open", "protected", "inline", "weak", "partial"];
/// Words that close a method in.
const CLOSED: [&str; 3] = ["private", "fileprivate", "static"];
/// Nodes that name what a class comes from.
const ORIGINS: [&str; 5] =
    ["superclass", "super_interfaces", "base_list", "delegation_specifiers", "inheritance_specifier"];
/// More values that say nothing, without spaces.
const MORE_DUMMIES: [&str; 10] = [
    "NULL",
    "nullptr",
    "default",
    "string.Empty",
    "List.of()",
    "emptyList()",
    "Optional.empty()",
    "Collections.emptyList()",
    "std::string()",
    "Task.CompletedTask",
];

/// A function, as far as it matters here.
struct Function<'t> {
    name: Node<'t>,
    parameters: Vec<Node<'t>>,
    body: Node<'t>,
}

/// Returns whether a node is a function that does not do what its name says.
pub(super) fn of_function(node: Node<'_>, above: &[Node<'_>], text: &[u8], language: Language) -> Option<Placeholder> {
    let kinds: &[&str] = match language {
        Language::Java => &["method_declaration"],
        Language::CSharp => &["method_declaration", "local_function_statement"],
        Language::Kotlin | Language::Swift => &["function_declaration"],
        Language::C | Language::Cpp => &["function_definition"],
        Language::Bash
        | Language::Css
        | Language::Dart
        | Language::Go
        | Language::Ini
        | Language::JavaScript
        | Language::Php
        | Language::PowerShell
        | Language::Python
        | Language::Regex
        | Language::Ruby
        | Language::Rust
        | Language::Tsx
        | Language::TypeScript => return None,
    };
    if !kinds.contains(&node.kind()) {
        return None;
    }
    let function = function(node)?;
    let name = words(&text[function.name.byte_range()]);
    if !promises_work(&name) || !function.parameters.iter().any(|parameter| is_meant(*parameter, text)) {
        return None;
    }
    let head = &text[node.start_byte()..function.body.start_byte()];
    let reach = reach(head, above, text, language)?;
    let statements = statements(function.body)?;
    match statements[..] {
        [] => (reach == Reach::Closed && is_blank(function.body, text)).then(|| empty(node, &name)),
        [only] => dummy(only, text, reach),
        _ => None,
    }
}

fn function(node: Node<'_>) -> Option<Function<'_>> {
    let children: Vec<Node<'_>> = node.named_children(&mut node.walk()).collect();
    let body = node.child_by_field_name("body");
    let body = body.or_else(|| children.iter().copied().find(|child| child.kind() == "function_body"))?;
    let mut declarator = node.child_by_field_name("declarator");
    while let Some(inner) = declarator.filter(|inner| inner.kind() != "function_declarator") {
        declarator = inner.child_by_field_name("declarator");
    }
    let name = match declarator {
        Some(declarator) => declarator.child_by_field_name("declarator").filter(|name| name.kind() == "identifier")?,
        None => node.child_by_field_name("name")?,
    };
    // A constructor, which a macro in front of its class may hide as one.
    if declarator.is_some() && node.child_by_field_name("type").is_none() {
        return None;
    }
    let list = declarator.unwrap_or(node).child_by_field_name("parameters");
    let list = list.or_else(|| children.iter().copied().find(|child| child.kind() == "function_value_parameters"));
    let parameters = match list {
        Some(list) => list.named_children(&mut list.walk()).collect(),
        None => children.into_iter().filter(|child| child.kind() == "parameter").collect(),
    };
    Some(Function { name, parameters, body })
}

/// Returns whether a parameter is meant to be used: it has a name, and that does not begin with `_`.
fn is_meant(parameter: Node<'_>, text: &[u8]) -> bool {
    let is_nameless =
        parameter.kind() == "parameter_declaration" && parameter.child_by_field_name("declarator").is_none();
    let written = &text[parameter.byte_range()];
    let name = written.rsplit(|byte| byte.is_ascii_whitespace()).next().unwrap_or(written);
    // In Swift `_ user` only lets the caller leave the label out.
    let is_unused = (written.starts_with(b"_") && !written.starts_with(b"_ ")) || name.starts_with(b"_");
    !parameter.kind().contains("comment") && !is_nameless && !is_unused
}

/// Who can have asked for a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Nobody outside.
    Closed,
    /// Whoever extends its class.
    Open,
}

/// Returns why nobody else can require a function; `None` where somebody may.
fn reach(head: &[u8], above: &[Node<'_>], text: &[u8], language: Language) -> Option<Reach> {
    let head = String::from_utf8_lossy(head);
    let mut said = head.split(|c: char| !c.is_alphanumeric());
    if said.clone().any(|word| BOUND.contains(&word)) {
        return None;
    }
    let is_closed = said.any(|word| CLOSED.contains(&word));
    let parent = above.last()?;
    if matches!(language, Language::C | Language::Cpp) {
        let in_namespace = above.iter().rev().nth(1).is_some_and(|outer| outer.kind() == "namespace_definition");
        return (parent.kind() == "translation_unit" || in_namespace).then_some(Reach::Closed);
    }
    let Some(class) = above.iter().rev().find(|outer| outer.kind().ends_with("_declaration")) else {
        return Some(Reach::Closed);
    };
    let is_class = matches!(class.kind(), "class_declaration" | "struct_declaration" | "record_declaration");
    // Kotlin's grammar has one node for both.
    let is_class = is_class && !class.children(&mut class.walk()).any(|child| child.kind() == "interface");
    let is_extension = text[class.byte_range()].starts_with(b"extension");
    let has_origin = class.named_children(&mut class.walk()).any(|child| ORIGINS.contains(&child.kind()));
    match (is_closed, language) {
        (true, _) => Some(Reach::Closed),
        (false, _) if !is_class || is_extension || has_origin => None,
        (false, Language::Kotlin) => Some(Reach::Closed),
        (false, _) => Some(Reach::Open),
    }
}

/// The statements of a body; `None` where a comment says why there are none.
fn statements(body: Node<'_>) -> Option<Vec<Node<'_>>> {
    let mut body = body;
    while let Some(inner) = body.named_child(0).filter(|inner| {
        body.named_child_count() == 1 && matches!(inner.kind(), "block" | "statements" | "arrow_expression_clause")
    }) {
        body = inner;
    }
    let statements: Vec<Node<'_>> = body.named_children(&mut body.walk()).collect();
    (!statements.iter().any(|statement| statement.kind().contains("comment"))).then_some(statements)
}

fn is_blank(body: Node<'_>, text: &[u8]) -> bool {
    text[body.byte_range()].iter().all(|byte| byte.is_ascii_whitespace() || matches!(byte, b'{' | b'}'))
}

/// A single value that is a dummy; of a method that others may replace only a missing object.
fn dummy(only: Node<'_>, text: &[u8], reach: Reach) -> Option<Placeholder> {
    let is_nothing = gives_dummy(only, text, &["null", "nil"]);
    let is_dummy = is_nothing || gives_dummy(only, text, &DUMMIES) || gives_dummy(only, text, &MORE_DUMMIES);
    (is_nothing || (reach == Reach::Closed && is_dummy)).then(|| Placeholder {
        weight: Weight::Asks,
        rule: "placeholder/code-stub-return".into(),
        what: "the whole function gives back a dummy",
        range: only.byte_range(),
    })
}
