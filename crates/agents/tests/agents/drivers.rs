//! Tests of every driver's contract in one suite, and of the peculiarities of real ACP agents.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use switchboard_agents::driver::{Acp, Driver, DriverOutput, Exec, Start};
use switchboard_process::env::Env;
use switchboard_process::orphans;
use switchboard_protocol::worker::WorkerEvent;

use crate::roles;

fn start(argv: &[&str], cwd: &Path, env: Env) -> Start {
    let argv = argv.iter().map(|arg| (*arg).to_owned()).collect();
    Start {
        argv,
        cwd: cwd.to_owned(),
        env,
        mcp: None,
        sandbox: None,
        tools: Vec::new(),
        hosts: Vec::new(),
        model: None,
        keeps_input: false,
    }
}

fn scripted(folder: &Path, steps: &serde_json::Value) -> Start {
    let file = folder.join(format!("script-{}.json", std::fs::read_dir(folder).unwrap().count()));
    std::fs::write(&file, json!({ "sections": [{ "steps": steps }] }).to_string()).unwrap();
    let argv = roles::argv();
    start(&argv.iter().map(String::as_str).collect::<Vec<_>>(), folder, roles::env("script", &file))
}

const TURN_STARTED: DriverOutput = DriverOutput::Event(WorkerEvent::TurnStarted { turn: 0, mail: Vec::new() });

async fn next<D: Driver>(driver: &mut D) -> DriverOutput {
    loop {
        let event = tokio::time::timeout(Duration::from_secs(60), driver.next()).await.expect("an event");
        if !matches!(event, DriverOutput::Raw { .. }) {
            return event;
        }
    }
}

/// Checks the contract of [`Driver`]: `good` ends its first turn by itself, `endless` never does, `missing` can't be started.
async fn keeps_the_contract<D: Driver + std::fmt::Debug>(good: Start, endless: Start, missing: Start) {
    assert_eq!(D::start(&missing).unwrap_err().code(), "agent.missing");

    let mut driver = D::start(&good).unwrap();
    assert!(!driver.prompt("too early"));
    assert!(matches!(next(&mut driver).await, DriverOutput::Event(WorkerEvent::SessionOpened { .. })));
    assert!(driver.prompt("Task 1 of \"x\", attempt 1."));
    assert!(!driver.prompt("a second one in the same turn"));
    assert!(!driver.permit("no such question", None));
    assert_eq!(next(&mut driver).await, TURN_STARTED);
    assert!(matches!(next(&mut driver).await, DriverOutput::Event(WorkerEvent::TurnEnded { .. })));
    driver.close();
    assert_eq!(next(&mut driver).await, DriverOutput::Exited);
    assert_eq!(next(&mut driver).await, DriverOutput::Exited, "and nothing after it");
    let (ended, _) = driver.finish().await;
    assert!(ended.exit.is_zero() && ended.survivors.is_empty());
    assert_eq!(driver.fingerprint(), None);

    let mark = format!("mark-{}", driver.pid());
    let marked = Start { env: endless.env.clone().set("DRIVER_TEST", mark.as_str()), ..endless };
    let mut driver = D::start(&marked).unwrap();
    assert!(matches!(next(&mut driver).await, DriverOutput::Event(WorkerEvent::SessionOpened { .. })));
    assert!(driver.prompt("Task 1 of \"x\", attempt 1."));
    assert_eq!(next(&mut driver).await, TURN_STARTED);
    let waited = tokio::time::timeout(Duration::from_millis(20), async {
        while matches!(driver.next().await, DriverOutput::Raw { .. }) {}
    });
    assert!(waited.await.is_err(), "the turn goes on");
    assert!(!orphans::marked("DRIVER_TEST", &mark).is_empty());
    driver.end(Duration::from_millis(200)).await;
    while next(&mut driver).await != DriverOutput::Exited {}
    let (ended, _) = driver.finish().await;
    assert!(ended.survivors.is_empty() && !ended.exit.is_zero());
    assert_eq!(orphans::marked("DRIVER_TEST", &mark), []);
}

#[tokio::test]
async fn exec_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let shell = |script: &str| start(&["sh", "-c", script], folder.path(), Env::plain());

    keeps_the_contract::<Exec>(
        shell("echo hello"),
        shell("trap '' TERM; sleep 1000 & while :; do sleep 1; done"),
        start(&["no-such-program"], folder.path(), Env::plain()),
    )
    .await;
}

#[tokio::test]
async fn acp_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();

    keeps_the_contract::<Acp>(
        scripted(folder.path(), &json!([{ "do": "say", "text": "hello" }])),
        scripted(folder.path(), &json!([{ "do": "ignore_stop" }, { "do": "hang" }])),
        start(&["no-such-program"], folder.path(), Env::plain()),
    )
    .await;
}

#[tokio::test]
async fn acp_bears_the_habits_of_real_agents() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    let log = cwd.join("log");
    let argv = roles::argv();
    let env = roles::env("quirky", &log).set("CWD", cwd.to_str().unwrap());
    let mut driver = Acp::start(&start(&argv.iter().map(String::as_str).collect::<Vec<_>>(), &cwd, env)).unwrap();

    assert_eq!(next(&mut driver).await, DriverOutput::Event(WorkerEvent::SessionOpened { session: "s".to_owned() }));
    assert!(driver.prompt("go"));
    assert_eq!(next(&mut driver).await, TURN_STARTED);
    assert!(
        matches!(next(&mut driver).await, DriverOutput::Event(WorkerEvent::ToolCalled { tool_kind, status, .. }) if tool_kind == "other" && status == "pending")
    );
    driver.cancel();
    let DriverOutput::Event(WorkerEvent::TurnEnded { stop, .. }) = next(&mut driver).await else { panic!("an end") };
    driver.close();
    while next(&mut driver).await != DriverOutput::Exited {}

    assert_eq!(stop, "cancelled", "an error after a cancel is a cancel");
    assert_eq!(std::fs::read_to_string(cwd.join("by-request.txt")).unwrap(), "from the agent");
    let answers: Vec<serde_json::Value> =
        std::fs::read_to_string(&log).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!("req-0"), json!(0), json!("req-1"), json!("req-2")], "each answered under its own id");
    assert!(answers[0].get("error").is_none());
    assert!(answers[1]["error"]["message"].as_str().unwrap().contains("outside the work tree"));
    assert_eq!(answers[2]["result"]["content"], "from the agent");
    assert_eq!(answers[3]["error"]["code"], -32601);
    assert!(!Path::new("/etc/by-request.txt").exists());
    assert!(driver.malformed() > 0, "the harness's own line is no protocol");
}
