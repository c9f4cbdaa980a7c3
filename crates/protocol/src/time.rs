//! Points in time and durations in whole milliseconds, as the log stores them and decisions get them.

use std::fmt;

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
    schemars::JsonSchema,
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
        text.parse::<jiff::Timestamp>().ok().map(|t| Self(t.as_millisecond()))
    }
}

impl fmt::Display for Millis {
    /// Writes RFC 3339 in UTC with milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(timestamp) => write!(f, "{timestamp:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
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
        assert_eq!(Millis::parse("yesterday"), None);
    }
}
