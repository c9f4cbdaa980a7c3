//! Credentials planted into files from other projects: the packages, settings and manuals of this machine.
//!
//! The position of a credential, its name and the text around it come from the files themselves; only the value and the
//! form of the statement are drawn. Half of the files, chosen by a hash of their paths and the seed, is measured; the
//! other half is for improving a detector (`--other-half`). A finding of a scanner elsewhere in these files counts as
//! wrong.

mod form;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::half::is_in_half;
use super::library::files;
use super::mutate::Draw;
use super::peers::Line;
use super::score::Score;
use super::session::{Session, findings};
use super::setup::Bench;
use form::Form;

/// Number of files that credentials are planted into, for each ending.
const FILES: usize = 120;
/// Sizes of such files, in bytes.
const SIZES: std::ops::Range<u64> = 400..60_000;
/// Endings, and the folders where such files are found on a machine with Rust, Python, Node or Debian's documents.
const ENDINGS: &[&str] =
    &["py", "js", "rs", "rb", "go", "sh", "md", "yml", "yaml", "json", "toml", "xml", "conf", "properties", "ini", "c"];

/// A planted line, and whether it is a credential.
struct Planted {
    path: String,
    line: usize,
    is_secret: bool,
    form: &'static str,
}

/// Plants the lines, scans the files and compares.
pub(crate) fn measure(bench: &Bench<'_>) -> anyhow::Result<Value> {
    let folder = TempDir::new()?;
    let root = folder.path().canonicalize()?;
    let mut draw = Draw(bench.args.seed ^ 0x5eed);
    let corpus = Corpus::of_machine(bench.args.seed, bench.args.other_half);
    let planted = plant(&root, &corpus, &mut draw)?;
    anyhow::ensure!(!planted.is_empty(), "no files to plant into");
    let told = reported_lines(bench, &root, &planted)?;
    let (score, by_form) = score(&planted, &told);
    for (form, score) in &by_form {
        bench.say(&format!("secrets generated, {form}: {}", score.to_json()));
    }
    bench.say(&format!("secrets generated: {} files, {}", corpus.count(), score.to_json()));
    if bench.args.misses {
        say_misses(bench, &root, &planted, &told)?;
    }
    Ok(score.to_json())
}

