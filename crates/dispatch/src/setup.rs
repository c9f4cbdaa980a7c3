//! Set-up of a run's new work trees: a set-up command and ignored files.

use switchboard_pipeline::setup::{self, Defaults};
use switchboard_process::git::{Oid, Repo};
use switchboard_protocol::plan::Plan;
use switchboard_protocol::run::SetupCommand;
use switchboard_protocol::text::cut;

use crate::Error;
use crate::port::setups::Included;
use crate::port::{Git, Setups, Shims};

/// File at the top of a repository that names ignored files to copy into work trees, in the syntax of `.gitignore`.
pub(crate) const INCLUDE: &str = ".worktreeinclude";

/// Maximum number of left-out files named in a run's notes.
const MAX_NAMED: usize = 5;

/// Returns the set-up that a plan asks for, else the one that follows from the lock files of the user's work tree.
pub(crate) fn chosen(plan: &Plan, locks: &[String], shims: &dyn Shims) -> Defaults {
    match setup::planned(plan) {
        Some(commands) => Defaults { commands, notes: Vec::new() },
        None => setup::defaults(locks, |program| shims.has_program(program)),
    }
}

/// Returns the lock files that git tracks, relative to the top of the work tree.
pub(crate) fn lock_files(git: &dyn Git) -> Result<Vec<String>, Error> {
    let names: Vec<_> = setup::locks().collect();
    Ok(git.tracked_named(&names)?.iter().map(|path| crate::plan::text(path)).collect())
}

/// Returns the lock files of a commit.
pub(crate) fn lock_files_at(git: &dyn Git, commit: &Oid) -> Result<Vec<String>, Error> {
    let names: Vec<_> = setup::locks().collect();
    let is_lock =
        |path: &std::path::PathBuf| path.file_name().is_some_and(|file| names.iter().any(|name| file == *name));
    Ok(git.files_of(commit)?.iter().filter(|path| is_lock(path)).map(|path| crate::plan::text(path)).collect())
}

/// Returns the lock files that git tracks in one of the user's work trees, relative to its top.
///
/// # Errors
/// When git fails.
pub fn lock_files_of(repo: &Repo) -> Result<Vec<String>, Error> {
    lock_files(repo)
}

/// Returns the commands that follow from lock files, if the plan doesn't say how trees are set up:
/// as `switchboard trust` shows and pins them, whether or not their programs are installed.
pub fn commands_of_locks(plan: &Plan, locks: &[String]) -> Vec<(String, Vec<String>)> {
    if setup::planned(plan).is_some() {
        return Vec::new();
    }
    let name = |command: &SetupCommand| {
        let lock = command.lock.as_deref().unwrap_or_default();
        (format!("set-up of each work tree ({lock})"), command.argv.clone())
    };
    setup::defaults(locks, |_| true).commands.iter().map(name).collect()
}

/// Returns the files that `.worktreeinclude` names; none if there is no such file.
pub(crate) fn included(git: &dyn Git, setups: &dyn Setups) -> Result<Included, Error> {
    let list = git.root().join(INCLUDE);
    if !setups.is_file(&list) {
        return Ok(Included::default());
    }
    setups.included(git.root(), git.ignored_and_listed(&list)?)
}

/// Returns the notes of a run about its set-up before it starts.
pub(crate) fn notes(commands: &[SetupCommand], included: &Included) -> Vec<String> {
    let mut notes: Vec<String> = commands
        .iter()
        .map(|command| {
            let lock = command.lock.as_ref().map(|lock| format!(" ({lock})")).unwrap_or_default();
            format!("each work tree is set up with `{}`{lock}", shown(&command.argv))
        })
        .collect();
    if !included.files.is_empty() {
        notes.push(format!("{} ignored files are copied into each work tree ({INCLUDE})", included.files.len()));
    }
    let left_out = included.left_out.iter().take(MAX_NAMED);
    notes.extend(left_out.map(|left_out| format!("{INCLUDE}: not copied: {left_out}")));
    if included.left_out.len() > MAX_NAMED {
        notes.push(format!("{INCLUDE}: not copied: {} more", included.left_out.len() - MAX_NAMED));
    }
    notes
}

/// Formats a command for people.
pub(crate) fn shown(argv: &[String]) -> String {
    match argv {
        [sh, c, line] if sh == "sh" && c == "-c" => cut(line, 120),
        argv => cut(&argv.join(" "), 120),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(words: &[&str], lock: Option<&str>) -> SetupCommand {
        let argv = words.iter().map(|word| (*word).to_owned()).collect();
        SetupCommand { argv, lock: lock.map(str::to_owned) }
    }

    #[test]
    fn only_a_line_for_sh_is_shown_without_its_shell() {
        let shown = |words: [&str; 3]| shown(&words.map(str::to_owned));

        assert_eq!(shown(["sh", "-c", "make deps"]), "make deps");
        assert_eq!(shown(["bash", "-c", "make deps"]), "bash -c make deps");
        assert_eq!(shown(["sh", "-e", "deps.sh"]), "sh -e deps.sh");
    }

    #[test]
    fn a_run_says_what_its_trees_are_set_up_with() {
        let commands = [command(&["npm", "ci"], Some("package-lock.json")), command(&["sh", "-c", "make deps"], None)];
        let left_out = (0..7).map(|n| format!("{n}.env: too large")).collect();
        let included = Included { files: vec!["a.env".into(), "b.env".into()], left_out };

        let told = notes(&commands, &included);

        assert_eq!(told[0], "each work tree is set up with `npm ci` (package-lock.json)");
        assert_eq!(told[1], "each work tree is set up with `make deps`");
        assert_eq!(told[2], "2 ignored files are copied into each work tree (.worktreeinclude)");
        assert_eq!(told[3], ".worktreeinclude: not copied: 0.env: too large");
        assert_eq!(told[8], ".worktreeinclude: not copied: 2 more");
        assert_eq!(told.len(), 9);
        assert!(notes(&[], &Included::default()).is_empty());
    }

    #[test]
    fn the_commands_of_lock_files_are_named_by_them() {
        let task = serde_json::json!({ "id": "1.1", "phase": 1, "description": "d" });
        let phases = serde_json::json!([{ "id": 1, "name": "one", "tasks": [task] }]);
        let plan = serde_json::json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": phases });
        let plan = crate::plan::read(&plan.to_string(), "plan.json").unwrap();

        let found = commands_of_locks(&plan, &["package-lock.json".to_owned()]);

        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "set-up of each work tree (package-lock.json)");
        assert!(found[0].1.starts_with(&["npm".to_owned()]), "{found:?}");
        assert!(commands_of_locks(&plan, &[]).is_empty());
    }
}
