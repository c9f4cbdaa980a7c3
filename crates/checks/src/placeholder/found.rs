//! A place that only stands for code to come.

use std::borrow::Cow;
use std::ops::Range;

/// A place that only stands for code to come.
pub(super) struct Placeholder {
    pub(super) rule: Cow<'static, str>,
    pub(super) what: &'static str,
    pub(super) range: Range<usize>,
}
