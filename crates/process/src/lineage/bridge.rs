//! Finds the programs that run our MCP bridge, including those of another repository or of a daemon that is not running: processes that
//! they start are agents.

use std::fs;

use super::ancestors::Lineage;
use super::read::{is_ours, of_pid, words};

// === impl Lineage ===

impl Lineage {
    /// Adds what the process table shows about bridges. Reads every process of the machine, so it is only used where a person decides.
    #[must_use]
    pub fn with_bridges(self) -> Self {
        let has_bridge = bridges().any(|pid| self.is_below_starter_of(pid));
        Self { has_bridge, ..self }
    }

    /// Returns true if a process of the lineage started a bridge. The caller may be the bridge itself.
    fn is_below_starter_of(&self, bridge: u32) -> bool {
        let Some(bridge) = of_pid(bridge) else { return false };
        let program = bridge.starter();
        program.is_some_and(|program| {
            self.processes.iter().any(|process| (process.pid, process.start) == (program.pid, program.start))
        })
    }
}

/// Returns the processes that run `switchboard mcp`.
fn bridges() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| is_ours(*pid) && is_bridge(&words(*pid)))
}

/// Returns true if the words after the program are those of a bridge: the command is `mcp`, and nothing is installed.
fn is_bridge(words: &[Vec<u8>]) -> bool {
    let mut words = words.iter().map(Vec::as_slice);
    let mut next = || {
        loop {
            match words.next()? {
                // The only flag of every command that takes a separate value.
                b"-C" | b"--directory" => drop(words.next()),
                flag if flag.starts_with(b"-") => {}
                word => return Some(word),
            }
        }
    };
    next() == Some(b"mcp") && next() != Some(b"install")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_is_told_from_other_commands_by_its_words() {
        let is = |line: &str| is_bridge(&line.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>());

        assert!(is("mcp") && is("-C /repo mcp") && is("--json mcp") && is("mcp --directory /repo"));
        assert!(!is("mcp install codex") && !is("mcp -C /repo install codex") && !is("-C mcp status"));
        assert!(!is("call tell text=mcp") && !is("send ada mcp") && !is(""));
    }
}
