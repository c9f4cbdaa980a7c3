//! `cargo xtask torture bits`: flips one bit anywhere in the files of a store that was never closed.
//!
//! Each flip must be found, at the opening or by the check, or be harmless: every answer stays the same. If it hits the
//! row of an event in the database, that event must be named.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use fastrand::Rng;
use serde_json::json;
use switchboard_store::{Error, Filter, Query, Row, Scope, Store, Words};

use super::board::{closed, parts, posted};
use super::{scratch, work};

/// Options of the torture.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of bits to flip, one at a time
    #[arg(long, default_value_t = 1_000)]
    flips: u64,
    /// First seed; a seed repeats its run exactly
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Files of a store; other files there hold nothing durable.
const FILES: [&str; 4] = ["store.db", "store.db-wal", "store.db.head", "store.db.redo"];

/// Answers to everything that a reader can ask.
#[derive(Debug, PartialEq)]
struct Answers {
    export: Vec<u8>,
    tables: Vec<Vec<Row>>,
    found: Vec<u64>,
    cursor: u64,
    rev: u64,
}

/// Byte range of one event's row.
#[derive(Debug)]
struct Spot {
    lsn: u64,
    from: usize,
    to: usize,
}

/// Results of the flips.
#[derive(Debug, Default)]
struct Tally {
    at_open: u64,
    by_verify: u64,
    harmless: u64,
    events_hit: u64,
    broken: Vec<String>,
}

/// Result of one flip.
enum Outcome {
    AtOpen(String),
    ByVerify(Vec<String>),
    Harmless,
}

/// Flips bits, prints the results, and fails when a flipped bit was served.
///
/// # Errors
/// When a flipped bit was served, or no store can be created.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let _alone = super::exclusive::wait_until_alone();
    let begun = Instant::now();
    let (whole, copy) = (scratch::folder()?, scratch::folder()?);
    let wanted = fill(whole.path())?;
    let files: Vec<Vec<u8>> = FILES.iter().map(|name| fs::read(whole.path().join(name))).collect::<Result<_, _>>()?;
    lay(&files, copy.path())?;
    match look(copy.path(), &wanted)? {
        Outcome::Harmless => {}
        Outcome::AtOpen(what) => bail!("the store is refused without a flip: {what}"),
        Outcome::ByVerify(what) => bail!("the store does not verify without a flip: {what:?}"),
    }
    let mut spots = spots(&files[0], &wanted)?;
    let page = page_bytes(&files[0])?;
    let newer = pages(&files[1], page);
    spots.retain(|spot| !newer.contains(&(spot.from / page + 1)));
    ensure!(spots.len() > 10, "only {} events were found in the file", spots.len());
    let mut rng = Rng::with_seed(args.seed);
    let mut tally = Tally::default();
    for _ in 0..args.flips {
        one(&files, &spots, &wanted, copy.path(), &mut rng, &mut tally)?;
    }
    for broken in tally.broken.iter().take(10) {
        println!("{broken}");
    }
    let line = json!({
        "flips": args.flips, "found_at_open": tally.at_open, "found_by_verify": tally.by_verify,
        "harmless": tally.harmless, "events_hit": tally.events_hit, "served_or_unnamed": tally.broken.len(),
        "bytes": files.iter().map(Vec::len).sum::<usize>(), "seconds": begun.elapsed().as_secs(), "seed": args.seed,
    });
    println!("{line}");
    ensure!(tally.broken.is_empty(), "{} flips were served or not named", tally.broken.len());
    ensure!(tally.at_open + tally.by_verify > 0, "blind: no flip was found");
    Ok(())
}

/// Creates a store with data in every table, half of it in the write-ahead log; returns its answers.
fn fill(folder: &Path) -> anyhow::Result<Answers> {
    let store = work::open(folder)?;
    for number in 0..60_u64 {
        let event =
            posted(["ann", "bob"][usize::from(number % 3 == 0)], number).with_body(format!("word{number} text"));
        let call = switchboard_store::Idempotency {
            key: format!("k{number}"),
            caller: "ann".to_owned(),
            verb: "post",
            args: switchboard_protocol::id::Digest::of(b"x"),
        };
        let batch =
            if number % 2 == 0 { switchboard_store::Batch::synced() } else { switchboard_store::Batch::written() };
        store.commit_blocking(batch.event(event).idempotent(call).reply(json!(number)))?;
        if number == 50 {
            store.search(&Words::parse("text")?, None, 10)?;
            store.commit_blocking(
                switchboard_store::Batch::synced().event(closed("ann", 5)).drop_body(5).advance("feed", 9),
            )?;
            store.checkpoint(switchboard_store::Checkpoint::Truncate)?;
        }
    }
    store.search(&Words::parse("text")?, None, 10)?;
    let wanted = answers(&store)?;
    // As after a kill: the files as they are, without an owner.
    let kept = folder.join("kept");
    fs::create_dir(&kept)?;
    for name in FILES {
        fs::copy(folder.join(name), kept.join(name))?;
    }
    store.close();
    for name in FILES {
        fs::rename(kept.join(name), folder.join(name))?;
    }
    Ok(wanted)
}

fn answers(store: &Store) -> Result<Answers, Error> {
    let mut export = Vec::new();
    store.export(&mut export)?;
    let tables = ["notes", "owners"].map(|table| store.read(&Query::table(table)));
    Ok(Answers {
        export,
        tables: tables.into_iter().collect::<Result<_, _>>()?,
        found: store.search(&Words::parse("text -word7")?, None, 100)?.lsns,
        cursor: store.cursor("feed")?,
        rev: store.rev("owner/ann")?,
    })
}

