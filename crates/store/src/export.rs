//! Exports the record as JSON lines: a header, then one line per event. Every line has exactly one valid form, so that
//! each flipped byte is found and reported with its event.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_process::lines::{self, Lines};
use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::Digest;
use switchboard_protocol::time::Millis;

use crate::log::{Chain, DamageSite};
use crate::record::{Body, Record, SALT_BYTES};
use crate::verify::Report;
use crate::{Error, Head};

/// Identifies the file format.
const FORMAT: &str = "switchboard-export/1";

/// Maximum length of the header in bytes.
const MAX_HEADER_BYTES: u64 = 4096;

/// Maximum length of a line in bytes: a body of 1 MiB with every byte escaped, and the other fields.
const MAX_LINE_BYTES: usize = 8 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    chain_id: String,
    lsn: Lsn,
    hash: Digest,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    lsn: Lsn,
    ts: Millis,
    kind: String,
    v: u16,
    subject: String,
    rev: u64,
    actor: String,
    facts: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    salt: Option<String>,
    body_hash: Digest,
    prev_hash: Digest,
    hash: Digest,
}

/// Writes an export.
pub(crate) struct Exporter<'a> {
    out: &'a mut dyn Write,
}

// === impl Exporter ===

impl<'a> Exporter<'a> {
    /// Writes the header.
    pub(crate) fn start(out: &'a mut dyn Write, chain_id: &str, head: Head) -> Result<Self, Error> {
        let mut exporter = Self { out };
        let format = FORMAT.to_owned();
        exporter.line(&Header { format, chain_id: chain_id.to_owned(), lsn: head.lsn, hash: head.hash })?;
        Ok(exporter)
    }

    /// Writes an event.
    pub(crate) fn write(&mut self, record: &Record, body: Option<&Body>) -> Result<(), Error> {
        let facts = RawValue::from_string(record.facts.clone()).map_err(|error| Error::Corrupt {
            place: DamageSite::of(record).to_string(),
            what: format!("its facts do not parse: {error}"),
        })?;
        self.line(&Line {
            lsn: record.lsn,
            ts: record.ts,
            kind: record.kind.clone(),
            v: record.v,
            subject: record.subject.clone(),
            rev: record.rev,
            actor: record.actor.clone(),
            facts,
            body: body.map(|body| body.text.clone()),
            salt: body.map(|body| hex(&body.salt)),
            body_hash: record.body_hash,
            prev_hash: record.prev_hash,
            hash: record.hash,
        })
    }

    fn line(&mut self, line: &impl Serialize) -> Result<(), Error> {
        let mut bytes =
            serde_json::to_vec(line).map_err(|error| Error::io("could not write the export", error.into()))?;
        bytes.push(b'\n');
        self.out.write_all(&bytes).map_err(|error| Error::io("could not write the export", error))
    }
}

/// Returns true if a file is an export of this chain that holds nothing beyond the record.
pub(crate) fn is_earlier(path: &Path, chain_id: &str, head: Lsn) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut line = Vec::new();
    let read = BufReader::new(file.take(MAX_HEADER_BYTES)).read_until(b'\n', &mut line);
    let Some(header) = read.ok().and_then(|_| serde_json::from_slice::<Header>(&line).ok()) else { return false };
    header.format == FORMAT && header.chain_id == chain_id && header.lsn <= head
}

/// Returns the error for an export that was not written.
pub(crate) fn not_written(to: &Path, error: std::io::Error) -> Error {
    let to = to.display();
    let what = match error.kind() == std::io::ErrorKind::AlreadyExists {
        true => format!("{to} is there, and is no earlier export of this record"),
        false => format!("could not write {to}"),
    };
    Error::io(what, error)
}

/// Checks an export: its form, the hash chain, the bodies, and that it ends where its header says.
///
/// # Errors
/// [`Error::Io`] when `reader` fails. Damage is in the report, not an error.
pub fn verify_export(mut reader: impl Read) -> Result<Report, Error> {
    verify_export_with(&mut reader, &mut |_, _| {})
}

