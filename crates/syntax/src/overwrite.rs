//! Parts of a text put out of sight, without moving what follows.

use std::borrow::Cow;
use std::ops::Range;

/// Overwrites a range with a byte, line ends left as they are, so that every place stays where it was.
pub(crate) fn overwrite(text: &mut Cow<'_, [u8]>, range: Range<usize>, with: u8) {
    text.to_mut()[range].iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = with);
}
