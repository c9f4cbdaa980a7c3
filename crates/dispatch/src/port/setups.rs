//! Prepares new work trees: copies ignored files into them, and runs commands in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use switchboard_process::env::Env;
use switchboard_process::git::link_leads;
use switchboard_process::spawn::{End, Exit, Output, Spawn, StopFlag};
use switchboard_process::task;
use switchboard_protocol::error::Failure;
use switchboard_protocol::text::unstyled;

use crate::Error;
use crate::error::io;
use crate::future::BoxFuture;

/// Maximum number of files copied into a tree: a large `node_modules` has 100,000.
const MAX_FILES: usize = 200_000;

/// Maximum number of bytes copied into a tree.
const MAX_BYTES: u64 = 8 << 30;

/// Number of bytes that the log keeps from each end of a command's output.
const KEEP: usize = 1 << 20;

/// Command of a set-up.
#[derive(Debug, Clone)]
pub(crate) struct SetupCall {
    pub(crate) argv: Vec<String>,
    /// Work tree in which the command runs.
    pub(crate) cwd: PathBuf,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) limit: Duration,
    /// File to which the command's output is appended.
    pub(crate) log: PathBuf,
}

/// Result of a set-up command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SetupEnd {
    /// Ended with exit code 0.
    Succeeded,
    /// Ended otherwise.
    Failed {
        /// How it ended: `exit code 1`, `killed by signal 9`, `stopped after 600 s`.
        how: String,
        /// End of the command's output.
        tail: String,
    },
}

/// Listed files that can be copied into a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Included {
    /// Paths relative to both trees.
    pub(crate) files: Vec<PathBuf>,
    /// Files that are not copied, with the reason.
    pub(crate) left_out: Vec<String>,
}

/// Sets work trees up.
pub(crate) trait Setups: Send + Sync {
    /// Returns true if there is a file at a path; blocks.
    fn is_file(&self, path: &Path) -> bool;
    /// Returns true if there is a file at a path of a work tree, and no link on the path leads out of the tree; blocks.
    fn has_file(&self, tree: &Path, path: &str) -> bool;
    /// Separates files below `from` that can be copied from those that can't; blocks.
    ///
    /// # Errors
    /// `dispatch.setup` if there are too many files or bytes.
    fn included(&self, from: &Path, listed: Vec<PathBuf>) -> Result<Included, Error>;
    /// Copies files that don't exist yet; returns those that could not be copied, with the reason; blocks.
    fn copy(&self, from: &Path, to: &Path, included: Included) -> Result<Vec<String>, Error>;
    /// Runs a command to its end or its limit. Dropping the future ends the command with all its processes.
    ///
    /// # Errors
    /// When it could not be started.
    fn run(&self, call: SetupCall) -> BoxFuture<'static, Result<SetupEnd, Error>>;
}

/// Files and processes of this machine.
pub(crate) struct Machine;

// === impl Machine ===

impl Setups for Machine {
    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn has_file(&self, tree: &Path, path: &str) -> bool {
        let (Ok(tree), Ok(path)) = (tree.canonicalize(), tree.join(path).canonicalize()) else { return false };
        path.is_file() && path.starts_with(tree)
    }

    fn included(&self, from: &Path, listed: Vec<PathBuf>) -> Result<Included, Error> {
        if listed.len() > MAX_FILES {
            return Err(too_much(format!("{} files, {MAX_FILES} at most", listed.len())));
        }
        let mut included = Included::default();
        let mut bytes = 0;
        for path in listed {
            let Ok(found) = fs::symlink_metadata(from.join(&path)) else { continue };
            let kind = found.file_type();
            let why = if kind.is_symlink() {
                let target = fs::read_link(from.join(&path)).map_err(io(&path))?;
                link_leads(&path, &target).map(|_| "a link that leads out of the repository")
            } else {
                (!kind.is_file()).then_some("neither a file nor a link")
            };
            match why {
                Some(why) => included.left_out.push(format!("{}: {why}", path.display())),
                None => {
                    bytes += found.len();
                    included.files.push(path);
                }
            }
        }
        if bytes > MAX_BYTES {
            return Err(too_much(format!("{bytes} bytes, {MAX_BYTES} at most")));
        }
        Ok(included)
    }

    fn copy(&self, from: &Path, to: &Path, included: Included) -> Result<Vec<String>, Error> {
        let mut left_out = included.left_out;
        for path in included.files {
            if let Some(why) = copy_one(from, to, &path)? {
                left_out.push(format!("{}: {why}", path.display()));
            }
        }
        Ok(left_out)
    }

    fn run(&self, call: SetupCall) -> BoxFuture<'static, Result<SetupEnd, Error>> {
        let flag = StopFlag::default();
        let guard = RaiseAtDrop(flag.clone());
        Box::pin(async move {
            let done = task::spawn_blocking(move || run_to_its_end(&call, flag)).await;
            drop(guard);
            done.unwrap_or(Err(Error::Stopping))
        })
    }
}

