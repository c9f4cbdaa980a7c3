//! `cargo xtask bench dispatch`: what workers cost: their start, a daemon with many of them, control, adoption, plans, ceilings; and what polling files gives instead.

mod figure;
mod fleet;
mod plan;
mod polling;
mod spawn;
mod spend;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use self::figure::Figure;
use super::stats::rounded;

/// How to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print only the JSON object
    #[arg(long)]
    json: bool,
    /// Measure only these figures
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// The binary; a release build of this tree when left out
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Workers that live at once
    #[arg(long, default_value_t = 200)]
    workers: usize,
    /// Decides costs, and the moments of polled signals
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Measures and prints.
///
/// # Errors
/// When something that is to be measured does not run.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let mut bench = Bench { root, args, binary: None, rows: Vec::new(), details: Map::new() };
    if cfg!(debug_assertions) && bench.wants(&[Figure::Plan10k]) {
        return super::again_optimised(root);
    }
    bench.plan()?;
    bench.spawn()?;
    bench.fleet()?;
    bench.spend()?;
    bench.polling()?;
    bench.print();
    Ok(())
}

struct Bench<'a> {
    root: &'a Path,
    args: &'a Args,
    binary: Option<PathBuf>,
    rows: Vec<(Figure, f64)>,
    details: Map<String, Value>,
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
            let binary = self.binary()?;
            let spawn = spawn::measure(&binary)?;
            self.row(Figure::SpawnOverhead, spawn.ratio);
            self.details.insert("spawn".to_owned(), spawn.details);
        }
        Ok(())
    }

    fn fleet(&mut self) -> anyhow::Result<()> {
        if self.wants(&Figure::OF_FLEET) {
            let binary = self.binary()?;
            let fleet = fleet::measure(&binary, self.args.workers)?;
            for (figure, value) in fleet.rows {
                self.row(figure, value);
            }
            self.details.insert("fleet".to_owned(), fleet.details);
        }
        Ok(())
    }

    fn spend(&mut self) -> anyhow::Result<()> {
        if self.wants(&[Figure::Overspend]) {
            let binary = self.binary()?;
            let spend = spend::measure(&binary, self.args.seed)?;
            self.row(Figure::Overspend, spend.overspend);
            self.details.insert("spend".to_owned(), spend.details);
        }
        Ok(())
    }

    fn polling(&mut self) -> anyhow::Result<()> {
        if self.wants(&Figure::OF_POLLING) {
            let polling = polling::measure(self.args.seed)?;
            for (figure, value) in polling.rows {
                self.row(figure, value);
            }
            self.details.insert("polling".to_owned(), polling.details);
        }
        Ok(())
    }

    fn wants(&self, figures: &[Figure]) -> bool {
        self.args.only.is_empty()
            || figures.iter().any(|figure| self.args.only.iter().any(|name| name == figure.name()))
    }

    fn binary(&mut self) -> anyhow::Result<PathBuf> {
        if let Some(binary) = &self.binary {
            return Ok(binary.clone());
        }
        let binary = super::binary(self.root, self.args.binary.as_deref())?;
        self.binary = Some(binary.clone());
        Ok(binary)
    }

    fn row(&mut self, figure: Figure, measured: f64) {
        if !self.args.json {
            println!("{}", figure.line(measured));
        }
        self.rows.push((figure, measured));
    }

    fn print(self) {
        let mut object = Map::new();
        for (figure, measured) in &self.rows {
            object.insert(figure.name().to_owned(), json!(rounded(*measured)));
        }
        object.insert("workers".to_owned(), json!(self.args.workers));
        object.extend(self.details);
        println!("{}", Value::Object(object));
    }
}
