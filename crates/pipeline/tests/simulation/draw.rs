//! Random choices.

use fastrand::Rng;

/// True `per_mille` times in a thousand.
pub(crate) fn chance(rng: &mut Rng, per_mille: usize) -> bool {
    rng.usize(..1000) < per_mille
}

/// Returns one of a few, each as likely as the others.
pub(crate) fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.usize(..from.len())]
}
