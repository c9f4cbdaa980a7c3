//! Code that knows the tests' values: a function that gives what a test expects because it recognises the test's input.
//!
//! Found where the source says so: a condition, a `match` or `switch` on exactly a test's input that gives that test's result, a
//! table that holds nothing but the tests' cases, and a function that ignores its parameters and returns what all tests expect.
//! Values that are natural limits (0, 1, -1, 2, empty, true) are no evidence. A value that was computed beforehand and hidden in
//! other arithmetic is not found.

use std::ops::Range;

use switchboard_syntax::Parsers;
use tree_sitter::Node;

use super::change::Change;
use super::hit::{Hit, Weight};
use super::language::TestLanguage;
use super::node::{children, field, is_literal, literals, split, squash, text, walk};
use super::paths;
use super::suite::{Pair, Suite};
use crate::error::Error;
use crate::git::{Blob, Blobs, Git};
use crate::reader::shown;

/// Test files of the base that are read beside those of the change.
const MOST: usize = 200;
/// Inputs and results that code may well name: the limits of a recursion, an empty input.
const NATURAL: [&str; 16] = [
    "0",
    "1",
    "-1",
    "2",
    "\"\"",
    "[]",
    "{}",
    "()",
    "None",
    "null",
    "undefined",
    "true",
    "false",
    "True",
    "False",
    "0.0",
];

/// What a test asks of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Case {
    function: String,
    arguments: Vec<String>,
    expected: String,
}

pub(super) fn hits(
    pairs: &[Pair],
    change: &Change,
    git: &Git,
    base: &str,
    blobs: &Blobs,
    parsers: &mut Parsers,
) -> Result<Vec<Hit>, Error> {
    let sources: Vec<&Pair> = pairs.iter().filter(|pair| !pair.is_test && !pair.after.text.is_empty()).collect();
    if sources.is_empty() {
        return Ok(Vec::new());
    }
    let mut cases: Vec<Case> = pairs.iter().flat_map(|pair| [&pair.before, &pair.after]).flat_map(of_suite).collect();
    cases.extend(of_base(change, git, base, blobs, parsers)?);
    cases.sort_by(|a, b| (&a.function, &a.arguments).cmp(&(&b.function, &b.arguments)));
    cases.dedup();
    let mut hits = Vec::new();
    for pair in sources {
        let Some(tree) = &pair.after.tree else { continue };
        walk(tree.root_node(), |node, above| {
            if let Some(function) = Function::of(node, above, pair.kind, &pair.after.text) {
                let own: Vec<&Case> = cases.iter().filter(|case| case.function == function.name).collect();
                let is_old = pair.before.text.contains(text(node, &pair.after.text));
                if !own.is_empty() && !is_old {
                    hits.extend(function.judge(&own, pair));
                }
            }
            true
        });
    }
    Ok(hits)
}

/// The cases in the base's test files that the change leaves alone.
fn of_base(change: &Change, git: &Git, base: &str, blobs: &Blobs, parsers: &mut Parsers) -> Result<Vec<Case>, Error> {
    let mut cases = Vec::new();
    let all = git.tree(base)?.into_iter().filter_map(|(path, side)| Some((shown(&path), side.blob?)));
    let tests = all.filter(|(path, _)| {
        let is_rust = TestLanguage::of(path).is_some_and(|(kind, _)| kind == TestLanguage::Rust);
        (paths::is_test(path) || is_rust) && change.file(path).is_none()
    });
    for (path, id) in tests.take(MOST) {
        let Some((kind, language)) = TestLanguage::of(&path) else { continue };
        let Blob::Content(text) = blobs.read(&id)? else { continue };
        let text = String::from_utf8_lossy(&text).into_owned();
        if kind == TestLanguage::Rust && !text.contains("#[test]") {
            continue;
        }
        cases.extend(Suite::read(&path, text, (kind, language), true, parsers).iter().flat_map(of_suite));
    }
    Ok(cases)
}

/// The cases that the assertions of a file state with literals.
fn of_suite(suite: &Suite) -> Vec<Case> {
    let mut cases = Vec::new();
    for test in &suite.tests {
        let body = suite.text_of(&test.body);
        for assertion in test.assertions.iter().filter(|assertion| !assertion.expected.is_empty() || assertion.is_row) {
            if assertion.is_row {
                // Which function a table is about, its loop says: each that the body calls.
                let columns = split(&assertion.subject);
                cases.extend(called(body).into_iter().map(|function| Case {
                    function,
                    arguments: columns.clone(),
                    expected: assertion.expected.clone(),
                }));
            } else if let Some((function, arguments)) = call(&assertion.subject)
                && is_literal(&assertion.expected)
                && arguments.iter().all(|argument| is_literal(argument))
                && !arguments.is_empty()
            {
                cases.push(Case { function, arguments, expected: assertion.expected.clone() });
            }
        }
    }
    cases
}

