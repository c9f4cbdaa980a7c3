//! A worker's folder, its spec, its shim as a process, and the daemon that it talks to.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::fingerprint::Fingerprint;
use switchboard_process::orphans;
use switchboard_process::spawn::{Detached, Exit, Spawn};
use switchboard_protocol::frame::{
    Beat, DriverSpec, FRAME_VERSION, Frame, ShimCommand, WorkerEvent, WorkerLimits, WorkerSpec,
};
use switchboard_protocol::id::{AgentName, MessageId, RunId, WorkerId};
use switchboard_protocol::wire::Hello;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixListener;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::roles;

/// Time limit for any wait on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const TOKEN: &str = "token-of-this-worker";

pub(crate) struct Bench {
    pub(crate) home: TempDir,
    pub(crate) spec: WorkerSpec,
    linger_ms: u64,
}

pub(crate) struct Shim(pub(crate) Detached);

pub(crate) struct Daemon {
    listener: UnixListener,
    path: PathBuf,
}

pub(crate) struct Line {
    pub(crate) hello: Hello,
    frames: Lines<BufReader<OwnedReadHalf>>,
    commands: OwnedWriteHalf,
}

impl Bench {
    /// Creates a worker whose agent plays these steps on task 1.1.
    pub(crate) fn script(steps: &Value) -> Self {
        Self::sections(&json!([{ "task": "1.1", "steps": steps }]))
    }

    pub(crate) fn sections(sections: &Value) -> Self {
        let mut bench = Self::driven(DriverSpec::Acp { argv: roles::argv() });
        let file = bench.path("script.json");
        std::fs::write(&file, json!({ "sections": sections }).to_string()).unwrap();
        bench.spec.env = roles::env("script", &file)
            .set("SWITCHBOARD_TASK", "1.1")
            .set("SWITCHBOARD_ATTEMPT", "1")
            .set("SWITCHBOARD_AGENT", "Ada")
            .into_pairs();
        bench
    }

    pub(crate) fn exec(script: &str) -> Self {
        let mut bench = Self::driven(DriverSpec::Exec { argv: ["sh", "-c", script].map(str::to_owned).to_vec() });
        bench.spec.env = switchboard_process::env::Env::plain().into_pairs();
        bench
    }

    fn driven(driver: DriverSpec) -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let text = |name: &str| root.join(name).to_str().unwrap().to_owned();
        std::fs::create_dir(root.join("tree")).unwrap();
        std::fs::create_dir(root.join("worker")).unwrap();
        let spec = WorkerSpec {
            v: FRAME_VERSION,
            worker: WorkerId::new(format!(
                "wrk_{}",
                root.file_name().unwrap().to_str().unwrap().trim_start_matches('.')
            ))
            .unwrap(),
            run: RunId::new("run_1").unwrap(),
            task: "1.1".to_owned(),
            agent: AgentName::new("Ada").unwrap(),
            attempt: 1,
            driver,
            cwd: text("tree"),
            folder: text("worker"),
            socket: text("socket"),
            token: TOKEN.to_owned(),
            env: Vec::new(),
            prompt: "Task 1.1 of \"Test\", attempt 1.".to_owned(),
            mail: vec![mail(0)],
            permissions: switchboard_protocol::permission::Permissions::Edits,
            model: None,
            model_given: false,
            mcp: None,
            limits: WorkerLimits::default(),
            wrap_up: None,
            sandbox: None,
            by_hand: false,
            signals: None,
        };
        Self { home, spec, linger_ms: 60_000 }
    }

    pub(crate) fn linger(mut self, ms: u64) -> Self {
        self.linger_ms = ms;
        self
    }

    pub(crate) fn limits(mut self, change: impl FnOnce(&mut WorkerLimits)) -> Self {
        change(&mut self.spec.limits);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn tree(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path("tree").join(name)).ok()
    }

    pub(crate) fn frames(&self) -> Vec<Frame> {
        switchboard_agents::shim::read_frames(&self.path("worker"), 0).unwrap()
    }

    pub(crate) fn daemon(&self) -> Daemon {
        let path = self.path("socket");
        Daemon { listener: UnixListener::bind(&path).unwrap(), path }
    }

    pub(crate) fn shim(&self) -> Shim {
        let file = self.path("worker/spec.json");
        std::fs::write(&file, serde_json::to_vec(&self.spec).unwrap()).unwrap();
        let env = roles::env("shim", &file).set("SWITCHBOARD_LINGER_MS", self.linger_ms.to_string());
        Shim(Spawn::new(roles::argv()).env_only(env).detached(Some(&self.path("worker/shim.log"))).unwrap())
    }

    /// Waits until a matching frame is on disk.
    pub(crate) async fn on_disk(&self, what: &str, fits: impl Fn(&WorkerEvent) -> bool) -> Frame {
        until(what, || self.frames().into_iter().find(|frame| fits(&frame.event))).await
    }

    /// Returns every process of this worker's agent, wherever it is.
    pub(crate) fn processes(&self) -> Vec<Fingerprint> {
        orphans::marked("SWITCHBOARD_WORKER", self.spec.worker.as_str())
    }
}

