//! Finds calls that end the process, in test code and in code that tests load: a runner that exits early with 0 seems
//! to have passed.

use std::collections::HashMap;
use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::aliases::Aliases;
use super::hit::{Consequence, Hit};
use super::language::TestLanguage;
use super::node::{children, field, squash, text, walk};
use super::paths;
use super::suite::{Pair, Suite};

/// Words in the names of functions that may end the process, and of program files.
const MAIN: [&str; 14] = [
    "main",
    "cli",
    "run",
    "exit",
    "quit",
    "abort",
    "die",
    "fatal",
    "usage",
    "help",
    "shutdown",
    "terminate",
    "bail",
    "handle_sig",
];
const PROGRAMS: [&str; 8] = ["__main__.py", "main.py", "cli.py", "manage.py", "main.rs", "cli.js", "main.js", "cli.ts"];
const PROGRAM_FOLDERS: [&str; 6] = ["bin", "cmd", "cli", "scripts", "tools", "xtask"];

/// A call that ends the process.
struct Exit {
    code: String,
    range: Range<usize>,
    /// True if the call ends the process with 0, or may do so.
    may_succeed: bool,
    /// True if the call skips all clean-up, so that no runner can catch it.
    is_hard: bool,
    place: Site,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Site {
    /// At the top level: runs when the file is loaded.
    Loaded,
    /// In a function that may end the process, according to its name.
    Main,
    Function,
    /// Inside an assertion that expects it.
    Expected,
}

pub(super) fn hits(pair: &Pair) -> Vec<Hit> {
    let mut known: HashMap<String, usize> = HashMap::new();
    for exit in exits(&pair.before, pair.kind) {
        *known.entry(exit.code).or_default() += 1;
    }
    let is_program = is_program(&pair.path, &pair.after.text);
    let mut hits = Vec::new();
    for exit in exits(&pair.after, pair.kind) {
        if let Some(left) = known.get_mut(&exit.code).filter(|left| **left > 0) {
            *left -= 1;
            continue;
        }
        let in_test = pair.is_test || pair.after.tests.iter().any(|test| test.body.contains(&exit.range.start));
        if let Some((consequence, how)) = judged(&exit, in_test, is_program) {
            let message = format!("`{}` {how}", exit.code);
            hits.push(Hit::new("exit-call", consequence, &pair.path, exit.range, message));
        }
    }
    hits
}

fn judged(exit: &Exit, in_test: bool, is_program: bool) -> Option<(Consequence, &'static str)> {
    match (exit.place, in_test) {
        (Site::Expected, _) => None,
        (Site::Main, true) if !exit.is_hard => None,
        (_, true) if exit.may_succeed => {
            Some((Consequence::Refused, "in test code ends the tests before they have reported"))
        }
        (_, true) => Some((Consequence::NeedsReview, "in test code ends the tests")),
        (Site::Loaded, false) if is_program => None,
        (Site::Loaded, false) if exit.may_succeed => {
            Some((Consequence::Refused, "ends every process that loads the file, the tests' too"))
        }
        (Site::Loaded, false) => None,
        (Site::Main, false) => None,
        (Site::Function, false) if exit.is_hard => {
            Some((Consequence::NeedsReview, "ends the process, the tests' too, where no runner can catch it"))
        }
        (Site::Function, false) if exit.may_succeed && !is_program => {
            Some((Consequence::NeedsReview, "ends the process with success in code that tests may call"))
        }
        (Site::Function, false) => None,
    }
}

fn is_program(path: &str, text: &str) -> bool {
    let name = paths::name(path);
    let in_folder = path.split('/').rev().skip(1).any(|folder| PROGRAM_FOLDERS.contains(&folder));
    in_folder || PROGRAMS.contains(&name) || text.starts_with("#!")
}

fn exits(suite: &Suite, kind: TestLanguage) -> Vec<Exit> {
    let Some(tree) = &suite.tree else { return Vec::new() };
    match kind {
        TestLanguage::Python => python(tree, &suite.text, &suite.aliases),
        TestLanguage::JavaScript => javascript(tree, &suite.text, &suite.aliases),
        TestLanguage::Rust => rust(tree, &suite.text, &suite.aliases),
    }
}

/// Returns whether a call with these arguments may exit with success.
fn may_succeed(arguments: &[&str]) -> bool {
    let first = arguments.first().map_or("", |first| first.trim());
    let is_failure = first.parse::<i64>().is_ok_and(|code| code != 0)
        || first.starts_with(['"', '\'']) && !first.starts_with("\"0\"")
        || first.starts_with("f\"")
        || first.starts_with('-');
    !is_failure
}

fn place(above: &[Node<'_>], functions: &[&str], source: &str) -> Site {
    let outer: Vec<&Node<'_>> = above.iter().filter(|node| functions.contains(&node.kind())).collect();
    let named: Vec<String> =
        outer.iter().map(|node| field(**node, "name", source).to_lowercase()).filter(|name| !name.is_empty()).collect();
    let is_main = |name: &String| {
        MAIN.iter().any(|main| {
            name == main
                || name.starts_with(&format!("{main}_"))
                || name.ends_with(&format!("_{main}"))
                || (main.len() > 4 && name.contains(main))
        })
    };
    let is_test = named.first().is_some_and(|name| name.starts_with("test"));
    match (outer.is_empty(), named.is_empty()) {
        (true, _) => Site::Loaded,
        (false, _) if !is_test && named.iter().any(is_main) => Site::Main,
        // An anonymous callback that is created while the file is loaded.
        (false, true) => Site::Loaded,
        (false, false) => Site::Function,
    }
}

/// Returns the function that a call names; empty if the node is no call.
fn called(node: Node<'_>, source: &str, aliases: &Aliases) -> String {
    let is_call = matches!(node.kind(), "call" | "call_expression");
    if is_call { aliases.resolve(field(node, "function", source)) } else { String::new() }
}

fn python(tree: &Tree, source: &str, aliases: &Aliases) -> Vec<Exit> {
    let mut found = Vec::new();
    walk(tree.root_node(), |node, above| {
        let function = called(node, source, aliases);
        let function = function.as_str();
        let is_exit = ["sys.exit", "exit", "quit", "os.abort", "builtins.exit"].contains(&function)
            || function.ends_with("._exit")
            || (function == "os.kill" && text(node, source).contains("getpid"));
        let raises = node.kind() == "raise_statement" && text(node, source).starts_with("raise SystemExit");
        if is_exit || raises {
            let functions = ["function_definition", "lambda"];
            let is_guard = |node: &Node<'_>| {
                node.kind() == "if_statement" && field(*node, "condition", source).contains("__name__")
            };
            let expects = |node: &Node<'_>| {
                let head = text(*node, source).lines().next().unwrap_or("");
                node.kind() == "with_statement" && head.contains("SystemExit")
            };
            let place = match () {
                () if above.iter().any(is_guard) => Site::Main,
                () if above.iter().any(expects) => Site::Expected,
                () => place(above, &functions, source),
            };
            let arguments = node.child_by_field_name("arguments").map(children).unwrap_or_default();
            let mut words: Vec<&str> = arguments.iter().map(|argument| text(*argument, source)).collect();
            if raises {
                words = text(node, source)
                    .split_once('(')
                    .map(|(_, rest)| rest.trim_end_matches(')'))
                    .into_iter()
                    .collect();
            }
            let is_hard = function.ends_with("_exit") || ["os.kill", "os.abort"].contains(&function);
            found.push(exit(node, source, may_succeed(&words), is_hard, place));
            return false;
        }
        true
    });
    found
}

