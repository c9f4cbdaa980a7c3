//! Starting, limiting and ending of real processes.

use std::time::Duration;

use switchboard_process::Error;
use switchboard_process::env::Env;
use switchboard_process::fingerprint::Fingerprint;
use switchboard_process::spawn::{Capture, End, Exit, Limits, Spawn, StopFlag};

fn shell(script: &str) -> Spawn {
    Spawn::new(["sh", "-c", script]).env_only(Env::empty().inherit(["PATH"]))
}

/// Returns the pid that a script printed on a separate line.
fn printed_pid(stdout: &Capture) -> u32 {
    stdout.text().trim().parse().expect("a pid")
}

#[test]
fn output_is_kept_byte_for_byte_and_input_arrives() {
    let echoed = shell("cat; printf 'to \\377 err' >&2; exit 3").input(b"\xff\x00in".to_vec()).output().unwrap();

    assert_eq!(echoed.stdout.whole().unwrap(), b"\xff\x00in");
    assert_eq!(echoed.stderr.whole().unwrap(), b"to \xff err");
    assert_eq!((echoed.exit, echoed.end), (Exit::Exited(3), End::ByItself));
    assert!(!echoed.succeeded());
}

#[test]
fn the_environment_is_what_was_given_and_nothing_else() {
    let env = Env::empty().inherit(["PATH"]).set("ONLY", "this");

    let seen = Spawn::new(["env"]).env_only(env).output().unwrap();

    let text = seen.stdout.text();
    let names: Vec<_> = text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    assert_eq!(names, ["ONLY", "PATH"]);
}

#[test]
fn a_signal_is_never_success() {
    let ended = shell("kill -9 $$").output().unwrap();

    assert_eq!(ended.exit, Exit::Signalled(9));
    assert_eq!((ended.exit.code(), ended.exit.signal()), (None, Some(9)));
    assert!(!ended.succeeded() && !ended.exit.is_zero());
}

#[test]
fn what_cannot_start_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "no program").unwrap();

    assert!(matches!(Spawn::new([""; 0]).output(), Err(Error::EmptyCommand)));
    assert!(matches!(Spawn::new(["no-such-program"]).output(), Err(Error::Missing { .. })));
    assert!(matches!(Spawn::new([text.to_str().unwrap()]).output(), Err(Error::Missing { .. })));
    assert!(matches!(shell("true").cwd("/nowhere/at/all").output(), Err(Error::Folder { .. })));
    let error = Spawn::new(["no-such-program"]).output().unwrap_err();
    assert_eq!(error.failure().code, "agent.missing");
}

#[test]
fn a_flood_costs_bounded_memory_and_is_counted() {
    let flood = shell("head -c 3000000 /dev/zero; echo end").keep(1000).output().unwrap();

    assert!(flood.succeeded());
    assert_eq!(flood.stdout.total(), 3_000_004);
    assert_eq!(flood.stdout.dropped(), 3_000_004 - 2000);
    assert!(flood.stdout.text().ends_with("end\n"));
}

#[test]
fn a_time_limit_ends_the_whole_group_even_if_it_ignores_sigterm() {
    let script = "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo $!; wait";

    let limit = Duration::from_millis(200);
    let ended = shell(script).wall(limit).grace(limit).output().unwrap();

    assert_eq!((ended.end, ended.exit), (End::TimedOut, Exit::Signalled(9)));
    assert!(ended.survivors.is_empty());
    assert!(!Fingerprint::of(printed_pid(&ended.stdout)).is_some_and(|process| process.is_alive()));
    assert!(!ended.succeeded());
}

#[test]
fn a_background_process_does_not_outlive_its_leader_nor_hold_us_up() {
    let ended = shell("sleep 1000 & echo $!").wall(Duration::from_secs(60)).output().unwrap();

    assert!(ended.succeeded());
    assert!(!Fingerprint::of(printed_pid(&ended.stdout)).is_some_and(|process| process.is_alive()));
}

