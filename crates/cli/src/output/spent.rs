//! Formats costs and tokens for people.

/// Formats a cost as `$0.0123`, or `$12.30` from a dollar on; `None` if no price is known.
pub(crate) fn money(micro_usd: Option<u64>) -> Option<String> {
    let micro = micro_usd?;
    #[expect(clippy::cast_precision_loss, reason = "it is shown with four digits")]
    let dollars = micro as f64 / 1e6;
    Some(if micro >= 1_000_000 { format!("${dollars:.2}") } else { format!("${dollars:.4}") })
}

/// Parses dollars as people write them, `5`, `0.75` or `$1.50`, into millionths.
pub(crate) fn micro_usd(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("{text:?} is no amount in dollars such as 5 or 0.75, with at most six digits behind the point");
    let digits = text.strip_prefix('$').unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 6 {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let part: u64 = format!("{part:0<6}").parse().map_err(|_| wrong())?;
    whole.checked_mul(1_000_000).and_then(|micro| micro.checked_add(part)).ok_or_else(wrong)
}

/// Formats token counts: `12.3k tokens in, 456 out`; `None` if none are counted.
pub(crate) fn tokens(input: Option<u64>, output: Option<u64>) -> Option<String> {
    let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
    (input + output > 0).then(|| format!("{} tokens in, {} out", short(input), short(output)))
}

/// Formats a number with at most four digits and a letter.
pub(crate) fn short(count: u64) -> String {
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
    fn dollars_are_read_to_the_millionth_and_nothing_else_is() {
        let read = |text| micro_usd(text).ok();

        assert_eq!((read("5"), read("$0.75"), read("0.000001")), (Some(5_000_000), Some(750_000), Some(1)));
        for wrong in ["", "-1", "1.", ".5", "1,5", "1.0000001", "five", "99999999999999999999"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn prices_and_tokens_are_short_and_nothing_where_nobody_counts() {
        assert_eq!(money(Some(1_360)).as_deref(), Some("$0.0014"));
        assert_eq!(money(Some(12_300_000)).as_deref(), Some("$12.30"));
        assert_eq!((money(None), tokens(None, None)), (None, None));
        assert_eq!(tokens(Some(12_345), Some(80)).as_deref(), Some("12.3k tokens in, 80 out"));
        assert_eq!(tokens(Some(2_400_000), Some(0)).as_deref(), Some("2.4M tokens in, 0 out"));
    }
}
