//! Reads tests in Python: functions and methods whose names begin with `test`, as pytest and unittest collect them.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::assertion::Assertion;
use super::node::{children, field, is_literal, split, squash, text, walk};
use super::test::{Skip, Test};

/// Methods of `unittest` that require a value.
const EQUAL: [&str; 9] = [
    "assertEqual",
    "assertEquals",
    "assertDictEqual",
    "assertListEqual",
    "assertTupleEqual",
    "assertSetEqual",
    "assertSequenceEqual",
    "assertMultiLineEqual",
    "assertIs",
];
/// Methods that require a value rounded, or in any order.
const SIMILAR: [&str; 3] = ["assertAlmostEqual", "assertAlmostEquals", "assertCountEqual"];
/// Methods that require another value.
const UNEQUAL: [&str; 3] = ["assertNotEqual", "assertNotEquals", "assertIsNot"];

pub(super) fn tests(tree: &Tree, source: &str) -> Vec<Test> {
    let of_module = skip_of_module(tree.root_node(), source);
    let mut found = Vec::new();
    walk(tree.root_node(), |node, above| {
        let is_function = node.kind() == "function_definition";
        let is_test = is_function && field(node, "name", source).starts_with("test");
        let is_nested = above.iter().any(|node| node.kind() == "function_definition");
        if is_test && !is_nested {
            found.push(test(node, above, of_module, source));
        }
        !is_function
    });
    found
}

fn test(node: Node<'_>, above: &[Node<'_>], of_module: Skip, source: &str) -> Test {
    let classes = above.iter().filter(|node| node.kind() == "class_definition");
    let mut name: Vec<&str> = classes.clone().map(|class| field(*class, "name", source)).collect();
    name.push(field(node, "name", source));
    let decorated = above.last().filter(|node| node.kind() == "decorated_definition");
    let outer = decorated.copied().unwrap_or(node);
    let marks = above.iter().filter(|node| node.kind() == "decorated_definition").flat_map(|node| children(*node));
    let marks: Vec<Node<'_>> = marks.filter(|node| node.kind() == "decorator").collect();
    let own = marks.iter().filter(|mark| decorated.is_some_and(|outer| mark.start_byte() >= outer.start_byte()));
    let mut assertions: Vec<Assertion> = own.flat_map(|mark| rows(*mark, source)).collect();
    let mut skip = marks.iter().map(|mark| skip_of_mark(text(*mark, source))).fold(of_module, Ord::max);
    skip = classes.map(|class| skip_of_class(*class, source)).fold(skip, Ord::max);
    let mut swallows = false;
    if let Some(body) = node.child_by_field_name("body") {
        skip = skip.max(skip_of_body(body, source));
        let end = end_of_body(body);
        walk(body, |node, above| {
            if node.start_byte() >= end {
                return false;
            }
            if let Some(assertion) = assertion(node, source) {
                swallows |= is_swallowed(node, above, source);
                assertions.push(assertion);
            }
            if node.kind() == "list" || node.kind() == "tuple" {
                assertions.extend(table(node, source));
            }
            true
        });
    }
    let range = node.child_by_field_name("name").map_or(node.byte_range(), |name| name.byte_range());
    Test { name: name.join("."), range, body: outer.byte_range(), skip, is_focused: false, swallows, assertions }
}

/// Returns the offset of a `return` that ends the body: what follows never runs.
fn end_of_body(body: Node<'_>) -> usize {
    let is_end = |node: &Node<'_>| node.kind() == "return_statement";
    children(body).into_iter().find(is_end).map_or(usize::MAX, |end| end.start_byte())
}

fn is_swallowed(node: Node<'_>, above: &[Node<'_>], source: &str) -> bool {
    let tries = above.iter().filter(|node| node.kind() == "try_statement");
    tries.clone().any(|outer| {
        let parts = children(*outer);
        let is_in_body =
            outer.child_by_field_name("body").is_some_and(|body| body.byte_range().contains(&node.start_byte()));
        is_in_body
            && parts.iter().filter(|part| part.kind().starts_with("except")).any(|handler| {
                let code = text(*handler, source);
                let head = code.lines().next().unwrap_or("");
                let is_wide = head.trim() == "except:" || head.contains("Exception") || head.contains("AssertionError");
                is_wide && !code.contains("raise") && !code.contains("fail(")
            })
    })
}

// === marks that skip a test ===

fn skip_of_mark(mark: &str) -> Skip {
    let mark = squash(mark);
    if ["skipif", "skipIf", "skipUnless"].iter().any(|word| mark.contains(word)) {
        let condition = mark.split_once('(').map_or("", |(_, rest)| rest.split([',', ')']).next().unwrap_or(""));
        let is_fixed =
            is_literal(condition) && (condition == "False" || condition == "0") == mark.contains("skipUnless");
        return if is_fixed { Skip::Always } else { Skip::Sometimes };
    }
    let is_skip =
        ["mark.skip", "unittest.skip", "@skip", "mark.xfail", "expectedFailure"].iter().any(|word| mark.contains(word));
    match is_skip {
        true if mark.contains("xfail") && mark.contains("condition") => Skip::Sometimes,
        true => Skip::Always,
        false => Skip::No,
    }
}

fn skip_of_module(root: Node<'_>, source: &str) -> Skip {
    children(root).into_iter().map(|node| skip_of_statement(text(node, source))).fold(Skip::No, Ord::max)
}

