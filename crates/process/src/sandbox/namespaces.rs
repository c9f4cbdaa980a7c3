//! Name spaces of a sandboxed process: a user name space, in which the others may be made without privileges, and in it a network with only
//! its loopback, IPC, and mounts that are read-only except for what may be written.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::UnshareFlags;

use super::Sandbox;
use super::mounts::Mounts;
use crate::Result;

/// Name spaces of a sandboxed process.
#[derive(Debug)]
pub(super) struct Namespaces {
    /// Lines of `uid_map` and `gid_map`: the process keeps its own ids, and there are no others.
    uid: String,
    gid: String,
    mounts: Mounts,
}

// === impl Namespaces ===

impl Namespaces {
    pub(super) fn new(sandbox: &Sandbox, cwd: Option<&Path>) -> Result<Self> {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Ok(Self { uid: format!("{uid} {uid} 1"), gid: format!("{gid} {gid} 1"), mounts: Mounts::new(sandbox, cwd)? })
    }

    /// Moves the calling process into the name spaces. Makes system calls only: it runs between fork and exec.
    pub(super) fn enter(&self) -> io::Result<()> {
        let flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNET | UnshareFlags::NEWIPC | UnshareFlags::NEWNS;
        #[expect(unsafe_code, reason = "a process is moved into name spaces by no other call")]
        // SAFETY: no descriptor table is unshared, and a forked child has one thread.
        unsafe {
            rustix::thread::unshare_unsafe(flags)?;
        }
        // Without this, an unprivileged process may not map its group.
        write(c"/proc/self/setgroups", b"deny")?;
        write(c"/proc/self/uid_map", self.uid.as_bytes())?;
        write(c"/proc/self/gid_map", self.gid.as_bytes())?;
        loopback_up()?;
        self.mounts.make()
    }
}

fn write(path: &std::ffi::CStr, text: &[u8]) -> io::Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text)?;
    Ok(())
}

/// Enables the loopback, which is down in a new network and which servers of tests listen on.
fn loopback_up() -> io::Result<()> {
    let socket: OwnedFd = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut name = [0; libc::IFNAMSIZ];
    for (to, from) in name.iter_mut().zip(c"lo".to_bytes()) {
        *to = libc::c_char::try_from(*from).unwrap_or_default();
    }
    let flags = i16::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or_default();
    let request = libc::ifreq { ifr_name: name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags } };
    #[expect(unsafe_code, reason = "an interface is brought up by no other call")]
    // SAFETY: the request lives as long as the call, which reads it and writes nothing.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
