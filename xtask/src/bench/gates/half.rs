//! Which files are measured, and which are for whoever mends a rule.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

/// Returns whether a file belongs to the half that is measured, or to the other one.
pub(super) fn is_in_half(path: &Path, seed: u64, other_half: bool) -> bool {
    let mut hash = DefaultHasher::new();
    (path, seed).hash(&mut hash);
    hash.finish().is_multiple_of(2) != other_half
}