fn javascript(tree: &Tree, source: &str, aliases: &Aliases) -> Vec<Exit> {
    let functions = [
        "function_declaration",
        "function_expression",
        "arrow_function",
        "method_definition",
        "generator_function_declaration",
    ];
    let mut found = Vec::new();
    walk(tree.root_node(), |node, above| {
        let function = called(node, source, aliases);
        let function = [".call", ".apply"].iter().find_map(|end| function.strip_suffix(end)).unwrap_or(&function);
        let is_exit = ["process.exit", "process.reallyExit", "process.abort", "Deno.exit"].contains(&function)
            || (function == "process.kill" && text(node, source).contains("process.pid"));
        let sets = node.kind() == "assignment_expression"
            && aliases.resolve(field(node, "left", source)) == "process.exitCode";
        if is_exit || sets {
            let arguments = node.child_by_field_name("arguments").map(children).unwrap_or_default();
            let words: Vec<&str> = match sets {
                true => vec![field(node, "right", source)],
                false => arguments.iter().map(|argument| text(*argument, source)).collect(),
            };
            let is_guard = |node: &Node<'_>| {
                node.kind() == "if_statement"
                    && ["require.main", "import.meta"]
                        .iter()
                        .any(|main| field(*node, "condition", source).contains(main))
            };
            let place =
                if above.iter().any(is_guard) { Site::Main } else { place_of_javascript(above, &functions, source) };
            let is_hard = function == "process.reallyExit" || function == "process.abort" || function == "process.kill";
            found.push(exit(node, source, may_succeed(&words), is_hard, place));
            return false;
        }
        true
    });
    found
}

/// Returns the site of a call in JavaScript. A function assigned to a name counts under that name.
fn place_of_javascript(above: &[Node<'_>], functions: &[&str], source: &str) -> Site {
    let declared = above
        .iter()
        .filter(|node| node.kind() == "variable_declarator")
        .map(|node| field(*node, "name", source).to_lowercase());
    let declared: Vec<String> = declared.collect();
    match place(above, functions, source) {
        Site::Loaded if !declared.is_empty() && above.iter().any(|node| functions.contains(&node.kind())) => {
            if declared.iter().any(|name| MAIN.contains(&name.as_str())) { Site::Main } else { Site::Function }
        }
        place @ (Site::Loaded | Site::Main | Site::Function | Site::Expected) => place,
    }
}

fn rust(tree: &Tree, source: &str, aliases: &Aliases) -> Vec<Exit> {
    let mut found = Vec::new();
    walk(tree.root_node(), |node, above| {
        let function = called(node, source, aliases);
        let is_exit = function.ends_with("process::exit")
            || function.ends_with("process::abort")
            || function.ends_with("libc::_exit")
            || function.ends_with("libc::exit");
        if is_exit {
            let arguments = node.child_by_field_name("arguments").map(children).unwrap_or_default();
            let words: Vec<&str> = arguments.iter().map(|argument| text(*argument, source)).collect();
            let is_hard = function.contains("libc");
            let may_succeed = may_succeed(&words) && !function.ends_with("abort");
            found.push(exit(node, source, may_succeed, is_hard, place(above, &["function_item"], source)));
            return false;
        }
        true
    });
    found
}

fn exit(node: Node<'_>, source: &str, may_succeed: bool, is_hard: bool, place: Site) -> Exit {
    let code = squash(text(node, source)).chars().take(80).collect();
    Exit { code, range: node.byte_range(), may_succeed, is_hard, place }
}
