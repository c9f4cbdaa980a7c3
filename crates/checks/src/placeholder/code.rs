//! Statements that only stand for code to come, told by the tree.

use std::ops::Range;

use switchboard_grammars::Language;
use tree_sitter::{Node, Tree};

use super::found::{Placeholder, Weight};
use super::words::{says_contract, says_to_come, says_unfinished};
use super::{stub, test_double, text as strings, typed};
use switchboard_syntax::tree::each_node_below;

mod contract;
mod python;

/// What makes a statement one that only some calls reach.
const CONDITIONS: [&str; 13] = [
    "if",
    "elsif",
    "else",
    "switch",
    "case",
    "when",
    "match",
    "catch",
    "except",
    "rescue",
    "conditional",
    "ternary",
    "guard",
];

/// Lists the placeholder statements of a file.
pub(crate) fn placeholders(tree: &Tree, text: &[u8], language: Language, path: &str) -> Vec<Placeholder> {
    let mut found = Vec::new();
    let is_for_tests = test_double::is_file(path);
    let is_variant = test_double::is_for_platform(path);
    let is_base = contract::is_base_file(path);
    each_node_below(tree, |node, above| {
        let placeholder = of_statement(node, above, text, language, path);
        found.extend(placeholder.map(|placeholder| {
            // A double need not do all that it stands for.
            let is_double = is_for_tests
                || (is_base && !bytes(node, text).starts_with(b"todo!"))
                || (is_variant && !bytes(node, text).starts_with(b"todo!"))
                || is_in_double(above, text)
                || (language == Language::Rust && (is_test(node, text) || is_in_tests(above, text)));
            placeholder.at_most(if is_double { Weight::Note } else { Weight::Blocks })
        }));
        if is_for_tests || is_variant {
            return;
        }
        let placeholder = stub::of_function(node, above, text, language)
            .or_else(|| typed::of_function(node, above, text, language))
            .or_else(|| strings::of_string(node, above, text).map(|one| one.at_most(by_reach(above, text))));
        found.extend(placeholder.filter(|_| language != Language::Rust || !is_in_tests(above, text)));
    });
    found
}

fn of_statement(
    node: Node<'_>,
    above: &[Node<'_>],
    text: &[u8],
    language: Language,
    path: &str,
) -> Option<Placeholder> {
    let throws = ["throw_statement", "throw_expression"];
    match language {
        Language::Rust => of_rust(node, above, text),
        Language::Python => python::of_function(node, above, text, path),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            of_throw(node, above, text, &["throw_statement"])
        }
        Language::Java | Language::Php | Language::Cpp => of_throw(node, above, text, &throws),
        Language::Dart => of_error(node, above, text, "UnimplementedError"),
        Language::CSharp => of_error(node, above, text, "NotImplementedException"),
        Language::Kotlin => of_call(node, above, text, &["TODO"]),
        Language::Swift => of_call(node, above, text, &["fatalError", "preconditionFailure"]),
        Language::Go => of_call(node, above, text, &["panic"]).or_else(|| of_go_error(node, above, text, path)),
        Language::Ruby => of_ruby(node, above, text),
        Language::Bash | Language::C | Language::Css | Language::Ini | Language::PowerShell | Language::Regex => None,
    }
}

fn bytes<'a>(node: Node<'_>, text: &'a [u8]) -> &'a [u8] {
    &text[node.byte_range()]
}

fn throw(node: Node<'_>, weight: Weight) -> Placeholder {
    Placeholder {
        weight,
        rule: "placeholder/code-throw-todo".into(),
        what: "this only says that it is not implemented",
        range: node.byte_range(),
    }
}

/// One that only some calls reach is mostly a limit that somebody chose; it is listed.
fn by_reach(above: &[Node<'_>], text: &[u8]) -> Weight {
    let is_function = |node: &&Node<'_>| {
        ["function", "method", "lambda", "arrow", "constructor", "accessor", "closure"]
            .iter()
            .any(|word| node.kind().contains(word))
            && !node.kind().ends_with("body")
    };
    let inner = above.iter().rev().take_while(|node| !is_function(node));
    let is_condition = |node: &Node<'_>| CONDITIONS.iter().any(|word| node.kind().split('_').any(|part| part == *word));
    if inner.into_iter().any(is_condition) || is_otherwise(above, text) { Weight::Note } else { Weight::Blocks }
}