#[test]
fn a_raised_flag_ends_it() {
    let flag = StopFlag::default();
    let raiser = flag.clone();
    let thread = std::thread::spawn(move || raiser.raise());

    let ended = shell("sleep 1000").stopped_by(flag).output().unwrap();

    thread.join().unwrap();
    assert_eq!((ended.end, ended.succeeded()), (End::Stopped, false));
}

#[test]
fn a_limit_beyond_the_inherited_one_leaves_that() {
    let print = || shell("ulimit -Hn; ulimit -Sn");
    let inherited = print().output().unwrap().stdout.text();
    let most: u64 = inherited.lines().next().unwrap().parse().expect("files are always limited");

    let limited = print().limits(Limits { open_files: Some(most + 1), ..Limits::default() }).output().unwrap();

    assert_eq!(limited.stdout.text(), format!("{most}\n{most}\n"), "{limited:?}");
}

#[test]
fn limits_are_kept_by_the_kernel() {
    let limits = Limits { file_bytes: Some(1024), open_files: Some(32), ..Limits::default() };
    let folder = tempfile::tempdir().unwrap();

    let ended = shell("ulimit -n; head -c 4096 /dev/zero > big; echo $?").cwd(folder.path()).limits(limits).output();

    let text = ended.unwrap().stdout.text();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((lines[0], lines[1] != "0"), ("32", true), "{text}");
    assert_eq!(std::fs::metadata(folder.path().join("big")).unwrap().len(), 1024);
}

#[test]
fn a_child_leads_its_group_and_a_session_of_its_own_if_asked() {
    let ids = "ps -o pid=,pgid=,sid= -p $$ 2>/dev/null || cut -d' ' -f1,5,6 /proc/$$/stat";
    let group = shell(ids).output().unwrap().stdout.text();
    let session = shell(ids).own_session().output().unwrap().stdout.text();

    let ids = |text: &str| text.split_whitespace().map(|n| n.parse::<u32>().unwrap()).collect::<Vec<_>>();
    let (group, session) = (ids(&group), ids(&session));
    assert_eq!((group[0] == group[1], group[0] == group[2]), (true, false));
    assert_eq!((session[0] == session[1], session[0] == session[2]), (true, true));
}

#[tokio::test]
async fn a_piped_child_talks_and_ends_when_its_input_does() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut child = shell("cat").piped().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();

    stdin.write_all(b"hello").await.unwrap();
    drop(stdin);
    let mut said = String::new();
    stdout.read_to_string(&mut said).await.unwrap();
    let ended = child.wait().await;

    assert_eq!(said, "hello");
    assert_eq!((ended.exit, ended.was_killed, ended.survivors), (Exit::Exited(0), false, vec![]));
    assert_eq!(child.fingerprint(), None);
}

#[tokio::test]
async fn terminating_asks_first_kills_later_and_takes_grandchildren_along() {
    use tokio::io::{AsyncBufReadExt, BufReader};
    let cases = [
        ("sleep 1000 & echo $!; wait", Duration::from_secs(30), false),
        (
            "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo $!; while :; do sleep 1; done",
            Duration::from_millis(100),
            true,
        ),
        ("(while :; do sleep 1; done) & echo $!; kill -STOP $$", Duration::from_secs(30), false),
    ];
    for (script, grace, expected) in cases {
        let mut child = shell(script).piped().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let grandchild = Fingerprint::of(lines.next_line().await.unwrap().unwrap().parse().unwrap()).unwrap();

        let ended = child.terminate(grace).await;

        assert_eq!((ended.was_killed, ended.survivors.as_slice()), (expected, [].as_slice()), "{script}");
        assert!(ended.exit.signal().is_some(), "{script}: {}", ended.exit);
        assert!(!grandchild.is_alive(), "{script}");
    }
}

#[tokio::test]
async fn a_dropped_child_takes_its_group_along() {
    use tokio::io::{AsyncBufReadExt, BufReader};
    let mut child = shell("sleep 1000 & echo $!; wait").piped().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let grandchild = Fingerprint::of(lines.next_line().await.unwrap().unwrap().parse().unwrap()).unwrap();
    let leader = child.fingerprint().unwrap();

    drop(child);

    while leader.is_alive() || grandchild.is_alive() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
