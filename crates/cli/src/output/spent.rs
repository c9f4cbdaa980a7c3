//! What agents have used, as people read it.

/// `$0.0123`, or `$12.30` from a dollar on; `None` where nobody named a price.
pub(crate) fn money(micro_usd: Option<u64>) -> Option<String> {
    let micro = micro_usd?;
    #[expect(clippy::cast_precision_loss, reason = "it is shown with four digits")]
    let dollars = micro as f64 / 1e6;
    Some(if micro >= 1_000_000 { format!("${dollars:.2}") } else { format!("${dollars:.4}") })
}

/// `12.3k tokens in, 456 out`; `None` where nobody counts.
pub(crate) fn tokens(input: Option<u64>, output: Option<u64>) -> Option<String> {
    let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
    (input + output > 0).then(|| format!("{} tokens in, {} out", short(input), short(output)))
}

/// A number of at most four digits and a letter.
fn short(count: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", count / unit, count % unit * 10 / unit);
    match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => format!("{}k", tenths(1000)),
        1_000_000.. => format!("{}M", tenths(1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_and_tokens_are_short_and_nothing_where_nobody_counts() {
        assert_eq!(money(Some(1_360)).as_deref(), Some("$0.0014"));
        assert_eq!(money(Some(12_300_000)).as_deref(), Some("$12.30"));
        assert_eq!((money(None), tokens(None, None)), (None, None));
        assert_eq!(tokens(Some(12_345), Some(80)).as_deref(), Some("12.3k tokens in, 80 out"));
        assert_eq!(tokens(Some(2_400_000), Some(0)).as_deref(), Some("2.4M tokens in, 0 out"));
    }
}
