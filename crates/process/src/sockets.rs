//! Checks whether a TCP port of this machine can be bound.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

/// Returns true if a TCP port is not bound on any address of either family. It may be bound a moment later.
#[must_use]
pub fn is_free(port: u16) -> bool {
    let addresses = [SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)), SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))];
    addresses.into_iter().all(|address| match TcpListener::bind(address) {
        Ok(_) => true,
        // On a machine without IPv6 no process can have bound the port there.
        Err(error) => !matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::PermissionDenied),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_somebody_listens_on_at_one_address_is_not_free() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();

        assert!(!is_free(port));
        drop(listener);
        assert!(is_free(port));
    }
}
