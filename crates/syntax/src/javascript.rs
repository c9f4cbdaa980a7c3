//! Mistakes that JavaScript and TypeScript refuse and the grammars accept: empty items of lists, keywords as names,
//! assignments inside operators, `await` outside of async code, `const` without a value.

use tree_sitter::{Node, Tree};

use crate::node::{children, empty_item, missing, nearest, problem, reserved, unexpected};
use crate::problem::{Kind, Problem};
use crate::tree::each_node_below;

mod regex;
mod scopes;
mod targets;

/// Dialect of the file. TypeScript's own parser leaves some mistakes to its type checker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    JavaScript,
    TypeScript,
}

/// Reserved words of ECMA-262, 12.7.2, without `await`, `let`, `static` and `yield`, which may be names in some
/// positions.
const RESERVED: &[&str] = &[
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "import",
    "in",
    "instanceof",
    "new",
    "null",
    "return",
    "super",
    "switch",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
];
/// Nodes that `await` and `break` can't reach out of: functions and the file itself.
const FUNCTIONS: &[&str] = &[
    "function_declaration",
    "function_expression",
    "arrow_function",
    "method_definition",
    "generator_function",
    "generator_function_declaration",
    "class_static_block",
    "program",
];

/// Lists these mistakes in a tree without errors.
pub(super) fn mistakes(tree: &Tree, text: &[u8], dialect: Dialect) -> Vec<Problem> {
    let file = File {
        text,
        dialect,
        is_module: is_module(tree),
        is_strict: is_strict(tree, text),
        is_script: is_script(text),
    };
    let mut found = Vec::new();
    each_node_below(tree, |node, above| found.extend(file.mistake(node, above)));
    found
}

/// Properties of a file that the rules need.
struct File<'a> {
    text: &'a [u8],
    dialect: Dialect,
    is_module: bool,
    is_strict: bool,
    is_script: bool,
}

fn is_module(tree: &Tree) -> bool {
    let root = tree.root_node();
    root.children(&mut root.walk()).any(|child| matches!(child.kind(), "import_statement" | "export_statement"))
}

fn is_strict(tree: &Tree, text: &[u8]) -> bool {
    let root = tree.root_node();
    let first = root.children(&mut root.walk()).find(|child| !child.is_extra() && child.kind() != "hash_bang_line");
    is_module(tree)
        || first.is_some_and(|first| {
            let line = &text[first.byte_range()];
            line.starts_with(b"\"use strict\"") || line.starts_with(b"'use strict'")
        })
}

// === impl File ===