/// Finds the rows of the events in the database file, where their facts and hashes are adjacent.
fn spots(file: &[u8], wanted: &Answers) -> anyhow::Result<Vec<Spot>> {
    let mut spots = Vec::new();
    for line in wanted.export.split(|byte| *byte == b'\n').skip(1).filter(|line| !line.is_empty()) {
        let line: serde_json::Value = serde_json::from_slice(line).context("a line of the export")?;
        let hash = |name: &str| {
            let text = line[name].as_str().and_then(switchboard_protocol::id::Digest::parse);
            text.map(|digest| digest.0.to_vec()).with_context(|| format!("{name} of an exported event"))
        };
        let row =
            [line["facts"].to_string().into_bytes(), hash("body_hash")?, hash("prev_hash")?, hash("hash")?].concat();
        let places: Vec<_> = file.windows(row.len()).enumerate().filter(|(_, bytes)| *bytes == row).collect();
        // A row found twice was moved; which of the two is valid can't be told from here.
        if let [(from, _)] = places.as_slice() {
            spots.push(Spot { lsn: line["lsn"].as_u64().context("an lsn")?, from: *from, to: from + row.len() });
        }
    }
    Ok(spots)
}

/// Returns the size of a page of an SQLite file, from the 16th byte of its head.
fn page_bytes(file: &[u8]) -> anyhow::Result<usize> {
    let bytes = file.get(16..18).context("the head of an SQLite file")?;
    Ok(usize::from(bytes[0]) << 8 | usize::from(bytes[1]))
}

/// Returns the pages with a newer version in the write-ahead log: frames of a page behind a head of 24 bytes, after 32
/// bytes.
fn pages(wal: &[u8], page: usize) -> HashSet<usize> {
    let frames = wal.get(32..).unwrap_or_default().chunks_exact(24 + page);
    frames.map(|frame| frame[..4].iter().fold(0, |page, byte| page << 8 | usize::from(*byte))).collect()
}

fn one(
    files: &[Vec<u8>],
    spots: &[Spot],
    wanted: &Answers,
    folder: &Path,
    rng: &mut Rng,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    // Of sixteen flips four hit an event's row, one the head record, two each the two logs, the rest any place.
    let (file, at) = match rng.usize(..16) {
        0 => (2, rng.usize(..files[2].len())),
        1..5 => {
            let spot = &spots[rng.usize(..spots.len())];
            (0, spot.from + rng.usize(..spot.to - spot.from))
        }
        5..7 => (1, rng.usize(..files[1].len())),
        7..9 => (3, rng.usize(..files[3].iter().rposition(|byte| *byte != 0).unwrap_or(0) + 1)),
        _ => (0, rng.usize(..files[0].len())),
    };
    let bit = rng.usize(..8);
    let mut flipped = files.to_vec();
    flipped[file][at] ^= 1 << bit;
    lay(&flipped, folder)?;
    let hit = spots.iter().find(|spot| file == 0 && (spot.from..spot.to).contains(&at));
    tally.events_hit += u64::from(hit.is_some());
    let place = format!("byte {at}, bit {bit} of {}", FILES[file]);
    let said = match look(folder, wanted) {
        Ok(Outcome::AtOpen(what)) => {
            tally.at_open += 1;
            vec![what]
        }
        Ok(Outcome::ByVerify(what)) => {
            tally.by_verify += 1;
            what
        }
        Ok(Outcome::Harmless) => {
            tally.harmless += 1;
            Vec::new()
        }
        Err(error) => {
            tally.broken.push(format!("{place}: {error:#}"));
            return Ok(());
        }
    };
    if let Some(spot) = hit
        && !said.iter().any(|what| what.contains(&format!("event {}", spot.lsn)))
    {
        tally.broken.push(format!("{place}: event {} was hit, and this was said: {said:?}", spot.lsn));
    }
    Ok(())
}

fn lay(files: &[Vec<u8>], folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        fs::remove_file(entry?.path())?;
    }
    for (name, bytes) in FILES.iter().zip(files) {
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}

/// Examines the closed files as `doctor` does, then opens them, checks again, and asks everything.
fn look(folder: &Path, wanted: &Answers) -> anyhow::Result<Outcome> {
    let words = |report: switchboard_store::Report| report.findings.iter().map(ToString::to_string).collect::<Vec<_>>();
    let closed = switchboard_store::verify_file(&switchboard_store::Config::new(folder.join("store.db")), parts());
    let closed = closed.map_or_else(|error| vec![error.to_string()], words);
    let store = match work::open(folder) {
        Ok(store) => store,
        Err(error) => {
            ensure!(
                !closed.is_empty(),
                "the opening refuses it ({error}), and the check of the closed files says nothing"
            );
            return Ok(Outcome::AtOpen(format!("{error}; {closed:?}")));
        }
    };
    let open = store.verify(Scope::All).map_or_else(|error| vec![error.to_string()], words);
    if !open.is_empty() {
        return Ok(Outcome::ByVerify([closed, open].concat()));
    }
    match answers(&store) {
        Ok(found) if found == *wanted => {
            let length = store.events(0, &Filter::all(), usize::MAX)?.len();
            ensure!(length as u64 == store.head().lsn, "the log has holes");
            Ok(if closed.is_empty() { Outcome::Harmless } else { Outcome::ByVerify(closed) })
        }
        Ok(_) => bail!("SERVED: other answers than before, and the check finds nothing (closed: {closed:?})"),
        Err(error) => Ok(Outcome::ByVerify(vec![error.to_string()])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_bit_is_found_or_harmless_and_the_event_is_named() {
        run(&Args { flips: 60, seed: 5 }).unwrap();
    }
}
