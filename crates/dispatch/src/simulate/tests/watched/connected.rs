//! Tests whom a daemon lets connect as the shim of a worker, and what it takes from a connection.

use switchboard_protocol::wire::Hello;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

use super::super::super::shim::sealed;
use super::super::steering::failed;
use super::*;

/// Connection of a shim that a test plays.
struct Line {
    told: Lines<BufReader<ReadHalf<DuplexStream>>>,
    says: WriteHalf<DuplexStream>,
    served: JoinHandle<Result<(), Failure>>,
}

// === impl Line ===

impl Line {
    fn new(at: &Watched, hello: Hello) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let daemon = at.daemon.clone();
        let served = tokio::spawn(async move {
            let (read, write) = tokio::io::split(theirs);
            failed(daemon.attach(&hello, BufReader::new(read), write).await)
        });
        let (read, says) = tokio::io::split(ours);
        Self { told: BufReader::new(read).lines(), says, served }
    }

    async fn say(&mut self, text: &str) {
        self.says.write_all(format!("{text}\n").as_bytes()).await.unwrap();
    }

    /// Returns the next command; `None` once the connection is closed.
    async fn hear(&mut self) -> Option<ShimCommand> {
        let line = tokio::time::timeout(Duration::from_secs(3_600), self.told.next_line()).await.expect("it is silent");
        line.unwrap().map(|line| serde_json::from_str(&line).unwrap())
    }
}

fn hello() -> Hello {
    shim(worker(), "token", FRAME_VERSION)
}

fn shim(worker: WorkerId, token: &str, v: u16) -> Hello {
    Hello::Shim { v, worker, epoch: 1, token: token.to_owned(), beats: false }
}

/// Runs a test with a watched worker of a daemon that has taken up its runs.
fn with_booted(test: impl AsyncFn(Watched)) {
    with_watched(Equipped::default(), async |at| {
        at.world.booted.cancel();
        test(at).await;
    });
}

#[test]
fn only_a_shim_of_this_version_or_the_one_before_that_proves_whose_it_is_may_connect() {
    with_booted(async |at| {
        let connect = async |hello| {
            let line = Line::new(&at, hello);
            tokio::time::timeout(Duration::from_secs(60), line.served).await.map(Result::unwrap)
        };

        let calls = Hello::Calls { v: 1, token: None, name: None, ci: false, yes: false, folder: None };
        refused(connect(calls).await.unwrap(), "request.malformed", "not a shim's hello");
        let newer = shim(worker(), "token", FRAME_VERSION + 1);
        refused(connect(newer).await.unwrap(), "daemon.other-version", "this daemon");
        refused(connect(shim(worker(), "forged", FRAME_VERSION)).await.unwrap(), "auth.bad-token", "prove");
        let stranger = shim(WorkerId::from_bits(7), "token", FRAME_VERSION);
        refused(connect(stranger).await.unwrap(), "auth.bad-token", "prove");
        for v in [FRAME_VERSION, FRAME_VERSION - 1] {
            let mut line = Line::new(&at, shim(worker(), "token", v));
            assert_eq!(line.hear().await, Some(ShimCommand::Ack { seq: 0 }), "version {v}");
        }
    });
}

#[test]
fn a_shim_whose_worker_has_ended_is_told_to_end_too() {
    with_booted(async |at| {
        at.says(1, sealed()).await;
        assert!(at.is_over().await);

        let mut line = Line::new(&at, hello());

        assert_eq!(line.hear().await, Some(ShimCommand::Stop { grace_ms: 2_000 }));
        assert_eq!(line.hear().await, None);
        line.served.await.unwrap().unwrap();
    });
}

#[test]
fn only_frames_of_its_own_worker_are_taken_from_a_shim() {
    with_booted(async |at| {
        let said =
            |worker: WorkerId, seq, event| serde_json::to_string(&Frame { worker, ..frame(1, seq, event) }).unwrap();
        let mut line = Line::new(&at, hello());
        assert_eq!(line.hear().await, Some(ShimCommand::Ack { seq: 0 }));

        line.say(&said(WorkerId::from_bits(7), 1, started())).await;
        line.say("no frame").await;
        line.say("{\"beat\":1}").await;
        assert_eq!(at.kinds(), [""; 0]);
        line.say(&said(worker(), 1, started())).await;

        assert_eq!(line.hear().await, Some(ShimCommand::Ack { seq: 1 }));
        assert_eq!(at.kinds(), ["worker_started"]);
    });
}

#[test]
fn a_shim_that_connects_again_before_its_old_connection_has_ended_keeps_the_new_one() {
    with_booted(async |at| {
        let mut old = Line::new(&at, hello());
        assert_eq!(old.hear().await, Some(ShimCommand::Ack { seq: 0 }));
        assert!(at.link.is_connected());

        let mut new = Line::new(&at, hello());

        assert_eq!(new.hear().await, Some(ShimCommand::Ack { seq: 0 }));
        assert_eq!(old.hear().await, None);
        at.link.tell(ShimCommand::Finish).await.unwrap();
        assert_eq!(new.hear().await, Some(ShimCommand::Finish));
        drop(new);
        settled().await;
        assert!(!at.link.is_connected());
    });
}

#[test]
fn a_shim_that_connects_before_the_runs_are_taken_up_waits() {
    for is_booted in [true, false] {
        with_watched(Equipped::default(), async |at| {
            let mut line = Line::new(&at, hello());
            tokio::time::sleep(Duration::from_secs(600)).await;
            assert!(!line.served.is_finished());

            if is_booted {
                at.world.booted.cancel();
                assert_eq!(line.hear().await, Some(ShimCommand::Ack { seq: 0 }));
                return;
            }
            at.world.stop.cancel();

            let stopping = crate::Error::Stopping.to_failure().code;
            assert_eq!(line.served.await.unwrap().unwrap_err().code, stopping);
        });
    }
}
