//! The clock; no other module reads it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use switchboard_protocol::time::Millis;

/// Returns the time of day in milliseconds since 1970; 0 if the machine's clock is before that.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the clock's one home")]
pub fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A point in time as local date and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Local {
    /// Year.
    pub year: i32,
    /// Month, from 1.
    pub month: u32,
    /// Day of the month, from 1.
    pub day: u32,
    /// Hour, from 0.
    pub hour: u32,
    /// Minute.
    pub minute: u32,
    /// Second.
    pub second: u32,
}

/// Converts a point in time into the zone of `TZ` or of the machine.
#[must_use]
pub fn local(at: Millis) -> Local {
    let seconds: libc::time_t = at.0.div_euclid(1000);
    let mut parts = std::mem::MaybeUninit::<libc::tm>::zeroed();
    #[expect(unsafe_code, reason = "the standard library knows no time zones")]
    // SAFETY: both pointers are valid for the call, and a zeroed `tm` is a valid one, whatever the call leaves in it.
    let parts = unsafe {
        libc::localtime_r(&raw const seconds, parts.as_mut_ptr());
        parts.assume_init()
    };
    let number = |part: libc::c_int| u32::try_from(part).unwrap_or(0);
    Local {
        year: parts.tm_year + 1900,
        month: number(parts.tm_mon) + 1,
        day: number(parts.tm_mday),
        hour: number(parts.tm_hour),
        minute: number(parts.tm_min),
        second: number(parts.tm_sec),
    }
}

/// A point on the monotonic clock, which is independent of changes of the time of day.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// Makes a deadline `span` from now; a span that the clock can't represent means never.
    #[must_use]
    pub fn after(span: Duration) -> Self {
        Self(Instant::now().checked_add(span))
    }

    /// Returns the time left: zero when it has passed, [`Duration::MAX`] when it never comes.
    #[must_use]
    pub fn left(self) -> Duration {
        self.0.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()))
    }

    /// Returns true if the deadline has passed.
    #[must_use]
    pub fn has_passed(self) -> bool {
        self.left().is_zero()
    }
}

/// Reports changes of the time of day, by a timer that the kernel cancels at each change (`TFD_TIMER_CANCEL_ON_SET`).
#[derive(Debug)]
pub struct Changes(#[cfg(target_os = "linux")] tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>);

// === impl Changes ===

impl Changes {
    /// Starts watching; `None` if the system can't report changes, so that the caller has to poll.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn watch() -> Option<Self> {
        use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Realtime, flags).ok()?;
        // The timer must never expire.
        let never = Timespec { tv_sec: i64::MAX >> 8, tv_nsec: 0 };
        let once = Itimerspec { it_interval: Timespec::default(), it_value: never };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        rustix::time::timerfd_settime(&timer, flags, &once).ok()?;
        crate::fingerprint::watch(timer).map(Self)
    }

    /// Returns `None`: only Linux has such a timer.
    #[cfg(not(target_os = "linux"))]
    #[must_use]
    pub fn watch() -> Option<Self> {
        None
    }

    /// Returns when the time of day was changed.
    #[cfg(target_os = "linux")]
    pub async fn next(&self) {
        loop {
            let Ok(mut ready) = self.0.readable().await else { return std::future::pending().await };
            let mut count = [0; 8];
            match rustix::io::read(self.0.get_ref(), &mut count) {
                Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                Err(rustix::io::Errno::INTR) => {}
                // `ECANCELED` means that the time was changed.
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Never returns.
    #[cfg(not(target_os = "linux"))]
    pub async fn next(&self) {
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_of_no_time_has_passed_and_an_endless_one_never_does() {
        assert!(Deadline::after(Duration::ZERO).has_passed());
        assert!(!Deadline::after(Duration::MAX).has_passed());
        assert!(Deadline::after(Duration::from_secs(60)).left() <= Duration::from_secs(60));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_time_of_day_that_nobody_sets_does_not_change() {
        let changes = Changes::watch().unwrap();

        assert!(tokio::time::timeout(Duration::from_millis(50), changes.next()).await.is_err());
    }

    #[test]
    fn local_time_is_that_of_some_zone() {
        let at = local(Millis::parse("2026-02-27T12:00:00Z").unwrap());

        assert!((at.year, at.month) == (2026, 2) && (26..=28).contains(&at.day), "{at:?}");
        assert_eq!(at.second, 0);
    }

    #[test]
    fn now_lies_after_this_was_written() {
        assert!(now() > Millis::parse("2026-01-01T00:00:00Z").unwrap());
    }
}
