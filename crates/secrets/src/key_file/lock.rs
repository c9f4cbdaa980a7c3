//! Whether a key can be used by whoever has its file.

use crate::candidate::Strength;
use crate::context::Found;

/// What keeps a private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    Open,
    /// Encrypted with a passphrase.
    Passphrase,
}

// === impl Lock ===

impl Lock {
    /// Makes the hit: a locked key is as safe as its passphrase, which nobody can judge here.
    pub(crate) fn found(self, range: std::ops::Range<usize>) -> Found {
        match self {
            Self::Open => Found::new(range, Strength::Strong),
            Self::Passphrase => Found::new(range, Strength::Weak).noted("locked with a passphrase"),
        }
    }
}
