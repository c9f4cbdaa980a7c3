//! `cargo xtask bench gates`: compares the checks with their peers and with compilers, on code that most machines have.
//!
//! A tool that the machine lacks is skipped with a line, and its key is `null`.

mod built;
mod commits;
mod compilers;
mod generated;
mod half;
mod held;
mod labelled;
mod library;
mod mutate;
mod new_files;
mod peers;
mod score;
pub(super) mod session;
mod setup;
mod skipped;
mod speed;
mod syntax;
mod unfinished;

use std::path::Path;

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use super::stats::rounded;
use library::Library;
pub(crate) use setup::Args;
use setup::Bench;

/// Measures and prints the figures.
///
/// # Errors
/// When the binary is missing or does not answer.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let binary = args.binary.clone().unwrap_or_else(|| root.join("target/release/switchboard"));
    let missing = || format!("{}: build it: cargo build --release", binary.display());
    let binary = binary.canonicalize().with_context(missing)?;
    let bench = Bench { args, binary, peers: root.join("target/bench-peers") };
    let mut report = Map::new();
    let library = Library::new();
    match &library {
        Ok(library) => measure_library(&bench, library, &mut report)?,
        Err(error) => bench.say(&format!("CPython's library: skipped: {error:#}")),
    }
    if bench.wants(&["secrets_planted"]) {
        report.insert("secrets_planted".into(), labelled::measure(&bench, library.as_ref().ok())?);
    }
    if bench.wants(&["secrets_generated"]) {
        report.insert("secrets_generated".into(), generated::measure(&bench)?);
    }
    if bench.wants(&["skipped_code_files_passed"]) {
        report.insert("skipped_code_files_passed".into(), skipped::measure(&bench)?);
    }
    if bench.wants(&["placeholders_planted"]) {
        report.insert("placeholders_planted".into(), unfinished::measure(&bench)?);
    }
    if bench.wants(&["commits_blocked"]) {
        report.insert("commits_blocked".into(), commits::measure(&bench, root)?);
    }
    if bench.wants(&["syntax"]) {
        report.insert("syntax".into(), syntax::measure(&bench)?);
    }
    if bench.wants(&["new_file_blocks_per_1k", "new_file_bracket_recall"]) {
        measure_new_files(&bench, &mut report)?;
    }
    let missed = if args.hold { held::missed(&args.only, &report) } else { Vec::new() };
    println!("{}", Value::Object(report));
    anyhow::ensure!(missed.is_empty(), "limits are missed: {}", missed.join("; "));
    Ok(())
}

fn measure_new_files(bench: &Bench<'_>, report: &mut Map<String, Value>) -> anyhow::Result<()> {
    let measured = new_files::measure(bench)?;
    report.insert("new_file_blocks_per_1k".into(), Value::Object(measured.blocks_per_1k));
    report.insert("new_file_bracket_recall".into(), Value::Object(measured.bracket_recall));
    Ok(())
}

fn measure_library(bench: &Bench<'_>, library: &Library, report: &mut Map<String, Value>) -> anyhow::Result<()> {
    if bench.wants(&["secrets_vs_kingfisher"]) {
        report.insert("secrets_vs_kingfisher".into(), number(speed::against_kingfisher(bench, library)?));
    }
    if bench.wants(&["changed20_ms", "pre_check_ms"]) {
        let (changed, batch) = speed::changed_files(bench, library)?;
        report.insert("changed20_ms".into(), json!(rounded(changed)));
        report.insert("pre_check_ms".into(), number(batch));
    }
    if bench.wants(&["clean_findings_per_10k", "clean_blocks_per_10k"]) {
        let (findings, blocking, lines) = library.findings(bench)?;
        let per_10k = |findings: usize| json!(rounded(findings as f64 * 10_000.0 / lines.max(1) as f64));
        report.insert("clean_findings_per_10k".into(), per_10k(findings));
        report.insert("clean_blocks_per_10k".into(), per_10k(blocking));
        bench.say(&format!("CPython's library: {findings} findings, {blocking} of them block, in {lines} lines"));
    }
    Ok(())
}

fn number(value: Option<f64>) -> Value {
    value.map_or(Value::Null, |value| json!(rounded(value)))
}
