//! Fingerprints of findings that stay the same when lines above a finding move.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

/// Returns 32 hexadecimal digits made from the rule, the path, the text found and its number among equal ones.
///
/// `what` is never a secret that could be guessed: a check for secrets passes the line around it instead.
pub(crate) fn fingerprint(rule: &str, path: &str, what: &[u8], occurrence: usize) -> String {
    let mut hash = Sha256::new();
    for part in [rule.as_bytes(), path.as_bytes(), what, &(occurrence as u64).to_le_bytes()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Counter of equal findings of one file: each gets its own number, and a further one does not renumber the others.
#[derive(Debug, Default)]
pub(crate) struct Occurrences(HashMap<(String, Vec<u8>), usize>);

impl Occurrences {
    /// Returns how many equal findings came before.
    pub(crate) fn next(&mut self, rule: &str, what: &[u8]) -> usize {
        let count = self.0.entry((rule.to_owned(), what.to_vec())).or_default();
        *count += 1;
        *count - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differs_by_every_part_and_by_nothing_else() {
        let name = fingerprint("r", "p", b"w", 0);

        assert_eq!(name, fingerprint("r", "p", b"w", 0));
        assert_eq!(name.len(), 32);
        for other in [fingerprint("rp", "", b"w", 0), fingerprint("r", "p", b"x", 0), fingerprint("r", "p", b"w", 1)] {
            assert_ne!(name, other);
        }
    }
}
