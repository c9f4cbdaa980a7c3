//! Sets one table in a TOML text; the rest stays as it is.

use toml_edit::{DocumentMut, Item, Table};

/// Sets `[outer.inner]` to a table.
///
/// # Errors
/// Why the text does not parse, or that the path holds something other than a table.
pub(crate) fn set(text: &str, path: &[&str; 2], table: &Table) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let [outer, inner] = path;
    let servers = document.entry(outer).or_insert_with(|| {
        let mut servers = Table::new();
        servers.set_implicit(true);
        Item::Table(servers)
    });
    let servers = servers.as_table_like_mut().ok_or_else(|| format!("{outer} is not a table"))?;
    match servers.get_mut(inner).and_then(Item::as_table_like_mut) {
        Some(there) => {
            for (key, wanted) in table {
                let is_same = there.get(key).map(|item| item.to_string().trim().to_owned());
                if is_same.as_deref() != Some(wanted.to_string().trim()) {
                    there.insert(key, wanted.clone());
                }
            }
        }
        None => {
            servers.insert(inner, Item::Table(table.clone()));
        }
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use toml_edit::value;

    use super::*;

    fn table() -> Table {
        let mut table = Table::new();
        table.insert("command", value("switchboard"));
        table
    }

    #[test]
    fn everything_else_stays_byte_for_byte() {
        let text = "# mine\nmodel   = 'x'  # odd spaces\n\n[mcp_servers.other]\ncommand = \"o\"\n";

        let edited = set(text, &["mcp_servers", "switchboard"], &table()).unwrap();

        assert!(edited.starts_with(text), "{edited}");
        assert!(edited.ends_with("\n[mcp_servers.switchboard]\ncommand = \"switchboard\"\n"), "{edited}");
    }

    #[test]
    fn an_older_entry_is_brought_up_to_date_and_keeps_its_own_fields() {
        let text = "[mcp_servers.switchboard]\ncommand = \"old\" # here\nstartup_timeout_sec = 20\n";

        let edited = set(text, &["mcp_servers", "switchboard"], &table()).unwrap();

        assert!(
            edited.contains("command = \"switchboard\"") && edited.contains("startup_timeout_sec = 20"),
            "{edited}"
        );
    }

    #[test]
    fn something_else_in_its_place_is_refused() {
        assert!(set("mcp_servers = 3\n", &["mcp_servers", "switchboard"], &table()).is_err());
    }
}
