//! Reads the raw output of a worker's agent from the spool of its shim, also while it grows.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use switchboard_protocol::spool::{SPOOL_FOLDER, SegmentName};
use switchboard_protocol::verb::run::{OutputPart, OutputPiece};

use crate::Error;
use crate::error::io;

/// Maximum number of times the segments are listed again because the oldest was removed meanwhile.
const TRIES: u32 = 5;

/// Length of the longest UTF-8 character, in bytes.
const CHARACTER: usize = 4;

/// Requested part of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestedPart {
    /// From a byte offset on.
    From(u64),
    /// One end of the output.
    Part(OutputPart),
    /// Half of the bytes from each end, if the output is longer than the maximum.
    Ends,
}

/// Part of an output that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) pieces: Vec<OutputPiece>,
    pub(crate) elided: u64,
    pub(crate) total: u64,
    pub(crate) dropped: u64,
    pub(crate) next: u64,
}

/// File of the spool, with its start and end in the output.
#[derive(Debug)]
struct Segment {
    path: PathBuf,
    start: u64,
    end: u64,
}

/// Consecutive bytes.
#[derive(Debug, PartialEq, Eq)]
struct Bytes {
    offset: u64,
    bytes: Vec<u8>,
}

/// Reads a part of a worker's output, at most `most` bytes. With `is_growing`, an incomplete character at the end is
/// left for the next call.
///
/// # Errors
/// When the spool can't be read.
pub(crate) fn read(folder: &Path, wanted: RequestedPart, most: u64, is_growing: bool) -> Result<Output, Error> {
    let folder = folder.join(SPOOL_FOLDER);
    listed_anew(|| read_once(&folder, wanted, most, is_growing)).map_err(io(&folder))
}

/// Reads, and reads again if a listed file was removed.
fn listed_anew<T>(mut read: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    let mut tries = 1;
    loop {
        match read() {
            Err(error) if error.kind() == ErrorKind::NotFound && tries < TRIES => tries += 1,
            done => return done,
        }
    }
}

fn read_once(folder: &Path, wanted: RequestedPart, most: u64, is_growing: bool) -> std::io::Result<Output> {
    let segments = segments(folder)?;
    let first = segments.first().map_or(0, |segment| segment.start);
    let total = segments.last().map_or(0, |segment| segment.end);
    let kept: u64 = segments.iter().map(|segment| segment.end - segment.start).sum();
    let (asked, mut found) = match wanted {
        RequestedPart::From(from) => (from.min(total), range(&segments, from, most)?),
        RequestedPart::Part(OutputPart::Head) => (0, range(&segments, 0, most)?),
        RequestedPart::Part(OutputPart::Tail) => last(&segments, total.saturating_sub(most).max(first))?,
        RequestedPart::Ends if kept <= most => (0, range(&segments, 0, most)?),
        RequestedPart::Ends => {
            let mut found = range(&segments, 0, most.div_ceil(2))?;
            if let Some(head) = found.last_mut() {
                drop_half(head);
            }
            found.extend(last(&segments, total.saturating_sub(most / 2))?.1);
            (0, found)
        }
    };
    let end = found.last().map_or(asked, |last| last.offset + last.bytes.len() as u64);
    if let Some(last) = found.last_mut().filter(|_| end < total || is_growing) {
        drop_half(last);
    }
    let next = found.last().map_or(asked, |last| last.offset + last.bytes.len() as u64);
    found.retain(|piece| !piece.bytes.is_empty());
    let shown: u64 = found.iter().map(|piece| piece.bytes.len() as u64).sum();
    let piece = |Bytes { offset, bytes }| OutputPiece { offset, text: String::from_utf8_lossy(&bytes).into_owned() };
    let pieces = found.into_iter().map(piece).collect();
    Ok(Output { pieces, elided: next - asked - shown, total, dropped: total - kept, next })
}

/// Returns the segments of a spool in their order; none if there is no spool yet.
fn segments(folder: &Path) -> std::io::Result<Vec<Segment>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().and_then(SegmentName::parse) else { continue };
        files.push((entry.file_name(), name, entry.path(), entry.metadata()?.len()));
    }
    files.sort();
    let mut segments: Vec<Segment> = Vec::new();
    for (_, name, path, size) in files {
        let before = segments.last_mut();
        let start = name.offset.unwrap_or_else(|| before.as_ref().map_or(0, |before| before.end));
        if let Some(before) = before {
            // After a failed write, a file may be longer than the shim counted.
            before.end = before.end.min(start);
        }
        segments.push(Segment { path, start, end: start + size });
    }
    Ok(segments)
}

