//! Unfinished code planted into files from other projects: measures how much of it `placeholder_scan` finds in a
//! change, and how much of it blocks.
//!
//! Each form is in the language that it is written in; the names in it are drawn from the file. A blocking finding
//! elsewhere in the change counts as wrong. Files that a tool has written are left out: the check blocks nothing in
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::built::is_built;
use super::half::is_in_half;
use super::library::files;
use super::mutate::Draw;
use super::peers::Line;
use super::session::{Session, findings};
use super::setup::Bench;
use crate::command::{command, output};

/// Number of files that each form is planted into.
const COPIES: usize = 3;
/// Sizes of such files, in bytes.
const SIZES: std::ops::Range<u64> = 400..40_000;

/// The ending, and the lines to append to the file; `@` stands for a name, and `>` begins the line that is to be
/// found.
const FORMS: &[(&str, &str)] = &[
    ("py", "def @(items):\n    \"\"\"Adds them up.\"\"\"\n>    ..."),
    ("py", "def @(items):\n>    raise NotImplementedError"),
    ("py", "def @(items):\n    \"\"\"Adds them up.\"\"\"\n>    raise NotImplementedError('not implemented yet')"),
    ("py", "def @(items):\n>    pass"),
    ("py", "def @(items):\n>    # TODO: implement this\n    return []"),
    ("py", "def @(items):\n>    # For now, just return True\n    return True"),
    ("py", "def @(items):\n    check(items)\n>    # ... rest unchanged"),
    ("py", "def @(items):\n>    # Simulate API call\n    time.sleep(1)\n    return {'id': 1}"),
    ("py", "def calculate_@(items):\n    \"\"\"Adds them up.\"\"\"\n>    return 0"),
    (
        "py",
        "class @Store:\n    def __init__(self):\n        self.all = {}\n\n    def find(self, key):\n        \"\"\"Finds one.\"\"\"\n>        ...",
    ),
    ("js", "function @(user) {\n>  throw new Error('Not implemented');\n}"),
    ("js", "function @(user) {\n>  // TODO: add the real validation\n  return true;\n}"),
    ("js", "function @(user) {\n  check(user);\n>  // ... existing code ...\n}"),
    ("js", "function @(user) {\n>  // In a real implementation this would ask the server\n  return { id: 1 };\n}"),
    (
        "js",
        "async function @(user) {\n>  // Simulate network delay\n  await new Promise((done) => setTimeout(done, 100));\n}",
    ),
    ("js", "class @Store {\n  save(user) {\n>    throw new Error('not implemented');\n  }\n}"),
    ("js", "function fetch@(user) {\n>  return [];\n}"),
    ("js", "function @(user) {\n>  // your code goes here\n}"),
    ("rs", "pub fn @(text: &str) -> String {\n>    todo!()\n}"),
    ("rs", "pub fn @(text: &str) -> String {\n>    unimplemented!(\"later\")\n}"),
    ("rs", "pub fn @(text: &str) -> String {\n>    // placeholder implementation\n    text.to_owned()\n}"),
    ("rs", "pub fn compute_@(text: &str) -> String {\n>    String::new()\n}"),
    ("rs", "pub fn @(text: &str) -> String {\n>    panic!(\"not yet implemented\")\n}"),
    ("rb", "def @(items)\n>  raise NotImplementedError\nend"),
    ("rb", "class @Cart\n  def total(items)\n>    raise NotImplementedError\n  end\nend"),
    ("rb", "def @(items)\n>  # rest stays the same\n  items\nend"),
    ("rb", ">def save_@(items)\nend"),
    ("go", "func @(line string) error {\n>\treturn errors.New(\"not implemented\")\n}"),
    ("go", "func @(line string) error {\n>\tpanic(\"not implemented\")\n}"),
    ("go", "func parse@(line string) error {\n>\treturn nil\n}"),
    ("go", "func @(line string) error {\n>\t// FIXME: handle the errors\n\treturn run(line)\n}"),
    ("cpp", "int @(int a) {\n>  throw std::runtime_error(\"not implemented\");\n}"),
    ("c", "int @(int a)\n{\n>\t/* TODO: implement */\n\treturn 0;\n}"),
    ("c", "int @(int a)\n{\n>\t/* hard-coded for now */\n\treturn 42;\n}"),
    ("php", "function @($user) {\n>    throw new \\Exception('Not implemented yet');\n}"),
    ("php", "function @($user) {\n>    // TODO: implement validation\n    return true;\n}"),
    (
        "java",
        "class @Store {\n  int find(String key) {\n>    throw new UnsupportedOperationException(\"Not implemented yet\");\n  }\n}",
    ),
    ("cs", "class @Store {\n  int Find(string key) {\n>    throw new NotImplementedException();\n  }\n}"),
    ("kt", "fun @(key: String): Int {\n>    TODO()\n}"),
    ("dart", "int @(String key) {\n>  throw UnimplementedError();\n}"),
    ("swift", "func @(key: String) -> Int {\n>    fatalError(\"not implemented\")\n}"),
    ("ts", "export function @(user: User): void {\n>  throw new Error(\"Method not implemented.\");\n}"),
    ("sh", "@() {\n>  # TODO: implement the clean-up\n  true\n}"),
];

