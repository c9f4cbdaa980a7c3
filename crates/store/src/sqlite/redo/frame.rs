//! The binary format of a frame.

use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::Digest;
use switchboard_protocol::time::Millis;

use crate::Error;
use crate::prepared::Prepared;
use crate::record::{Body, Record, SALT_BYTES};
use crate::write::{Plan, Remembered};

/// First bytes of a frame.
const MAGIC: [u8; 4] = *b"SBr1";

/// Number of bytes before the payload.
const HEAD: usize = 32;

/// Number of bytes of a sum.
const SUM: usize = 8;

/// State that the next frame depends on.
pub(in crate::sqlite) struct FrameChain {
    chain_id: String,
    generation: u64,
    number: u64,
    before: [u8; SUM],
}

/// One batch as it was decided, without derived data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::sqlite) struct RedoRecord {
    pub(in crate::sqlite) events: Vec<(Record, Option<Body>)>,
    pub(in crate::sqlite) cursors: Vec<(String, Lsn)>,
    pub(in crate::sqlite) drop_bodies: Vec<Lsn>,
    pub(in crate::sqlite) call: Option<Remembered>,
}

// === impl FrameChain ===

impl FrameChain {
    pub(super) fn begin(chain_id: &str) -> Result<Self, Error> {
        Ok(Self { chain_id: chain_id.to_owned(), generation: random()?, number: 0, before: [0; SUM] })
    }

    /// Starts over without frames.
    pub(super) fn restart(&mut self) -> Result<(), Error> {
        (self.generation, self.number, self.before) = (random()?, 0, [0; SUM]);
        Ok(())
    }

    /// Writes a frame into an empty buffer.
    pub(super) fn frame<'a>(&self, out: &mut Vec<u8>, group: impl Iterator<Item = (&'a Prepared, &'a Plan)>) {
        out.extend(MAGIC);
        out.extend([0; 4]);
        out.extend(self.generation.to_le_bytes());
        out.extend(self.number.to_le_bytes());
        out.extend(self.before);
        for (batch, plan) in group {
            put_batch(out, batch, plan);
        }
        // The limits of a batch and of a group keep it far below 4 GiB.
        let length = u32::try_from(out.len() - HEAD).unwrap_or(u32::MAX);
        out[4..8].copy_from_slice(&length.to_le_bytes());
        let sum = sum(&self.chain_id, out);
        out.extend(sum);
    }

    /// Records that the frame was written.
    pub(super) fn next(&mut self, frame: &[u8]) {
        self.number += 1;
        if let Some(sum) = frame.last_chunk() {
            self.before = *sum;
        }
    }
}

fn random() -> Result<u64, Error> {
    getrandom::u64().map_err(|error| Error::io("the system gave no random bytes", std::io::Error::other(error)))
}

