//! `cargo xtask words`: finds the words that `docs/glossary.md` rules out.

mod glossary;
mod scan;

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use self::glossary::Glossary;
use crate::command::{command, output};

/// Page with the table of ruled-out words.
const PAGE: &str = "docs/glossary.md";
/// Endings of the files that are searched.
const ENDINGS: [&str; 10] = ["rs", "md", "toml", "sh", "ts", "mjs", "js", "rego", "json", "yml"];
/// Files that are not searched: generated files, and third-party licence texts.
const LEFT_OUT: [&str; 3] = [PAGE, "package-lock.json", "LICENSE-"];

/// One use of a word that the glossary rules out.
pub(crate) struct Use {
    /// Text of a report line: file, line and the word to write instead.
    text: String,
}

/// Prints every use of a word that the glossary rules out.
///
/// # Errors
/// When there is one, or a file can't be read.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let uses = uses(root)?;
    for found in &uses {
        println!("{}", found.text);
    }
    anyhow::ensure!(uses.is_empty(), "{} words that {PAGE} rules out", uses.len());
    println!("words: the tree keeps to {PAGE}");
    Ok(())
}

/// Returns every use of a word that the glossary rules out, by file and line.
///
/// # Errors
/// When git or a file can't be read.
pub(crate) fn uses(root: &Path) -> anyhow::Result<Vec<Use>> {
    let glossary = Glossary::parse(&fs::read_to_string(root.join(PAGE)).context(PAGE)?)?;
    let listed = output(command("git", root).args(["ls-files", "-co", "--exclude-standard", "-z"]))?;
    let listed = String::from_utf8(listed).context("git ls-files printed a path that is not UTF-8")?;
    let mut found = Vec::new();
    let mut definitions = scan::Definitions::default();
    for path in listed.split('\0').filter(|path| is_searched(path)) {
        let Ok(text) = fs::read_to_string(root.join(path)) else { continue };
        for (line, word, instead) in scan::uses(&glossary, &text) {
            found.push(Use { text: format!("{path}:{line}: {word} (say {instead})") });
        }
        if path.ends_with(".rs") {
            definitions.add(&glossary, path, &text);
        }
    }
    found.extend(definitions.repeated().into_iter().map(|text| Use { text }));
    Ok(found)
}

fn is_searched(path: &str) -> bool {
    let ending = path.rsplit('.').next().unwrap_or_default();
    ENDINGS.contains(&ending) && !LEFT_OUT.iter().any(|left_out| path.contains(left_out))
}
