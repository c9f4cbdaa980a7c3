//! Prepares new work trees: copies ignored files into them, and runs commands in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use switchboard_process::env::Env;
use switchboard_process::git::link_leads;
use switchboard_process::spawn::{End, Exit, Output, Spawn, StopFlag};
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
            let done = tokio::task::spawn_blocking(move || run_to_its_end(&call, flag)).await;
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
}
