//! Figures and their limits.

/// A figure. `docs/benchmarks.md` describes how each is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    /// Number of simulated runs in a minute.
    SimRunsPerMinute,
    /// Time of a run of 1,000 trivial tasks through simulated ports.
    Run1kTasksMs,
    /// Share of mutants that a test catches.
    MutantsCaught,
    /// Time to open a run beside many foreign events ÷ beside few.
    FoldRatio,
    /// Wake-ups of an idle daemon in a second.
    IdleWakeups,
    /// Time of a send beside 64 waiting readers ÷ without.
    WaitersTax,
    /// Time of `get_status` with 8,000 open messages ÷ with none.
    StatusGrowth,
    /// Time of one event of a run of 1,000 units.
    StepUs,
    /// Time of a read over the socket.
    VerbUs,
    /// Number of uses of words that the glossary rules out.
    GlossaryLeft,
    /// Number of files in the largest ring of imports.
    LargestCircle,
    /// Time of a release build from nothing.
    ReleaseBuildS,
}

// === impl Figure ===

impl Figure {
    /// Returns its key in the JSON object.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SimRunsPerMinute => "sim_runs_per_minute",
            Self::Run1kTasksMs => "run_1k_tasks_ms",
            Self::MutantsCaught => "mutants_caught",
            Self::FoldRatio => "fold_ratio",
            Self::IdleWakeups => "idle_wakeups_per_s",
            Self::WaitersTax => "waiters_tax",
            Self::StatusGrowth => "status_growth",
            Self::StepUs => "step_us",
            Self::VerbUs => "verb_us",
            Self::GlossaryLeft => "glossary_left",
            Self::LargestCircle => "largest_circle",
            Self::ReleaseBuildS => "release_build_s",
        }
    }

    /// Returns the limit, and whether more is better.
    fn limit(self) -> (f64, bool) {
        match self {
            Self::SimRunsPerMinute => (5_000.0, true),
            Self::Run1kTasksMs => (2_000.0, false),
            Self::MutantsCaught => (0.9, true),
            Self::FoldRatio => (1.5, false),
            Self::IdleWakeups => (5.0, false),
            Self::WaitersTax => (1.1, false),
            Self::StatusGrowth => (1.3, false),
            Self::StepUs => (20.0, false),
            Self::VerbUs => (150.0, false),
            Self::GlossaryLeft => (0.0, false),
            Self::LargestCircle => (3.0, false),
            Self::ReleaseBuildS => (300.0, false),
        }
    }

    /// Returns a row of the printed table.
    pub(super) fn line(self, measured: f64) -> String {
        let (limit, more_is_better) = self.limit();
        let (mark, is_met) = if more_is_better { ("≥", measured >= limit) } else { ("≤", measured <= limit) };
        let verdict = if is_met { "met" } else { "missed" };
        format!("{:<20} {:>10.2}   wanted {mark} {limit:<6} {verdict}", self.name(), measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_whether_the_limit_is_met() {
        assert!(Figure::VerbUs.line(150.0).ends_with("wanted ≤ 150    met"));
        assert!(Figure::VerbUs.line(150.1).ends_with("missed"));
        assert!(Figure::MutantsCaught.line(0.89).ends_with("missed"));
    }
}