fn skip_of_class(class: Node<'_>, source: &str) -> Skip {
    let body = class.child_by_field_name("body").map(children).unwrap_or_default();
    let is_plain = |node: &Node<'_>| !node.kind().ends_with("_definition");
    body.into_iter().filter(is_plain).map(|node| skip_of_statement(text(node, source))).fold(Skip::No, Ord::max)
}

/// Reads a statement of a module or class that skips all of its tests.
fn skip_of_statement(statement: &str) -> Skip {
    let code = squash(statement);
    if code.starts_with("pytestmark") {
        return skip_of_mark(&code);
    }
    let is_off = ["__test__ = False", "__unittest_skip__ = True"].iter().any(|off| code.starts_with(off));
    let calls = ["pytest.skip(", "raise unittest.SkipTest", "raise SkipTest"].iter().any(|skip| code.starts_with(skip));
    if is_off || calls { Skip::Always } else { Skip::No }
}

fn skip_of_body(body: Node<'_>, source: &str) -> Skip {
    let mut skip = Skip::No;
    walk(body, |node, above| {
        let code = text(node, source);
        let calls = node.kind() == "call"
            && ["pytest.skip", "self.skipTest", "pytest.xfail", "pytest.importorskip"]
                .contains(&field(node, "function", source));
        let raises = node.kind() == "raise_statement" && code.contains("SkipTest");
        if calls || raises {
            // Unconditional: directly in the body, below only its block and the statement with the call.
            let is_always = above.iter().all(|node| ["block", "expression_statement"].contains(&node.kind()));
            skip = skip.max(if is_always && !code.contains("importorskip") { Skip::Always } else { Skip::Sometimes });
        }
        true
    });
    skip
}

// === assertions ===

fn assertion(node: Node<'_>, source: &str) -> Option<Assertion> {
    let range = node.byte_range();
    match node.kind() {
        "assert_statement" => {
            let condition = children(node).into_iter().next()?;
            Some(condition_of(condition, range, source))
        }
        "call" => {
            let function = field(node, "function", source);
            let name = function.rsplit('.').next().unwrap_or(function);
            let arguments = node.child_by_field_name("arguments").map(children).unwrap_or_default();
            let words: Vec<&str> = arguments.iter().map(|argument| text(*argument, source)).collect();
            match (name, &words[..]) {
                (name, [left, right, ..]) if EQUAL.contains(&name) => Some(Assertion::equal(left, right, range)),
                (name, [left, right, ..]) if SIMILAR.contains(&name) => Some(Assertion::similar(left, right, range)),
                (name, [left, right, ..]) if UNEQUAL.contains(&name) => Some(Assertion::unequal(left, right, range)),
                ("assertTrue", [_, ..]) => Some(condition_of(*arguments.first()?, range, source)),
                ("assertFalse", [of, ..]) => Some(Assertion::negation(of, range)),
                ("assertIsNone" | "assertIsNotNone", [of, ..]) => {
                    Some(Assertion::presence(of, name == "assertIsNotNone", range))
                }
                (name, words)
                    if ["raises", "warns"].contains(&name)
                        || ["assert", "check", "verify", "expect"].iter().any(|start| name.starts_with(start)) =>
                {
                    Some(Assertion::named(name, &words.join(", "), range))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn condition_of(condition: Node<'_>, range: Range<usize>, source: &str) -> Assertion {
    let code = text(condition, source);
    match condition.kind() {
        "comparison_operator" => {
            let parts = children(condition);
            let [left, right] = parts[..] else { return Assertion::condition(code, range) };
            let operator = squash(source.get(left.end_byte()..right.start_byte()).unwrap_or(""));
            let (left, right) = (text(left, source), text(right, source));
            match operator.as_str() {
                "==" => Assertion::equal(left, right, range),
                "!=" => Assertion::unequal(left, right, range),
                "is" | "is not" if right == "None" => Assertion::presence(left, operator == "is not", range),
                _ => Assertion::condition(code, range),
            }
        }
        "tuple" => Assertion::truth("True", range),
        "parenthesized_expression" => match children(condition).first() {
            Some(inner) => condition_of(*inner, range, source),
            None => Assertion::truth(code, range),
        },
        "not_operator" => Assertion::negation(field(condition, "argument", source), range),
        "boolean_operator" if !code.contains(" or True") => Assertion::condition(code, range),
        _ => Assertion::truth(code, range),
    }
}

/// Returns the rows of a `parametrize` mark.
fn rows(mark: Node<'_>, source: &str) -> Vec<Assertion> {
    if !text(mark, source).contains("parametrize") {
        return Vec::new();
    }
    let mut found = Vec::new();
    walk(mark, |node, above| {
        let is_value = above.last().is_some_and(|node| node.kind() == "list") && node.is_named();
        let is_first = above.iter().filter(|node| node.kind() == "list").count() == 1;
        if is_value && is_first {
            let code = text(node, source);
            let code = code.strip_prefix("pytest.param").unwrap_or(code);
            let whole = || Assertion::condition(code, node.byte_range());
            let row = Assertion::row(code, node.byte_range()).unwrap_or_else(whole);
            found.push(Assertion { is_row: true, ..row });
            return false;
        }
        true
    });
    found
}

/// Returns the rows of a table in a test's body.
fn table(node: Node<'_>, source: &str) -> Vec<Assertion> {
    let rows = children(node);
    let is_row = |row: &Node<'_>| {
        ["tuple", "list"].contains(&row.kind()) && split(text(*row, source).get(1..).unwrap_or("")).len() > 1
    };
    if rows.len() < 2 || !rows.iter().all(is_row) {
        return Vec::new();
    }
    rows.iter().filter_map(|row| Assertion::row(text(*row, source), row.byte_range())).collect()
}