/// Files of this machine, by ending.
struct Corpus(BTreeMap<&'static str, Vec<PathBuf>>);

// === impl Corpus ===

impl Corpus {
    fn of_machine(seed: u64, other_half: bool) -> Self {
        let home = std::env::home_dir().unwrap_or_default();
        let python = ["/usr/lib/python3", "/usr/lib/python3.11", "/usr/share"].map(PathBuf::from);
        let folders = [
            home.join(".cargo/registry/src"),
            home.join(".pyenv/versions"),
            PathBuf::from("/usr/lib/node_modules"),
            PathBuf::from("/etc"),
        ];
        let is_mine = |path: &PathBuf| is_in_half(path, seed, other_half);
        let mut corpus = BTreeMap::new();
        for ending in ENDINGS {
            let all = folders.iter().chain(&python).filter_map(|folder| files(folder, ending).ok()).flatten();
            let fits = |path: &PathBuf| path.metadata().is_ok_and(|file| SIZES.contains(&file.len()));
            let mut all: Vec<PathBuf> = all.filter(is_mine).filter(fits).collect();
            // A fixed order that differs from that of the folders.
            all.sort_by_cached_key(|path| {
                let mut hash = DefaultHasher::new();
                (seed, path).hash(&mut hash);
                hash.finish()
            });
            all.truncate(FILES);
            corpus.insert(*ending, all);
        }
        Self(corpus)
    }

    fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

/// Writes each file with one credential or one look-alike in it, in a folder that shows its kind.
fn plant(root: &Path, corpus: &Corpus, draw: &mut Draw) -> anyhow::Result<Vec<Planted>> {
    let mut planted = Vec::new();
    for (ending, files) in &corpus.0 {
        for (number, file) in files.iter().enumerate() {
            let Ok(text) = fs::read_to_string(file) else { continue };
            let words = words(&text);
            let form = Form::drawn(ending, draw);
            let is_secret = draw.below(3) > 0;
            let folder = ["src", "tests", "lib", "deploy"][draw.below(4)];
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or("file");
            let path = format!("case-{ending}-{number}/{folder}/{name}");
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let at = place(&lines, draw);
            let indent: String =
                lines.get(at).into_iter().flat_map(|line| line.chars()).take_while(|c| *c == ' ').collect();
            lines.insert(at, format!("{indent}{}", form.line(&words, is_secret, draw)));
            let full = root.join(&path);
            fs::create_dir_all(full.parent().unwrap_or(root))?;
            fs::write(&full, lines.join("\n") + "\n")?;
            planted.push(Planted { path, line: at + 1, is_secret, form: form.name });
        }
    }
    Ok(planted)
}

/// Draws a line to plant before: a line with text on it, where a statement begins.
fn place(lines: &[String], draw: &mut Draw) -> usize {
    let fits =
        |at: &usize| !lines[*at].trim().is_empty() && !lines[*at].trim_start().starts_with(['*', '"', '\'', '/']);
    (0..20).map(|_| draw.below(lines.len())).find(|at| lines.get(*at).is_some() && fits(at)).unwrap_or(0)
}

/// Returns the names in a text, from which the planted ones are made.
fn words(text: &str) -> Vec<String> {
    let names = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_name =
        |word: &&str| (4..=14).contains(&word.len()) && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let found: BTreeSet<String> = names.filter(is_name).map(|word| word.trim_matches('_').to_owned()).collect();
    found.into_iter().filter(|word| !word.is_empty()).take(400).collect()
}

/// Scans the planted files in groups: a report lists a thousand findings at most.
fn reported_lines(bench: &Bench<'_>, root: &Path, planted: &[Planted]) -> anyhow::Result<BTreeSet<Line>> {
    /// Number of files in a group; each has about two planted lines.
    const AT_ONCE: usize = 200;
    let paths: BTreeSet<&str> = planted.iter().map(|one| one.path.as_str()).collect();
    let paths: Vec<&str> = paths.into_iter().collect();
    let mut session = Session::start(&bench.binary, root)?;
    let mut told = BTreeSet::new();
    for paths in paths.chunks(AT_ONCE) {
        let question = json!({ "root": root, "base": "none", "only": ["secretscan"], "paths": paths });
        let reply = session.ask(&question)?;
        let left_out = reply["reports"][0]["findings_left_out"].as_u64().context("no report of secretscan")?;
        anyhow::ensure!(left_out == 0, "{left_out} findings were left out");
        told.extend(findings(&reply).filter_map(|finding| {
            Some((finding["path"].as_str()?.to_owned(), finding["span"]["start_line"].as_u64()?))
        }));
    }
    Ok(told)
}

fn score(planted: &[Planted], told: &BTreeSet<Line>) -> (Score, BTreeMap<&'static str, Score>) {
    let (mut all, mut by_form) = (Score::default(), BTreeMap::<_, Score>::new());
    let mut known = BTreeSet::new();
    for one in planted {
        let line = (one.path.clone(), one.line as u64);
        all.count(told.contains(&line), one.is_secret);
        by_form.entry(one.form).or_default().count(told.contains(&line), one.is_secret);
        known.insert(line);
    }
    told.iter().filter(|line| !known.contains(line)).for_each(|_| {
        all.count(true, false);
        by_form.entry("elsewhere").or_default().count(true, false);
    });
    (all, by_form)
}

fn say_misses(bench: &Bench<'_>, root: &Path, planted: &[Planted], told: &BTreeSet<Line>) -> anyhow::Result<()> {
    let of = |one: &Planted| (one.path.clone(), one.line as u64);
    let secrets: BTreeSet<Line> = planted.iter().filter(|one| one.is_secret).map(of).collect();
    let all = secrets.difference(told).map(|line| ("missed", line));
    for (what, (path, number)) in all.chain(told.difference(&secrets).map(|line| ("wrong", line))) {
        let text = fs::read_to_string(root.join(path))?;
        let line = text.lines().nth(usize::try_from(*number)?.saturating_sub(1)).unwrap_or_default();
        bench.say(&format!("{what}: {path}: {}", line.trim().chars().take(160).collect::<String>()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_beside_the_planted_lines_is_wrong() {
        let planted = [("a", true), ("b", true), ("c", false)].map(|(path, is_secret)| Planted {
            path: path.into(),
            line: 3,
            is_secret,
            form: "x",
        });
        let told = [("a".into(), 3), ("c".into(), 3), ("d".into(), 1)].into();

        let (score, _) = score(&planted, &told);

        assert_eq!(score, Score { found: 1, missed: 1, wrong: 2 });
    }

    #[test]
    fn every_form_writes_a_line_for_every_ending() {
        let mut draw = Draw(7);
        for ending in ENDINGS {
            for _ in 0..200 {
                let is_secret = draw.below(2) == 0;
                let line = Form::drawn(ending, &mut draw).line(&["server".into()], is_secret, &mut draw);
                assert!(!line.is_empty() && !line.contains('\n'), "{line}");
            }
        }
    }
}