impl File<'_> {
    fn mistake(&self, node: Node<'_>, above: &[Node<'_>]) -> Option<Problem> {
        match node.kind() {
            "identifier"
            | "shorthand_property_identifier"
            | "shorthand_property_identifier_pattern"
            | "statement_identifier" => self.name(node, above),
            "object" if self.dialect == Dialect::TypeScript => {
                empty_item(node).or_else(|| scopes::repeated_key(node, self.text))
            }
            "type_arguments" => empty_item(node).or_else(|| open_list(node)),
            "object" | "object_pattern" | "arguments" | "formal_parameters" | "export_clause" | "named_imports"
            | "type_parameters" => empty_item(node),
            "import_specifier" => self.imported(node),
            "try_statement" => bare_try(node),
            "expression_statement" => self.declaration_as_expression(node),
            "binary_expression" | "unary_expression" | "await_expression" => {
                self.loose_operand(node, above).or_else(|| self.mixed_operators(node))
            }
            "assignment_expression" | "augmented_assignment_expression" => targets::assigned(node),
            "update_expression" => targets::stepped(node),
            "call_expression" | "member_expression" | "subscript_expression" => bare_arrow(node),
            "arrow_function" => broken_arrow(node),
            "throw_statement" => broken_throw(node),
            "method_definition" => accessor(node, self.text),
            "break_statement" | "continue_statement" => targets::outside(node, above, self.text),
            "switch_body" => second_default(node),
            "lexical_declaration" if is_lone_body(above) => Some(problem(node, Kind::Unreadable)),
            "regex" => regex::mistake(node, self.text),
            "program" | "statement_block" | "switch_case" if self.dialect == Dialect::JavaScript => {
                scopes::twice(node, self.text)
            }
            "private_property_identifier" if self.dialect == Dialect::JavaScript => {
                scopes::unknown_private(node, above, self.text)
            }
            "union_type" | "intersection_type" => doubled_bar(node),
            "for_in_statement" => self.awaiting_loop(node, above),
            "lexical_declaration" | "variable_declaration" if self.dialect == Dialect::JavaScript => no_value(node),
            _ => None,
        }
    }

    fn name(&self, name: Node<'_>, above: &[Node<'_>]) -> Option<Problem> {
        if !(2..=10).contains(&name.byte_range().len()) {
            return None;
        }
        // `export { x as default }` and `import { default as x }` are checked at their specifier.
        let parent = above.last()?;
        if matches!(parent.kind(), "export_specifier" | "import_specifier" | "namespace_export") {
            return None;
        }
        if let Some(problem) = reserved(name, self.text, RESERVED) {
            return Some(problem);
        }
        match &self.text[name.byte_range()] {
            b"let" if self.is_strict => Some(unexpected(name, "let")),
            b"await" if self.waits(above) && !self.waits_for_function(name) => Some(unexpected(name, "await")),
            _ => None,
        }
    }

    /// Returns whether `await` is followed by a function, which is called at once.
    fn waits_for_function(&self, name: Node<'_>) -> bool {
        let mut rest = self.text[name.end_byte()..].trim_ascii_start();
        while let Some(comment) = rest.strip_prefix(b"/*") {
            let end = memchr::memmem::find(comment, b"*/").map_or(comment.len(), |end| end + 2);
            rest = comment[end..].trim_ascii_start();
        }
        rest.starts_with(b"async function") || rest.starts_with(b"function")
    }

    /// Returns whether `await` is a keyword here. The grammar reads `await (x)` as a call.
    fn waits(&self, above: &[Node<'_>]) -> bool {
        if above.last().is_none_or(|parent| parent.kind() == "call_expression") {
            return false;
        }
        match nearest(above, FUNCTIONS).map(|(function, _)| function) {
            Some(function) if function.kind() == "program" => self.is_module,
            Some(function) => is_async(function),
            None => false,
        }
    }

    fn imported(&self, specifier: Node<'_>) -> Option<Problem> {
        let local = specifier.child_by_field_name("alias").or_else(|| specifier.child_by_field_name("name"))?;
        reserved(local, self.text, RESERVED)
    }

    /// Reports a statement that begins with `function` or `class`: it would be a declaration and need a name.
    fn declaration_as_expression(&self, statement: Node<'_>) -> Option<Problem> {
        let word = self.text.get(statement.start_byte()..)?;
        let begins = |keyword: &[u8]| {
            word.starts_with(keyword) && !word.get(keyword.len()).is_some_and(|byte| is_name_byte(*byte))
        };
        (begins(b"function") || begins(b"class")).then(|| problem(statement, Kind::Unreadable))
    }

    /// Reports an assignment or arrow inside an operator without brackets, and `await` outside of async code.
    fn loose_operand(&self, node: Node<'_>, above: &[Node<'_>]) -> Option<Problem> {
        let loose = children(node).into_iter().find(|child| {
            matches!(
                child.kind(),
                "assignment_expression" | "augmented_assignment_expression" | "arrow_function" | "yield_expression"
            )
        });
        if let Some(loose) = loose {
            return Some(problem(loose, Kind::Unreadable));
        }
        let may_wait = node.kind() != "await_expression" || self.dialect == Dialect::TypeScript || self.may_wait(above);
        (!may_wait).then(|| unexpected(node, "await"))
    }

    /// Reports `a ?? b || c` and `-a ** b`, which need brackets.
    fn mixed_operators(&self, node: Node<'_>) -> Option<Problem> {
        let left = node.child_by_field_name("left")?;
        let sides = [Some(left), node.child_by_field_name("right")];
        let is_either = |side: Node<'_>| side.kind() == "binary_expression" && has_operator(side, &["||", "&&"]);
        let is_mixed = (has_operator(node, &["??"]) && sides.into_iter().flatten().any(is_either))
            || (has_operator(node, &["**"]) && left.kind() == "unary_expression");
        (is_mixed && self.dialect == Dialect::JavaScript).then(|| problem(node, Kind::Unreadable))
    }

    /// Reports `for await (…)` outside of async code.
    fn awaiting_loop(&self, node: Node<'_>, above: &[Node<'_>]) -> Option<Problem> {
        let word = node.child(1).filter(|word| word.kind() == "await")?;
        let may_wait = self.dialect == Dialect::TypeScript || self.may_wait(above);
        (!may_wait).then(|| unexpected(word, "await"))
    }

    /// Returns whether `await` is allowed here. A file that neither imports nor exports may still be a module.
    fn may_wait(&self, above: &[Node<'_>]) -> bool {
        match nearest(above, FUNCTIONS).map(|(function, _)| function) {
            Some(function) if function.kind() == "program" => self.is_module || !self.is_script,
            Some(function) => is_async(function),
            None => true,
        }
    }
}