/// The names that a piece of code calls.
fn called(code: &str) -> Vec<String> {
    let mut names: Vec<String> = code
        .match_indices('(')
        .filter_map(|(at, _)| {
            let before = &code[..at];
            let from = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
            let name = &before[from..];
            let is_known = name.starts_with("assert") || name.starts_with("test") || name.is_empty();
            (!is_known).then(|| name.to_owned())
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Takes a call apart: the last part of the function's name, and the arguments.
fn call(code: &str) -> Option<(String, Vec<String>)> {
    let code = code.trim().trim_start_matches("await ").trim_start_matches('&');
    let open = code.find('(')?;
    let inner = code.strip_suffix(')')?.get(open + 1..)?;
    let name = code[..open].rsplit(['.', ':']).next()?.trim();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then(|| (name.to_owned(), split(inner)))
}

/// A function of the change.
struct Function<'a> {
    name: String,
    parameters: Vec<String>,
    body: Node<'a>,
    source: &'a str,
    kind: TestLanguage,
    range: Range<usize>,
}

// === impl Function ===

impl<'a> Function<'a> {
    fn of(node: Node<'a>, above: &[Node<'a>], kind: TestLanguage, source: &'a str) -> Option<Self> {
        let kinds = [
            "function_definition",
            "function_item",
            "function_declaration",
            "method_definition",
            "arrow_function",
            "function_expression",
        ];
        if !kinds.contains(&node.kind()) {
            return None;
        }
        let named = field(node, "name", source);
        let declared =
            above.last().filter(|node| ["variable_declarator", "pair", "assignment_expression"].contains(&node.kind()));
        let outer = declared.map(|node| {
            ["name", "key", "left"]
                .iter()
                .map(|name| field(*node, name, source))
                .find(|name| !name.is_empty())
                .unwrap_or("")
        });
        let name = if named.is_empty() { outer.unwrap_or("") } else { named };
        let name = name.rsplit('.').next().unwrap_or(name);
        let parameters = node.child_by_field_name("parameters").map(children).unwrap_or_default();
        let parameters = parameters.iter().map(|parameter| {
            let code = text(*parameter, source).trim_start_matches(['*', '&']).trim_start_matches("mut ");
            code.split([':', '=', '?']).next().unwrap_or(code).trim().to_owned()
        });
        let parameters: Vec<String> =
            parameters.filter(|name| !["self", "cls", "&self", ""].contains(&name.as_str())).collect();
        let body = node.child_by_field_name("body")?;
        let range =
            node.child_by_field_name("name").map_or(body.start_byte()..body.start_byte() + 1, |name| name.byte_range());
        (!name.is_empty()).then(|| Self { name: name.to_owned(), parameters, body, source, kind, range })
    }

    fn judge(&self, cases: &[&Case], pair: &Pair) -> Vec<Hit> {
        let hit = |range: Range<usize>, what: String| {
            Hit::new("hard-coded", Weight::Asks, &pair.path, range, format!("`{}` {what}", self.name))
        };
        if let Some(value) = self.constant()
            && !self.parameters.is_empty()
            && cases.iter().all(|case| case.expected == value)
            && !NATURAL.contains(&value.as_str())
        {
            return vec![hit(
                self.range.clone(),
                format!("returns {value}, which the tests expect, whatever it is given"),
            )];
        }
        let mut known: Vec<(&Case, Range<usize>)> = Vec::new();
        let mut tables: Vec<(usize, usize, Range<usize>)> = Vec::new();
        walk(self.body, |node, _| {
            if let Some((condition, result)) = self.branch(node) {
                let of = cases.iter().filter(|case| self.is_about(case, &condition) && result.contains(&case.expected));
                known.extend(of.map(|case| (*case, node.byte_range())));
            }
            if let Some(rows) = self.table(node) {
                let hits = rows
                    .iter()
                    .filter(|(key, value)| cases.iter().any(|case| is_input(case, key) && case.expected == *value));
                let (all, hits) = (rows.len(), hits.count());
                if all == hits && all > 0 {
                    tables.push((all, hits, node.byte_range()));
                }
            }
            true
        });
        known.dedup_by(|a, b| a.0 == b.0);
        let telling = known.iter().filter(|(case, _)| is_telling(case)).count();
        if telling > 0 && (telling > 1 || cases.len() <= 3) {
            let (case, range) =
                known.iter().find(|(case, _)| is_telling(case)).cloned().unwrap_or_else(|| known[0].clone());
            let what = format!("gives {} for exactly the input {} of a test", case.expected, case.arguments.join(", "));
            return vec![hit(range, what)];
        }
        let table = tables.into_iter().find(|(all, ..)| *all > 1 || cases.len() == 1);
        table
            .map(|(all, _, range)| {
                hit(range, format!("looks its result up in a table of exactly {all} of the tests' cases"))
            })
            .into_iter()
            .collect()
    }

    /// The literal that it returns and nothing else.
    fn constant(&self) -> Option<String> {
        let statements: Vec<Node<'_>> = children(self.body)
            .into_iter()
            .filter(|node| {
                // A docstring says nothing.
                !(node.kind() == "expression_statement" && text(*node, self.source).starts_with(['"', '\'']))
            })
            .collect();
        let code = match (&statements[..], self.body.kind()) {
            (_, kind) if !kind.contains("block") => text(self.body, self.source),
            ([only], _) => text(*only, self.source),
            _ => return None,
        };
        let value = squash(code.trim().trim_start_matches("return"));
        let value = value
            .trim()
            .trim_end_matches(".to_string()")
            .trim_end_matches(".to_owned()")
            .trim_end_matches(".into()")
            .to_owned();
        is_literal(&value).then_some(value)
    }

    /// A condition, and the literals that follow from it.
    fn branch(&self, node: Node<'_>) -> Option<(String, Vec<String>)> {
        let results = |of: Node<'_>| -> Vec<String> {
            let code = squash(text(of, self.source));
            let mut found = Vec::new();
            for part in code.split("return ").skip(usize::from(code.contains("return "))) {
                let value = part.split([';', '}']).next().unwrap_or(part).trim().trim_start_matches('{').trim();
                let value = value
                    .trim_end_matches(".to_string()")
                    .trim_end_matches(".to_owned()")
                    .trim_end_matches(".into()")
                    .trim();
                found.push(value.to_owned());
            }
            found
        };
        match node.kind() {
            "if_statement" | "if_expression" | "elif_clause" => {
                let condition = field(node, "condition", self.source);
                let then = node.child_by_field_name("consequence")?;
                Some((squash(condition), results(then)))
            }
            "conditional_expression" => {
                let parts = children(node);
                let [value, condition, _] = parts[..] else { return None };
                Some((squash(text(condition, self.source)), vec![squash(text(value, self.source))]))
            }
            "ternary_expression" => {
                let then = field(node, "consequence", self.source);
                Some((squash(field(node, "condition", self.source)), vec![squash(then)]))
            }
            "match_arm" => {
                let value = squash(field(node, "value", self.source)).trim_end_matches(".to_string()").to_owned();
                Some((format!("match == {}", squash(field(node, "pattern", self.source))), vec![value]))
            }
            "switch_case" => Some((format!("match == {}", squash(field(node, "value", self.source))), results(node))),
            "case_clause" => {
                let pattern = children(node).into_iter().find(|node| node.kind() == "case_pattern")?;
                Some((
                    format!("match == {}", squash(text(pattern, self.source))),
                    results(node.child_by_field_name("consequence")?),
                ))
            }
            _ => None,
        }
    }

    /// Returns whether a condition compares with exactly the input of a case.
    fn is_about(&self, case: &Case, condition: &str) -> bool {
        let is_comparing = condition.contains("==") || condition.contains(".equals(");
        let own = literals(condition);
        let wanted: Vec<String> = case.arguments.iter().flat_map(|argument| literals(argument)).collect();
        is_comparing && !wanted.is_empty() && own == wanted && !condition.contains(['%', '<', '>'])
    }

    /// The rows of a map that is looked up by a parameter.
    fn table(&self, node: Node<'_>) -> Option<Vec<(String, String)>> {
        let pairs = match (self.kind, node.kind()) {
            (TestLanguage::Python, "dictionary") | (TestLanguage::JavaScript, "object") => children(node),
            _ => return None,
        };
        let row = |pair: &Node<'_>| {
            let (key, value) = (squash(field(*pair, "key", self.source)), squash(field(*pair, "value", self.source)));
            (is_literal(&value) && !key.is_empty()).then_some((key, value))
        };
        let rows: Option<Vec<_>> = pairs.iter().map(row).collect();
        rows.filter(|rows| !rows.is_empty())
    }
}

/// Returns whether a key of a table is the input of a case.
fn is_input(case: &Case, key: &str) -> bool {
    let (of_key, of_case) =
        (literals(key), case.arguments.iter().flat_map(|argument| literals(argument)).collect::<Vec<_>>());
    let joined: Vec<String> =
        vec![format!("\"{}\"", of_case.iter().map(|one| one.trim_matches('"')).collect::<Vec<_>>().join(","))];
    !of_key.is_empty() && (of_key == of_case || of_key == joined)
}

/// Returns whether a case says more than a natural limit does.
fn is_telling(case: &Case) -> bool {
    let is_natural = |value: &String| NATURAL.contains(&value.as_str());
    !case.arguments.iter().all(is_natural) && !is_natural(&case.expected)
}
