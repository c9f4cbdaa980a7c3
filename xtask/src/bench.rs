//! `cargo xtask bench`: measurements. Each prints one JSON object on its last line; none of them is a test.

mod bus;
pub(crate) mod daemon;
mod gates;
mod house;
mod start;

use std::path::Path;

use clap::Subcommand;

/// A measurement.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Messages against the disk, brokers and databases
    Bus(bus::Args),
    /// How fast and how small a start is
    Start(start::Args),
    /// How fast and how right the checks are
    Gates(gates::Args),
    /// Whether tree and daemon keep within their limits
    House(house::Args),
}

/// Measures.
///
/// # Errors
/// When something that is to be measured does not run.
pub(crate) fn run(root: &Path, bench: &Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Bus(args) => bus::run(root, args),
        Bench::Start(args) => start::run(root, args),
        Bench::Gates(args) => gates::run(root, args),
        Bench::House(args) => house::run(root, args),
    }
}

/// The middle one of some measurements.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A measurement with two digits behind the point.
fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one_whatever_the_order() {
        assert_eq!(rounded(median(vec![9.0, 1.004, 2.005])), 2.01);
    }
}
