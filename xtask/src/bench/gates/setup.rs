//! What the measurements of the gates are told, and what they share.

use std::path::PathBuf;

/// How to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print only the JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// The binary; `target/release/switchboard` when left out
    #[arg(long, value_name = "FILE")]
    pub(super) binary: Option<PathBuf>,
    /// Rounds of each timed run
    #[arg(long, default_value_t = 7)]
    pub(super) runs: u32,
    /// Changed files for each language
    #[arg(long, default_value_t = 300)]
    pub(super) samples: usize,
    /// What the changes and the planted secrets are drawn from
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Print the planted secrets that were missed and what was told wrongly
    #[arg(long)]
    pub(super) misses: bool,
    /// Measure only what was planted
    #[arg(long)]
    pub(super) only_planted: bool,
    /// Take the generated secrets and the new files from the half of the files that is for mending, not for measuring
    #[arg(long)]
    pub(super) other_half: bool,
    /// Measure only how many published files would be blocked as new ones, whole and with a bracket deleted
    #[arg(long)]
    pub(super) only_new_files: bool,
    /// Take the new files from these folders instead of the machine's
    #[arg(long, value_name = "FOLDER")]
    pub(super) files_of: Vec<PathBuf>,
    /// Measure only the comparison with compilers
    #[arg(long)]
    pub(super) only_syntax: bool,
    /// Measure only how much planted unfinished code is blocked
    #[arg(long)]
    pub(super) only_unfinished: bool,
    /// Install no peer and no compiler; measure only with what is there
    #[arg(long)]
    pub(super) offline: bool,
}

/// What all measurements share.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    pub(super) args: &'a Args,
    pub(super) binary: PathBuf,
    /// Where peers are installed, kept for the next run.
    pub(super) peers: PathBuf,
}

// === impl Bench ===

impl Bench<'_> {
    /// Says something to a person; with `--json` on standard error, so that the object stands alone.
    pub(super) fn say(&self, line: &str) {
        if self.args.json {
            eprintln!("{line}");
        } else {
            println!("{line}");
        }
    }
}
