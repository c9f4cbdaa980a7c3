//! A memory limit for one command and all its children, where we may divide a control group (version 2).
//! Source: docs.kernel.org/admin-guide/cgroup-v2.html.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Shell command that moves itself into the group, then executes the command. If it may not move, the command runs
/// outside.
const ENTER: &str = "echo 0 2>/dev/null >\"$0/cgroup.procs\"; exec \"$@\"";

/// A control group of the command's own; removed when dropped.
#[derive(Debug)]
pub(crate) struct MemoryLimit {
    group: PathBuf,
    bytes: u64,
}

// === impl MemoryLimit ===

impl MemoryLimit {
    /// Creates a group; returns `None` if no group is delegated to us.
    pub(crate) fn new(bytes: u64) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        Self::below(Path::new("/sys/fs/cgroup"), &own, bytes)
    }

    /// Tries our own group and the one above it: a group that contains processes can't be divided.
    fn below(mount: &Path, own: &str, bytes: u64) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let own = mount.join(own);
        let parent = [own.as_path(), own.parent()?].into_iter().find(|group| shares_memory(group))?;
        let name = format!("switchboard-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let limit = Self { group: parent.join(name), bytes };
        fs::create_dir(&limit.group).ok()?;
        fs::write(limit.group.join("memory.max"), bytes.to_string()).ok()?;
        // Older kernels lack these files; the limit above holds without them.
        let _unswapped = fs::write(limit.group.join("memory.swap.max"), "0");
        let _together = fs::write(limit.group.join("memory.oom.group"), "1");
        Some(limit)
    }

    /// Wraps a command so that it runs in the group.
    pub(crate) fn around(&self, argv: &[String]) -> Vec<String> {
        let group = self.group.to_string_lossy().into_owned();
        ["sh", "-c", ENTER, &group].into_iter().map(str::to_owned).chain(argv.iter().cloned()).collect()
    }

    /// Returns whether any process ever ran in the group.
    pub(crate) fn was_used(&self) -> bool {
        ["memory.peak", "memory.current"].iter().any(|file| {
            fs::read_to_string(self.group.join(file)).is_ok_and(|text| text.trim().parse::<u64>().is_ok_and(|n| n > 0))
        })
    }

    /// Returns whether the kernel killed a process because of the limit.
    pub(crate) fn was_exceeded(&self) -> bool {
        let events = fs::read_to_string(self.group.join("memory.events")).unwrap_or_default();
        events.lines().any(|line| line.strip_prefix("oom_kill ").is_some_and(|count| count.trim() != "0"))
    }

    /// Returns the limit in words.
    pub(crate) fn label(&self) -> String {
        format!("{} MB", self.bytes / 1_000_000)
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // Processes still in the group have left their process group; once they are killed, the folder can be removed.
        let _ended = fs::write(self.group.join("cgroup.kill"), "1");
        let _removed = fs::remove_dir(&self.group);
    }
}

fn shares_memory(group: &Path) -> bool {
    fs::read_to_string(group.join("cgroup.subtree_control"))
        .is_ok_and(|list| list.split_whitespace().any(|controller| controller == "memory"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_made_where_memory_is_shared_out_and_nowhere_else() {
        let mount = tempfile::tempdir().unwrap();
        let scope = mount.path().join("app.slice/x.scope");
        fs::create_dir_all(&scope).unwrap();
        assert!(MemoryLimit::below(mount.path(), "0::/app.slice/x.scope\n", 1_000_000).is_none());

        fs::write(mount.path().join("app.slice/cgroup.subtree_control"), "cpu memory\n").unwrap();
        let limit = MemoryLimit::below(mount.path(), "3:cpu:/\n0::/app.slice/x.scope\n", 5_000_000).unwrap();

        assert_eq!(fs::read_to_string(limit.group.join("memory.max")).unwrap(), "5000000");
        assert_eq!((limit.group.parent(), limit.label().as_str()), (scope.parent(), "5 MB"));
        assert!(!limit.was_used() && !limit.was_exceeded());
    }
}
