//! Reads a lineage from `/proc`. A pid that is reused meanwhile is noticed by its start time.

use std::fs;

use super::ancestors::{Lineage, Part, Process};
use crate::fingerprint::{self, Stat};

/// Maximum length of the chain of ancestors that is followed.
const MAX_DEPTH: usize = 64;

/// Number of attempts to read the chain, if a process of it ends or gets another parent meanwhile.
const ATTEMPTS: usize = 3;

/// Variables that agent programs set for the commands that they run.
const MARKS: [&str; 6] = ["SWITCHBOARD_WORKER", "CLAUDECODE", "GEMINI_CLI", "QWEN_CODE", "OPENCODE", "CODEX_SANDBOX"];

/// Maximum size of an environment that is read, in bytes.
const MAX_ENVIRONMENT: usize = 1 << 20;

/// Returns the lineage of a process; `None` if it is gone or `/proc` can't be read.
#[must_use]
pub fn of_pid(pid: u32) -> Option<Lineage> {
    (0..ATTEMPTS).find_map(|_| {
        let processes = chain(pid)?;
        // A command whose environment was emptied is still below the process that started it.
        let is_marked = processes.iter().any(|process| is_marked(process.pid));
        is_unchanged(&processes).then_some(Lineage { processes, is_marked, has_bridge: false })
    })
}

fn chain(pid: u32) -> Option<Vec<Process>> {
    let mut chain = vec![process(pid)?];
    while let Some(child) = chain.last()
        && child.parent > 0
        && chain.len() < MAX_DEPTH
    {
        match process(child.parent) {
            // A parent is older than its child, else its pid was reused.
            Some(parent) if parent.start <= child.start => chain.push(parent),
            // Hidden, or gone: the second read shows which.
            Some(_) | None => break,
        }
    }
    Some(chain)
}

/// Returns true if each process still has the same parent.
fn is_unchanged(chain: &[Process]) -> bool {
    chain.iter().all(|process| {
        fingerprint::stat(process.pid).is_some_and(|now| now.start == process.start && now.parent == process.parent)
    })
}

fn process(pid: u32) -> Option<Process> {
    let Stat { parent, group, session, terminal, foreground, start, .. } = fingerprint::stat(pid)?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned();
    let user = user(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)?;
    let has_terminal = terminal != 0;
    let is_foreground = has_terminal && i64::from(group) == foreground;
    Some(Process { pid, parent, group, session, has_terminal, is_foreground, start, user, name, part: part(pid) })
}

fn user(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns the part that a process of this binary was started as.
fn part(pid: u32) -> Part {
    if !is_ours(pid) {
        return Part::Other;
    }
    let words = words(pid);
    match (words.first().map(Vec::as_slice), words.get(1).map(Vec::as_slice)) {
        (Some(b"shim"), _) => Part::Shim,
        (Some(b"up"), Some(b"--foreground-internal")) => Part::Daemon,
        (Some(_) | None, _) => Part::Command,
    }
}

/// Recognises this binary, even if it was replaced by a newer one since.
pub(super) fn is_ours(pid: u32) -> bool {
    let binary = fs::read_link(format!("/proc/{pid}/exe")).ok();
    let name = binary.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    name.is_some_and(|name| name.trim_end_matches(" (deleted)") == "switchboard")
}

/// Returns the arguments of a process, without its name.
pub(super) fn words(pid: u32) -> Vec<Vec<u8>> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).skip(1).map(<[u8]>::to_vec).collect()
}

fn is_marked(pid: u32) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut entries = environment[..environment.len().min(MAX_ENVIRONMENT)].split(|byte| *byte == 0);
    entries.any(|entry| {
        let name = entry.split(|byte| *byte == b'=').next().unwrap_or_default();
        entry.len() > name.len() + 1 && MARKS.iter().any(|mark| mark.as_bytes() == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_and_its_parent_are_read() {
        let lineage = of_pid(std::process::id()).unwrap();

        assert_eq!(lineage.processes[0].pid, std::process::id());
        assert_eq!(lineage.processes[1].pid, std::os::unix::process::parent_id());
        assert_eq!(lineage.processes[0].user, rustix::process::getuid().as_raw());
        assert_eq!(lineage.processes[0].part, Part::Other);
        assert_eq!(of_pid(u32::MAX), None);
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "a bare child stays while it is looked at, until its standard input ends"
    )]
    fn a_mark_in_the_environment_of_an_ancestor_counts_although_the_command_has_none() {
        let probe = "read -r _; :";
        let inner = format!("env -i sh -c '{probe}'; :");
        let mut outer = std::process::Command::new("sh")
            .args(["-c", &inner])
            .env("CLAUDECODE", "1")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let child = || {
            let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", outer.id())).ok()?;
            children.split_whitespace().next()?.parse::<u32>().ok()
        };
        // `env` has more words in front of these until it becomes the shell.
        let has_begun = |pid: &u32| words(*pid).starts_with(&[b"-c".to_vec(), probe.as_bytes().to_vec()]);
        let deadline = crate::clock::Deadline::after(std::time::Duration::from_secs(10));
        let inner = loop {
            match child().filter(has_begun) {
                Some(pid) => break pid,
                None if deadline.has_passed() => panic!("the inner shell did not start"),
                None => std::thread::sleep(std::time::Duration::from_millis(5)),
            }
        };

        let (is_own, lineage) = (is_marked(inner), of_pid(inner).unwrap());

        drop(outer.stdin.take());
        outer.wait().unwrap();
        assert!(!is_own && lineage.is_marked);
    }

    #[test]
    fn the_real_user_is_read_from_the_status() {
        assert_eq!(user("Name:\tx\nUid:\t1000\t0\t0\t0\n"), Some(1000));
        assert_eq!(user("Name:\tx\n"), None);
    }
}