/// Reads at most `most` bytes from an offset on. Bytes after a gap form a new piece.
fn range(segments: &[Segment], from: u64, most: u64) -> std::io::Result<Vec<Bytes>> {
    let (mut found, mut left): (Vec<Bytes>, u64) = (Vec::new(), most);
    for segment in segments.iter().filter(|segment| segment.end > from) {
        let start = segment.start.max(from);
        let wanted = (segment.end - start).min(left);
        if wanted == 0 {
            break;
        }
        let mut file = File::open(&segment.path)?;
        file.seek(SeekFrom::Start(start - segment.start))?;
        let mut bytes = Vec::new();
        file.take(wanted).read_to_end(&mut bytes)?;
        left -= bytes.len() as u64;
        match found.last_mut().filter(|last| last.offset + last.bytes.len() as u64 == start) {
            Some(last) => last.bytes.extend(bytes),
            None => found.push(Bytes { offset: start, bytes }),
        }
    }
    Ok(found)
}

/// Reads everything from the first character at or after an offset; returns the offset of that.
fn last(segments: &[Segment], from: u64) -> std::io::Result<(u64, Vec<Bytes>)> {
    let mut found = range(segments, from, u64::MAX)?;
    let mut start = from;
    if let Some(first) = found.first_mut().filter(|first| first.offset == from && from > 0) {
        let half = first.bytes.iter().take(CHARACTER - 1).take_while(|byte| is_continuation(**byte)).count();
        first.bytes.drain(..half);
        first.offset += half as u64;
        start = first.offset;
    }
    Ok((start, found))
}

/// Removes an incomplete character at the end.
fn drop_half(piece: &mut Bytes) {
    let length = piece.bytes.len();
    let tail = &piece.bytes[length.saturating_sub(CHARACTER - 1)..];
    let Some(at) = tail.iter().rposition(|byte| !is_continuation(*byte)) else { return };
    let end = &tail[at..];
    // An invalid character has a length; an incomplete one does not.
    if std::str::from_utf8(end).is_err_and(|error| error.error_len().is_none()) {
        piece.bytes.truncate(length - end.len());
    }
}

const fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a spool with segments at these offsets.
    fn spool(segments: &[(u64, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(SPOOL_FOLDER)).unwrap();
        for (offset, bytes) in segments {
            let name = SegmentName { epoch: 1, offset: Some(*offset) }.to_string();
            fs::write(folder.path().join(SPOOL_FOLDER).join(name), bytes).unwrap();
        }
        folder
    }

    fn texts(output: &Output) -> Vec<(u64, &str)> {
        output.pieces.iter().map(|piece| (piece.offset, piece.text.as_str())).collect()
    }

    const HEAD: RequestedPart = RequestedPart::Part(OutputPart::Head);
    const TAIL: RequestedPart = RequestedPart::Part(OutputPart::Tail);

    #[test]
    fn an_output_is_read_from_offset_to_offset_across_segments() {
        let folder = spool(&[(0, b"0123456789"), (10, b"abcdefghij")]);

        let first = read(folder.path(), RequestedPart::From(4), 8, false).unwrap();
        let second = read(folder.path(), RequestedPart::From(first.next), 100, false).unwrap();
        let beyond = read(folder.path(), RequestedPart::From(99), 100, false).unwrap();

        assert_eq!((texts(&first), first.next, first.total), (vec![(4, "456789ab")], 12, 20));
        assert_eq!((texts(&second), second.next), (vec![(12, "cdefghij")], 20));
        assert_eq!((texts(&beyond), beyond.next, beyond.elided), (vec![], 20, 0));
    }

    #[test]
    fn each_end_and_both_are_returned_with_what_lies_between() {
        let folder = spool(&[(0, b"0123456789"), (10, b"abcdefghij")]);
        let part = |wanted, most| read(folder.path(), wanted, most, false).unwrap();

        let (head, tail, ends) = (part(HEAD, 5), part(TAIL, 5), part(RequestedPart::Ends, 6));
        let all = part(RequestedPart::Ends, 20);

        assert_eq!((texts(&head), head.next, head.elided), (vec![(0, "01234")], 5, 0));
        assert_eq!((texts(&tail), tail.next, tail.elided), (vec![(15, "fghij")], 20, 0));
        assert_eq!((texts(&ends), ends.next, ends.elided), (vec![(0, "012"), (17, "hij")], 20, 14));
        assert_eq!((texts(&all), all.elided), (vec![(0, "0123456789abcdefghij")], 0));
    }

    #[test]
    fn no_character_is_cut_at_either_end() {
        // The four bytes of the character begin at 3.
        let folder = spool(&[(0, "abc🦀xyz".as_bytes())]);
        let part = |wanted, most| read(folder.path(), wanted, most, false).unwrap();

        for most in 3..=9 {
            let (text, next) = if most < 7 { ("abc", 3) } else { (&"abc🦀xyz"[..most as usize], most) };
            let head = part(HEAD, most);
            assert_eq!((texts(&head), head.next), (vec![(0, text)], next), "{most}");
            let (from, text) = if most < 7 { (7, "xyz") } else { (10 - most, &"abc🦀xyz"[10 - most as usize..]) };
            let tail = part(TAIL, most);
            assert_eq!((texts(&tail), tail.next, tail.elided), (vec![(from, text)], 10, 0), "{most}");
        }
        let none = part(RequestedPart::From(3), 2);
        assert_eq!((texts(&none), none.next), (vec![], 3), "the rest comes with the next call");
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such_from_the_very_first() {
        let folder = spool(&[(0, b"\x80\x80ab")]);

        let all = read(folder.path(), TAIL, 100, false).unwrap();

        assert_eq!((texts(&all), all.elided), (vec![(0, "\u{fffd}\u{fffd}ab")], 0));
    }

    #[test]
    fn what_was_dropped_is_counted_wherever_it_was() {
        let folder = spool(&[(100, b"0123456789"), (150, b"abcdefghij")]);
        let part = |wanted, most| read(folder.path(), wanted, most, false).unwrap();

        let (old, head, tail) = (part(RequestedPart::From(20), 12), part(HEAD, 5), part(TAIL, 100));

        assert_eq!((texts(&old), old.next), (vec![(100, "0123456789"), (150, "ab")], 152));
        assert_eq!((old.elided, old.dropped, old.total), (80 + 40, 140, 160));
        assert_eq!((texts(&head), head.elided), (vec![(100, "01234")], 100));
        assert_eq!((texts(&tail), tail.elided), (vec![(100, "0123456789"), (150, "abcdefghij")], 40));
    }

    #[test]
    fn an_output_that_is_not_there_yet_is_empty_and_one_that_cannot_be_read_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path(), HEAD, 5, true).unwrap().total, 0);

        fs::write(folder.path().join(SPOOL_FOLDER), "no folder").unwrap();
        assert!(read(folder.path(), HEAD, 5, true).is_err());
    }

    #[test]
    fn what_goes_while_it_is_read_is_listed_anew_a_few_times_and_no_other_failure_is() {
        let read_after = |failures: u32, kind: ErrorKind| {
            let mut calls = 0;
            let read = listed_anew(|| {
                calls += 1;
                if calls > failures { Ok(()) } else { Err(kind.into()) }
            });
            (calls, read.is_ok())
        };

        assert_eq!(read_after(TRIES - 1, ErrorKind::NotFound), (TRIES, true));
        assert_eq!(read_after(TRIES, ErrorKind::NotFound), (TRIES, false));
        assert_eq!(read_after(1, ErrorKind::PermissionDenied), (1, false));
    }

    #[test]
    fn a_character_is_never_cut() {
        // Characters of 2, 3 and 4 bytes.
        let text = "ü€𝄞ü€𝄞";
        let folder = spool(&[(0, text.as_bytes())]);

        for most in 4..=18 {
            let (mut read_so_far, mut from) = (String::new(), 0);
            while from < text.len() as u64 {
                let part = read(folder.path(), RequestedPart::From(from), most, true).unwrap();
                assert!(part.next > from, "{most} {from}");
                part.pieces.iter().for_each(|piece| read_so_far.push_str(&piece.text));
                from = part.next;
            }
            assert_eq!(read_so_far, text, "{most}");
            for wanted in [HEAD, TAIL, RequestedPart::Ends] {
                let part = read(folder.path(), wanted, most, false).unwrap();
                assert!(part.pieces.iter().all(|piece| !piece.text.contains('\u{fffd}')), "{most} {part:?}");
                assert!(part.elided == 0 || wanted == RequestedPart::Ends, "nothing lies between: {most} {part:?}");
            }
        }
    }

    #[test]
    fn half_a_character_waits_while_the_output_grows_and_is_shown_at_its_end() {
        let folder = spool(&[(0, b"a\xe2\x82")]);

        let growing = read(folder.path(), RequestedPart::From(0), 100, true).unwrap();
        let over = read(folder.path(), RequestedPart::From(growing.next), 100, false).unwrap();

        assert_eq!((texts(&growing), growing.next, growing.total), (vec![(0, "a")], 1, 3));
        assert_eq!((texts(&over), over.next), (vec![(1, "\u{fffd}")], 3));
    }

    #[test]
    fn bytes_that_are_no_text_stand_as_one_mark_and_nothing_is_lost_behind_them() {
        let folder = spool(&[(0, b"\xff\xfe ok \x80\x80\x80\x80 end\xff")]);

        let all = read(folder.path(), RequestedPart::Ends, 100, true).unwrap();

        assert_eq!((all.next, all.elided), (15, 0));
        assert!(all.pieces[0].text.contains(" ok ") && all.pieces[0].text.contains(" end"), "{all:?}");
    }

    #[test]
    fn segments_of_earlier_versions_follow_each_other_and_no_spool_is_empty() {
        let folder = spool(&[]);
        for (name, bytes) in [("001-000001.raw", "one "), ("001-000002.raw", "two"), ("notes.txt", "x")] {
            fs::write(folder.path().join(SPOOL_FOLDER).join(name), bytes).unwrap();
        }

        assert_eq!(texts(&read(folder.path(), RequestedPart::From(0), 100, false).unwrap()), [(0, "one two")]);
        let none = read(&folder.path().join("missing"), RequestedPart::Ends, 100, false).unwrap();
        assert_eq!(none, Output { pieces: Vec::new(), elided: 0, total: 0, dropped: 0, next: 0 });
    }
}
