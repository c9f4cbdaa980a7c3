//! A function of the change, and the test whether it recognises the tests' inputs.

use std::ops::Range;

use tree_sitter::Node;

use super::super::hit::{Consequence, Hit};
use super::super::language::TestLanguage;
use super::super::node::{children, field, is_literal, literals, squash, text, walk};
use super::super::suite::Pair;
use super::{Case, NATURAL, is_input, is_telling};

/// A function of the change.
pub(super) struct Function<'a> {
    pub(super) name: String,
    parameters: Vec<String>,
    body: Node<'a>,
    source: &'a str,
    kind: TestLanguage,
    range: Range<usize>,
}

// === impl Function ===

impl<'a> Function<'a> {
    pub(super) fn of(node: Node<'a>, above: &[Node<'a>], kind: TestLanguage, source: &'a str) -> Option<Self> {
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

    /// Byte range of the function's name.
    pub(super) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    pub(super) fn judge(&self, cases: &[&Case], pair: &Pair) -> Vec<Hit> {
        let hit = |range: Range<usize>, what: String| {
            Hit::new("hard-coded", Consequence::NeedsReview, &pair.path, range, format!("`{}` {what}", self.name))
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
        let mut tables: Vec<(usize, Range<usize>)> = Vec::new();
        walk(self.body, |node, _| {
            if let Some((condition, result)) = self.branch(node) {
                let of = cases.iter().filter(|case| self.is_about(case, &condition) && result.contains(&case.expected));
                known.extend(of.map(|case| (*case, node.byte_range())));
            }
            if let Some(rows) = self.table(node) {
                let is_case = |(key, value): &(String, String)| {
                    cases.iter().any(|case| is_input(case, key) && case.expected == *value)
                };
                if rows.iter().all(is_case) {
                    tables.push((rows.len(), node.byte_range()));
                }
            }
            true
        });
        known.dedup_by(|a, b| a.0 == b.0);
        known.retain(|(case, _)| is_telling(case));
        if let Some((case, range)) = known.first().filter(|_| known.len() > 1 || cases.len() <= 3) {
            let what = format!("gives {} for exactly the input {} of a test", case.expected, case.arguments.join(", "));
            return vec![hit(range.clone(), what)];
        }
        let table = tables.into_iter().find(|(rows, _)| *rows > 1 || cases.len() == 1);
        let what = |rows: usize| format!("looks its result up in a table of exactly {rows} of the tests' cases");
        table.map(|(rows, range)| hit(range, what(rows))).into_iter().collect()
    }

    /// Returns the literal that is the function's only result, if it has just one.
    fn constant(&self) -> Option<String> {
        let statements: Vec<Node<'_>> = children(self.body)
            .into_iter()
            .filter(|node| {
                // A docstring does nothing.
                !(node.kind() == "expression_statement" && text(*node, self.source).starts_with(['"', '\'']))
            })
            .collect();
        let code = match (&statements[..], self.body.kind()) {
            (_, kind) if !kind.contains("block") => text(self.body, self.source),
            ([only], _) => text(*only, self.source),
            _ => return None,
        };
        let value = squash(code.trim().trim_start_matches("return"));
        let value = unowned(&value);
        is_literal(value).then(|| value.to_owned())
    }

    /// Returns a condition, and the literals returned under it.
    fn branch(&self, node: Node<'_>) -> Option<(String, Vec<String>)> {
        let results = |of: Node<'_>| -> Vec<String> {
            let code = squash(text(of, self.source));
            let mut found = Vec::new();
            for part in code.split("return ").skip(usize::from(code.contains("return "))) {
                let value = part.split([';', '}']).next().unwrap_or(part).trim().trim_start_matches('{').trim();
                found.push(unowned(value).to_owned());
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
                let value = squash(field(node, "value", self.source));
                let value = unowned(value.trim_start_matches("return "));
                Some((format!("match == {}", squash(field(node, "pattern", self.source))), vec![value.to_owned()]))
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

    /// Returns the rows of a map that is looked up by a parameter.
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

/// Removes Rust's conversion to an owned value.
fn unowned(value: &str) -> &str {
    let value = value.trim();
    let calls = [".to_string()", ".to_owned()", ".into()"];
    calls.iter().find_map(|call| value.strip_suffix(call)).unwrap_or(value)
}
