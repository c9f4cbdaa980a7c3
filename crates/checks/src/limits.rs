//! How much a run of the checks may take.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// Bounds a run. The defaults suit a developer's machine; tests make them small.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// A file larger than this is skipped, and the report says so. 5 MB.
    pub file_bytes: u64,
    /// More files than this are refused. 500,000.
    pub files: usize,
    /// Findings a check lists; the rest is counted. 1,000.
    pub findings: usize,
    /// Skipped files a check lists; the rest is counted. 1,000.
    pub skipped: usize,
    /// How long one file may be parsed. 3 s.
    pub parse_time: Duration,
    /// How long all files together may take; those that are left then are skipped, and the reply says so. 600 s.
    pub files_time: Duration,
    /// How long one git call may take. 60 s.
    pub git_time: Duration,
    /// How long a command may run that names no limit. 300 s.
    pub command_time: Duration,
    /// The most a command may ask for. 3,600 s.
    pub command_time_most: Duration,
    /// How much memory a command and all that it starts may use, where the system lets us say so. 8 GB.
    pub command_memory: u64,
    /// How much of a command's output is kept, half of it from the start, half from the end. 20 kB a stream.
    pub output_bytes: usize,
    /// Threads that read and check files: one a core, at least 2, at most 16.
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
