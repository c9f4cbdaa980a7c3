//! Every content that a repository has ever held, once.

use std::collections::HashSet;
use std::path::PathBuf;

use super::{Git, Mode, blob, fields, mode, path, text};
use crate::Error;

/// A file's content, with the oldest commit that brought it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) commit: String,
    pub(crate) path: PathBuf,
    pub(crate) blob: String,
}

impl Git {
    /// Lists every blob that a branch, a tag or the stash reaches, once, oldest first, and counts the commits.
    pub(crate) fn reached(&self) -> Result<(Vec<Reached>, u64), Error> {
        let format = ["--raw", "-z", "--no-abbrev", "--no-renames", "--format=commit:%H"];
        let call = [&["log", "--all", "--reverse", "--topo-order", "--root", "-m"][..], &format].concat();
        read(&self.ask(&call)?)
    }
}

fn read(out: &[u8]) -> Result<(Vec<Reached>, u64), Error> {
    let (mut reached, mut seen, mut commits) = (Vec::new(), HashSet::new(), HashSet::new());
    let mut commit = String::new();
    let mut fields = fields(out);
    while let Some(field) = fields.next() {
        let field = field.trim_ascii_start();
        if let Some(id) = field.strip_prefix(b"commit:") {
            commit = text(id.get(..id.len().min(64)).unwrap_or(id));
            commits.insert(commit.clone());
            continue;
        }
        let words: Vec<&[u8]> = field.split(|byte| *byte == b' ').collect();
        let ([_, after_mode, _, after, _], Some(name)) = (&words[..], fields.next()) else {
            return Err(Error::Git { verb: "log".into(), why: "its answer has an unknown form".into() });
        };
        let content = blob(after).filter(|_| mode(after_mode) == Mode::File);
        if let Some(blob) = content.filter(|blob| seen.insert(blob.clone())) {
            reached.push(Reached { commit: commit.clone(), path: path(name), blob });
        }
    }
    Ok((reached, commits.len() as u64))
}