/// Returns whether a statement of Rust stands behind the `else` of a `let`, or in what is called when there is no value:
/// `unwrap_or_else(|| …)`.
fn is_otherwise(above: &[Node<'_>], text: &[u8]) -> bool {
    let begin = above.iter().rposition(|node| node.kind() == "function_item").unwrap_or(0);
    let above = &above[begin..];
    let is_else = above
        .windows(2)
        .any(|pair| pair[0].kind() == "let_declaration" && pair[0].child_by_field_name("alternative") == Some(pair[1]));
    let is_called_without = above.windows(3).any(|three| {
        let called = three[0].child_by_field_name("function").map(|name| bytes(name, text));
        three[2].kind() == "closure_expression" && called.is_some_and(|name| name.ends_with(b"_else"))
    });
    is_else || is_called_without
}

/// `todo!()`, `unimplemented!()`, and a panic that says the same.
fn of_rust(node: Node<'_>, above: &[Node<'_>], text: &[u8]) -> Option<Placeholder> {
    if node.kind() != "macro_invocation" {
        return None;
    }
    if names_itself_unwritten(above, text) {
        return None;
    }
    match bytes(node.child_by_field_name("macro")?, text) {
        b"todo" => Some(throw(node, if is_for_its_type(above, text) { Weight::Note } else { Weight::Blocks })),
        // Other than `todo!`, it is no promise: of a trait a type may leave out what nobody asks of it.
        b"unimplemented" => {
            // A message that is put together tells of a value that is not handled.
            let is_left_out = bytes(node, text).contains(&b'{')
                || says_contract(bytes(node, text))
                || gives_reason(bytes(node, text))
                || has_reason_above(above, text)
                || is_in_trait(above)
                || is_for_a_build(above, text)
                || above.iter().any(|outer| outer.kind() == "array_expression");
            Some(throw(node, if is_left_out { Weight::Note } else { by_reach(above, text) }))
        }
        b"panic" if says_unfinished(bytes(node, text)) => {
            // A constant that panics stops the build where something is missing.
            let is_default = above.iter().any(|outer| matches!(outer.kind(), "trait_item" | "const_item"));
            // A message that is put together tells of a value that is not handled.
            let is_listed = is_default
                || bytes(node, text).contains(&b'{')
                || (is_in_trait(above) && !says_to_come(bytes(node, text)));
            Some(throw(node, if is_listed { Weight::Note } else { by_reach(above, text) }))
        }
        _ => None,
    }
}

