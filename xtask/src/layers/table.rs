//! The allowed dependencies between crates: the table of `docs/architecture.md`.

/// Row of a crate.
#[derive(Debug)]
pub(super) struct Row {
    name: &'static str,
    /// Level of the crate; dependencies point to lower levels.
    pub(super) level: u8,
    /// Our crates that it may depend on.
    pub(super) may: &'static [&'static str],
}

const ROWS: &[Row] = &[
    Row { name: "macros-off", level: 0, may: &[] },
    Row { name: "msvc_spectre_libs", level: 0, may: &[] },
    Row { name: "vstd", level: 0, may: &["macros-off"] },
    Row { name: "protocol", level: 0, may: &["macros-off"] },
    Row { name: "process", level: 1, may: &["protocol"] },
    Row { name: "store", level: 1, may: &["protocol", "process"] },
    Row { name: "policy", level: 1, may: &["protocol"] },
    Row { name: "ledger", level: 1, may: &["protocol"] },
    Row { name: "pipeline", level: 1, may: &["protocol"] },
    Row { name: "grammars", level: 1, may: &[] },
    Row { name: "secrets", level: 2, may: &["protocol"] },
    Row { name: "syntax", level: 2, may: &["protocol", "grammars"] },
    Row { name: "checks", level: 2, may: &["protocol", "process", "grammars", "secrets", "syntax"] },
    Row { name: "agents", level: 2, may: &["protocol", "process"] },
    Row { name: "needs", level: 2, may: &["protocol", "store", "pipeline"] },
    Row { name: "bus", level: 2, may: &["protocol", "process", "store", "pipeline"] },
    Row { name: "files", level: 2, may: &["protocol", "store", "bus"] },
    Row { name: "gateway", level: 2, may: &["protocol", "store", "policy", "ledger", "process"] },
    Row { name: "dispatch", level: 2, may: &["protocol", "store", "needs", "pipeline", "ledger", "process"] },
    Row {
        name: "daemon",
        level: 3,
        may: &[
            "protocol", "process", "store", "policy", "ledger", "pipeline", "grammars", "needs", "bus", "files",
            "gateway", "dispatch",
        ],
    },
    // `process`: the example creates a repository, and `doctor` runs programs for their versions.
    Row { name: "cli", level: 4, may: &["protocol", "process", "checks", "agents", "ledger", "daemon"] },
    Row { name: "xtask", level: 4, may: &["protocol", "process", "store", "pipeline", "bus", "dispatch"] },
];

/// A library that only some crates may use.
#[derive(Debug)]
pub(super) struct Keeper {
    library: &'static str,
    /// Crates that may use the library.
    pub(super) only: &'static [&'static str],
    /// Reason for the rule.
    pub(super) why: &'static str,
}

const KEEPERS: &[Keeper] = &[
    Keeper {
        library: "rusqlite",
        only: &["store", "xtask"],
        why: "only the store knows SQL, and the torture its disk",
    },
    Keeper { library: "regorus", only: &["policy"], why: "there is one decision point" },
    Keeper { library: "ed25519-dalek", only: &["ledger"], why: "keys are kept in one place" },
    Keeper { library: "notify", only: &["files"], why: "folders are watched where files are a face" },
    Keeper { library: "clap", only: &["cli", "xtask"], why: "a command line is an edge" },
    Keeper { library: "miette", only: &["cli"], why: "a terminal is an edge" },
    Keeper { library: "axum", only: &["daemon"], why: "HTTP is an edge" },
    Keeper { library: "rmcp", only: &["daemon", "gateway"], why: "MCP is an edge" },
    Keeper {
        library: "tokio",
        only: &["process", "store", "needs", "agents", "bus", "files", "gateway", "dispatch", "daemon", "cli", "xtask"],
        why: "words and decisions have no runtime",
    },
];

/// Returns the row of a crate.
pub(super) fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// Returns the rule about a library, if there is one.
pub(super) fn keeper(library: &str) -> Option<&'static Keeper> {
    KEEPERS.iter().find(|keeper| keeper.library == library)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lists of `docs/architecture.md`: level, crate, and its allowed dependencies.
    fn documented() -> Vec<(String, String, String)> {
        let text = include_str!("../../../docs/architecture.md");
        let cells =
            |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let rows = text.lines().filter(|line| line.starts_with("| ")).map(cells);
        let rows = rows.filter(|cells| cells.len() == 4 && cells[0].parse::<u8>().is_ok());
        rows.map(|cells| (cells[0].clone(), cells[1].clone(), cells[3].clone())).collect()
    }

    #[test]
    fn the_page_on_architecture_says_the_same() {
        let documented = documented();
        for row in ROWS.iter().filter(|row| row.name != "xtask") {
            let (level, _, may) = documented.iter().find(|(_, name, _)| name == row.name).unwrap();
            let expected = match row.name {
                "daemon" => "all of the above but checks, secrets, syntax and agents".to_owned(),
                _ if row.may.is_empty() => "–".to_owned(),
                _ => row.may.join(", "),
            };
            assert_eq!((level, may), (&row.level.to_string(), &expected), "{}", row.name);
        }
        assert_eq!(documented.len(), ROWS.len() - 1);
    }

    #[test]
    fn every_crate_depends_only_on_rows_above_its_own_and_never_on_a_higher_level() {
        for (at, upper) in ROWS.iter().enumerate() {
            for name in upper.may {
                let lower = ROWS.iter().position(|row| row.name == *name).unwrap();
                let is_lower = lower < at && ROWS[lower].level <= upper.level;
                assert!(is_lower || ROWS[lower].level < upper.level, "{} on {name}", upper.name);
            }
        }
    }
}
