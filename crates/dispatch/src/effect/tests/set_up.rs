//! Tests when a work tree is set up, with what, and when it can't be used.

use switchboard_protocol::run::SetupCommand;
use switchboard_protocol::worker::PortRange;

use super::super::set_up::{MadeTree, TreeSetup, set_up};
use super::*;

fn command(script: &str, lock: Option<&str>) -> SetupCommand {
    SetupCommand { argv: ["sh", "-c", script].map(str::to_owned).to_vec(), lock: lock.map(str::to_owned) }
}

/// Run whose trees are set up with these commands.
fn stand(commands: &[SetupCommand]) -> Stand {
    Stand::new(|plan| plan.setup = commands.to_vec())
}

impl Stand {
    fn tree(&self) -> PathBuf {
        self.ctx.plan.worktrees.join("tree")
    }

    /// Makes the tree of a worker.
    fn makes_tree(&self) {
        self.ctx.world.ports.git.worktree_add(&self.tree(), "task", &self.first, &[]).unwrap();
    }

    fn place(&self, is_new: bool, is_clean: bool) -> TreeSetup {
        let state = &self.ctx.world.config.state;
        TreeSetup {
            mark: "wrk_1".to_owned(),
            ports: Some(PortRange { first: 20_010, count: 10 }),
            limit: Duration::from_secs(60),
            stamp: state.join("stamp"),
            log: state.join("log"),
            tree: MadeTree { path: self.tree(), is_new, is_clean },
        }
    }

    async fn sets_up(&self, is_new: bool) -> Option<String> {
        set_up(&self.ctx, self.place(is_new, true), std::future::pending()).await.unwrap()
    }

    /// Returns how often the command has run in the tree.
    fn count(&self) -> usize {
        text(&self.tree().join("ran.ignored")).map_or(0, |text| text.lines().count())
    }
}

const COUNTS: &str = "echo once >> ran.ignored";

#[tokio::test]
async fn a_tree_is_set_up_once_until_what_its_set_up_depends_on_changes() {
    let mut at = stand(&[command(COUNTS, None), command("true", Some("deep/package-lock.json"))]);
    at.makes_tree();

    for (is_new, count) in [(true, 1), (false, 1), (true, 2), (false, 2)] {
        assert_eq!((at.sets_up(is_new).await, at.count()), (None, count));
    }
    std::fs::write(at.tree().join("kept"), "of no lock").unwrap();
    set_up(&at.ctx, at.place(false, false), std::future::pending()).await.unwrap();
    assert_eq!(at.count(), 2);
    std::fs::create_dir(at.tree().join("deep")).unwrap();
    for (count, lock) in [(3, "package-lock.json"), (4, "deep/package-lock.json")] {
        std::fs::write(at.tree().join(lock), "changed").unwrap();
        for _ in 0..2 {
            set_up(&at.ctx, at.place(false, false), std::future::pending()).await.unwrap();
            assert_eq!(at.count(), count, "{lock}");
        }
    }
    Arc::get_mut(&mut at.ctx.plan).unwrap().setup.pop();
    set_up(&at.ctx, at.place(false, false), std::future::pending()).await.unwrap();
    assert_eq!(at.count(), 5, "another set-up");
}

#[tokio::test]
async fn a_command_of_a_lock_file_runs_in_its_folder_and_not_where_there_is_none() {
    let says = |word: &str| format!("echo {word} >> said.ignored");
    let at = stand(&[
        command(&says("top"), Some("package-lock.json")),
        command(&says("deep"), Some("deep/package-lock.json")),
        command(&says("none"), Some("Gemfile.lock")),
    ]);
    at.makes_tree();
    std::fs::create_dir(at.tree().join("deep")).unwrap();
    for lock in ["package-lock.json", "deep/package-lock.json"] {
        std::fs::write(at.tree().join(lock), "{}").unwrap();
    }

    let place = at.place(true, false);
    assert_eq!(set_up(&at.ctx, place, std::future::pending()).await.unwrap(), None);

    let said = ["said.ignored", "deep/said.ignored"].map(|file| text(&at.tree().join(file)).unwrap());
    assert_eq!(said, ["top\n", "deep\n"]);
}

#[tokio::test]
async fn a_set_up_has_the_variables_of_the_daemon_of_who_started_the_run_and_of_its_tree() {
    let told = "echo $OWN $SWITCHBOARD_PORT $SWITCHBOARD_PORT_COUNT $SWITCHBOARD_WORKER > env.ignored";
    for (given, expected) in [(Some(r#"[["OWN","mine"]]"#), "mine 20010 10 wrk_1\n"), (None, "20010 10 wrk_1\n")] {
        let at = stand(&[command(told, None)]);
        at.makes_tree();
        if let Some(given) = given {
            std::fs::write(crate::plan::setup_env_file(&at.ctx.world.config, &at.ctx.plan.run), given).unwrap();
        }

        assert_eq!(at.sets_up(true).await, None);

        assert_eq!(text(&at.tree().join("env.ignored")).unwrap(), expected);
    }
}

#[tokio::test]
async fn a_set_up_that_fails_keeps_the_tree_from_being_used_and_is_tried_again() {
    let at = stand(&[command("echo bad >&2; exit 3", None), command(COUNTS, None)]);
    at.makes_tree();

    for _ in 0..2 {
        let why = at.sets_up(false).await.unwrap();

        for part in ["`echo bad >&2; exit 3`", "ended with exit code 3: bad", "/log)", "[dispatch.setup]"] {
            assert!(why.contains(part), "{part}: {why}");
        }
    }
    assert_eq!(at.count(), 0, "what follows does not run");
}

#[tokio::test]
async fn what_a_set_up_leaves_that_git_sees_keeps_a_clean_tree_from_being_used() {
    let files: Vec<_> = (1..=6).map(|number| format!("left{number}")).collect();
    let at = stand(&[command(&format!("touch {}", files.join(" ")), None)]);
    at.makes_tree();

    let why = at.sets_up(true).await.unwrap();
    let kept = set_up(&at.ctx, at.place(true, false), std::future::pending()).await.unwrap();

    assert!(why.contains("left1, left2, left3, left4, left5 and 1 more"), "{why}");
    assert_eq!(kept, None, "the tree has a worker's change already");
}

#[tokio::test]
async fn ignored_files_that_the_repository_lists_are_copied_into_a_new_tree() {
    for (is_new, expected) in [(true, Some("secret")), (false, None)] {
        let at = stand(&[]);
        std::fs::write(at.folder.join("of.ignored"), "secret").unwrap();
        std::fs::write(at.folder.join(".worktreeinclude"), "*.ignored\n").unwrap();
        at.makes_tree();

        assert_eq!(at.sets_up(is_new).await, None);

        assert_eq!(text(&at.tree().join("of.ignored")).as_deref(), expected);
    }
}

#[tokio::test]
async fn a_set_up_ends_with_its_worker_and_with_the_daemon() {
    let at = stand(&[command("exec sleep 1000", None)]);
    at.makes_tree();

    let stopped = set_up(&at.ctx, at.place(true, true), std::future::ready(())).await.unwrap_err().to_failure();
    assert_eq!(stopped.code, "worker.lost");
    at.ctx.world.end_starts(Duration::from_secs(60)).await;
    let ended = set_up(&at.ctx, at.place(true, true), std::future::pending()).await;
    assert!(matches!(ended, Err(Error::Stopping)), "{ended:?}");
    assert!(text(&at.ctx.world.config.state.join("stamp")).is_none());
}
