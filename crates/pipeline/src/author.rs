//! Author that a plan names for the commit of a task.

/// Author of a commit, as a plan writes it: `Name <address>`, or a name alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitAuthor<'a> {
    /// Name, without white space at its ends.
    pub name: &'a str,
    /// Address, if there is one.
    pub address: Option<&'a str>,
}

// === impl CommitAuthor ===

impl<'a> CommitAuthor<'a> {
    /// Parses an author; `None` if git could not record the text as it stands: without a name, with an address that is
    /// empty or not at the end, or with line breaks.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let (name, address) = match text.trim().split_once('<') {
            None => (text.trim(), None),
            Some((name, address)) => (name.trim(), Some(address.strip_suffix('>')?.trim())),
        };
        let is_clean = |part: &str| !part.is_empty() && !part.contains(|c: char| c.is_control() || "<>".contains(c));
        (is_clean(name) && address.is_none_or(is_clean)).then_some(Self { name, address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_author_is_a_name_with_or_without_an_address() {
        let ada = CommitAuthor { name: "Ada Lovelace", address: Some("ada@example.org") };

        assert_eq!(CommitAuthor::parse(" Ada Lovelace <ada@example.org> "), Some(ada));
        assert_eq!(CommitAuthor::parse("Ada Lovelace< ada@example.org >"), Some(ada));
        assert_eq!(CommitAuthor::parse("Ada Lovelace"), Some(CommitAuthor { address: None, ..ada }));
        for wrong in
            ["", " ", "<ada@example.org>", "Ada <>", "Ada <a", "Ada <a> b", "Ada <<a>>", "Ada> <a>", "A\nB <c>"]
        {
            assert_eq!(CommitAuthor::parse(wrong), None, "{wrong:?}");
        }
    }
}