/// Plants the forms, scans the files and compares.
pub(crate) fn measure(bench: &Bench<'_>) -> anyhow::Result<Value> {
    let folder = TempDir::new()?;
    let root = folder.path().canonicalize()?;
    let git = |args: &[&str]| output(command("git", &root).args(args));
    let mut draw = Draw(bench.args.seed ^ 0x0ff);
    let mut corpus = Corpus { bench, files: BTreeMap::new() };
    let (mut planted, mut changes) = (BTreeMap::new(), Vec::new());
    for (number, (ending, form)) in FORMS.iter().enumerate() {
        for (copy, text) in corpus.texts(ending).iter().enumerate() {
            let (lines, told) = lines(form, &name(text, &mut draw));
            let text = format!("{}\n", text.trim_end());
            let path = format!("case-{number}-{copy}/src/unit.{ending}");
            planted.insert((path.clone(), (text.lines().count() + 1 + told) as u64), *form);
            fs::create_dir_all(root.join(&path).parent().unwrap_or(&root))?;
            fs::write(root.join(&path), &text)?;
            changes.push((path, format!("{text}\n{lines}\n")));
        }
    }
    anyhow::ensure!(!planted.is_empty(), "no files to plant into");
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["add", "--all", "--force"])?;
    let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    git(&[who.as_slice(), &["commit", "--quiet", "--message=start"]].concat())?;
    for (path, text) in &changes {
        fs::write(root.join(path), text)?;
    }
    let told = told(bench, &root)?;
    let mut counts = Counts::default();
    for (line, form) in &planted {
        counts.add(told.get(line).copied());
        if bench.args.misses && told.get(line) != Some(&Told::Blocks) {
            let how = if told.contains_key(line) { "does not block" } else { "missed" };
            bench.say(&format!("unfinished code: {how}: {}: {}", line.0, form.replace('\n', "⏎")));
        }
    }
    let wrong = told.iter().filter(|(line, told)| **told == Told::Blocks && !planted.contains_key(*line));
    for ((path, line), _) in wrong {
        counts.wrong += 1;
        bench.say(&format!("unfinished code told wrongly: {path}:{line}"));
    }
    let forms: BTreeSet<&str> = planted.values().copied().collect();
    bench.say(&format!("unfinished code: {} of {} forms, {}", forms.len(), FORMS.len(), counts.to_json()));
    Ok(counts.to_json())
}

/// How heavy a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    Listed,
    Asks,
    Blocks,
}

/// Counts of planted code by how it was told, and of blocking findings elsewhere.
#[derive(Debug, Default)]
struct Counts {
    planted: usize,
    found: usize,
    asks: usize,
    blocks: usize,
    wrong: usize,
}

// === impl Counts ===

impl Counts {
    /// Counts a planted line.
    fn add(&mut self, told: Option<Told>) {
        self.planted += 1;
        self.found += usize::from(told.is_some());
        self.asks += usize::from(told == Some(Told::Asks));
        self.blocks += usize::from(told == Some(Told::Blocks));
    }

    fn to_json(&self) -> Value {
        let share = |part: usize| (part as f64 / self.planted.max(1) as f64 * 10_000.0).round() / 10_000.0;
        json!({
            "planted": self.planted,
            "found": self.found,
            "asks": self.asks,
            "blocks": self.blocks,
            "wrong": self.wrong,
            "found_share": share(self.found),
            "blocks_share": share(self.blocks),
        })
    }
}

/// Fills a form with a name; also returns the number of the line that is to be found.
fn lines(form: &str, name: &str) -> (String, usize) {
    let at = form.lines().position(|line| line.starts_with('>')).unwrap_or(0);
    let lines: Vec<String> =
        form.lines().map(|line| line.strip_prefix('>').unwrap_or(line).replace('@', name)).collect();
    (lines.join("\n"), at + 1)
}

/// Draws one of the words of a file.
fn name(text: &str, draw: &mut Draw) -> String {
    let words: BTreeSet<&str> = text
        .split(|c: char| !c.is_ascii_alphabetic())
        .filter(|word| (5..=12).contains(&word.len()) && word.chars().all(|c| c.is_ascii_lowercase()))
        .collect();
    let word = words.iter().nth(draw.below(words.len().max(1))).copied().unwrap_or("total");
    format!("{word}Part")
}

