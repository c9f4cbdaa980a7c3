//! Figures and their limits.

/// A figure. `docs/benchmarks.md` describes how each is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    /// Time of a worker's start ÷ that of a work tree and two processes.
    SpawnOverhead,
    /// The daemon's share of a core beside many workers.
    CoreShare,
    /// Memory of the daemon beside many workers.
    Rss,
    /// Memory of a shim.
    ShimRss,
    /// Time from a stop to its acknowledgement by the worker.
    Control,
    /// Time from the start of a daemon until all workers are connected.
    Adopt,
    /// Time to prepare a plan of 10,000 tasks.
    Plan10k,
    /// Amount that four workers spend beyond a ceiling.
    Overspend,
    /// Time from a polled signal to its reading.
    PollingControl,
    /// Number of polled signals that were never read.
    PollingLost,
    /// Number of live workers that a polled heartbeat declares stale.
    PollingStale,
}

// === impl Figure ===

impl Figure {
    /// Figures that need many workers.
    pub(super) const OF_FLEET: [Self; 5] = [Self::CoreShare, Self::Rss, Self::ShimRss, Self::Control, Self::Adopt];

    /// Figures about polled files.
    pub(super) const OF_POLLING: [Self; 3] = [Self::PollingControl, Self::PollingLost, Self::PollingStale];

    /// Returns its key in the JSON object.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::SpawnOverhead => "spawn_overhead",
            Self::CoreShare => "coordinator_core_share_200",
            Self::Rss => "coordinator_rss_mb_200",
            Self::ShimRss => "shim_rss_mb",
            Self::Control => "control_p99_ms_200",
            Self::Adopt => "adopt_200_s",
            Self::Plan10k => "plan_10k_ms",
            Self::Overspend => "overspend_micro_usd",
            Self::PollingControl => "polling_control_p99_ms",
            Self::PollingLost => "polling_lost_signals",
            Self::PollingStale => "polling_false_stale",
        }
    }

    /// Returns the maximum allowed value; figures for comparison have none.
    const fn limit(self) -> Option<f64> {
        match self {
            Self::SpawnOverhead => Some(1.25),
            Self::CoreShare => Some(0.15),
            Self::Rss => Some(150.0),
            Self::ShimRss => Some(12.0),
            Self::Control => Some(1_000.0),
            Self::Adopt => Some(3.0),
            Self::Plan10k => Some(200.0),
            Self::Overspend => Some(super::spend::RESERVE),
            Self::PollingControl | Self::PollingLost | Self::PollingStale => None,
        }
    }

    /// Returns a row of the printed table.
    pub(super) fn line(self, measured: f64) -> String {
        let verdict = match self.limit() {
            Some(limit) => format!("wanted ≤ {limit:<8} {}", if measured <= limit { "met" } else { "missed" }),
            None => "for comparison".to_owned(),
        };
        format!("{:<28} {measured:>12.2}   {verdict}", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_whether_the_limit_is_met() {
        assert!(Figure::Adopt.line(3.0).ends_with("met"));
        assert!(Figure::Adopt.line(3.1).ends_with("missed"));
        assert!(Figure::PollingLost.line(7.0).ends_with("for comparison"));
    }
}
