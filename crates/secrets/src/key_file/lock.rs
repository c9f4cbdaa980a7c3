//! Tells whether a key can be used without a passphrase.

use crate::candidate::Strength;
use crate::context::Found;

/// Protection of a private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    Open,
    /// The key is encrypted with a passphrase.
    Passphrase,
}

// === impl Lock ===

impl Lock {
    /// Makes the hit: a locked key is as safe as its passphrase, which can't be judged here.
    pub(crate) fn found(self, range: std::ops::Range<usize>) -> Found {
        match self {
            Self::Open => Found::new(range, Strength::Strong),
            Self::Passphrase => Found::new(range, Strength::Weak).noted("locked with a passphrase"),
        }
    }
}
