//! Names of the files in which a shim keeps its agent's raw output: each contains the incarnation that wrote it and its offset in the
//! output.

use std::fmt;

/// Folder of the segments, within a worker's folder.
pub const SPOOL_FOLDER: &str = "spool";

/// Number of digits of a segment's offset: enough for every `u64`, so that names sort in the order of the segments.
const DIGITS: usize = 20;

/// Name of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SegmentName {
    /// Incarnation of the shim.
    pub epoch: u32,
    /// Offset of its first byte, counted from the worker's start; `None` in names of earlier versions, whose segments follow each other.
    pub offset: Option<u64>,
}

// === impl SegmentName ===

impl SegmentName {
    /// Parses a file name; returns `None` if it names no segment.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let (epoch, place) = name.strip_suffix(".raw")?.split_once('-')?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(epoch) || !is_number(place) {
            return None;
        }
        let offset = if place.len() == DIGITS { Some(place.parse().ok()?) } else { None };
        Some(Self { epoch: epoch.parse().ok()?, offset })
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03}-{:0DIGITS$}.raw", self.epoch, self.offset.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_was_written_and_names_sort_as_their_places_do() {
        let name = |offset| SegmentName { epoch: 1, offset: Some(offset) };

        for offset in [0, 9, 10, u64::MAX] {
            assert_eq!(SegmentName::parse(&name(offset).to_string()), Some(name(offset)));
        }
        assert!(name(9).to_string() < name(10).to_string());
        assert_eq!(SegmentName::parse("002-000007.raw"), Some(SegmentName { epoch: 2, offset: None }));
        for bad in ["", "001.raw", "001-.raw", "-1.raw", "001-00x.raw", "001-000001", "001-99999999999999999999.raw"] {
            assert_eq!(SegmentName::parse(bad), None, "{bad}");
        }
    }
}
