//! `cargo xtask bench team`: checks whether agents can cheat the gates of a run.
//!
//! Scripted agents play the known cheats in three small projects, and make honest changes to tests, configuration and
//! build files. Each case is a separate real run; changes that merge without a person are counted. The control is the
//! bare exit code of the test command on the same trees.

mod corpus;
mod example;
mod machine;
mod play;
mod stage_a;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::json;

use self::corpus::{Case, Corpus, Kind};
use self::play::{Outcome, Played};
use super::binary::Binary;
use super::report::Report;
use crate::parallel;

/// The cheat that is reported and not held: to restore an earlier version is often right.
const REPORTED_CHEAT: &str = "takes-the-fix-out-of-the-history";

/// Options of the measurement.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print only the JSON object
    #[arg(long)]
    json: bool,
    /// Play only cases whose names (`python/cheat/edits-a-test`) hold one of these; `way` measures the cost of a team's
    /// way
    #[arg(long, value_name = "TEXT", value_delimiter = ',')]
    only: Vec<String>,
    /// Path of the binary; default a release build of this tree
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Number of runs at once
    #[arg(long, default_value_t = 2)]
    lanes: usize,
}

/// Measures and prints the figures.
///
/// # Errors
/// When a case can't be played at all.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let binary = Binary::new(root, args.binary.as_deref()).path()?;
    let corpora = Corpus::read_all(&root.join("tests/cheats"))?;
    let cases: Vec<(&Corpus, &Case)> =
        corpora.iter().flat_map(|corpus| corpus.cases.iter().map(move |case| (corpus, case))).collect();
    let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|part| name.contains(part.as_str()));
    let cases: Vec<_> = cases.into_iter().filter(|(corpus, case)| wanted(&corpus.name_of(case))).collect();
    let is_way = args.only.is_empty() || args.only.iter().any(|part| part == "way");
    anyhow::ensure!(is_way || !cases.is_empty(), "no case has a name with {}", args.only.join(" or "));
    let played = play_all(&binary, &cases, args)?;
    let mut report = Report::new(args.json);
    if !cases.is_empty() {
        figures(&mut report, &cases, &played);
    }
    if is_way {
        of_way(&mut report, &binary)?;
    }
    report.print();
    Ok(())
}

/// Measures the cost of a team's way besides its agents and the repository's commands.
fn of_way(report: &mut Report, binary: &Path) -> anyhow::Result<()> {
    let (step_us, steps) = machine::step_us()?;
    report.row(
        "step_us",
        step_us,
        &format!("a step of the machine with 1,000 tasks: {step_us:.1} µs of {steps} steps"),
    );
    let stage_a_ms = stage_a::stage_a_ms(binary)?;
    report.row("stage_a_ms", stage_a_ms, &format!("the checks before the review, 20 files, warm: {stage_a_ms:.0} ms"));
    let told = example::measure(binary)?;
    let example::Figures { example_team_s, step_overhead_ms, prompt_tokens_coder, prompt_tokens_architect, .. } = told;
    report.row(
        "step_overhead_ms",
        step_overhead_ms,
        &format!("from an answer to the next step: {step_overhead_ms:.0} ms"),
    );
    let line = format!("the longest prompt of a coder: {prompt_tokens_coder:.0} tokens");
    report.row("prompt_tokens_coder", prompt_tokens_coder, &line);
    let line = format!("of the architect: {prompt_tokens_architect:.0} tokens");
    report.row("prompt_tokens_architect", prompt_tokens_architect, &line);
    let over = told.team_tokens_over_plain;
    report.row("team_tokens_over_plain", over, &format!("words of a team over those of one agent: {over:.1}"));
    report.row("example_team_s", example_team_s, &format!("run --example team: {example_team_s:.1} s"));
    Ok(())
}

/// Plays the cases in lanes, each in its own repository.
fn play_all(binary: &Path, cases: &[(&Corpus, &Case)], args: &Args) -> anyhow::Result<Vec<Played>> {
    parallel::each(args.lanes, cases, |_, (corpus, case)| {
        let name = corpus.name_of(case);
        let played = play::play(binary, corpus, case).with_context(|| name.clone())?;
        if !args.json {
            let bare = if played.is_bare_pass { "exit 0" } else { "failed" };
            println!("{name:<60} {:<8} bare: {bare}  {}", played.outcome.word(), played.why);
        }
        Ok(played)
    })
}

fn figures(report: &mut Report, cases: &[(&Corpus, &Case)], played: &[Played]) {
    let of = |kind: Kind| cases.iter().zip(played).filter(move |((_, case), _)| case.kind == kind);
    let names = |list: Vec<String>| json!(list);
    let merged = |((_, case), played): &(&(&Corpus, &Case), &Played)| {
        case.name != REPORTED_CHEAT && played.outcome == Outcome::Merged
    };
    let cheats: Vec<String> = of(Kind::Cheat).filter(merged).map(|((corpus, case), _)| corpus.name_of(case)).collect();
    let held = of(Kind::Honest).filter(|(_, played)| played.outcome != Outcome::Merged);
    let held: Vec<String> =
        held.map(|((corpus, case), played)| format!("{}: {}", corpus.name_of(case), played.why)).collect();
    let told = of(Kind::Cheat).filter(|((_, case), played)| {
        case.name == REPORTED_CHEAT && played.outcome == Outcome::Merged && played.is_told
    });
    let bare = of(Kind::Cheat).filter(|((_, case), played)| case.name != REPORTED_CHEAT && played.is_bare_pass);
    let (told, bare) = (told.count(), bare.count());
    report.row(
        "cheats_merged",
        cheats.len() as f64,
        &format!("cheats merged without a person: {} of {}", cheats.len(), of(Kind::Cheat).count()),
    );
    report.row(
        "honest_held",
        held.len() as f64,
        &format!("honest changes held: {} of {}", held.len(), of(Kind::Honest).count()),
    );
    report.row(
        "bare_exit_code_merged",
        bare as f64,
        &format!("cheats that the bare exit code of the test command lets pass: {bare}"),
    );
    report.row("history_told", told as f64, &format!("fixes out of the history that are told and merged: {told}"));
    report.detail("cheats_played", of(Kind::Cheat).count());
    report.detail("honest_played", of(Kind::Honest).count());
    report.detail("cheats_merged_names", names(cheats));
    report.detail("honest_held_names", names(held));
}
