//! Decides which questions of an agent need no person: by the permission level of its task, the kind of tool, and the paths of its files.

use std::path::Path;

use switchboard_protocol::frame::WorkerEvent;
use switchboard_protocol::permission::Permissions;

use crate::confine;

/// Kinds of tools that change files and do nothing else, in ACP's words.
const EDITS: [&str; 3] = ["delete", "edit", "move"];

/// An answer to a question that needs no person.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Allowed {
    /// Option that allows the call once.
    pub(super) option: String,
    /// Rule that applied, and its subject.
    pub(super) rule: String,
}

/// Returns the answer to a question; `None` if a person has to be asked. Symbolic links are followed, and git's own files don't count as part
/// of the task's tree.
pub(super) fn allowed(level: Permissions, tree: &Path, question: &WorkerEvent) -> Option<Allowed> {
    let WorkerEvent::PermissionAsked { title, options, tool_kind, paths, .. } = question else { return None };
    let option = options.iter().find(|option| option.kind == "allow_once")?.id.clone();
    let what = match level {
        Permissions::Ask => return None,
        Permissions::Edits => {
            let is_inside = |path: &String| confine::inside(tree, Path::new(path)).is_ok();
            let is_edit = EDITS.contains(&tool_kind.as_str()) && !paths.is_empty() && paths.iter().all(is_inside);
            is_edit.then(|| paths.join(", "))?
        }
        Permissions::All => title.clone(),
    };
    Some(Allowed { option, rule: format!("{}: {what}", level.as_str()) })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use switchboard_protocol::frame::PermissionOption;

    use super::*;

    fn question(kind: &str, paths: &[&str]) -> WorkerEvent {
        let option = |id: &str, kind: &str| PermissionOption { id: id.into(), name: id.into(), kind: kind.into() };
        WorkerEvent::PermissionAsked {
            ask: "ask-1".to_owned(),
            title: "do it".to_owned(),
            options: vec![option("always", "allow_always"), option("once", "allow_once"), option("no", "reject_once")],
            detail: String::new(),
            tool_kind: kind.to_owned(),
            paths: paths.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn edits_inside_the_tree_are_allowed_once_and_everything_else_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().canonicalize().unwrap().join("tree");
        fs::create_dir_all(tree.join("src")).unwrap();
        symlink(folder.path(), tree.join("out")).unwrap();
        let inside = tree.join("src/a.rs").display().to_string();
        let outside = folder.path().join("b.rs").display().to_string();
        let edits = |kind: &str, paths: &[&str]| allowed(Permissions::Edits, &tree, &question(kind, paths));

        let expected = Allowed { option: "once".to_owned(), rule: format!("edits: {inside}") };
        assert_eq!(edits("edit", &[&inside]), Some(expected));
        assert!(edits("move", &["a", "src/b"]).is_some() && edits("delete", &["README.md"]).is_some());
        for asked in [
            edits("execute", &[&inside]),
            edits("other", &[&inside]),
            edits("edit", &[]),
            edits("edit", &[&outside]),
            edits("edit", &[&inside, "../b.rs"]),
            edits("edit", &["out/b.rs"]),
            edits("edit", &[".git"]),
            edits("edit", &["sub/.git/config"]),
        ] {
            assert_eq!(asked, None);
        }
    }

    #[test]
    fn a_level_may_ask_every_time_or_never() {
        let tree = tempfile::tempdir().unwrap();
        let decide = |level| allowed(level, tree.path(), &question("execute", &[])).map(|allowed| allowed.option);

        assert_eq!(decide(Permissions::Ask), None);
        assert_eq!(decide(Permissions::All).as_deref(), Some("once"));
    }

    #[test]
    fn what_can_only_be_allowed_for_ever_is_asked() {
        let tree = tempfile::tempdir().unwrap();
        let mut asked = question("edit", &["a"]);
        if let WorkerEvent::PermissionAsked { options, .. } = &mut asked {
            options.retain(|option| option.kind != "allow_once");
        }

        assert_eq!(allowed(Permissions::All, tree.path(), &asked), None);
    }
}
