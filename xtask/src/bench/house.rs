//! `cargo xtask bench house`: checks whether the tree and the daemon keep within their limits. Prints each measurement
//! beside its limit.

mod daemon;
mod figure;
mod idle;
mod lines;
mod mutants;
mod sim;
mod store;
mod way;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use self::figure::Figure;
use super::binary::Binary;
use super::report::Report;
use super::start;
use super::stats::count;
use crate::{circles, words};

/// Options of the measurement.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print only the JSON object
    #[arg(long)]
    json: bool,
    /// Measure only these figures
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Measure all figures but these
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    skip: Vec<String>,
    /// Also time a release build from nothing
    #[arg(long)]
    build: bool,
    /// Path of the binary; default a release build of this tree
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    #[command(flatten)]
    mutants: mutants::Draw,
}

/// Measures and prints the figures.
///
/// # Errors
/// When something to be measured does not run.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let mut house =
        House { root, args, binary: Binary::new(root, args.binary.as_deref()), report: Report::new(args.json) };
    if cfg!(debug_assertions) && house.times_code() {
        return super::binary::again_optimised(root);
    }
    house.tree()?;
    house.parts()?;
    house.daemon()?;
    house.slow()?;
    house.report.print();
    Ok(())
}

/// Figures that time code in this process, if only that of a client.
const IN_PROCESS: [Figure; 7] = [
    Figure::FoldRatio,
    Figure::StepUs,
    Figure::SimRunsPerMinute,
    Figure::Run1kTasksMs,
    Figure::VerbUs,
    Figure::StatusGrowth,
    Figure::WaitersTax,
];

struct House<'a> {
    root: &'a Path,
    args: &'a Args,
    binary: Binary<'a>,
    report: Report,
}

// === impl House ===

impl House<'_> {
    /// Measures the files of the tree.
    fn tree(&mut self) -> anyhow::Result<()> {
        if self.wants(Figure::GlossaryLeft) {
            self.row(Figure::GlossaryLeft, count(words::uses(self.root)?.len()));
        }
        if self.wants(Figure::LargestCircle) {
            let mut largest = 0;
            let mut listed = Map::new();
            for (name, src) in circles::crates(self.root)? {
                let rings = circles::of_crate(&src)?;
                largest = largest.max(rings.first().map_or(0, Vec::len));
                if !rings.is_empty() {
                    listed.insert(name, json!(rings));
                }
            }
            self.row(Figure::LargestCircle, count(largest));
            self.report.detail("circles", Value::Object(listed));
        }
        self.report.detail("tests", lines::tests(self.root)?);
        Ok(())
    }

    /// Measures parts of the binary in this process.
    fn parts(&mut self) -> anyhow::Result<()> {
        if self.wants(Figure::SimRunsPerMinute) {
            self.row(Figure::SimRunsPerMinute, sim::runs_per_minute()?);
        }
        if self.wants(Figure::Run1kTasksMs) {
            self.row(Figure::Run1kTasksMs, sim::run_1k_tasks_ms()?);
        }
        if self.wants(Figure::StepUs) {
            self.row(Figure::StepUs, way::step_us()?);
        }
        if self.wants(Figure::FoldRatio) {
            self.row(Figure::FoldRatio, store::fold_ratio()?);
        }
        Ok(())
    }

    /// Measures a real daemon.
    fn daemon(&mut self) -> anyhow::Result<()> {
        if self.wants(Figure::VerbUs) {
            let binary = self.binary.path()?;
            self.row(Figure::VerbUs, daemon::verb_us(&binary)?);
        }
        if self.wants(Figure::StatusGrowth) {
            let binary = self.binary.path()?;
            self.row(Figure::StatusGrowth, daemon::status_growth(&binary)?);
        }
        if self.wants(Figure::WaitersTax) {
            let binary = self.binary.path()?;
            self.row(Figure::WaitersTax, daemon::waiters_tax(&binary)?);
        }
        if self.wants(Figure::IdleWakeups) {
            let binary = self.binary.path()?;
            let idle = idle::measure(&binary)?;
            self.row(Figure::IdleWakeups, idle.per_second);
            self.report.detail("idle", idle.details);
        }
        Ok(())
    }

    /// Measures the figures that take minutes.
    fn slow(&mut self) -> anyhow::Result<()> {
        if self.wants(Figure::MutantsCaught) {
            let caught = mutants::run(self.root, &self.args.mutants)?;
            self.row(Figure::MutantsCaught, caught.share());
            self.report.detail("mutants", caught.details());
        }
        if self.args.build && self.wants(Figure::ReleaseBuildS) {
            let took = start::build(self.root)?;
            self.row(Figure::ReleaseBuildS, took);
        }
        Ok(())
    }

    /// Returns whether a requested figure times code in this process.
    fn times_code(&self) -> bool {
        IN_PROCESS.iter().any(|figure| self.wants(*figure))
    }

    fn wants(&self, figure: Figure) -> bool {
        let is_in = |names: &[String]| names.iter().any(|name| name == figure.name());
        (self.args.only.is_empty() || is_in(&self.args.only)) && !is_in(&self.args.skip)
    }

    fn row(&mut self, figure: Figure, measured: f64) {
        self.report.row(figure.name(), measured, &figure.line(measured));
    }
}