fn sum(chain_id: &str, bytes: &[u8]) -> [u8; SUM] {
    let Digest(digest) = Digest::of_parts(&[chain_id.as_bytes(), bytes]);
    let mut sum = [0; SUM];
    sum.copy_from_slice(&digest[..SUM]);
    sum
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn put_number(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

fn put_batch(out: &mut Vec<u8>, batch: &Prepared, plan: &Plan) {
    put_count(out, batch.drafts.len());
    for draft in &batch.drafts {
        let entry = draft.entry();
        put_number(out, entry.lsn);
        out.extend(entry.ts.0.to_le_bytes());
        put(out, entry.kind.as_bytes());
        out.extend(entry.v.to_le_bytes());
        put(out, entry.subject.as_bytes());
        put_number(out, entry.rev);
        put(out, entry.actor.as_bytes());
        put(out, entry.facts.as_bytes());
        out.extend(entry.body_hash.0);
        out.extend(entry.prev_hash.0);
        out.extend(entry.hash.0);
        out.push(u8::from(draft.body.is_some()));
        if let Some(body) = &draft.body {
            out.extend(body.salt);
            put(out, body.text.as_bytes());
        }
    }
    put_count(out, batch.cursors.len());
    for (name, lsn) in &batch.cursors {
        put(out, name.as_bytes());
        put_number(out, *lsn);
    }
    put_count(out, batch.drop_bodies.len());
    batch.drop_bodies.iter().for_each(|lsn| put_number(out, *lsn));
    out.push(u8::from(plan.call.is_some()));
    if let Some(Remembered { caller, key, verb, args, reply, first, last, ts }) = &plan.call {
        [caller, key, verb, reply].into_iter().for_each(|text| put(out, text.as_bytes()));
        out.extend(args.0);
        put_number(out, *first);
        put_number(out, *last);
        out.extend(ts.0.to_le_bytes());
    }
}

/// Returns the batches of all valid frames.
///
/// # Errors
/// A description of a frame whose sum is right but whose content is invalid: no version of this program has written it.
pub(super) fn redo_records(bytes: &[u8], chain_id: &str) -> Result<Vec<RedoRecord>, String> {
    let mut redo_records = Vec::new();
    let (mut rest, mut number, mut known) = (bytes, 0_u64, None);
    while let Some((head, payload, found)) = split(rest) {
        let (generation, own, before) = (&head[8..16], &head[16..24], &head[24..HEAD]);
        let (wanted, previous) = known.unwrap_or((generation, [0; SUM]));
        let frame = &rest[..HEAD + payload.len()];
        let continues = generation == wanted && own == number.to_le_bytes() && before == previous;
        if !continues || sum(chain_id, frame) != found {
            break;
        }
        let mut reader = Reader(payload);
        while !reader.0.is_empty() {
            redo_records
                .push(reader.redo_record().ok_or_else(|| format!("frame {number} of the redo log can't be read"))?);
        }
        (number, known) = (number + 1, Some((generation, found)));
        rest = &rest[frame.len() + SUM..];
    }
    Ok(redo_records)
}

/// Returns head, payload and sum of the frame at the beginning, if it is complete.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8], [u8; SUM])> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let length = head.strip_prefix(&MAGIC)?.first_chunk().map(|length| u32::from_le_bytes(*length))?;
    let (payload, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((head, payload, *rest.first_chunk()?))
}

/// Reads a payload; `None` if it ends too early.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn redo_record(&mut self) -> Option<RedoRecord> {
        let mut redo_record = RedoRecord::default();
        for _ in 0..self.count()? {
            redo_record.events.push(self.event()?);
        }
        for _ in 0..self.count()? {
            redo_record.cursors.push((self.text()?, self.number()?));
        }
        for _ in 0..self.count()? {
            redo_record.drop_bodies.push(self.number()?);
        }
        if self.is_there()? {
            redo_record.call = Some(self.call()?);
        }
        Some(redo_record)
    }

    fn event(&mut self) -> Option<(Record, Option<Body>)> {
        let record = Record {
            lsn: self.number()?,
            ts: self.time()?,
            kind: self.text()?,
            v: u16::from_le_bytes(self.take()?),
            subject: self.text()?,
            rev: self.number()?,
            actor: self.text()?,
            facts: self.text()?,
            body_hash: Digest(self.take()?),
            prev_hash: Digest(self.take()?),
            hash: Digest(self.take()?),
        };
        let body =
            if self.is_there()? { Some(Body { salt: self.take::<SALT_BYTES>()?, text: self.text()? }) } else { None };
        Some((record, body))
    }

    fn call(&mut self) -> Option<Remembered> {
        let (caller, key, verb, reply) = (self.text()?, self.text()?, self.text()?, self.text()?);
        let args = Digest(self.take()?);
        let (first, last, ts) = (self.number()?, self.number()?, self.time()?);
        Some(Remembered { caller, key, verb, args, reply, first, last, ts })
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn is_there(&mut self) -> Option<bool> {
        let [flag] = self.take()?;
        Some(flag != 0)
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.take()?)).ok()
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn time(&mut self) -> Option<Millis> {
        self.take().map(i64::from_le_bytes).map(Millis)
    }

    fn text(&mut self) -> Option<String> {
        let length = self.count()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        str::from_utf8(text).ok().map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchboard_protocol::event::NewEvent;

    use super::*;
    use crate::{Batch, Config, Idempotency, Store};

    /// The redo log of a store that was killed after six batches, and its chain.
    fn written() -> (Vec<u8>, String) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Config::new(folder.path().join("store.db")), Vec::new()).unwrap();
        for number in 0..6_u64 {
            let event = NewEvent::new("kind", format!("subject/{number}"), "actor", json!({ "number": number }));
            let event = if number % 2 == 0 { event.with_body("ü".repeat(number as usize)) } else { event };
            let mut batch = Batch::synced().event(event).advance("cursor", number).reply(json!("yes"));
            batch.drop_bodies.extend((number > 3).then_some(1));
            batch.idempotency = (number == 2).then(|| Idempotency {
                key: "k".to_owned(),
                caller: "c".to_owned(),
                verb: "v",
                args: Digest::of(b"args"),
            });
            store.commit_blocking(batch).unwrap();
        }
        let bytes = std::fs::read(folder.path().join("store.db.redo")).unwrap();
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        (bytes[..end].to_vec(), store.chain_id().to_owned())
    }

    #[test]
    fn what_was_written_reads_back() {
        let (bytes, chain_id) = written();

        let redo_records = redo_records(&bytes, &chain_id).unwrap();

        assert_eq!(redo_records.len(), 6);
        for (redo_record, number) in redo_records.iter().zip(0_u64..) {
            let [(record, body)] = redo_record.events.as_slice() else { panic!("{redo_record:?}") };
            assert_eq!((record.lsn, record.seal(&chain_id)), (number + 1, record.hash));
            assert_eq!(
                body.as_ref().map(|body| body.text.chars().count()),
                (number % 2 == 0).then_some(number as usize)
            );
            assert!(body.as_ref().is_none_or(|body| body.hash() == record.body_hash));
            assert_eq!(redo_record.cursors, [("cursor".to_owned(), number)]);
            assert_eq!(redo_record.drop_bodies, if number > 3 { vec![1] } else { Vec::new() });
            assert_eq!(
                redo_record.call.as_ref().map(|call| (call.first, call.reply.as_str())),
                (number == 2).then_some((3, "\"yes\""))
            );
        }
    }

    #[test]
    fn a_log_that_breaks_off_gives_what_came_before_and_so_does_a_changed_byte() {
        let (bytes, chain_id) = written();
        let whole = redo_records(&bytes, &chain_id).unwrap();
        for at in 0..bytes.len() {
            let cut = redo_records(&bytes[..at], &chain_id).unwrap();
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            let changed = redo_records(&changed, &chain_id).unwrap();

            assert!(whole.starts_with(&cut) && cut.len() < whole.len(), "cut at {at}");
            assert_eq!(changed, cut, "changed at {at}");
        }
        assert!(redo_records(&bytes, "chain_other").unwrap().is_empty());
    }
}
