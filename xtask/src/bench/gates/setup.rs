//! Options of the gates' measurements, and what they share.

use std::path::PathBuf;

/// Keys of the printed object.
const KEYS: [&str; 13] = [
    "secrets_vs_kingfisher",
    "changed20_ms",
    "commits_blocked",
    "pre_check_ms",
    "clean_findings_per_10k",
    "clean_blocks_per_10k",
    "secrets_planted",
    "secrets_generated",
    "skipped_code_files_passed",
    "placeholders_planted",
    "syntax",
    "new_file_blocks_per_1k",
    "new_file_bracket_recall",
];

/// Options of the measurement.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print only the JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Path of the binary; default `target/release/switchboard`
    #[arg(long, value_name = "FILE")]
    pub(super) binary: Option<PathBuf>,
    /// Rounds of each timed run
    #[arg(long, default_value_t = 7)]
    pub(super) runs: u32,
    /// Number of changed files for each language
    #[arg(long, default_value_t = 300)]
    pub(super) samples: usize,
    /// Seed for the changes and the planted secrets
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Print the planted secrets that were missed, and the wrong findings
    #[arg(long)]
    pub(super) misses: bool,
    /// Measure only these keys of the object
    #[arg(long, value_name = "KEY", value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(KEYS))]
    pub(super) only: Vec<String>,
    /// Fail when a limit of the keys is missed; only for keys that don't depend on the machine's speed
    #[arg(long, requires = "only")]
    pub(super) hold: bool,
    /// Take the generated secrets and the new files from the half of the files that is for improving rules, not for
    /// measuring
    #[arg(long)]
    pub(super) other_half: bool,
    /// Take the new files from these folders instead of the machine's
    #[arg(long, value_name = "FOLDER")]
    pub(super) files_of: Vec<PathBuf>,
    /// Check the commits of these repositories instead of those of this one
    #[arg(long, value_name = "FOLDER")]
    pub(super) histories: Vec<PathBuf>,
    /// Maximum number of commits of each history, the newest first
    #[arg(long, default_value_t = 400)]
    pub(super) commits: usize,
    /// Leave out commits that change more files than this: they are imports, not reviewed changes
    #[arg(long, default_value_t = 200)]
    pub(super) most_files: usize,
    /// Install no peer and no compiler; measure only with what is installed
    #[arg(long)]
    pub(super) offline: bool,
}

/// Context of all measurements.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    pub(super) args: &'a Args,
    pub(super) binary: PathBuf,
    /// Folder where peers are installed, kept for the next run.
    pub(super) peers: PathBuf,
}

// === impl Bench ===

impl Bench<'_> {
    /// Returns whether one of these keys is to be measured.
    pub(super) fn wants(&self, keys: &[&str]) -> bool {
        self.args.only.is_empty() || self.args.only.iter().any(|key| keys.contains(&key.as_str()))
    }

    /// Prints a line for a person; with `--json` on standard error, so that standard output holds only the object.
    pub(super) fn say(&self, line: &str) {
        if self.args.json {
            eprintln!("{line}");
        } else {
            println!("{line}");
        }
    }
}
