//! Standard output: text for people, JSON for programs; silent once the reader is gone or the output can't be written.

mod pager;
mod plain;
mod spent;
mod table;
mod when;

use std::io::{self, Write};

use serde::Serialize;
use switchboard_protocol::error::Failure;

pub(crate) use pager::page;
pub(crate) use plain::{counted, one_line, plain, unfenced};
pub(crate) use spent::{micro_usd, money, short, tokens};
pub(crate) use table::Table;
pub(crate) use when::{span, when};

/// Destination of printed text. Once the reader has closed its end, or a write has failed, all further output is dropped.
pub(crate) struct Output {
    to: Box<dyn Write>,
    is_closed: bool,
    /// Why output was lost; `None` also if only the reader has closed its end.
    loss: Option<io::Error>,
    has_color: bool,
    width: Option<usize>,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").field("is_closed", &self.is_closed).finish_non_exhaustive()
    }
}

/// Emphasis of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Success.
    Good,
    /// Failure.
    Bad,
    /// Needs attention.
    Notice,
    /// Secondary information.
    Faint,
    /// Heading.
    Strong,
}

impl Output {
    /// Prints to the process's standard output.
    pub(crate) fn stdout(has_color: bool, width: Option<usize>) -> Self {
        Self { to: Box::new(io::stdout()), is_closed: false, loss: None, has_color, width }
    }

    /// Returns true if colours are wanted.
    pub(crate) fn has_color(&self) -> bool {
        self.has_color
    }

    /// Returns the width of the terminal in columns; `None` if it is no terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// Cuts a line of text to the terminal's width.
    pub(crate) fn fitted(&self, line: &str) -> String {
        self.width.map_or_else(|| line.to_owned(), |width| table::cut(line, width).into_owned())
    }

    /// Prints a table, cut to the terminal's width.
    pub(crate) fn table(&mut self, table: &Table) {
        for line in table.within(self.width) {
            self.line(line);
        }
    }

    /// Prints one line. The caller must remove control characters from `text`: see [`plain`].
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        let text = text.as_ref();
        self.write(|to| writeln!(to, "{text}"));
    }

    /// Prints text unchanged, without a line end.
    pub(crate) fn text(&mut self, text: &str) {
        self.write(|to| to.write_all(text.as_bytes()));
    }

    /// Prints one JSON value on its own line.
    pub(crate) fn json(&mut self, value: &impl Serialize) {
        match serde_json::to_string(value) {
            Ok(text) => self.line(text),
            Err(error) => self.line(format!("null // {error}")),
        }
    }

    /// Returns the failure if output was lost that its reader wanted: a full disk, for example.
    ///
    /// # Errors
    /// `io.disk-full`, `io.denied`.
    pub(crate) fn require_complete(&self) -> Result<(), Failure> {
        let Some(error) = &self.loss else { return Ok(()) };
        let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let code = if is_full { "io.disk-full" } else { "io.denied" };
        Err(Failure::new(code, "the output could not be written, so that it is incomplete").because(error))
    }

    /// Returns true if the reader is gone.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Colours a word, if colours are wanted.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        if self.has_color { format!("{}{text}\x1b[0m", sequence(tone)) } else { text.to_owned() }
    }

    fn write(&mut self, print: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if !self.is_closed {
            let done = print(&mut self.to).and_then(|()| self.to.flush());
            self.is_closed = done.is_err();
            self.loss = done.err().filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        }
    }
}

fn sequence(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "\x1b[32m",
        Tone::Bad => "\x1b[31m",
        Tone::Notice => "\x1b[33m",
        Tone::Faint => "\x1b[2m",
        Tone::Strong => "\x1b[1m",
    }
}
