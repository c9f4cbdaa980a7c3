//! Reports unusual parts of a change before it is merged: links that lead out of the repository, large binary files,
//! submodules.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use super::repo::Repo;
use super::types::{Change, Entry, Oid};
use crate::Result;

/// Size from which a binary file is reported, in bytes: larger ones permanently enlarge every clone.
const BIG: u64 = 1 << 20;

/// Maximum number of files of a change that are examined; that there are more is reported.
const MAX_LOOKED: usize = 5_000;

/// Maximum number of links and large files whose content is read, with one git call each.
const MAX_READ: usize = 100;

/// Number of bytes at the beginning of a file in which git looks for a NUL to recognise a binary file (`buffer_is_binary`).
const BEGINNING: usize = 8_000;

impl Repo {
    /// Returns a sentence for each unusual entry that differs between two commits.
    ///
    /// # Errors
    /// [`crate::Error::Git`].
    pub fn unusual(&self, old: &Oid, new: &Oid) -> Result<Vec<String>> {
        let changes = self.changed_files(old, new)?;
        let mut found = Vec::new();
        let entries: Vec<_> = changes.iter().filter_map(|change| Some((change, change.after.as_ref()?))).collect();
        if entries.len() > MAX_LOOKED {
            found.push(format!("{} files differ; {MAX_LOOKED} of them were looked at", entries.len()));
        }
        let looked = &entries[..entries.len().min(MAX_LOOKED)];
        let sizes = self.sizes(looked)?;
        let needs_look = |entry: &Entry, size: Option<u64>| {
            matches!(entry.mode.as_str(), "120000" | "160000") || size.is_some_and(|size| size >= BIG)
        };
        let mut left = looked.iter().zip(sizes).filter(|((_, entry), size)| needs_look(entry, *size));
        for ((change, entry), size) in left.by_ref().take(MAX_READ) {
            found.extend(self.unusual_entry(change, entry, size)?);
        }
        let left = left.count();
        found.extend((left > 0).then(|| format!("{left} more links, submodules and large files were not looked at")));
        Ok(found)
    }

    fn unusual_entry(&self, change: &Change, entry: &Entry, size: Option<u64>) -> Result<Option<String>> {
        let name = change.path.display();
        match entry.mode.as_str() {
            "120000" => {
                let target = self.call(["cat-file", "blob", entry.oid.as_str()]).bytes()?;
                let target = Path::new(std::ffi::OsStr::from_bytes(&target));
                let leads = link_leads(&change.path, target);
                Ok(leads.map(|place| format!("the link {name} leads {place}: {}", target.display())))
            }
            "160000" => Ok(Some(format!("{name} is a submodule at {}", entry.oid))),
            _ if self.is_binary(entry)? => {
                Ok(Some(format!("{name} is no text and has {:.1} MB", size.unwrap_or(0) as f64 / 1e6)))
            }
            _ => Ok(None),
        }
    }

    /// Returns the sizes of the entries' contents, in order; `None` for an entry that is no file.
    fn sizes(&self, entries: &[(&Change, &Entry)]) -> Result<Vec<Option<u64>>> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let input: String = entries.iter().map(|(_, entry)| format!("{}\n", entry.oid)).collect();
        let said = self.call(["cat-file", "--batch-check=%(objecttype) %(objectsize)"]).input(input).text()?;
        let size = |line: &str| line.strip_prefix("blob ").and_then(|size| size.trim().parse().ok());
        Ok(said.lines().map(size).chain(std::iter::repeat(None)).take(entries.len()).collect())
    }

    fn is_binary(&self, entry: &Entry) -> Result<bool> {
        let (_, output) = self.call(["cat-file", "blob", entry.oid.as_str()]).keep(BEGINNING).run()?;
        Ok(output.stdout.beginning().contains(&0))
    }
}

/// Returns where a link at `link`, relative to the top, leads, if that is not within the repository's files.
#[must_use]
pub fn link_leads(link: &Path, target: &Path) -> Option<&'static str> {
    if target.is_absolute() {
        return Some("to a place of one machine");
    }
    let mut depth = link.parent().map_or(0, |folder| folder.components().count());
    for part in target.components() {
        match part {
            Component::ParentDir if depth == 0 => return Some("out of the repository"),
            Component::ParentDir => depth -= 1,
            Component::Normal(name) if depth == 0 && name.eq_ignore_ascii_case(".git") => {
                return Some("into git's own folder");
            }
            Component::Normal(_) => depth += 1,
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_among_the_files_is_usual_and_one_that_leaves_them_is_not() {
        let leads = |link: &str, target: &str| link_leads(Path::new(link), Path::new(target));

        for (link, target) in [("a/b/link", "../c.txt"), ("a", "c/d"), ("a/b/c", "../../x"), ("a", "./.gitignore")] {
            assert_eq!(leads(link, target), None, "{link} -> {target}");
        }
        assert_eq!(leads("a/link", "../../c.txt"), Some("out of the repository"));
        assert_eq!(leads("link", "a/../../b"), Some("out of the repository"));
        assert_eq!(leads("a/link", "/etc/passwd"), Some("to a place of one machine"));
        assert_eq!(leads("a/link", "../.git/config"), Some("into git's own folder"));
    }
}
