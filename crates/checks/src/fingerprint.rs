//! Names a finding so that the name survives when lines above it move.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

/// Makes 32 hexadecimal digits out of the rule, the path, what was found, and which of several equal ones it is.
///
/// `what` is never a secret that could be guessed: a check for secrets hands in the line around it instead.
pub(crate) fn fingerprint(rule: &str, path: &str, what: &[u8], occurrence: usize) -> String {
    let mut hash = Sha256::new();
    for part in [rule.as_bytes(), path.as_bytes(), what, &(occurrence as u64).to_le_bytes()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Counts equal findings of one file, so that each gets a name of its own, and one more does not rename the others.
#[derive(Debug, Default)]
pub(crate) struct Occurrences(HashMap<(String, Vec<u8>), usize>);

impl Occurrences {
    /// Says how many like this one came before.
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