/// Returns whether a function is made to say so: `fn not_implemented()`.
fn names_itself_unwritten(above: &[Node<'_>], text: &[u8]) -> bool {
    let function = above.iter().rev().find(|outer| outer.kind() == "function_item");
    let name = function.and_then(|function| function.child_by_field_name("name")).map(|name| bytes(name, text));
    name == Some(b"todo")
        || name.is_some_and(|name| name.starts_with(b"not_implemented") || name.starts_with(b"unimplemented"))
}

/// Returns whether the message of `unimplemented!` is a sentence that says why nobody comes here: one about code to come has a word for it.
fn gives_reason(call: &[u8]) -> bool {
    const TO_COME: [&str; 6] = ["implement", " yet", "later", "todo", "support", "progress"];
    let Some(message) = call.iter().position(|byte| *byte == b'"').map(|at| call[at..].to_ascii_lowercase()) else {
        return false;
    };
    let is_sentence = message.iter().filter(|byte| **byte == b' ').count() >= 2;
    is_sentence && !TO_COME.iter().any(|word| memchr::memmem::find(&message, word.as_bytes()).is_some())
}

/// Returns whether the comment right above a statement says in a sentence why nobody comes there.
fn has_reason_above(above: &[Node<'_>], text: &[u8]) -> bool {
    const TO_COME: [&str; 7] = ["implement", " yet", "later", "todo", "support", "fixme", "progress"];
    let Some(statement) = above.last().filter(|outer| outer.kind() == "expression_statement") else { return false };
    let before = std::iter::successors(statement.prev_named_sibling(), |node| node.prev_named_sibling());
    let comments: Vec<String> = before
        .take_while(|node| node.kind().contains("comment"))
        .map(|node| String::from_utf8_lossy(bytes(node, text)).to_ascii_lowercase())
        .collect();
    let words: usize = comments.iter().map(|comment| comment.split_whitespace().count()).sum();
    words >= 6 && !comments.iter().any(|comment| TO_COME.iter().any(|word| comment.contains(word)))
}

/// Returns whether an attribute says for which builds the code around is, or that nobody is to call it any more.
fn is_for_a_build(above: &[Node<'_>], text: &[u8]) -> bool {
    let is_item = |outer: &&Node<'_>| {
        matches!(
            outer.kind(),
            "function_item" | "mod_item" | "impl_item" | "block" | "expression_statement" | "match_arm"
        )
    };
    above.iter().filter(is_item).any(|item| {
        let before = std::iter::successors(item.prev_named_sibling(), |node| node.prev_named_sibling());
        let mut before = before.take_while(|node| node.kind() == "attribute_item" || node.kind().contains("comment"));
        before.any(|node| {
            let attribute = bytes(node, text);
            attribute.starts_with(b"#[cfg(") || attribute.starts_with(b"#[deprecated")
        })
    })
}

/// Returns whether a macro stands in a method of a trait: one that a type leaves out, or the default that types replace.
fn is_in_trait(above: &[Node<'_>]) -> bool {
    let inner = above.iter().rev().find(|outer| matches!(outer.kind(), "impl_item" | "trait_item"));
    inner.is_some_and(|outer| outer.kind() == "trait_item" || outer.child_by_field_name("trait").is_some())
}

/// `let _a: Type = todo!();`: only its type matters.
fn is_for_its_type(above: &[Node<'_>], text: &[u8]) -> bool {
    above.last().is_some_and(|outer| outer.kind() == "let_declaration" && bytes(*outer, text).starts_with(b"let _"))
}

/// The text of an error behind its name.
fn message(raised: &[u8]) -> &[u8] {
    let message = raised.iter().position(|byte| *byte == b'(').map_or(&b""[..], |at| &raised[at..]);
    if message == b"()" { b"" } else { message }
}

/// Lists the tests that stand in a Rust file itself.
pub(crate) fn tests_of_rust(tree: &Tree, text: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    each_node_below(tree, |node, _| {
        let is_inside = found.last().is_some_and(|test| test.contains(&node.start_byte()));
        if !is_inside && is_test(node, text) {
            found.push(node.byte_range());
        }
    });
    found
}

fn is_in_tests(above: &[Node<'_>], text: &[u8]) -> bool {
    above.iter().any(|outer| is_test(*outer, text))
}

/// Returns whether a node is a module or function of tests, by its name or by an attribute such as `#[cfg(test)]` and `#[tokio::test]`.
fn is_test(node: Node<'_>, text: &[u8]) -> bool {
    if !matches!(node.kind(), "mod_item" | "function_item") {
        return false;
    }
    let name = node.child_by_field_name("name").map(|name| bytes(name, text));
    let is_named = node.kind() == "mod_item" && matches!(name, Some(b"tests" | b"test"));
    let before = std::iter::successors(node.prev_named_sibling(), |node| node.prev_named_sibling());
    let mut attributes = before.take_while(|node| node.kind() == "attribute_item" || node.kind().contains("comment"));
    is_named
        || attributes.any(|node| {
            let attribute = bytes(node, text);
            attribute.starts_with(b"#[cfg(test)") || attribute.starts_with(b"#[test") || attribute.ends_with(b"::test]")
        })
}

/// Returns whether an enclosing class or module has the name of a test double.
fn is_in_double(above: &[Node<'_>], text: &[u8]) -> bool {
    above.iter().any(|outer| {
        let is_type =
            ["class", "struct", "module", "mod_item", "impl_item"].iter().any(|word| outer.kind().contains(word));
        let name = outer.child_by_field_name("name").or_else(|| outer.child_by_field_name("type")).filter(|_| is_type);
        name.is_some_and(|name| test_double::is_name(&String::from_utf8_lossy(bytes(name, text))))
    })
}

/// `throw new Error("not implemented")`, of any kind of error.
fn of_throw(node: Node<'_>, above: &[Node<'_>], text: &[u8], kinds: &[&str]) -> Option<Placeholder> {
    let is_it =
        kinds.contains(&node.kind()) && node.byte_range().len() < 300 && says_unfinished(message(bytes(node, text)));
    // A message that is put together tells of a value that is not handled.
    let is_listed = is_it
        && (is_of_value(bytes(node, text))
            || is_made_to_say_so(above, text)
            || above.iter().rev().take(4).any(|outer| stub::is_said_unused(*outer, text))
            || contract::is_left_out_of_coverage(node, text)
            || contract::is_for_platform(above, text)
            || contract::is_last_case(node, above, text)
            || contract::is_of_member(node, above, text)
            || contract::is_owed(above, text));
    is_it.then(|| throw(node, if is_listed { Weight::Note } else { by_reach(above, text) }))
}

/// Returns whether the function around, or what it is assigned to, is called so: `let notImplemented = () => { throw … }`.
fn is_made_to_say_so(above: &[Node<'_>], text: &[u8]) -> bool {
    let is_function = |node: &&Node<'_>| ["function", "method", "arrow"].iter().any(|word| node.kind().contains(word));
    let Some(at) = above.iter().rposition(|node| is_function(&node)) else { return false };
    let named = [at.checked_sub(1).map(|outer| above[outer]), Some(above[at])];
    named.into_iter().flatten().filter_map(|node| node.child_by_field_name("name")).any(|name| {
        let words = stub::words(bytes(name, text)).concat();
        words.contains("notimplemented") || words.contains("unimplemented")
    })
}

/// A throw of the error that a language has for this, or of one whose message says so.
fn of_error(node: Node<'_>, above: &[Node<'_>], text: &[u8], error: &str) -> Option<Placeholder> {
    let is_throw = ["throw_statement", "throw_expression"].contains(&node.kind()) && node.byte_range().len() < 300;
    let thrown = bytes(node, text);
    let is_named = memchr::memmem::find(thrown, error.as_bytes()).is_some();
    let words = message(thrown);
    // `has not been implemented` is what a platform's interface says to those who build on it.
    let is_contract = memchr::memmem::find(words, b"has not been implemented").is_some();
    let weight = || if overrides_several(above, text) { Weight::Note } else { by_reach(above, text) };
    (is_throw && !is_contract && (is_named || says_unfinished(words))).then(|| throw(node, weight()))
}

/// Returns whether a member of C# overrides another one in a class that throws so in two members or more: it does not do all that its base does.
fn overrides_several(above: &[Node<'_>], text: &[u8]) -> bool {
    let member = above.iter().rev().find(|outer| matches!(outer.kind(), "method_declaration" | "property_declaration"));
    let class = above.iter().rev().find(|outer| outer.kind() == "class_declaration");
    let is_override = |member: &Node<'_>| {
        let head = bytes(*member, text).split(|byte| matches!(byte, b'{' | b'\n' | b'=')).next().unwrap_or_default();
        memchr::memmem::find(head, b"override ").is_some()
    };
    let thrown =
        |class: &Node<'_>| memchr::memmem::find_iter(bytes(*class, text), "NotImplementedException").take(2).count();
    member.is_some_and(is_override) && class.is_some_and(|class| thrown(class) == 2)
}

/// A call of one of these names; one that is no promise by itself must say so in its message.
fn of_call(node: Node<'_>, above: &[Node<'_>], text: &[u8], names: &[&str]) -> Option<Placeholder> {
    if !["call_expression", "call"].contains(&node.kind()) || node.byte_range().len() > 300 {
        return None;
    }
    let call = bytes(node, text);
    let name = names.iter().find(|name| {
        call.starts_with(name.as_bytes()) && !call.get(name.len()).is_some_and(u8::is_ascii_alphanumeric)
    })?;
    if *name == "TODO" {
        return Some(throw(node, Weight::Blocks));
    }
    let weight = if is_of_value(call) { Weight::Note } else { by_reach(above, text) };
    says_unfinished(&call[name.len()..]).then(|| throw(node, weight))
}

/// Returns whether the message of an error is put together: it tells of a value that is not handled.
fn is_of_value(raised: &[u8]) -> bool {
    raised.windows(2).any(|part| part == b"${")
        || raised.windows(3).any(|part| matches!(part, b"\" +" | b"+ \"" | b"' +" | b"+ '"))
}

/// `return errors.New("not implemented")` as the whole function, where no other file has it for another platform.
fn of_go_error(node: Node<'_>, above: &[Node<'_>], text: &[u8], path: &str) -> Option<Placeholder> {
    let returned = bytes(node, text);
    let makes_error =
        ["errors.New(", "fmt.Errorf("].iter().any(|call| memchr::memmem::find(returned, call.as_bytes()).is_some());
    if node.kind() != "return_statement" || returned.len() > 300 || !makes_error || !says_unfinished(returned) {
        return None;
    }
    let is_alone = above.last().is_some_and(|list| list.named_child_count() == 1)
        && above.iter().rev().take(3).any(|outer| outer.kind().ends_with("_declaration"));
    let head = &text[..text.len().min(2_000)];
    let is_for_platform = memchr::memmem::find(head, b"//go:build").is_some() || path.ends_with("_other.go");
    (is_alone && !is_for_platform).then(|| throw(node, Weight::Blocks))
}

/// `raise NotImplementedError`, which in Ruby is also how a base class says what its subclasses owe.
fn of_ruby(node: Node<'_>, above: &[Node<'_>], text: &[u8]) -> Option<Placeholder> {
    let raised = bytes(node, text);
    if let Some(found) = of_call(node, above, text, &["raise"]) {
        // What its subclasses owe, with the name of the method in the message.
        let is_owed = memchr::memmem::find(raised, b"NotImplementedError").is_some()
            && above.iter().rev().find(|outer| is_ruby_type(outer)).is_some_and(|class| is_ruby_base(*class, text));
        // A message with the name of the method says what subclasses owe.
        let method = above
            .iter()
            .rev()
            .find(|outer| outer.kind() == "method")
            .and_then(|method| method.child_by_field_name("name"));
        let says_its_name = method.is_some_and(|name| memchr::memmem::find(raised, bytes(name, text)).is_some());
        let is_listed = is_owed || (says_its_name && above.iter().any(|outer| is_ruby_type(outer)));
        return Some(if is_listed { found.at_most(Weight::Note) } else { found });
    }
    if node.kind() != "call" || raised.len() > 300 || !raised.starts_with(b"raise") {
        return None;
    }
    let error = raised[5..].trim_ascii_start();
    let error = error.strip_prefix(b"(").unwrap_or(error).trim_ascii_start();
    let rest = error.strip_prefix(b"NotImplementedError")?;
    // A message names what subclasses owe: one that says it is unfinished was found above.
    let is_bare = matches!(rest, b"" | b")" | b".new" | b".new)");
    let class = above.iter().rev().find(|outer| is_ruby_type(outer));
    let is_base = class.is_some_and(|class| is_ruby_base(*class, text));
    (is_bare && !is_base).then(|| throw(node, by_reach(above, text)))
}

fn is_ruby_type(node: &Node<'_>) -> bool {
    matches!(node.kind(), "class" | "module")
}

/// Returns whether a class is meant to be subclassed: its name or a comment says so, or most of its methods raise.
fn is_ruby_base(class: Node<'_>, text: &[u8]) -> bool {
    const NAMES: [&str; 8] = ["abstract", "base", "interface", "adapter", "strategy", "provider", "concern", "backend"];
    let name = class.child_by_field_name("name").map(|name| stub::words(bytes(name, text))).unwrap_or_default();
    let body = bytes(class, text);
    let count = |word: &str| memchr::memmem::find_iter(body, word.as_bytes()).count();
    let says_so = ["subclass", "Subclass", "override", "abstract", "Abstract"].iter().any(|word| count(word) > 0);
    let (raised, methods) = (count("NotImplementedError"), count("def "));
    name.iter().any(|word| NAMES.contains(&word.as_str())) || says_so || (raised >= 2 && raised * 2 >= methods)
}
