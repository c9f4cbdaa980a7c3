//! Formats points in time for people: in the local zone, with the day only if it is not today.

use switchboard_process::clock::{self, Local};
use switchboard_protocol::time::Millis;

/// Formats a time: `14:03:09` today, `11-22 14:03` on another day of this year, `2025-11-22 14:03` before.
pub(crate) fn when(at: Millis) -> String {
    relative(clock::local(at), clock::local(clock::now()))
}

fn relative(at: Local, now: Local) -> String {
    let Local { year, month, day, hour, minute, second } = at;
    if (year, month, day) == (now.year, now.month, now.day) {
        format!("{hour:02}:{minute:02}:{second:02}")
    } else if year == now.year {
        format!("{month:02}-{day:02} {hour:02}:{minute:02}")
    } else {
        format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}")
    }
}

/// Formats a duration in its two largest units: `40 s`, `3 min 20 s`, `2 h 5 min`.
pub(crate) fn span(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, minutes) if seconds % 60 == 0 => format!("{minutes} min"),
        (0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (hours, minutes) => format!("{hours} h {} min", minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(year: i32, day: u32) -> Local {
        Local { year, month: 11, day, hour: 9, minute: 5, second: 7 }
    }

    #[test]
    fn the_day_is_said_where_it_is_not_todays() {
        assert_eq!(relative(at(2026, 23), at(2026, 23)), "09:05:07");
        assert_eq!(relative(at(2026, 22), at(2026, 23)), "11-22 09:05");
        assert_eq!(relative(at(2025, 23), at(2026, 23)), "2025-11-23 09:05");
    }

    #[test]
    fn a_span_has_two_units_at_most() {
        let spans = [40_000, 60_000, 200_000, 7_500_000, -1].map(span);

        assert_eq!(spans, ["40 s", "1 min", "3 min 20 s", "2 h 5 min", "0 s"]);
    }
}