/// As [`verify_export`], and calls `visit` with the hash of every event in order, for a signed head that covers them.
///
/// # Errors
/// Those of [`verify_export`].
pub fn verify_export_with(reader: &mut dyn Read, visit: &mut dyn FnMut(Lsn, Digest)) -> Result<Report, Error> {
    let (mut reader, mut lines) = (BufReader::new(reader), Lines::exact(MAX_LINE_BYTES));
    let header = match next(&mut lines, &mut reader).map(|line| line.and_then(|line| parse::<Header>(&line))) {
        Ok(Ok(header)) if header.format == FORMAT => header,
        Ok(Ok(header)) => return Ok(unreadable(&format!("{:?} is not a form that is known here", header.format))),
        Ok(Err(what)) => return Ok(unreadable(&format!("{what}; this is no export of a record"))),
        Err(error) => return Err(Error::io("could not read the export", error)),
    };
    let mut chain = Chain::after(&header.chain_id, 0, Digest::ZERO);
    loop {
        let line = next(&mut lines, &mut reader).map_err(|error| Error::io("could not read the export", error))?;
        if line.as_ref().is_ok_and(Vec::is_empty) {
            break;
        }
        match line.and_then(|line| parse::<Line>(&line)).and_then(Line::split) {
            Ok((record, body)) => {
                chain.follow(&record, body.as_ref());
                visit(record.lsn, record.hash);
            }
            Err(what) => {
                chain.found(DamageSite::at(chain.lsn + 1), what);
                break;
            }
        }
        if chain.findings.len() > 1 {
            break;
        }
    }
    if chain.findings.is_empty() {
        chain.end(header.lsn, header.hash);
    }
    Ok(Report::new(chain, &header.chain_id, 0))
}

fn unreadable(what: &str) -> Report {
    let mut chain = Chain::after("", 0, Digest::ZERO);
    chain.found(DamageSite::File, format!("its first line: {what}"));
    Report::new(chain, "", 0)
}

/// Reads the next line; an empty one marks the end.
fn next(lines: &mut Lines, reader: &mut impl BufRead) -> std::io::Result<Result<Vec<u8>, String>> {
    Ok(match lines.read(reader)? {
        lines::Line::Whole(line) if line.is_empty() => Err("the line is empty".to_owned()),
        lines::Line::Whole(line) => Ok(line),
        lines::Line::TooLong => Err("the line is over the limit".to_owned()),
        lines::Line::End(rest) if rest.is_empty() => Ok(rest),
        lines::Line::End(_) => Err("the line doesn't end".to_owned()),
    })
}

/// Parses a line that must be exactly what the exporter would write.
fn parse<'a, T: Deserialize<'a> + Serialize>(line: &'a [u8]) -> Result<T, String> {
    let parsed: T = serde_json::from_slice(line).map_err(|error| format!("the line does not parse: {error}"))?;
    match serde_json::to_vec(&parsed) {
        Ok(canonical) if canonical == line => Ok(parsed),
        Ok(_) | Err(_) => Err("the line is not in the form in which it was written".to_owned()),
    }
}

// === impl Line ===

impl Line {
    fn split(self) -> Result<(Record, Option<Body>), String> {
        let body = match (self.body, self.salt) {
            (Some(text), Some(salt)) => Some(Body { salt: unhex(&salt).ok_or("the salt is not 32 hex digits")?, text }),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return Err("body and salt don't go together".to_owned()),
        };
        let record = Record {
            lsn: self.lsn,
            ts: self.ts,
            kind: self.kind,
            v: self.v,
            subject: self.subject,
            rev: self.rev,
            actor: self.actor,
            facts: self.facts.get().to_owned(),
            body_hash: self.body_hash,
            prev_hash: self.prev_hash,
            hash: self.hash,
        };
        Ok((record, body))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; SALT_BYTES]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * SALT_BYTES || !text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let mut bytes = [0; SALT_BYTES];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}
