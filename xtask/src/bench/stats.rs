//! Statistics of a few measurements.

/// Returns the median of some measurements.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Rounds a measurement to two decimals.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Returns a count as a figure.
#[expect(clippy::cast_precision_loss, reason = "counts of files, words and calls are far below 2^52")]
pub(super) fn count(number: usize) -> f64 {
    number as f64
}

/// Returns a quantile of some measurements: 0.5 is the median, 1 the maximum.
pub(super) fn quantile(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index into a short list"
    )]
    let at = ((values.len() as f64 - 1.0) * part).round() as usize;
    values.get(at).copied().unwrap_or(f64::NAN)
}

/// Runs some work and returns the seconds it took.
pub(super) fn seconds<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(T, f64)> {
    let began = std::time::Instant::now();
    let done = work()?;
    Ok((done, began.elapsed().as_secs_f64()))
}

/// Returns the number of items per second.
#[expect(clippy::cast_precision_loss, reason = "a count of messages")]
pub(super) fn rate(count: usize, seconds: f64) -> f64 {
    count as f64 / seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one_whatever_the_order() {
        assert_eq!(rounded(median(vec![9.0, 1.004, 2.005])), 2.01);
    }
}
