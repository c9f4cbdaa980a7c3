//! Reads tests in JavaScript and TypeScript: calls of `test`, `it` and the like, as in node:test, Jest, Vitest and
//! Mocha.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::assertion::Assertion;
use super::node::{children, field, squash, text, walk};
use super::test::{Skip, Test};

const TEST: [&str; 8] = ["test", "it", "specify", "xit", "xtest", "fit", "ftest", "bench"];
const GROUP: [&str; 6] = ["describe", "suite", "context", "xdescribe", "fdescribe", "xcontext"];
/// Matchers and functions that require a value.
const EQUAL: [&str; 14] = [
    "toBe",
    "toEqual",
    "toStrictEqual",
    "equal",
    "equals",
    "eql",
    "eq",
    "strictEqual",
    "deepEqual",
    "deepStrictEqual",
    "is",
    "same",
    "deepEquals",
    "strictSame",
];
/// Matchers and functions that require a value approximately, or with further content.
const SIMILAR: [&str; 6] =
    ["toBeCloseTo", "toMatchObject", "closeTo", "approximately", "like", "partialDeepStrictEqual"];
/// Matchers and functions that require another value.
const UNEQUAL: [&str; 8] = [
    "notEqual",
    "notStrictEqual",
    "notDeepEqual",
    "notDeepStrictEqual",
    "notSame",
    "notStrictSame",
    "notEquals",
    "not",
];
const TRUTH: [&str; 6] = ["toBeTruthy", "ok", "truthy", "isOk", "isTrue", "true"];
const FALSEHOOD: [&str; 6] = ["toBeFalsy", "notOk", "falsy", "isNotOk", "isFalse", "false"];
const PRESENCE: [&str; 4] = ["toBeDefined", "exist", "exists", "isDefined"];
/// Other assertions of the object that AVA or tap passes to a test.
const OF_TEST: [&str; 11] = [
    "throws",
    "throwsAsync",
    "rejects",
    "match",
    "regex",
    "doesNotThrow",
    "notThrows",
    "notThrowsAsync",
    "resolves",
    "notMatch",
    "notRegex",
];

pub(super) fn tests(tree: &Tree, source: &str) -> Vec<Test> {
    let mut found = Vec::new();
    walk(tree.root_node(), |node, above| {
        if let Some(call) = Call::of(node, source).filter(|call| TEST.contains(&call.base)) {
            let groups: Vec<Call<'_>> = above
                .iter()
                .filter_map(|node| Call::of(*node, source))
                .filter(|call| GROUP.contains(&call.base) || TEST.contains(&call.base))
                .collect();
            found.push(test(node, &call, &groups, source));
        }
        true
    });
    found
}

/// A call that declares a test or a group of tests.
struct Call<'a> {
    /// Name of the called function, without modifiers.
    base: &'a str,
    /// Whole callee: `test.skip`, `it.each(...)`.
    function: &'a str,
    arguments: Vec<&'a str>,
}

// === impl Call ===

impl<'a> Call<'a> {
    fn of(node: Node<'_>, source: &'a str) -> Option<Self> {
        if node.kind() != "call_expression" {
            return None;
        }
        let function = field(node, "function", source);
        let base = function.split(['.', '(', '`']).next().unwrap_or(function);
        let base = if base == "t" && function.starts_with("t.test") { "test" } else { base };
        let arguments = node.child_by_field_name("arguments").map(children).unwrap_or_default();
        let arguments: Vec<&str> = arguments.into_iter().map(|argument| text(argument, source)).collect();
        let is_known = TEST.contains(&base) || GROUP.contains(&base);
        let is_made =
            arguments.first().is_some_and(|first| first.starts_with(['"', '\'', '`'])) && !function.ends_with(".each");
        (is_known && is_made).then_some(Self { base, function, arguments })
    }

    fn name(&self) -> String {
        self.arguments.first().map_or_else(String::new, |name| name.trim_matches(['"', '\'', '`']).to_owned())
    }

    fn skip(&self) -> Skip {
        let marks = self.function.get(self.base.len()..).unwrap_or("");
        let options = self.arguments.get(1).filter(|options| options.starts_with('{')).map(|options| squash(options));
        let options = options.unwrap_or_default();
        let is_marked = [".skip", ".todo", ".failing", ".fails"].iter().any(|mark| marks.contains(mark));
        let is_set = ["skip: true", "todo: true", "skip: \"", "todo: \""].iter().any(|option| options.contains(option));
        if marks.contains("skipIf")
            || marks.contains("runIf")
            || (options.contains("skip:") && !options.contains("skip: false") && !is_set)
        {
            return Skip::Sometimes;
        }
        if self.base.starts_with('x') || is_marked || is_set { Skip::Always } else { Skip::No }
    }

