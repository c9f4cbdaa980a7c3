//! Checks whether the targets of links in documents and comments exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

use crate::command::{command, output};

/// Returns every broken link: file, line and target.
///
/// # Errors
/// When git or a file can't be read.
pub(crate) fn broken(root: &Path) -> anyhow::Result<Vec<String>> {
    let listed = output(command("git", root).args(["ls-files", "-co", "--exclude-standard", "-z"]))?;
    let listed = String::from_utf8(listed).context("git ls-files printed a path that is not UTF-8")?;
    let mut broken = Vec::new();
    for path in listed.split('\0').filter(|path| path.ends_with(".md") || path.ends_with(".rs")) {
        let Ok(text) = fs::read_to_string(root.join(path)) else { continue };
        for (number, line) in text.lines().enumerate() {
            for target in targets(path, line) {
                if !leads_somewhere(root, path, &target) {
                    broken.push(format!("{path}:{}: {target}", number + 1));
                }
            }
        }
    }
    Ok(broken)
}

/// Returns the targets in a line: relative links of a document, and pages of `docs/` that a comment names in backticks.
fn targets(path: &str, line: &str) -> Vec<String> {
    if path.ends_with(".md") {
        let links = line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
        let is_ours = |target: &&str| !target.contains("://") && !target.starts_with("mailto:");
        return links.filter(is_ours).map(ToOwned::to_owned).collect();
    }
    let Some((_, comment)) = line.split_once("//") else { return Vec::new() };
    let named = comment.split('`').skip(1).step_by(2).filter(|name| name.starts_with("docs/"));
    named.filter(|name| !name.contains(['*', ' '])).map(|name| format!("/{name}")).collect()
}

/// Returns whether a target exists; one that begins with `/` starts at the root, others at their file.
fn leads_somewhere(root: &Path, from: &str, target: &str) -> bool {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match file.strip_prefix('/') {
        Some(below) => root.join(below),
        None if file.is_empty() => root.join(from),
        None => root.join(from).parent().unwrap_or(root).join(file),
    };
    if anchor.is_empty() {
        return path.exists();
    }
    fs::read_to_string(path).is_ok_and(|text| anchors(&text).contains(anchor))
}

/// Returns the anchors of a document's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    headings.map(|heading| slug(heading.trim_start_matches('#'))).collect()
}

fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_leads_somewhere() {
        let broken = broken(&crate::root()).unwrap();

        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }

    #[test]
    fn a_missing_file_and_a_missing_heading_are_found() {
        let root = tempfile::TempDir::new().unwrap();
        fs::create_dir(root.path().join("docs")).unwrap();
        fs::write(root.path().join("docs/a.md"), "# A page\n\n## Who may act: all\n").unwrap();
        let leads = |from: &str, target: &str| leads_somewhere(root.path(), from, target);

        assert!(leads("README.md", "docs/a.md#who-may-act-all") && leads("docs/a.md", "#a-page"));
        assert!(!leads("README.md", "docs/b.md") && !leads("README.md", "docs/a.md#nobody"));
    }

    #[test]
    fn documents_name_links_and_comments_name_pages() {
        assert_eq!(targets("a.md", "see [b](b.md#c), [d](https://x.org/e)"), ["b.md#c"]);
        assert_eq!(targets("a.rs", "/// As `docs/messages.md` says, in `docs/errors/*`."), ["/docs/messages.md"]);
        assert!(targets("a.rs", "let a = \"](x)\";").is_empty());
    }
}
