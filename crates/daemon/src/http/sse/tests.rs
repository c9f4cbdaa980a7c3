//! Tests of posts and events over a real socket.

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::*;
use crate::face::tests::{Echo, TOKEN};
use crate::http::Http;

struct Served {
    port: u16,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
    echo: Arc<Echo>,
}

async fn served() -> Served {
    let http = Http::bind(0).await.unwrap();
    let (port, stop, echo) = (http.address().port(), CancellationToken::new(), Arc::new(Echo::default()));
    let task = tokio::spawn(http.serve(Arc::<Echo>::clone(&echo), stop.clone()));
    Served { port, stop, task, echo }
}

impl Served {
    async fn ask(&self, line: &str, headers: &str, body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let head = format!(
            "{line} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        BufReader::new(stream)
    }

    async fn status(&self, line: &str, headers: &str, body: &str) -> u16 {
        let mut first = String::new();
        self.ask(line, headers, body).await.read_line(&mut first).await.unwrap();
        first.split(' ').nth(1).unwrap().parse().unwrap()
    }
}

/// Returns the data of the next event of a kind.
async fn event(stream: &mut BufReader<TcpStream>, kind: &str) -> String {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(stream.read_line(&mut line).await.unwrap(), 0, "the stream has ended");
        if line.trim_end() == format!("event: {kind}") {
            line.clear();
            stream.read_line(&mut line).await.unwrap();
            return line.trim_end().strip_prefix("data: ").unwrap().to_owned();
        }
    }
}

fn bearer() -> String {
    format!("Authorization: Bearer {TOKEN}\r\nSwitchboard-Agent: ada\r\n")
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05",
 "capabilities":{},"clientInfo":{"name":"old","version":"1"}}}"#;

const CALL: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send_message",
 "arguments":{"recipient":"ben","payload":"line\nline"}}}"#;

#[tokio::test]
async fn a_session_is_opened_posted_to_and_answered() {
    let served = served().await;
    let mut stream = served.ask("GET /sse", &bearer(), "").await;
    let endpoint = event(&mut stream, "endpoint").await;

    let post = format!("POST {endpoint}");
    assert_eq!(served.status(&post, &bearer(), INITIALIZE).await, 202);
    let hello: serde_json::Value = serde_json::from_str(&event(&mut stream, "message").await).unwrap();
    assert_eq!(hello["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(served.status(&post, &bearer(), CALL).await, 202);
    let answer: serde_json::Value = serde_json::from_str(&event(&mut stream, "message").await).unwrap();

    assert_eq!(answer["result"]["structuredContent"]["args"]["payload"], "line\nline");
    let arrived = served.echo.arrived();
    assert_eq!((arrived[0].caller.name.as_str(), arrived[0].caller.face), ("ada", Face::McpSse));
    served.stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(4), served.task).await;
    assert!(ended.is_ok(), "an open session keeps the daemon from ending");
}

#[tokio::test]
async fn a_token_in_the_address_opens_a_session_and_comes_back_in_the_endpoint() {
    let served = served().await;

    let mut stream = served.ask(&format!("GET /sse?token={TOKEN}"), "", "").await;
    let endpoint = event(&mut stream, "endpoint").await;

    assert!(endpoint.ends_with(&format!("&token={TOKEN}")), "{endpoint}");
    assert_eq!(served.status(&format!("POST {endpoint}"), "", INITIALIZE).await, 202);
    event(&mut stream, "message").await;
}

#[tokio::test]
async fn foreign_hosts_origins_tokens_and_sessions_are_refused() {
    let served = served().await;
    let mut stream = served.ask("GET /sse", &bearer(), "").await;
    let endpoint = event(&mut stream, "endpoint").await;
    let post = format!("POST {endpoint}");

    assert_eq!(served.status("GET /sse", "", "").await, 401);
    assert_eq!(served.status("GET /sse?token=wrong", "", "").await, 401);
    assert_eq!(served.status("GET /sse", &(bearer() + "Origin: http://evil.example\r\n"), "").await, 403);
    assert_eq!(served.status(&post, "", INITIALIZE).await, 401);
    assert_eq!(served.status(&post, &bearer().replace("ada", "eve"), INITIALIZE).await, 404);
    assert_eq!(served.status("POST /messages?sessionId=none", &bearer(), INITIALIZE).await, 404);
    assert_eq!(served.status("POST /messages", &bearer(), INITIALIZE).await, 404);
    assert_eq!(served.status(&post, &bearer(), "{").await, 400);
}

#[tokio::test]
async fn sessions_are_bounded_and_free_their_place_when_their_client_leaves() {
    let served = served().await;
    let mut open = Vec::new();
    for _ in 0..MAX_SESSIONS {
        let mut stream = served.ask("GET /sse", &bearer(), "").await;
        event(&mut stream, "endpoint").await;
        open.push(stream);
    }

    assert_eq!(served.status("GET /sse", &bearer(), "").await, 503);
    drop(open);

    let again = async {
        while served.status("GET /sse", &bearer(), "").await != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), again).await.unwrap();
}

#[tokio::test]
async fn a_stream_that_its_client_drops_ends_its_session() {
    let served = served().await;
    let mut stream = served.ask("GET /sse", &bearer(), "").await;
    let endpoint = event(&mut stream, "endpoint").await;

    let mut left = stream.into_inner();
    left.shutdown().await.unwrap();
    drop(left.read(&mut [0; 1]));
    drop(left);

    let gone = async {
        while served.status(&format!("POST {endpoint}"), &bearer(), INITIALIZE).await != 404 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), gone).await.unwrap();
}

#[test]
fn a_message_of_several_lines_becomes_one() {
    assert_eq!(line_of(b"{\r\n \"a\": \"x\\ny\"\n}").unwrap(), b"{   \"a\": \"x\\ny\" }\n");
    for body in [&b"{"[..], b"{\"a\": \"\x8f\"}", b"[1e999]", "[".repeat(200).as_bytes(), b"1 2"] {
        assert_eq!(line_of(body).unwrap_err().code, "request.malformed");
    }
    assert_eq!(line_of(&vec![b' '; MAX_LINE_BYTES]).unwrap_err().code, "request.too-large");
}

proptest::proptest! {
    #[test]
    fn any_body_becomes_one_line_of_the_same_json_or_nothing(body in "[\\[\\]{}\",:0-9a-z \r\n\\\\]{0,60}") {
        if let Ok(line) = line_of(body.as_bytes()) {
            proptest::prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            let (before, after): (serde_json::Value, serde_json::Value) =
                (serde_json::from_str(&body).unwrap(), serde_json::from_slice(&line).unwrap());
            proptest::prop_assert_eq!(before, after);
        }
    }
}
