//! Paths that every sandbox opens, and those that none may open.

use std::path::{Path, PathBuf};

use super::Sandbox;
use crate::{Error, Result};

/// Paths of the system that programs read. In `/etc` only files that name users, hosts, times and certificates, and those for linking: no
/// keys, no passwords. In `/proc`, entries of other processes stay closed: Landlock does not let a process inspect one outside its own
/// sandbox.
pub(super) const SYSTEM: &[&str] = &[
    "/bin",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/java",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/protocols",
    "/etc/python3",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/opt",
    "/proc",
    "/sbin",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
    "/usr",
];

/// Devices that hold no data of anybody. Terminals are excluded: through one, a process can type into another's.
pub(super) const DEVICES: &[&str] = &["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];

/// Folders with sockets of programs that could be made to do what the sandbox refuses: the bus of the user's session starts programs, a
/// terminal multiplexer takes keys, a container engine mounts anything.
#[cfg(target_os = "linux")]
pub(super) const HIDDEN: &[&str] = &["/run", "/tmp", "/var/tmp", "/dev/shm"];

/// Refuses a list that opens a closed folder as a whole. Paths inside a closed folder may be opened, such as a worker's tree.
pub(super) fn keep_closed(sandbox: &Sandbox) -> Result<()> {
    let mut listed = [&sandbox.read, &sandbox.write, &sandbox.devices].into_iter().flatten();
    match listed.find_map(|path| Some((path, closed_in(sandbox, path)?))) {
        Some((path, closed)) => Err(Error::OpensClosed { path: path.clone(), closed }),
        None => Ok(()),
    }
}

/// Returns the closed folder that a path is or contains, with links followed.
pub(super) fn closed_in(sandbox: &Sandbox, path: &Path) -> Option<PathBuf> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let opened = real(path);
    sandbox.closed.iter().map(|closed| real(closed)).find(|closed| closed.starts_with(&opened))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_above_a_closed_one_is_refused_and_one_inside_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("home/state");
        std::fs::create_dir_all(state.join("tree")).unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).unwrap();
        let opens = |path: PathBuf| {
            keep_closed(&Sandbox { read: vec![path], closed: vec![state.clone()], ..Sandbox::default() })
        };

        for bad in ["", "home", "home/state", "home/state/tree/..", "link"] {
            assert!(matches!(opens(folder.path().join(bad)), Err(Error::OpensClosed { .. })), "{bad}");
        }
        assert!(opens("/".into()).is_err());
        assert!(opens(state.join("tree")).is_ok());
        assert!(opens("/usr".into()).is_ok());
    }
}
