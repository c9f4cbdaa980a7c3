//! `cargo xtask bench dispatch`: the cost of workers: their start, a daemon with many of them, control, adoption,
//! plans, ceilings; and polled files for comparison.

mod figure;
mod fleet;
mod plan;
mod polling;
mod spawn;
mod spend;

use std::path::{Path, PathBuf};

use self::figure::Figure;
use super::binary::Binary;
use super::report::Report;

/// Options of the measurement.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print only the JSON object
    #[arg(long)]
    json: bool,
    /// Measure only these figures
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Path of the binary; default a release build of this tree
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Number of workers that live at once
    #[arg(long, default_value_t = 200)]
    workers: usize,
    /// Seed for costs, and for the moments of polled signals
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Measures and prints the figures.
///
/// # Errors
/// When something to be measured does not run.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let mut bench = Bench { args, binary: Binary::new(root, args.binary.as_deref()), report: Report::new(args.json) };
    if cfg!(debug_assertions) && bench.wants(&[Figure::Plan10k]) {
        return super::binary::again_optimised(root);
    }
    bench.plan()?;
    bench.spawn()?;
    bench.fleet()?;
    bench.spend()?;
    bench.polling()?;
    bench.report.detail("workers", args.workers);
    bench.report.print();
    Ok(())
}

struct Bench<'a> {
    args: &'a Args,
    binary: Binary<'a>,
    report: Report,
}

// === impl Bench ===

impl Bench<'_> {
    fn plan(&mut self) -> anyhow::Result<()> {
        if self.wants(&[Figure::Plan10k]) {
            self.row(Figure::Plan10k, plan::prepare_10k_ms()?);
        }
        Ok(())
    }

    fn spawn(&mut self) -> anyhow::Result<()> {
        if self.wants(&[Figure::SpawnOverhead]) {
            let binary = self.binary.path()?;
            let spawn = spawn::measure(&binary)?;
            self.row(Figure::SpawnOverhead, spawn.ratio);
            self.report.detail("spawn", spawn.details);
        }
        Ok(())
    }

    fn fleet(&mut self) -> anyhow::Result<()> {
        if self.wants(&Figure::OF_FLEET) {
            let binary = self.binary.path()?;
            let fleet = fleet::measure(&binary, self.args.workers)?;
            for (figure, value) in fleet.rows {
                self.row(figure, value);
            }
            self.report.detail("fleet", fleet.details);
        }
        Ok(())
    }

    fn spend(&mut self) -> anyhow::Result<()> {
        if self.wants(&[Figure::Overspend]) {
            let binary = self.binary.path()?;
            let spend = spend::measure(&binary, self.args.seed)?;
            self.row(Figure::Overspend, spend.overspend);
            self.report.detail("spend", spend.details);
        }
        Ok(())
    }

    fn polling(&mut self) -> anyhow::Result<()> {
        if self.wants(&Figure::OF_POLLING) {
            let polling = polling::measure(self.args.seed)?;
            for (figure, value) in polling.rows {
                self.row(figure, value);
            }
            self.report.detail("polling", polling.details);
        }
        Ok(())
    }

    fn wants(&self, figures: &[Figure]) -> bool {
        self.args.only.is_empty()
            || figures.iter().any(|figure| self.args.only.iter().any(|name| name == figure.name()))
    }

    fn row(&mut self, figure: Figure, measured: f64) {
        self.report.row(figure.name(), measured, &figure.line(measured));
    }
}
