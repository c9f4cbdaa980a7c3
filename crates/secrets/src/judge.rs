//! Decides whether the value assigned to a name is a credential.

use std::ops::Range;

use crate::candidate::Assigned;
use crate::context::Found;
use crate::name::Promise;
use crate::value::{is_pattern, is_possible, is_reference};
use crate::{key, password};

/// Judges a value by what its name promises; returns `None` if it is no credential.
pub(crate) fn judge(promise: Promise, assigned: &Assigned<'_>, range: Range<usize>) -> Option<Found> {
    let value = assigned.value;
    if !is_possible(assigned) || is_reference(value) || is_pattern(value) {
        return None;
    }
    let strength = match promise {
        Promise::Password => password::strength(assigned),
        Promise::Key => key::strength(assigned),
    };
    strength.map(|strength| Found::new(range, strength))
}