    fn is_focused(&self) -> bool {
        let options = self.arguments.get(1).map(|options| squash(options)).unwrap_or_default();
        self.base.starts_with('f')
            || self.function.contains(".only")
            || (options.starts_with('{') && options.contains("only: true"))
    }
}

fn test(node: Node<'_>, call: &Call<'_>, groups: &[Call<'_>], source: &str) -> Test {
    let mut name: Vec<String> = groups.iter().map(Call::name).collect();
    name.push(call.name());
    let mut skip = groups.iter().map(Call::skip).fold(call.skip(), Ord::max);
    let is_focused = call.is_focused() || groups.iter().any(Call::is_focused);
    let mut assertions = Vec::new();
    let mut swallows = false;
    let arguments = node.child_by_field_name("arguments");
    let body = arguments
        .and_then(|arguments| children(arguments).into_iter().rev().find_map(|last| last.child_by_field_name("body")));
    if call.arguments.len() < 2 {
        skip = Skip::Always;
    }
    if let Some(body) = body {
        let end =
            children(body).into_iter().find(|node| node.kind() == "return_statement" && node.named_child_count() == 0);
        let end = end.map_or(usize::MAX, |end| end.start_byte());
        walk(body, |node, above| {
            if node.start_byte() >= end {
                return false;
            }
            if Call::of(node, source).is_some() {
                return false;
            }
            skip = skip.max(skip_of(node, above, source));
            if let Some(assertion) = assertion(node, source) {
                swallows |= is_swallowed(node, above, source);
                assertions.push(assertion);
                return false;
            }
            if node.kind() == "array" {
                assertions.extend(table(node, source));
            }
            true
        });
    }
    if let Some(function) = node.child_by_field_name("function").filter(|_| call.function.contains(".each")) {
        walk(function, |node, _| {
            if node.kind() == "array" {
                assertions.extend(table(node, source));
            }
            true
        });
    }
    let range = node.child_by_field_name("function").map_or(node.byte_range(), |name| name.byte_range());
    Test { name: name.join(" > "), range, body: node.byte_range(), skip, is_focused, swallows, assertions }
}

/// Finds `t.skip()`, `this.skip()` and `ctx.skip()` in a body.
fn skip_of(node: Node<'_>, above: &[Node<'_>], source: &str) -> Skip {
    let is_skip = node.kind() == "call_expression"
        && ["t.skip", "this.skip", "ctx.skip", "context.skip", "t.todo"].contains(&field(node, "function", source));
    if !is_skip {
        return Skip::No;
    }
    let is_always =
        above.iter().all(|node| ["statement_block", "expression_statement", "return_statement"].contains(&node.kind()));
    if is_always { Skip::Always } else { Skip::Sometimes }
}

fn is_swallowed(node: Node<'_>, above: &[Node<'_>], source: &str) -> bool {
    above.iter().filter(|node| node.kind() == "try_statement").any(|outer| {
        let is_in_body =
            outer.child_by_field_name("body").is_some_and(|body| body.byte_range().contains(&node.start_byte()));
        let handler = field(*outer, "handler", source);
        is_in_body
            && !handler.is_empty()
            && !["throw", "fail(", "expect(", "assert", "reject("].iter().any(|word| handler.contains(word))
    })
}

fn assertion(node: Node<'_>, source: &str) -> Option<Assertion> {
    let range = node.byte_range();
    // Chai also asserts through properties: `expect(x).to.be.true`.
    if node.kind() == "member_expression" {
        let code = text(node, source);
        return if code.starts_with("expect(") { of_expect(node, code, &[], source) } else { None };
    }
    if node.kind() != "call_expression" {
        return None;
    }
    let function = field(node, "function", source);
    let arguments = node.child_by_field_name("arguments").map(children).unwrap_or_default();
    let words: Vec<&str> = arguments.iter().map(|argument| text(*argument, source)).collect();
    let last = last_of(function);
    let first = function.split(['.', '(']).next().unwrap_or(function);
    if first == "expect" && function.contains('(') {
        return of_expect(node, function, &words, source);
    }
    let is_assert = ["assert", "t", "chai", "should", "tap"].contains(&first) && function.contains('.');
    match &words[..] {
        [_, ..] if function == "assert" || (is_assert && TRUTH.contains(&last)) => {
            Some(condition_of(*arguments.first()?, range, source))
        }
        [subject, ..] if is_assert && is_known(last) => of_matcher(subject, last, &words[1..], range),
        words if is_assert && (first != "t" || OF_TEST.contains(&last)) => {
            Some(Assertion::named(last, &words.join(", "), range))
        }
        words
            if ["assert", "check", "verify", "expect"].iter().any(|start| function.starts_with(start))
                && !function.contains('(') =>
        {
            Some(Assertion::named(function, &words.join(", "), range))
        }
        _ => None,
    }
}

