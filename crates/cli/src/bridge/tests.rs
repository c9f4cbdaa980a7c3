use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::*;

/// Output of the bridge, readable while it runs.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The daemon's end of a connection.
struct Daemon {
    lines: std::io::Lines<BufReader<UnixStream>>,
    stream: UnixStream,
}

impl Daemon {
    fn new(stream: UnixStream) -> Self {
        Self { lines: BufReader::new(stream.try_clone().unwrap()).lines(), stream }
    }
    fn hears(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }
    fn says(&mut self, value: &Value) {
        writeln!(self.stream, "{value}").unwrap();
    }
}

struct Setup {
    client: UnixStream,
    written: Written,
    connections: Receiver<Daemon>,
    bridge: std::thread::JoinHandle<Result<(), Failure>>,
}

/// Starts a bridge whose connections are handed to the test, `daemons` in all.
fn bridge(daemons: usize) -> Setup {
    let (client, input) = UnixStream::pair().unwrap();
    let written = Written::default();
    let (sender, connections) = sync_channel(daemons + 1);
    let output = written.clone();
    let mut left = daemons;
    let connect = move || {
        if left == 0 {
            return Err(Failure::new("git.not-a-repository", "gone for good"));
        }
        left -= 1;
        let (here, there) = UnixStream::pair().unwrap();
        sender.send(Daemon::new(there)).unwrap();
        Ok(here)
    };
    let bridge = std::thread::spawn(move || carry(input, output, connect));
    Setup { client, written, connections, bridge }
}

fn request(id: u32, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method})
}

fn answer(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {}})
}

#[test]
fn carries_lines_both_ways_and_waits_for_the_last_answer() {
    let mut setup = bridge(1);
    let mut daemon = setup.connections.recv().unwrap();

    writeln!(setup.client, "{}", request(1, "tools/list")).unwrap();
    assert_eq!(daemon.hears(), request(1, "tools/list"));
    drop(setup.client);
    daemon.says(&answer(1));

    setup.bridge.join().unwrap().unwrap();
    assert_eq!(setup.written.lines(), [answer(1)]);
}

#[test]
fn a_new_daemon_hears_the_handshake_and_what_was_not_answered() {
    let mut setup = bridge(2);
    let mut first = setup.connections.recv().unwrap();
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    writeln!(setup.client, "{}", request(0, "initialize")).unwrap();
    first.hears();
    first.says(&answer(0));
    writeln!(setup.client, "{initialized}\n{}\n{}", request(1, "a"), request(2, "b")).unwrap();
    first.hears();
    first.hears();
    first.hears();
    first.says(&answer(1));
    while setup.written.lines().len() < 2 {
        std::thread::yield_now();
    }

    drop(first);
    let mut second = setup.connections.recv().unwrap();

    assert_eq!(second.hears(), request(0, "initialize"));
    assert_eq!(second.hears(), initialized);
    assert_eq!(second.hears(), request(2, "b"));
    second.says(&answer(0));
    second.says(&answer(2));
    drop(setup.client);
    setup.bridge.join().unwrap().unwrap();
    assert_eq!(setup.written.lines(), [answer(0), answer(1), answer(2)]);
}

#[test]
fn a_cancelled_request_is_not_asked_again() {
    let mut setup = bridge(2);
    let mut first = setup.connections.recv().unwrap();
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    writeln!(setup.client, "{}\n{cancelled}\n{}", request(1, "a"), request(2, "b")).unwrap();
    for _ in 0..3 {
        first.hears();
    }

    drop(first);
    let mut second = setup.connections.recv().unwrap();

    assert_eq!(second.hears(), request(2, "b"));
}

#[test]
fn what_waits_is_answered_when_no_daemon_comes_back() {
    let mut setup = bridge(1);
    let mut daemon = setup.connections.recv().unwrap();
    writeln!(setup.client, "{}", request(7, "tools/call")).unwrap();
    daemon.hears();

    drop(daemon);
    let failure = setup.bridge.join().unwrap().unwrap_err();

    let lines = setup.written.lines();
    assert_eq!(failure.code, "git.not-a-repository");
    assert_eq!((&lines[0]["id"], &lines[0]["error"]["data"]["code"]), (&json!(7), &json!("git.not-a-repository")));
}

#[test]
fn a_connection_that_is_refused_ends_with_the_reason() {
    let mut setup = bridge(1);
    let mut daemon = setup.connections.recv().unwrap();
    writeln!(setup.client, "{}", request(3, "initialize")).unwrap();
    daemon.hears();

    daemon.says(&json!({"id": 0, "error": {"code": "auth.bad-token", "what": "the token is missing or wrong"}}));

    assert_eq!(setup.bridge.join().unwrap().unwrap_err().code, "auth.bad-token");
    let lines = setup.written.lines();
    assert_eq!((&lines[0]["id"], &lines[0]["error"]["data"]["code"]), (&json!(3), &json!("auth.bad-token")));
}

#[test]
fn a_line_over_the_limit_is_refused_and_the_next_one_goes_on() {
    let mut setup = bridge(1);
    let mut daemon = setup.connections.recv().unwrap();
    let huge = vec![b'x'; switchboard_protocol::wire::MAX_LINE_BYTES + 10];

    setup.client.write_all(&huge).unwrap();
    writeln!(setup.client, "\n{}", request(1, "ping")).unwrap();

    assert_eq!(daemon.hears(), request(1, "ping"));
    assert_eq!(setup.written.lines()[0]["error"]["data"]["code"], "request.too-large");
}

#[test]
fn a_line_that_is_not_json_is_left_to_the_daemon() {
    let mut setup = bridge(1);
    let mut daemon = setup.connections.recv().unwrap();

    writeln!(setup.client, "{{nonsense").unwrap();

    assert_eq!(daemon.lines.next().unwrap().unwrap(), "{nonsense");
}

#[test]
fn a_line_that_is_not_json_is_answered_though_its_daemon_dies_and_the_client_ends() {
    for malformed in ["{nonsense", "[1, 2]", r#"{"jsonrpc":"2.0"}"#, "\"text\""] {
        let mut setup = bridge(2);
        let mut first = setup.connections.recv().unwrap();
        write!(setup.client, "{malformed}").unwrap();
        drop(setup.client);
        assert_eq!(first.lines.next().unwrap().unwrap(), malformed);

        drop(first);
        let mut second = setup.connections.recv().unwrap();

        assert_eq!(second.lines.next().unwrap().unwrap(), malformed);
        let refused = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no JSON"}});
        second.says(&refused);
        setup.bridge.join().unwrap().unwrap();
        assert_eq!(setup.written.lines(), [refused]);
    }
}

#[test]
fn a_line_that_gets_no_answer_holds_nothing_up() {
    let mut setup = bridge(1);
    let mut daemon = setup.connections.recv().unwrap();
    let ping = request(1, "ping");

    write!(setup.client, "  \n{}\n{ping}", answer(9)).unwrap();
    drop(setup.client);
    assert_eq!(daemon.lines.next().unwrap().unwrap(), "  ");
    assert_eq!((daemon.hears(), daemon.hears()), (answer(9), ping));
    daemon.says(&answer(1));

    setup.bridge.join().unwrap().unwrap();
    assert_eq!(setup.written.lines(), [answer(1)]);
}
