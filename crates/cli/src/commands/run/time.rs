//! Flags that limit the time of a run's workers.

use switchboard_protocol::run::WorkerTimeout;

/// Flags that limit the time of each attempt.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TimeFlags {
    /// Maximum time of each attempt, in minutes or as `90s`, `45m`, `2h`; takes precedence over the plan
    #[arg(long, value_name = "TIME", value_parser = millis)]
    timeout: Option<u64>,
    /// When an agent is asked to finish, in minutes or as `90s`, `45m`, `2h` from its start; after four fifths of its time when left out
    #[arg(long, value_name = "TIME", value_parser = millis)]
    wrap_up: Option<u64>,
}

// === impl TimeFlags ===

impl TimeFlags {
    /// Returns the limits; `None` if no flag is given.
    pub(crate) fn timeout(&self) -> Option<WorkerTimeout> {
        let limits = WorkerTimeout { soft: self.wrap_up, hard: self.timeout };
        (!limits.is_empty()).then_some(limits)
    }
}

/// Parses minutes, or a number with `s`, `m` or `h`, into milliseconds.
fn millis(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no time such as 30, 90s, 45m or 2h, from one second to a week");
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "s" => 1,
        "" | "m" => 60,
        "h" => 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let ms = number.checked_mul(seconds * 1000).ok_or_else(wrong)?;
    if (1..=WorkerTimeout::MAX_MS).contains(&ms) { Ok(ms) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_minutes_where_no_unit_is_named() {
        let read = ["30", "90s", "45m", "2h"].map(|text| millis(text).unwrap());

        assert_eq!(read, [1_800_000, 90_000, 2_700_000, 7_200_000]);
        for wrong in ["", "0", "s", "1d", "-1", "1.5", "99999999999999999999", "10081"] {
            assert!(millis(wrong).is_err(), "{wrong}");
        }
    }
}
