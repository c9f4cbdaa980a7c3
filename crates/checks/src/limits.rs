//! Resource limits of a run of the checks.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// Limits of a run. The defaults suit a developer's machine; tests set smaller ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of a file in bytes; a larger one is skipped, and the report says so. Default 5 MB.
    pub file_bytes: u64,
    /// Maximum number of files; a request with more is refused. Default 500,000.
    pub files: usize,
    /// Maximum number of findings a check lists; the rest is counted. Default 1,000.
    pub findings: usize,
    /// Maximum number of skipped files a check lists; the rest is counted. Default 1,000.
    pub skipped: usize,
    /// Time limit for parsing one file. Default 3 s.
    pub parse_time: Duration,
    /// Time limit for all files together; files left then are skipped, and the reply says so. Default 600 s.
    pub files_time: Duration,
    /// Time limit of one git call. Default 60 s.
    pub git_time: Duration,
    /// Time limit of a command that names none. Default 300 s.
    pub command_time: Duration,
    /// Maximum time limit that a command may ask for. Default 3,600 s.
    pub command_time_most: Duration,
    /// Memory limit of a command and all its children, in bytes, where the system lets us set one. Default 8 GB.
    pub command_memory: u64,
    /// Maximum size of kept output, in bytes a stream: half from the start, half from the end. Default 20 kB.
    pub output_bytes: usize,
    /// Number of threads that read and check files. Default one a core, at least 2, at most 16.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, NonZeroUsize::get);
        Self {
            file_bytes: 5_000_000,
            files: 500_000,
            findings: 1_000,
            skipped: 1_000,
            parse_time: Duration::from_secs(3),
            files_time: Duration::from_secs(600),
            git_time: Duration::from_secs(60),
            command_time: Duration::from_secs(300),
            command_time_most: Duration::from_secs(3_600),
            command_memory: 8_000_000_000,
            output_bytes: 20_000,
            threads: cores.clamp(2, 16),
        }
    }
}

/// Returns the milliseconds since a moment.
pub(crate) fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
