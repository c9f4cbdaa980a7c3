//! Tables with aligned columns, also with wide characters.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Minimum width of a cell in columns, however narrow the terminal is.
const NARROWEST: usize = 5;

/// Width in columns that the free text at the end of a row keeps before other cells are cut.
const TEXT: usize = 10;

/// Rows of cells under a heading; the last column is never padded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with these headings.
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(|&cell| cell.to_owned()).collect()] }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Returns the lines at full width.
    #[cfg(test)]
    pub(crate) fn lines(&self) -> Vec<String> {
        self.within(None)
    }

    /// Returns the lines, each at most `limit` columns wide. Cells of the last column are cut first, then those of the widest; none below the
    /// width of its heading, and those of the first column only if nothing else is left to cut.
    pub(crate) fn within(&self, limit: Option<usize>) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..columns).map(|column| self.width(column)).collect();
        let full = widths.first().copied().unwrap_or(0);
        // The first column names the row, and people copy it.
        let least = |column: usize| {
            if column == 0 {
                return full;
            }
            let heading = self.rows.first().and_then(|row| row.get(column));
            heading.map_or(NARROWEST, |heading| heading.width().max(NARROWEST))
        };
        let over = |widths: &[usize]| {
            let total = widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1);
            limit.map_or(0, |limit| total.saturating_sub(limit))
        };
        // The last column is free text, which is cut first.
        let too_wide = over(&widths);
        if let Some(last) = widths.last_mut().filter(|_| columns > 1) {
            let spare = last.saturating_sub(least(columns - 1).max(TEXT));
            *last -= spare.min(too_wide);
        }
        while over(&widths) > 0 {
            let may_shrink = (0..columns).filter(|column| widths[*column] > least(*column));
            let Some(widest) = may_shrink.max_by_key(|column| widths[*column]) else { break };
            widths[widest] -= 1;
        }
        let too_wide = over(&widths);
        if let Some(first) = widths.first_mut() {
            *first = first.saturating_sub(too_wide).max(NARROWEST.min(full));
        }
        self.rows.iter().map(|row| line(row, &widths)).collect()
    }

    fn width(&self, column: usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    }
}

fn line(row: &[String], widths: &[usize]) -> String {
    let mut out = String::new();
    for (cell, width) in row.iter().zip(widths) {
        let cell = cut(cell, *width);
        out.push_str(&cell);
        out.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + 2));
    }
    out.truncate(out.trim_end().len());
    out
}

/// Cuts a cell to at most `width` columns, with a mark at the cut.
pub(super) fn cut(cell: &str, width: usize) -> std::borrow::Cow<'_, str> {
    if cell.width() <= width {
        return cell.into();
    }
    let mut out = String::new();
    for c in cell.chars() {
        if out.width() + c.width().unwrap_or(0) + 1 > width {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fits_the_terminal_by_cutting_its_widest_cells() {
        let mut table = Table::new(&["RUN", "INTO", "TITLE"]);
        table.row(["run_0123456789abcdef", "main", "A very long title that no terminal has room for"]);

        let lines = table.within(Some(50));

        assert_eq!(lines[1], "run_0123456789abcdef  main  A very long title tha…");
        assert!(lines.iter().all(|line| line.width() <= 50), "{lines:?}");
    }

    #[test]
    fn a_name_that_fills_the_terminal_alone_is_cut_when_nothing_else_is_left_to_cut() {
        let mut table = Table::new(&["AGENT", "KIND", "LAST SEEN"]);
        table.row(["an-agent-with-a-rather-long-name-that-goes-on-and-on", "chat", "03:57:27"]);

        let lines = table.within(Some(40));

        assert_eq!(lines[1], "an-agent-with-a-rather…  chat  03:57:27");
        assert!(lines.iter().all(|line| line.width() <= 40), "{lines:?}");
    }

    #[test]
    fn columns_line_up_also_behind_wide_characters() {
        let mut table = Table::new(&["TASK", "AGENT"]);
        table.row(["日本", "ada"]);
        table.row(["1.1", "ben"]);

        assert_eq!(table.lines(), ["TASK  AGENT", "日本  ada", "1.1   ben"]);
    }
}