fn last_of(function: &str) -> &str {
    function.rsplit('.').next().unwrap_or(function).trim()
}

/// Reads an `expect(...)` and what follows it; `function` is the whole of it without the arguments of the matcher.
fn of_expect(node: Node<'_>, function: &str, words: &[&str], source: &str) -> Option<Assertion> {
    let range = node.byte_range();
    let subject = subject_of(node, source)?;
    let matcher = last_of(function);
    let turns = [("not ", ".not"), ("rejects ", ".rejects")];
    let turns: String = turns.iter().filter(|(_, mark)| function.contains(mark)).map(|(word, _)| *word).collect();
    if let ("", "toHaveLength" | "lengthOf", [expected]) = (turns.as_str(), matcher, words) {
        return Some(Assertion::equal(&format!("{subject}.length"), expected, range));
    }
    let is_plain = turns.is_empty() && is_known(matcher);
    let known = is_plain.then(|| of_matcher(&subject, matcher, words, range.clone())).flatten();
    let other = || Assertion::matched(&subject, &format!("{turns}{matcher}"), &words.join(", "), range.clone());
    Some(known.unwrap_or_else(other))
}

fn is_known(matcher: &str) -> bool {
    [&EQUAL[..], &SIMILAR, &UNEQUAL, &TRUTH, &FALSEHOOD, &PRESENCE].iter().any(|names| names.contains(&matcher))
}

/// Reads a matcher that all runners have in some spelling; returns `None` if it lacks the value to compare with.
fn of_matcher(subject: &str, matcher: &str, words: &[&str], range: Range<usize>) -> Option<Assertion> {
    match words.first() {
        Some(expected) if EQUAL.contains(&matcher) => Some(Assertion::equal(subject, expected, range)),
        Some(expected) if SIMILAR.contains(&matcher) => Some(Assertion::similar(subject, expected, range)),
        Some(expected) if UNEQUAL.contains(&matcher) => Some(Assertion::unequal(subject, expected, range)),
        _ if TRUTH.contains(&matcher) => Some(Assertion::truth(subject, range)),
        _ if FALSEHOOD.contains(&matcher) => Some(Assertion::negation(subject, range)),
        _ if PRESENCE.contains(&matcher) => Some(Assertion::presence(subject, true, range)),
        _ => None,
    }
}

fn condition_of(condition: Node<'_>, range: Range<usize>, source: &str) -> Assertion {
    let code = text(condition, source);
    match condition.kind() {
        "binary_expression" => {
            let (left, right) = (field(condition, "left", source), field(condition, "right", source));
            match field(condition, "operator", source) {
                "==" | "===" => Assertion::equal(left, right, range),
                "!=" | "!==" => Assertion::unequal(left, right, range),
                "||" if right == "true" => Assertion::truth("true", range),
                _ => Assertion::condition(code, range),
            }
        }
        "unary_expression" if field(condition, "operator", source) == "!" => {
            Assertion::negation(field(condition, "argument", source), range)
        }
        _ => Assertion::truth(code, range),
    }
}

/// Returns the code between the brackets of `expect(...)`.
fn subject_of(node: Node<'_>, source: &str) -> Option<String> {
    let mut found = None;
    walk(node, |node, _| {
        if node.kind() == "call_expression" && field(node, "function", source) == "expect" {
            found = node.child_by_field_name("arguments").map(|arguments| {
                let words: Vec<&str> = children(arguments).into_iter().map(|argument| text(argument, source)).collect();
                words.join(", ")
            });
            return false;
        }
        found.is_none()
    });
    found
}

fn table(node: Node<'_>, source: &str) -> Vec<Assertion> {
    let rows = children(node);
    if rows.len() < 2 || !rows.iter().all(|row| row.kind() == "array" && row.named_child_count() > 1) {
        return Vec::new();
    }
    rows.iter().filter_map(|row| Assertion::row(text(*row, source), row.byte_range())).collect()
}
