//! Splits files into a half that is measured and a half that is used to improve the rules.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

/// Returns whether a file belongs to the measured half, or, with `other_half`, to the other one.
pub(super) fn is_in_half(path: &Path, seed: u64, other_half: bool) -> bool {
    let mut hash = DefaultHasher::new();
    (path, seed).hash(&mut hash);
    hash.finish().is_multiple_of(2) != other_half
}
