//! Compares the version of an agent's program with the tested one.

use std::cmp::Ordering;

use crate::catalog::Known;

/// Relation of a version to the tested one. Patch numbers don't count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The tested version.
    Tested,
    /// Older than the tested version.
    Older,
    /// Newer than the tested version.
    Newer,
    /// The version can't be parsed.
    Unknown,
}

/// Compares a version such as `0.49.2` with an agent's tested one.
#[must_use]
pub fn standing(known: &Known, version: &str) -> Standing {
    let (Some(version), Some(tested)) = (parts(version), parts(known.tested)) else { return Standing::Unknown };
    match version.cmp(&tested) {
        Ordering::Less => Standing::Older,
        Ordering::Equal => Standing::Tested,
        Ordering::Greater => Standing::Newer,
    }
}

/// Parses major and minor.
fn parts(version: &str) -> Option<(u64, u64)> {
    let mut parts = version.trim().trim_start_matches('v').split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?;
    let digits = minor.find(|c: char| !c.is_ascii_digit()).unwrap_or(minor.len());
    Some((major, minor[..digits].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;

    #[test]
    fn patches_do_not_count_and_what_is_no_version_is_unknown() {
        let codex = catalog::find("codex").unwrap();

        let of = |version: &str| standing(codex, version);

        assert_eq!(
            (of("2.6.0"), of("v2.6.9-beta.1"), of("2.6")),
            (Standing::Tested, Standing::Tested, Standing::Tested)
        );
        assert_eq!((of("0.16.0"), of("2.5.99"), of("1.60.0")), (Standing::Older, Standing::Older, Standing::Older));
        assert_eq!((of("2.10.0"), of("3.0.0")), (Standing::Newer, Standing::Newer));
        assert_eq!((of(""), of("2"), of("nightly")), (Standing::Unknown, Standing::Unknown, Standing::Unknown));
    }

    #[test]
    fn each_agent_names_the_version_that_the_stories_drive() {
        let pinned = include_str!("../../../tests/real/package.json");

        for known in catalog::ALL {
            let package = known.install.rsplit(' ').next().unwrap_or_default();
            let line = pinned.lines().find(|line| line.contains(&format!("\"{package}\": "))).unwrap();
            let version = line.split('"').nth(3).unwrap();
            assert_eq!(standing(known, version), Standing::Tested, "{}: {version}", known.name);
        }
    }
}
