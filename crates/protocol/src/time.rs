//! Points in time and durations in whole milliseconds, as the log stores them and decisions get them.

use std::fmt;

use chrono::{DateTime, Datelike as _};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
    crate::schema::JsonSchema,
)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// Returns the time `span` milliseconds later; saturates.
    #[must_use]
    pub const fn plus(self, span: i64) -> Self {
        Self(self.0.saturating_add(span))
    }

    /// Returns the milliseconds from `earlier` to this time; negative when it is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Parses RFC 3339 (`2026-02-27T10:00:00.000Z`), the format in message files.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text).ok().map(|time| Self(time.timestamp_millis()))
    }
}

impl fmt::Display for Millis {
    /// Writes RFC 3339 in UTC with milliseconds; beyond the years 0 to 9999, which it has no form for, the number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match DateTime::from_timestamp_millis(self.0).filter(|time| (0..=9999).contains(&time.year())) {
            Some(time) => write!(f, "{}", time.format("%Y-%m-%dT%H:%M:%S%.3fZ")),
            None => write!(f, "{}ms", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_and_reads_rfc_3339() {
        let point = Millis(1_772_186_400_123);

        assert_eq!(point.to_string(), "2026-02-27T10:00:00.123Z");
        assert_eq!(Millis::parse("2026-02-27T10:00:00.123Z"), Some(point));
        assert_eq!(Millis::parse("2026-02-27T12:00:00.1239+02:00"), Some(point));
        assert_eq!(Millis::parse("yesterday"), None);
    }

    #[test]
    fn a_time_beyond_rfc_3339_is_shown_as_its_number() {
        assert_eq!(Millis(253_402_300_799_999).to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(Millis(253_402_300_800_000).to_string(), "253402300800000ms");
        assert_eq!(Millis(i64::MIN).to_string(), format!("{}ms", i64::MIN));
    }
}
