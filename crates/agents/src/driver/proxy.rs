//! HTTP proxy to listed hosts for an agent in its own network: its listener lies in that network, while it connects in ours. The agent
//! resolves no names, and reaches no host that is not listed, whatever it sends.
//! no names up, and reaches nothing that is not listed, whatever it sends.

use std::sync::Arc;
use std::time::Duration;

use switchboard_process::task;
use switchboard_protocol::isolation::Host;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::{Error, Result};

/// Maximum size of a request's head in bytes.
const MAX_HEAD: usize = 16 << 10;

/// Maximum number of connections; a further one waits.
const MAX_CONNECTIONS: usize = 64;

/// Time limit for a head to arrive, and for a host to answer.
const OPENING: Duration = Duration::from_secs(20);

/// Maximum duration of one connection.
const MAX_CONNECTION_TIME: Duration = Duration::from_secs(60 * 60);

/// Target of a request.
#[derive(Debug, PartialEq, Eq)]
enum RequestTarget {
    /// A tunnel to a host.
    Tunnel(Host),
    /// A plain request to a host, with the first line rewritten for the host.
    Plain(Host, String),
}

/// Serves until the future is dropped, with all its connections.
///
/// # Errors
/// The listener can't be used.
pub(super) async fn serve(listener: std::net::TcpListener, hosts: Vec<Host>) -> Result<()> {
    let failed = || Error::io("listen for a constrained agent");
    listener.set_nonblocking(true).map_err(failed())?;
    let listener = TcpListener::from_std(listener).map_err(failed())?;
    let (hosts, permits) = (Arc::new(hosts), Arc::new(Semaphore::new(MAX_CONNECTIONS)));
    let mut connections = JoinSet::new();
    while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
        let (agent, _) = listener.accept().await.map_err(failed())?;
        let hosts = Arc::clone(&hosts);
        connections.spawn(task::boxed(async move {
            let done = timeout(MAX_CONNECTION_TIME, carry(agent, &hosts)).await;
            tracing::debug!(?done, "a connection of a constrained agent is over");
            drop(permit);
        }));
        while connections.try_join_next().is_some() {}
    }
    Ok(())
}

/// Serves one connection to its end.
async fn carry(mut agent: TcpStream, hosts: &[Host]) -> std::io::Result<()> {
    let Some((head, rest)) = timeout(OPENING, head(&mut agent)).await?? else {
        return refuse(&mut agent, "400 Bad Request", "this is no request to a proxy").await;
    };
    let Some(asked) = RequestTarget::read(&head) else {
        return refuse(&mut agent, "400 Bad Request", "this is no request to a proxy").await;
    };
    let (RequestTarget::Tunnel(host) | RequestTarget::Plain(host, _)) = &asked;
    if !hosts.contains(host) {
        tracing::info!(host = host.name, port = host.port, "a constrained agent was refused a host");
        return refuse(
            &mut agent,
            "403 Forbidden",
            "the sandbox lists no such host: `network` in the agent's settings",
        )
        .await;
    }
    let connected = timeout(OPENING, TcpStream::connect((host.name.as_str(), host.port))).await;
    let Ok(Ok(mut far)) = connected else {
        return refuse(&mut agent, "502 Bad Gateway", "the host does not answer").await;
    };
    match &asked {
        RequestTarget::Tunnel(_) => agent.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
        RequestTarget::Plain(_, first) => {
            let others = head.split_once("\r\n").map_or("", |(_, others)| others);
            far.write_all(format!("{first}\r\n{others}").as_bytes()).await?;
        }
    }
    far.write_all(&rest).await?;
    copy_bidirectional(&mut agent, &mut far).await.map(drop)
}

/// Reads the head of a request, and the bytes after it; `None` if it is too long or no text.
async fn head(agent: &mut TcpStream) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let mut read = Vec::new();
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = read.split_off(end + 4);
            return Ok(String::from_utf8(read).ok().map(|head| (head, rest)));
        }
        if read.len() > MAX_HEAD || agent.read_buf(&mut read).await? == 0 {
            return Ok(None);
        }
    }
}

async fn refuse(agent: &mut TcpStream, status: &str, why: &str) -> std::io::Result<()> {
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{why}\n",
        why.len() + 1
    );
    agent.write_all(answer.as_bytes()).await?;
    agent.shutdown().await
}

// === impl RequestTarget ===

impl RequestTarget {
    fn read(head: &str) -> Option<Self> {
        let mut words = head.lines().next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            return Host::parse(target).map(Self::Tunnel);
        }
        let target = target.strip_prefix("http://")?;
        let (authority, path) = target.find('/').map_or((target, "/"), |at| target.split_at(at));
        let host = Host::parse(authority).or_else(|| Host::parse(&format!("{authority}:80")))?;
        Some(Self::Plain(host, format!("{method} {path} {version}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_asks_for_a_tunnel_or_for_a_page_and_anything_else_for_nothing() {
        let host = |name: &str, port| Host { name: name.to_owned(), port };

        let tunnel = RequestTarget::read("CONNECT API.example.com:443 HTTP/1.1\r\nHost: other\r\n\r\n");
        assert_eq!(tunnel, Some(RequestTarget::Tunnel(host("api.example.com", 443))));
        let plain = RequestTarget::read("POST http://localhost:11434/v1?x=1 HTTP/1.1\r\n\r\n");
        assert_eq!(plain, Some(RequestTarget::Plain(host("localhost", 11434), "POST /v1?x=1 HTTP/1.1".to_owned())));
        assert_eq!(
            RequestTarget::read("GET http://example.com HTTP/1.1\r\n\r\n"),
            Some(RequestTarget::Plain(host("example.com", 80), "GET / HTTP/1.1".to_owned()))
        );
        for bad in [
            "",
            "CONNECT example.com HTTP/1.1",
            "GET / HTTP/1.1",
            "GET http://user@example.com:80/ HTTP/1.1",
            "CONNECT a:1 HTTP/2",
        ] {
            assert_eq!(RequestTarget::read(bad), None, "{bad}");
        }
    }
}