/// Ends a command whose result is no longer awaited.
struct RaiseAtDrop(StopFlag);

impl Drop for RaiseAtDrop {
    fn drop(&mut self) {
        self.0.raise();
    }
}

fn run_to_its_end(call: &SetupCall, flag: StopFlag) -> Result<SetupEnd, Error> {
    let spawn = Spawn::new(call.argv.clone())
        .cwd(&call.cwd)
        .env_only(Env::from_iter(call.env.clone()))
        .own_session()
        .ends_with_us()
        .wall(call.limit)
        .keep(KEEP)
        .stopped_by(flag);
    let output = spawn.output()?;
    write_log(call, &output)?;
    if output.succeeded() {
        return Ok(SetupEnd::Succeeded);
    }
    let how = match (output.end, output.exit) {
        (End::TimedOut, _) => format!("was stopped after {} s, its time limit", call.limit.as_secs()),
        (End::Stopped, _) => "was stopped".to_owned(),
        (End::ByItself, Exit::Exited(code)) => format!("ended with exit code {code}"),
        (End::ByItself, Exit::Signalled(signal)) => format!("was killed by signal {signal}"),
    };
    let (stdout, stderr) = (output.stdout.text(), output.stderr.text());
    let said = if stderr.trim().is_empty() { stdout } else { stderr };
    let said = unstyled(said.trim_end());
    let tail = said[said.ceil_char_boundary(said.len().saturating_sub(300))..].trim_start().to_owned();
    Ok(SetupEnd::Failed { how, tail })
}

fn write_log(call: &SetupCall, output: &Output) -> Result<(), Error> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let file = fs::OpenOptions::new().append(true).create(true).mode(0o600).open(&call.log);
    let mut file = file.map_err(io(&call.log))?;
    let (stdout, stderr) = (output.stdout.text(), output.stderr.text());
    let took = output.took.as_secs();
    let text = format!("$ {}\n{stdout}{stderr}[{:?}, {took} s]\n\n", call.argv.join(" "), output.exit);
    file.write_all(text.as_bytes()).map_err(io(&call.log))
}

/// Copies a file with its permissions, or a link as a link; shares blocks if the file system can. Returns the reason if
/// it can't be copied.
fn copy_one(from: &Path, to: &Path, path: &Path) -> Result<Option<&'static str>, Error> {
    let (source, target) = (from.join(path), to.join(path));
    if fs::symlink_metadata(&target).is_ok() {
        return Ok(Some("the work tree has it already"));
    }
    let mut parent = to.to_owned();
    for part in path.parent().into_iter().flat_map(Path::components) {
        parent.push(part);
        match fs::symlink_metadata(&parent) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Ok(Some("its folder is a link or a file in the work tree")),
            Err(_) => fs::create_dir(&parent).map_err(io(&parent))?,
        }
    }
    let Ok(found) = fs::symlink_metadata(&source) else { return Ok(Some("it is gone")) };
    if found.is_symlink() {
        let to = fs::read_link(&source).map_err(io(&source))?;
        if link_leads(path, &to).is_some() {
            return Ok(Some("a link that leads out of the repository"));
        }
        std::os::unix::fs::symlink(to, &target).map_err(io(&target))?;
    } else {
        fs::copy(&source, &target).map_err(io(&target))?;
    }
    Ok(None)
}

