//! Finds code that changes the runner or its assertions, or that compares equal to everything.

use std::collections::BTreeSet;
use std::ops::Range;

use tree_sitter::Node;

use super::hit::{Consequence, Hit};
use super::language::TestLanguage;
use super::node::{children, field, squash, text, walk};
use super::suite::{Pair, Suite};

/// Objects of Python test runners: an assignment to a member of one is a patch.
const PYTHON: [&str; 10] = [
    "unittest",
    "TestCase",
    "pytest",
    "_pytest",
    "builtins",
    "sys.modules",
    "__builtins__",
    "doctest",
    "sys.exit",
    "os._exit",
];
const JAVASCRIPT: [&str; 9] = [
    "assert",
    "expect",
    "jest",
    "vi",
    "globalThis.test",
    "globalThis.it",
    "globalThis.expect",
    "global.expect",
    "process.exit",
];
/// Functions that set members of their first argument.
const SETTERS: [&str; 9] = [
    "Object.assign",
    "Object.defineProperties",
    "Object.defineProperty",
    "Object.setPrototypeOf",
    "Reflect.defineProperty",
    "Reflect.set",
    "object.__setattr__",
    "setattr",
    "type.__setattr__",
];
/// Hooks of a test module that select the tests to run.
const HOOKS: [&str; 2] = ["load_tests", "pytest_collection_modifyitems"];

pub(super) fn hits(pair: &Pair) -> Vec<Hit> {
    let known: BTreeSet<String> = patches(&pair.before, pair.kind).into_iter().map(|(code, ..)| code).collect();
    let new = patches(&pair.after, pair.kind).into_iter().filter(|(code, ..)| !known.contains(code));
    let hit = |(code, rule, range): (String, &'static str, Range<usize>)| {
        let code: String = code.chars().take(80).collect();
        let message = match rule {
            "equal-to-everything" => format!("`{code}` makes a value compare equal to whatever a test expects"),
            _ => format!("`{code}` changes the test runner or what it runs"),
        };
        Hit::new(rule, Consequence::NeedsReview, &pair.path, range, message)
    };
    new.map(hit).collect()
}

fn patches(suite: &Suite, kind: TestLanguage) -> Vec<(String, &'static str, Range<usize>)> {
    let Some(tree) = &suite.tree else { return Vec::new() };
    let (source, aliases) = (&suite.text, &suite.aliases);
    let owners: &[&str] = if kind == TestLanguage::Python { &PYTHON } else { &JAVASCRIPT };
    let is_of_runner = |target: &str| {
        // A name on its own is given a new value, and what it stood for stays as it is.
        let resolved = if target.contains(['.', '[']) { aliases.resolve(target) } else { target.to_owned() };
        // Mocks are made to be changed.
        is_of_runner(target, owners) || !resolved.starts_with("unittest.mock") && is_of_runner(&resolved, owners)
    };
    let mut found = Vec::new();
    let mut add =
        |node: Node<'_>, rule: &'static str| found.push((squash(text(node, source)), rule, node.byte_range()));
    walk(tree.root_node(), |node, _| {
        match (kind, node.kind()) {
            (TestLanguage::Python, "assignment") | (TestLanguage::JavaScript, "assignment_expression")
                if is_of_runner(field(node, "left", source)) =>
            {
                add(node, "runner-patched");
            }
            (TestLanguage::Python, "call") | (TestLanguage::JavaScript, "call_expression")
                if SETTERS.contains(&aliases.resolve(field(node, "function", source)).as_str()) =>
            {
                let arguments = node.child_by_field_name("arguments").map(children).unwrap_or_default();
                let mut words = arguments.iter().map(|argument| text(*argument, source));
                let (owner, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
                let is_name = name.starts_with(['"', '\'']);
                let name = if is_name { name.trim_matches(['"', '\'']) } else { "member" };
                if is_of_runner(&format!("{owner}.{name}")) {
                    add(node, "runner-patched");
                }
            }
            (TestLanguage::Python, "function_definition") => {
                let name = field(node, "name", source);
                let body = squash(field(node, "body", source));
                if HOOKS.contains(&name) {
                    add(node, "runner-patched");
                }
                if name == "__eq__" && body == "return True" || name == "__ne__" && body == "return False" {
                    add(node, "equal-to-everything");
                }
            }
            (TestLanguage::Rust, "function_item")
                if field(node, "name", source) == "eq" && squash(field(node, "body", source)) == "{true}" =>
            {
                add(node, "equal-to-everything");
            }
            (TestLanguage::Rust, "attribute_item") if text(node, source).contains("ctor") => {
                add(node, "runner-patched")
            }
            (TestLanguage::Rust, "macro_definition")
                if ["assert", "assert_eq", "assert_ne"].contains(&field(node, "name", source)) =>
            {
                add(node, "runner-patched");
            }
            _ => {}
        }
        true
    });
    found
}

/// Returns whether the target of an assignment belongs to a runner: a listed object, or a member of one.
fn is_of_runner(target: &str, owners: &[&str]) -> bool {
    let is_member = |owner: &&str| {
        (target == *owner && owner.contains('.'))
            || target.strip_prefix(*owner).is_some_and(|rest| rest.starts_with(['.', '[']))
            || target.contains(&format!(".{owner}."))
    };
    owners.iter().any(is_member)
}
