//! Random choices.

use fastrand::Rng;

/// Returns true with a probability of `per_mille` in a thousand.
pub(crate) fn chance(rng: &mut Rng, per_mille: usize) -> bool {
    rng.usize(..1000) < per_mille
}

/// Returns one of the items, all with equal probability.
pub(crate) fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.usize(..from.len())]
}