fn too_much(what: String) -> Error {
    let failure = Failure::new("dispatch.setup", format!(".worktreeinclude names {what}"));
    failure.hint("name less, and let the set-up command install the rest").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::comes;

    #[test]
    fn links_out_of_the_tree_and_what_is_there_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("deep")).unwrap();
        fs::create_dir_all(&to).unwrap();
        fs::write(from.join(".env"), "A=1").unwrap();
        fs::write(from.join("deep/file"), "x").unwrap();
        fs::write(from.join("there"), "theirs").unwrap();
        fs::write(to.join("there"), "ours").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", from.join("out")).unwrap();
        std::os::unix::fs::symlink(".env", from.join("in")).unwrap();
        std::os::unix::fs::symlink(folder.path(), to.join("elsewhere")).unwrap();
        fs::create_dir(from.join("elsewhere")).unwrap();
        fs::write(from.join("elsewhere/file"), "x").unwrap();
        let listed = [".env", "deep/file", "there", "out", "in", "elsewhere/file"].map(PathBuf::from).to_vec();

        let left_out = Machine.copy(&from, &to, Machine.included(&from, listed).unwrap()).unwrap();

        assert_eq!(fs::read_to_string(to.join(".env")).unwrap(), "A=1");
        assert_eq!(fs::read_to_string(to.join("deep/file")).unwrap(), "x");
        assert_eq!(fs::read_to_string(to.join("there")).unwrap(), "ours");
        assert_eq!(fs::read_link(to.join("in")).unwrap(), Path::new(".env"));
        assert!(!to.join("out").exists() && !folder.path().join("file").exists());
        assert_eq!(left_out.len(), 3, "{left_out:?}");
    }

    #[test]
    fn files_are_copied_up_to_a_number_of_bytes_together() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path();
        fs::write(from.join("small"), "12345").unwrap();
        let included = |bytes: u64| {
            fs::File::create(from.join("large")).unwrap().set_len(bytes - 5).unwrap();
            Machine.included(from, ["small", "large"].map(PathBuf::from).to_vec())
        };

        assert_eq!(included(MAX_BYTES).unwrap().files.len(), 2);
        let failure = included(MAX_BYTES + 1).err().unwrap().to_failure();
        assert!(failure.what.contains(&format!("{} bytes, {MAX_BYTES} at most", MAX_BYTES + 1)), "{failure:?}");
    }

    #[test]
    fn a_link_that_came_to_lead_out_after_the_files_were_listed_is_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(&from).unwrap();
        fs::create_dir_all(&to).unwrap();
        std::os::unix::fs::symlink("../secret", from.join("out")).unwrap();

        let reason = copy_one(&from, &to, Path::new("out")).unwrap();

        assert_eq!(reason, Some("a link that leads out of the repository"));
        assert!(fs::symlink_metadata(to.join("out")).is_err());
        assert_eq!(copy_one(&from, &to, Path::new("none")).unwrap(), Some("it is gone"));
    }

    #[test]
    fn a_work_tree_has_a_file_only_if_no_link_leads_out_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir_all(tree.join("deep")).unwrap();
        for file in ["tree/deep/file", "outside"] {
            fs::write(folder.path().join(file), "x").unwrap();
        }
        std::os::unix::fs::symlink("deep/file", tree.join("in")).unwrap();
        std::os::unix::fs::symlink("../outside", tree.join("out")).unwrap();
        let has = |path: &str| Machine.has_file(&tree, path);

        assert_eq!(["deep/file", "in"].map(has), [true, true]);
        assert_eq!(["deep", "out", "../outside", "none"].map(has), [false; 4]);
        assert!(!Machine.has_file(&folder.path().join("none"), "deep/file"));
        assert_eq!(["deep/file", "deep", "none"].map(|path| Machine.is_file(&tree.join(path))), [true, false, false]);
    }

    /// Returns a call of a shell in the folder, whose log is the file `log` there.
    fn shell(folder: &Path, script: &str) -> SetupCall {
        SetupCall {
            argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
            cwd: folder.to_owned(),
            env: [("PATH", switchboard_process::env::var("PATH").unwrap().as_str()), ("WORD", "it")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            limit: Duration::from_secs(120),
            log: folder.join("log"),
        }
    }

    #[tokio::test]
    async fn a_set_up_that_fails_says_how_and_with_which_last_words() {
        let folder = tempfile::tempdir().unwrap();
        let run = async |script: &str| Machine.run(shell(folder.path(), script)).await.unwrap();
        let failed = |how: &str, tail: &str| SetupEnd::Failed { how: how.to_owned(), tail: tail.to_owned() };

        assert_eq!(run("exit 0").await, SetupEnd::Succeeded);
        assert_eq!(run("echo out; exit 7").await, failed("ended with exit code 7", "out"));
        assert_eq!(
            run("echo out; printf '\\033[1mbad\\033[0m %s\n' $WORD >&2; exit 1").await,
            failed("ended with exit code 1", "bad it")
        );
        assert_eq!(run("kill -9 $$").await, failed("was killed by signal 9", ""));
        let long = run("printf '%0400d' 0; exit 1").await;
        assert_eq!(long, failed("ended with exit code 1", &"0".repeat(300)));
        let late = SetupCall { limit: Duration::from_secs(1), ..shell(folder.path(), "exec sleep 1000") };
        assert_eq!(Machine.run(late).await.unwrap(), failed("was stopped after 1 s, its time limit", ""));
        let absent = SetupCall { argv: vec!["/none".to_owned()], ..shell(folder.path(), "") };
        assert!(Machine.run(absent).await.is_err());
    }

    #[tokio::test]
    async fn the_output_of_each_command_of_a_set_up_is_kept_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        for script in ["echo one", "echo two; echo three >&2; exit 1"] {
            Machine.run(shell(folder.path(), script)).await.unwrap();
        }

        let log = folder.path().join("log");
        let text = fs::read_to_string(&log).unwrap();
        let told = ["$ sh -c echo one\none\n", "exit 1\ntwo\nthree\n"].map(|told| text.find(told));
        assert!(told[0] == Some(0) && told[0] < told[1], "{text}");
        assert_eq!(log.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[tokio::test]
    async fn a_command_that_nobody_waits_for_any_more_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let call = shell(folder.path(), "echo begun; : > begun; exec sleep 1000");
        let running = tokio::spawn(Machine.run(call));
        assert!(comes(|| folder.path().join("begun").exists()).await);

        running.abort();

        assert!(comes(|| folder.path().join("log").exists()).await, "its output is kept once it has ended");
    }
}