impl Drop for Bench {
    /// Ends all processes, so that a failed test leaves none behind.
    fn drop(&mut self) {
        if let Ok(Some(holder)) = switchboard_process::lock::holder(&self.path("worker/lock")) {
            holder.fingerprint().signal(switchboard_process::spawn::Signal::KILL);
        }
        let _ = orphans::kill_marked("SWITCHBOARD_WORKER", self.spec.worker.as_str());
    }
}

impl Shim {
    pub(crate) fn signal(&self, signal: switchboard_process::spawn::Signal) {
        assert!(self.0.fingerprint.as_ref().unwrap().signal(signal));
    }

    pub(crate) async fn exit(&self) -> Exit {
        let pid = self.0.pid;
        until("the end of the shim", || orphans::exit_of(pid)).await
    }
}

impl Daemon {
    pub(crate) async fn accept(&self) -> Line {
        let (stream, _) = tokio::time::timeout(PATIENCE, self.listener.accept()).await.expect("a shim").unwrap();
        let (read, commands) = stream.into_split();
        let mut frames = BufReader::new(read).lines();
        let hello = serde_json::from_str(&frames.next_line().await.unwrap().unwrap()).unwrap();
        Line { hello, frames, commands }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Line {
    pub(crate) async fn tell(&mut self, command: ShimCommand) {
        let line = serde_json::to_string(&command).unwrap() + "\n";
        self.commands.write_all(line.as_bytes()).await.unwrap();
    }

    /// Returns the next frame without acking it.
    pub(crate) async fn frame(&mut self) -> Frame {
        let line =
            tokio::time::timeout(PATIENCE, self.frames.next_line()).await.expect("a frame").unwrap().expect("a frame");
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the next beat; frames before it are dropped.
    pub(crate) async fn beat(&mut self) -> u64 {
        loop {
            let line = tokio::time::timeout(PATIENCE, self.frames.next_line()).await.expect("a beat").unwrap();
            if let Ok(Beat { beat }) = serde_json::from_str(&line.expect("a beat")) {
                return beat;
            }
        }
    }

    /// Returns the last beat before the shim was silent for `silence`, `None` if it was silent from the start. Fails if the beats go on.
    pub(crate) async fn last_beat(&mut self, silence: Duration) -> Option<u64> {
        let mut last = None;
        for _ in 0..20 {
            match tokio::time::timeout(silence, self.beat()).await {
                Ok(beat) => last = Some(beat),
                Err(_elapsed) => return last,
            }
        }
        panic!("the shim goes on beating: {last:?}");
    }

    /// Acks frames up to the first match, and returns them all.
    pub(crate) async fn upto(&mut self, fits: impl Fn(&WorkerEvent) -> bool) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            let frame = self.frame().await;
            self.tell(ShimCommand::Ack { seq: frame.seq }).await;
            let is_last = fits(&frame.event);
            frames.push(frame);
            if is_last {
                return frames;
            }
        }
    }

    pub(crate) async fn rest(&mut self) -> Vec<Frame> {
        self.upto(|event| matches!(event, WorkerEvent::Sealed { .. })).await
    }
}

pub(crate) async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap_or_else(|_| panic!("never: {what}"))
}

pub(crate) fn mail(number: u32) -> MessageId {
    MessageId::new(format!("msg_{number}")).unwrap()
}

/// Returns the kinds of frames, in order; tool calls with their status, pauses with their state.
pub(crate) fn kinds(frames: &[Frame]) -> Vec<String> {
    let kind = |frame: &Frame| {
        let event = serde_json::to_value(&frame.event).unwrap();
        let status = event["status"].as_str().or(event["state"].as_str());
        let status = status.map(|status| format!(" {status}")).unwrap_or_default();
        format!("{}{status}", event["kind"].as_str().unwrap())
    };
    frames.iter().map(kind).collect()
}

/// Returns the codes of the faults in these frames.
pub(crate) fn faults(frames: &[Frame]) -> Vec<&str> {
    let fault = |frame: &Frame| {
        let WorkerEvent::Faulted { code, .. } = &frame.event else { return None };
        Some(switchboard_protocol::error::find(code).expect("a known code").code)
    };
    frames.iter().filter_map(fault).collect()
}

/// Returns the exit code and signal of the agent.
pub(crate) fn exited(frames: &[Frame]) -> (Option<i32>, Option<i32>) {
    let exit = |frame: &Frame| {
        let WorkerEvent::AgentExited { code, signal, .. } = &frame.event else { return None };
        Some((*code, *signal))
    };
    frames.iter().find_map(exit).expect("an exit")
}

/// Returns turn, reason and text of each ended turn.
pub(crate) fn turns(frames: &[Frame]) -> Vec<(u32, String, String)> {
    let turn = |frame: &Frame| {
        let WorkerEvent::TurnEnded { turn, stop, text } = &frame.event else { return None };
        Some((*turn, stop.clone(), text.clone()))
    };
    frames.iter().filter_map(turn).collect()
}