/// Returns whether a file uses CommonJS, so that it is no module.
fn is_script(text: &[u8]) -> bool {
    ["require(", "module.exports"].iter().any(|word| memchr::memmem::find(text, word.as_bytes()).is_some())
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn is_async(function: Node<'_>) -> bool {
    function.children(&mut function.walk()).any(|child| child.kind() == "async")
}

fn bare_try(statement: Node<'_>) -> Option<Problem> {
    let is_bare = ["handler", "finalizer"].iter().all(|part| statement.child_by_field_name(part).is_none());
    is_bare.then(|| missing(statement, "a catch"))
}

/// Reports `A & & B`: only the first of several types may have an operator before it.
fn doubled_bar(types: Node<'_>) -> Option<Problem> {
    let parts = children(types);
    let inner = parts.iter().skip(1).find(|part| {
        matches!(part.kind(), "union_type" | "intersection_type")
            && part.child(0).is_some_and(|first| matches!(first.kind(), "|" | "&"))
    });
    inner.map(|inner| missing(*inner, "a type"))
}

/// Reports `() => {}()`: an arrow function without brackets can't be called.
fn bare_arrow(node: Node<'_>) -> Option<Problem> {
    let inner = node.child(0).filter(|inner| inner.kind() == "arrow_function")?;
    // On the next line, a new statement begins.
    let is_same_line = node.child(1).is_some_and(|next| next.start_position().row == inner.end_position().row);
    is_same_line.then(|| problem(inner, Kind::Unreadable))
}

/// Reports an arrow that is not on the line where the parameters end.
fn broken_arrow(arrow: Node<'_>) -> Option<Problem> {
    let parts = children(arrow);
    let [before, mark] = *parts.windows(2).find(|pair| pair[1].kind() == "=>")? else { return None };
    (before.end_position().row != mark.start_position().row).then(|| unexpected(mark, "=>"))
}

fn broken_throw(statement: Node<'_>) -> Option<Problem> {
    let thrown = statement.child(1)?;
    (thrown.start_position().row != statement.start_position().row && !thrown.is_extra())
        .then(|| missing(statement, "a value"))
}

/// Reports a getter with parameters, and a setter without exactly one.
fn accessor(method: Node<'_>, text: &[u8]) -> Option<Problem> {
    let word = children(method).into_iter().find(|child| matches!(child.kind(), "get" | "set"))?;
    let list = method.child_by_field_name("parameters")?;
    let is_counted = |child: &Node<'_>| child.is_named() && !text[child.byte_range()].starts_with(b"this");
    let count = children(list).iter().filter(|child| is_counted(child)).count();
    (count != usize::from(word.kind() == "set")).then(|| problem(list, Kind::Unreadable))
}

fn has_operator(node: Node<'_>, operators: &[&str]) -> bool {
    node.child_by_field_name("operator").is_some_and(|operator| operators.contains(&operator.kind()))
}

/// Reports a trailing comma in a list of types: `A<B, >`.
fn open_list(list: Node<'_>) -> Option<Problem> {
    let parts = children(list);
    parts.iter().rev().nth(1).filter(|last| last.kind() == ",").map(|comma| unexpected(*comma, ","))
}

fn second_default(body: Node<'_>) -> Option<Problem> {
    let second = children(body).into_iter().filter(|child| child.kind() == "switch_default").nth(1)?;
    Some(unexpected(second, "default"))
}

/// Returns whether a declaration is a body without a block: `if (x) let y;`.
fn is_lone_body(above: &[Node<'_>]) -> bool {
    const LONE: [&str; 6] =
        ["if_statement", "else_clause", "while_statement", "do_statement", "labeled_statement", "with_statement"];
    above.last().is_some_and(|parent| LONE.contains(&parent.kind()))
}

/// Reports a declaration that lacks a value: `const x;` and `let {x};`.
fn no_value(declaration: Node<'_>) -> Option<Problem> {
    let is_const = declaration.child(0).is_some_and(|word| word.kind() == "const");
    let bare = children(declaration).into_iter().find(|part| {
        part.kind() == "variable_declarator"
            && part.child_by_field_name("value").is_none()
            && (is_const || part.child_by_field_name("name").is_some_and(|name| name.kind().ends_with("_pattern")))
    });
    bare.map(|bare| missing(bare, "a value"))
}