/// Files to plant into, by ending.
struct Corpus<'a> {
    bench: &'a Bench<'a>,
    files: BTreeMap<&'static str, Vec<PathBuf>>,
}

// === impl Corpus ===

impl Corpus<'_> {
    /// Takes the next files with an ending and returns their texts.
    fn texts(&mut self, ending: &'static str) -> Vec<String> {
        let args = self.bench.args;
        let all = self.files.entry(ending).or_insert_with(|| {
            let home = std::env::home_dir().unwrap_or_default();
            let machine =
                ["/usr/lib/node_modules", "/usr/lib/python3", "/usr/lib/ruby", "/usr/share"].map(PathBuf::from);
            let mine = [home.join(".cargo/registry/src"), home.join(".pyenv/versions")];
            let folders = args.files_of.iter().chain(&mine).chain(&machine);
            let all = folders.filter_map(|folder| files(folder, ending).ok()).flatten();
            let fits = |path: &PathBuf| path.metadata().is_ok_and(|file| SIZES.contains(&file.len()));
            all.filter(|path| is_in_half(path, args.seed, args.other_half)).filter(fits).collect()
        });
        take(all, ending, args.seed as usize)
    }
}

/// Takes some hand-written files of these, far apart from each other, so that they come from several packages.
fn take(all: &mut Vec<PathBuf>, ending: &str, seed: usize) -> Vec<String> {
    let step = (all.len() / COPIES).max(1);
    let written = |path: &PathBuf| {
        let text = fs::read_to_string(path).ok().filter(|text| !is_built(ending, text))?;
        Some((path.clone(), text))
    };
    let parts = all.chunks(step).take(COPIES);
    // Begins at the drawn file and wraps around to the part's beginning.
    let of_part = |part: &[PathBuf]| {
        let (before, from) = part.split_at(seed % step % part.len());
        from.iter().chain(before).find_map(written)
    };
    let (taken, texts): (Vec<_>, Vec<_>) = parts.filter_map(of_part).unzip();
    all.retain(|path| !taken.contains(path));
    texts
}

/// Checks the change and returns the heaviest finding of each line.
fn told(bench: &Bench<'_>, root: &Path) -> anyhow::Result<BTreeMap<Line, Told>> {
    let mut session = Session::start(&bench.binary, root)?;
    let request = json!({ "root": root, "base": { "rev": "HEAD" }, "only": ["placeholder_scan"] });
    let reply = session.ask(&request)?;
    let mut lines = BTreeMap::new();
    for finding in findings(&reply).filter(|finding| finding["is_new"] == true) {
        let told = match (finding["blocks"] == true, finding["severity"].as_str()) {
            (true, _) => Told::Blocks,
            (false, Some("medium")) => Told::Asks,
            (false, _) => Told::Listed,
        };
        let at = finding["path"].as_str().zip(finding["span"]["start_line"].as_u64());
        let (path, line) = at.context("a finding without a place")?;
        let heaviest = lines.entry((path.to_owned(), line)).or_insert(told);
        *heaviest = told.max(*heaviest);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_taken_once_and_none_that_a_tool_has_written() {
        let folder = TempDir::new().unwrap();
        let mut all = Vec::new();
        for number in 0..9 {
            let banner = if number % 3 == 0 { "" } else { "// Code generated by x. DO NOT EDIT.\n" };
            let path = folder.path().join(format!("{number}.go"));
            fs::write(&path, format!("{banner}package p{number}\n")).unwrap();
            all.push(path);
        }

        assert_eq!(take(&mut all, "go", 1), ["package p0\n", "package p3\n", "package p6\n"]);
        assert_eq!(take(&mut all, "go", 1), <[String; 0]>::default());
        assert_eq!(all.len(), 6);
    }

    #[test]
    fn every_form_marks_the_line_that_is_to_be_found_and_takes_a_name() {
        for (ending, form) in FORMS {
            let (text, at) = lines(form, "total");

            assert_eq!(form.lines().filter(|line| line.starts_with('>')).count(), 1, "{ending}: {form}");
            assert!(text.contains("total") && at > 0, "{ending}: {form}");
        }
    }

    #[test]
    fn what_is_found_and_what_blocks_are_counted_apart() {
        let mut counts = Counts::default();
        for told in [None, Some(Told::Listed), Some(Told::Asks), Some(Told::Blocks)] {
            counts.add(told);
        }

        let object = counts.to_json();

        assert_eq!((&object["found"], &object["asks"], &object["blocks"]), (&json!(3), &json!(1), &json!(1)));
        assert_eq!((&object["found_share"], &object["blocks_share"]), (&json!(0.75), &json!(0.25)));
    }
}
