//! Overwrites parts of a text without moving what follows.

use std::borrow::Cow;
use std::ops::Range;

/// Overwrites a range with a byte, except line ends, so that all positions stay the same.
pub(crate) fn overwrite(text: &mut Cow<'_, [u8]>, range: Range<usize>, with: u8) {
    text.to_mut()[range].iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = with);
}
