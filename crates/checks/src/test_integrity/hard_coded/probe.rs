//! A test file that calls functions of a project as its tests do and records what they return; the project's test
//! runner runs it.

use std::path::Path;

use switchboard_syntax::Parsers;
use tree_sitter::Tree;

use super::super::language::TestLanguage;
use super::super::node::{children, text};
use super::super::rust;
use super::super::suite::Suite;

/// Name of the file, without folder and ending.
const NAME: &str = "switchboard_probe";

/// A file to write, and its text.
pub(super) struct Probe {
    pub(super) path: String,
    pub(super) text: String,
}

/// Makes the probe for the calls of a test file; returns `None` where the file has no place for one.
pub(super) fn of(suite: &Suite, kind: TestLanguage, calls: &[&str], results: &Path) -> Option<Probe> {
    let tree = suite.tree.as_ref()?;
    let results = format!("{:?}", results.to_str()?);
    let (folder, ending) = (folder(&suite.path), suite.path.rsplit('.').next()?);
    match kind {
        TestLanguage::Python => Some(Probe {
            path: format!("{folder}test_{NAME}.py"),
            text: python(&imports(tree, &suite.text, kind), calls, &results),
        }),
        TestLanguage::JavaScript => Some(Probe {
            path: format!("{folder}{NAME}.test.{ending}"),
            text: javascript(&imports(tree, &suite.text, kind), calls, &results),
        }),
        TestLanguage::Rust => of_rust(suite, tree, calls, &results),
    }
}

fn folder(path: &str) -> String {
    path.rsplit_once('/').map_or_else(String::new, |(folder, _)| format!("{folder}/"))
}

/// Returns the import statements at the top of a test file.
fn imports(tree: &Tree, source: &str, kind: TestLanguage) -> Vec<String> {
    let is_import = |node_kind: &str, code: &str| match kind {
        TestLanguage::Python => node_kind.starts_with("import") || code.starts_with("sys.path"),
        TestLanguage::JavaScript => {
            node_kind == "import_statement" || (node_kind.ends_with("declaration") && code.contains("require("))
        }
        TestLanguage::Rust => ["use_declaration", "extern_crate_declaration", "mod_item"].contains(&node_kind),
    };
    let nodes = children(tree.root_node()).into_iter();
    nodes
        .map(|node| (node.kind(), text(node, source)))
        .filter(|(kind, code)| is_import(kind, code))
        .map(|(_, code)| code.to_owned())
        .collect()
}

fn python(imports: &[String], calls: &[&str], results: &str) -> String {
    let mut text = imports.join("\n");
    text.push_str(&format!(
        "\n\n\ndef _probe(number, call):\n    try:\n        value = repr(call())\n    except BaseException as error:\n        value = \"!\" + type(error).__name__\n    with open({results}, \"a\") as out:\n        out.write(f\"{{number}}\\t{{value}}\\n\")\n\n\n"
    ));
    for (number, call) in calls.iter().enumerate() {
        text.push_str(&format!("_probe({number}, lambda: {call})\n"));
    }
    text
}

fn javascript(imports: &[String], calls: &[&str], results: &str) -> String {
    let is_module = imports.iter().any(|code| code.starts_with("import"));
    let put = if is_module {
        "import { appendFileSync as __put } from \"node:fs\";"
    } else {
        "const { appendFileSync: __put } = require(\"node:fs\");"
    };
    let mut text = format!("{}\n{put}\n", imports.join("\n"));
    text.push_str(&format!(
        "const __probe = (number, call) => {{\n  let value;\n  try {{\n    value = JSON.stringify(call()) ?? \"undefined\";\n  }} catch (error) {{\n    value = \"!\" + (error && error.name);\n  }}\n  __put({results}, number + \"\\t\" + value + \"\\n\");\n}};\n"
    ));
    for (number, call) in calls.iter().enumerate() {
        text.push_str(&format!("__probe({number}, () => {call});\n"));
    }
    text
}

/// Makes a separate test beside those of `tests/`, or another test in the test module of a source file.
fn of_rust(suite: &Suite, tree: &Tree, calls: &[&str], results: &str) -> Option<Probe> {
    let mut test = String::from("#[test]\nfn switchboard_probe() {\n    use std::io::Write as _;\n");
    test.push_str(&format!(
        "    fn probe(number: usize, call: impl FnOnce() -> String + std::panic::UnwindSafe) {{\n        let value = std::panic::catch_unwind(call).unwrap_or_else(|_| \"!panic\".to_owned());\n        let file = std::fs::OpenOptions::new().create(true).append(true).open({results});\n        if let Ok(mut file) = file {{\n            let _ = writeln!(file, \"{{number}}\\t{{value}}\");\n        }}\n    }}\n"
    ));
    for (number, call) in calls.iter().enumerate() {
        test.push_str(&format!("    probe({number}, || format!(\"{{:?}}\", {call}));\n"));
    }
    test.push_str("}\n");
    if let Some(folder) = suite.path.strip_suffix(&format!("tests/{}", file_name(&suite.path))) {
        let uses = imports(tree, &suite.text, TestLanguage::Rust).join("\n");
        let text = format!("#![allow(warnings)]\n{uses}\n{test}");
        return Some(Probe { path: format!("{folder}tests/{NAME}.rs"), text });
    }
    let (_, module) = rust::test_modules(tree, &suite.text).into_iter().next()?;
    let (before, after) = suite.text.split_at_checked(module.end.checked_sub(1)?)?;
    Some(Probe { path: suite.path.clone(), text: format!("{before}\n{test}{after}") })
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Adds the same probe to the test module of another version of the source file, if the probe is in a source file.
pub(super) fn in_other_text(
    path: &str,
    text: String,
    calls: &[&str],
    results: &Path,
    parsers: &mut Parsers,
) -> Option<Probe> {
    let (kind, language) = TestLanguage::of(path)?;
    let suite = Suite::read(path, text, (kind, language), true, parsers)?;
    of(&suite, kind, calls, results)
}
