//! `cargo xtask bench gates`: the checks against their peers and against compilers, on code that most machines have.
//!
//! What a machine lacks is skipped with a line, and its key is `null`.

mod compilers;
mod generated;
mod labelled;
mod library;
mod mutate;
mod new_files;
mod peers;
mod session;
mod skipped;
mod speed;
mod syntax;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use super::stats::rounded;
use library::Library;

/// How to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print only the JSON object
    #[arg(long)]
    json: bool,
    /// The binary; `target/release/switchboard` when left out
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Rounds of each timed run
    #[arg(long, default_value_t = 7)]
    runs: u32,
    /// Changed files for each language
    #[arg(long, default_value_t = 300)]
    samples: usize,
    /// What the changes and the planted secrets are drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the planted secrets that were missed and what was told wrongly
    #[arg(long)]
    misses: bool,
    /// Measure only what was planted
    #[arg(long)]
    only_planted: bool,
    /// Plant the generated secrets into the half of the files that is for mending, not for measuring
    #[arg(long)]
    other_half: bool,
    /// Measure only how many published files would be blocked as new ones
    #[arg(long)]
    only_new_files: bool,
    /// Install no peer and no compiler; measure only with what is there
    #[arg(long)]
    offline: bool,
}

/// What all measurements share.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    args: &'a Args,
    binary: PathBuf,
    /// Where peers are installed, kept for the next run.
    peers: PathBuf,
}

/// Measures and prints.
///
/// # Errors
/// When the binary is missing or does not answer.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let binary = args.binary.clone().unwrap_or_else(|| root.join("target/release/switchboard"));
    let missing = || format!("{}: build it: cargo build --release", binary.display());
    let binary = binary.canonicalize().with_context(missing)?;
    let bench = Bench { args, binary, peers: root.join("target/bench-peers") };
    let mut report = Map::new();
    if args.only_new_files {
        report.insert("new_file_blocks_per_1k".into(), new_files::measure(&bench)?);
        println!("{}", Value::Object(report));
        return Ok(());
    }
    let library = Library::new();
    match &library {
        Ok(library) if !args.only_planted => bench.measure_library(library, &mut report)?,
        Ok(_) => {}
        Err(error) => bench.say(&format!("CPython's library: skipped: {error:#}")),
    }
    report.insert("secrets_planted".into(), labelled::measure(&bench, library.as_ref().ok())?);
    report.insert("secrets_generated".into(), generated::measure(&bench)?);
    report.insert("skipped_code_files_passed".into(), skipped::measure(&bench)?);
    if !args.only_planted {
        report.insert("syntax".into(), syntax::measure(&bench)?);
        report.insert("new_file_blocks_per_1k".into(), new_files::measure(&bench)?);
    }
    println!("{}", Value::Object(report));
    Ok(())
}

// === impl Bench ===

impl Bench<'_> {
    /// Says something to a person; with `--json` on standard error, so that the object stands alone.
    fn say(&self, line: &str) {
        if self.args.json {
            eprintln!("{line}");
        } else {
            println!("{line}");
        }
    }

    fn measure_library(&self, library: &Library, report: &mut Map<String, Value>) -> anyhow::Result<()> {
        report.insert("secrets_vs_kingfisher".into(), number(speed::against_kingfisher(self, library)?));
        let (changed, batch) = speed::changed_files(self, library)?;
        report.insert("changed20_ms".into(), json!(rounded(changed)));
        report.insert("pre_check_ms".into(), number(batch));
        let (findings, lines) = library.findings(self)?;
        let per_10k = findings as f64 * 10_000.0 / lines.max(1) as f64;
        report.insert("clean_findings_per_10k".into(), json!(rounded(per_10k)));
        self.say(&format!("CPython's library: {findings} findings in {lines} lines"));
        Ok(())
    }
}

fn number(value: Option<f64>) -> Value {
    value.map_or(Value::Null, |value| json!(rounded(value)))
}

/// How often something was found, missed, or told wrongly.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Score {
    found: usize,
    missed: usize,
    wrong: usize,
}

// === impl Score ===

impl Score {
    fn count(&mut self, is_told: bool, is_true: bool) {
        match (is_told, is_true) {
            (true, true) => self.found += 1,
            (false, true) => self.missed += 1,
            (true, false) => self.wrong += 1,
            (false, false) => {}
        }
    }

    fn recall(self) -> f64 {
        share(self.found, self.missed)
    }

    fn precision(self) -> f64 {
        share(self.found, self.wrong)
    }

    fn to_json(self) -> Value {
        let (recall, precision) = (self.recall(), self.precision());
        let f1 = 2.0 * recall * precision / (recall + precision).max(f64::MIN_POSITIVE);
        let exact = |value: f64| (value * 10_000.0).round() / 10_000.0;
        json!({
            "recall": exact(recall),
            "precision": exact(precision),
            "f1": exact(f1),
            "found": self.found,
            "missed": self.missed,
            "wrong": self.wrong,
        })
    }
}

fn share(yes: usize, no: usize) -> f64 {
    if yes + no == 0 { 1.0 } else { yes as f64 / (yes + no) as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_counts_what_is_told_and_what_is_true() {
        let mut score = Score::default();
        for (is_told, is_true, times) in [(true, true, 3), (false, true, 1), (true, false, 1), (false, false, 9)] {
            (0..times).for_each(|_| score.count(is_told, is_true));
        }

        assert_eq!(score, Score { found: 3, missed: 1, wrong: 1 });
        assert_eq!(score.to_json()["f1"], json!(0.75));
    }
}
