//! A listener that a process makes in its separate network and passes to us, so that we forward connections to it.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, bind, listen, recvmsg, sendmsg, socket_with, socketpair,
};

/// Port of the listener, on the loopback of the new network, where no other port is in use yet.
pub const PORT: u16 = 3128;

/// Maximum number of connections that wait to be accepted.
const BACKLOG: i32 = 64;

/// The child's end.
#[derive(Debug)]
pub(crate) struct HandoverSender(OwnedFd);

/// Our end.
#[derive(Debug)]
pub struct HandoverReceiver(OwnedFd);

/// Makes both ends.
pub(crate) fn pair() -> io::Result<(HandoverSender, HandoverReceiver)> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    Ok((HandoverSender(theirs), HandoverReceiver(ours)))
}

// === impl HandoverSender ===

impl HandoverSender {
    /// Makes the listener and passes it on. Makes system calls only: it runs between fork and exec.
    pub(crate) fn give(&self) -> io::Result<()> {
        let listener = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        bind(&listener, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, PORT))?;
        listen(&listener, BACKLOG)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = SendAncillaryBuffer::new(&mut space);
        let handed = [listener.as_fd()];
        message.push(SendAncillaryMessage::ScmRights(&handed));
        sendmsg(&self.0, &[IoSlice::new(b"x")], &mut message, SendFlags::empty())?;
        Ok(())
    }
}

// === impl HandoverReceiver ===

impl HandoverReceiver {
    /// Takes the listener of a child that has started.
    ///
    /// # Errors
    /// When the child passed none.
    pub fn take(self) -> io::Result<TcpListener> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        recvmsg(&self.0, &mut [IoSliceMut::new(&mut byte)], &mut message, flags)?;
        let handed = message.drain().find_map(|message| {
            if let RecvAncillaryMessage::ScmRights(mut handed) = message { handed.next() } else { None }
        });
        handed.map(TcpListener::from).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}
