//! Output of workers is read in bounds: its ends, from an offset on, and while it grows.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::spawn::Spawn;

use super::sandbox::{BINARY, Sandbox, within};

/// Makes a trusted plan whose one task is a shell line.
fn printing(sandbox: &Sandbox, line: &str) -> String {
    let command = json!(["sh", "-c", line]);
    sandbox.trusted_plan(
        &json!([{ "id": "1.1", "phase": 1, "description": "print", "x-switchboard": { "command": command } }]),
    )
}

fn text(reply: &Value) -> String {
    let pieces = reply["pieces"].as_array().unwrap().iter();
    pieces.map(|piece| piece["text"].as_str().unwrap()).collect()
}

fn number(reply: &Value, field: &str) -> u64 {
    reply[field].as_u64().unwrap_or_else(|| panic!("{field}: {reply}"))
}

#[test]
fn an_output_of_any_size_is_read_by_its_ends_and_from_offset_to_offset() {
    let sandbox = Sandbox::new();
    let plan = printing(
        &sandbox,
        "seq 1 30000; head -c 1200000 /dev/zero | tr '\\0' x; printf '\\377\\376 \\303\\274'; echo x > x.txt",
    );
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);
    let numbers: String = (1..=30_000).map(|number| format!("{number}\n")).collect();
    let total = numbers.len() as u64 + 1_200_000 + 5;

    let ends = sandbox.call(&["read_output", "task=1.1", "bytes=100"]);
    let head = sandbox.switchboard(&["log", "1.1", "--raw", "--head", "--bytes", "100"]).ends_with(0);
    let tail = sandbox.switchboard(&["log", "1.1", "--raw", "--bytes", "5"]).ends_with(0);

    assert_eq!((number(&ends, "total_bytes"), number(&ends, "next_offset")), (total, total));
    assert_eq!((number(&ends, "elided_bytes"), &ends["is_complete"]), (total - 100, &json!(true)));
    assert!(text(&ends).starts_with("1\n2\n") && text(&ends).ends_with("\u{fffd}\u{fffd} ü"), "{ends}");
    assert_eq!(head.out, numbers[..100]);
    assert_eq!((tail.out.as_str(), tail.err.contains(&format!("of {total}"))), ("\u{fffd}\u{fffd} ü", true));

    let worker = ends["worker"].as_str().unwrap();
    let (mut all, mut from) = (String::new(), 0);
    while from < total {
        let part = sandbox.call(&["read_output", &format!("worker={worker}"), &format!("from={from}"), "bytes=262144"]);
        assert!(number(&part, "next_offset") > from && number(&part, "elided_bytes") == 0, "{from}");
        from = number(&part, "next_offset");
        all.push_str(&text(&part));
    }
    assert!(all == format!("{numbers}{}\u{fffd}\u{fffd} ü", "x".repeat(1_200_000)));
    let followed = sandbox.switchboard(&["log", worker, "--raw", "--follow", "--from", &(total - 2).to_string()]);
    assert_eq!(followed.ends_with(0).out, "ü");
}

#[test]
fn an_output_is_followed_while_its_worker_lives() {
    let sandbox = Sandbox::new();
    let go = sandbox.folder().join("go");
    let wait = format!("echo one; while [ ! -e {} ]; do sleep 0.05; done; echo two; echo x > x.txt", go.display());
    let plan = printing(&sandbox, &wait);
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let run = Spawn::new([BINARY, "run", &plan, "--yes"]).cwd(sandbox.root()).env_only(sandbox.environment());
    run.detached(None).unwrap();
    let mut first = Value::Null;
    let has_begun = within(Duration::from_secs(60), || {
        let reply = sandbox.switchboard(&["call", "read_output", "task=1.1", "part=head"]);
        first = if reply.code == 0 { reply.json() } else { Value::Null };
        first["total_bytes"] == 4
    });
    assert!(has_begun, "{first}");

    let nothing = sandbox.call(&["read_output", "task=1.1", "from=4"]);
    std::fs::write(&go, "").unwrap();
    let followed = sandbox.switchboard(&["log", "1.1", "--raw", "--follow", "--from", "4"]).ends_with(0);

    assert_eq!((text(&first).as_str(), &first["is_complete"]), ("one\n", &json!(false)));
    assert_eq!((text(&nothing).as_str(), number(&nothing, "next_offset")), ("", 4));
    assert_eq!(followed.out, "two\n");
    sandbox.switchboard(&["run", "--resume"]).ends_with(0);
}

#[test]
fn what_a_worker_prints_holds_no_secret_of_its_environment() {
    let mut sandbox = Sandbox::new();
    sandbox.set("STORY_TOKEN", "tok-0123456789");
    sandbox.settings(
        "[agents.teller]\ndriver = \"exec\"\nenv = [\"STORY_TOKEN\"]\nspends = false\n\
         command = [\"sh\", \"-c\", \"printf tok-0123; sleep 0.2; echo 456789; echo $STORY_TOKEN >&2; echo x > x.txt\"]\n",
    );
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));

    sandbox.switchboard(&["run", &plan, "--agent", "teller", "--yes"]).ends_with(0);

    let reply = sandbox.call(&["read_output", "task=1.1"]);
    assert_eq!(text(&reply), "‹secret›\n‹secret›\n");
    let on_disk = sandbox.run(["grep", "-rl", "tok-0123456789", "--include=*.raw", "."], sandbox.folder(), "");
    assert_eq!((on_disk.code, on_disk.out.as_str()), (1, ""));
}

#[test]
fn bounds_that_can_not_be_kept_are_refused_with_their_field() {
    let sandbox = Sandbox::new();
    let plan = printing(&sandbox, "echo x > x.txt");
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);
    let refused = |args: &[&str], code: &str, field: &str| {
        let args = [&["call", "read_output", "--json"], args].concat();
        let failure = sandbox.switchboard(&args).ends_with(2).failure();
        assert_eq!((failure["code"].as_str(), failure["where"].as_str()), (Some(code), Some(field)), "{args:?}");
    };

    refused(&["task=1.1", "bytes=3"], "request.bad-args", "bytes");
    refused(&["task=1.1", "bytes=262145"], "request.bad-args", "bytes");
    refused(&["task=1.1", "from=1", "part=head"], "request.bad-args", "part");
    refused(&["task=1.1", "worker=wrk_1111111111111"], "request.bad-args", "worker");
    refused(&[], "request.bad-args", "task");
    refused(&["task=1.1", "attempt=9"], "dispatch.no-worker", "");
    refused(&["worker=wrk_1111111111111"], "dispatch.no-worker", "");
}
