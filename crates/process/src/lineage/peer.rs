//! The process at the other end of a Unix socket. A pidfd from the kernel proves that its pid was not reused while it is read.

use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};

use super::ancestors::Lineage;
use super::read::of_pid;

/// Returns the lineage of the process that connected a Unix socket; `None` if it is gone.
///
/// Without `SO_PEERPIDFD` (before Linux 6.5) a pid that was reused between connecting and reading is not noticed.
#[must_use]
pub fn of_peer(socket: impl AsFd) -> Option<Lineage> {
    let pid = rustix::net::sockopt::socket_peercred(&socket).ok()?.pid;
    let pid = u32::try_from(pid.as_raw_nonzero().get()).ok()?;
    let process = pidfd(&socket);
    let lineage = of_pid(pid)?;
    process.as_ref().is_none_or(lives).then_some(lineage)
}

/// Returns the peer's pidfd, if the kernel can give one.
fn pidfd(socket: &impl AsFd) -> Option<OwnedFd> {
    let mut descriptor: libc::c_int = -1;
    let mut length = libc::socklen_t::try_from(size_of::<libc::c_int>()).ok()?;
    let socket = socket.as_fd().as_raw_fd();
    #[expect(unsafe_code, reason = "rustix has no SO_PEERPIDFD")]
    // SAFETY: the kernel writes at most `length` bytes into `descriptor`, which lives for the call.
    let done = unsafe {
        libc::getsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_PEERPIDFD,
            std::ptr::from_mut(&mut descriptor).cast(),
            &raw mut length,
        )
    };
    if done != 0 || descriptor < 0 {
        return None;
    }
    #[expect(unsafe_code, reason = "a descriptor that the kernel has just made for us")]
    // SAFETY: nobody else owns it.
    Some(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Returns true if a process has not ended: its pidfd is not readable yet.
fn lives(process: &OwnedFd) -> bool {
    let mut entry = libc::pollfd { fd: process.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    #[expect(unsafe_code, reason = "rustix's poll needs a feature that nothing else here wants")]
    // SAFETY: one entry, which lives for the call; a timeout of 0 does not wait.
    let ready = unsafe { libc::poll(&raw mut entry, 1, 0) };
    ready == 0
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_peer_of_a_socket_pair_is_this_process() {
        let (one, _other) = UnixStream::pair().unwrap();

        assert_eq!(of_peer(&one).unwrap().processes[0].pid, std::process::id());
    }
}
