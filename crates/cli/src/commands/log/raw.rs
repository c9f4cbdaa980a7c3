//! `switchboard log --raw`: prints the raw output of a worker's agent, part by part.

use std::time::Duration;

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::verb::run::{MAX_OUTPUT_BYTES, OutputPart, ReadOutput, ReadOutputReply, ReadOutputRequest};

use super::Args;
use crate::client::Client;
use crate::context::Context;
use crate::output::plain;
use crate::report::Outcome;

/// Interval between two looks at an output that grows.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Prefix of worker ids.
const WORKER: &str = "wrk_";

/// Part of the raw output to print.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Bounds {
    /// With --raw: start at this byte
    #[arg(long, value_name = "OFFSET", requires = "raw", conflicts_with_all = ["head", "tail"])]
    from: Option<u64>,
    /// With --raw: print at most so many bytes, up to 262144 at once
    #[arg(long, value_name = "N", requires = "raw", value_parser = clap::value_parser!(u64).range(4..=MAX_OUTPUT_BYTES))]
    bytes: Option<u64>,
    /// With --raw: print the beginning of the output
    #[arg(long, requires = "raw", conflicts_with = "tail")]
    head: bool,
    /// With --raw: print the end of the output (the default)
    #[arg(long, requires = "raw")]
    tail: bool,
}

/// Prints the requested part, and with `--follow` what comes after it.
pub(super) fn run(args: &Args, client: &mut Client, context: &mut Context) -> Outcome {
    let Bounds { from, bytes, head, tail: _ } = args.bounds;
    let part = match (from, head) {
        (Some(_), _) => None,
        (None, true) => Some(OutputPart::Head),
        (None, false) => Some(OutputPart::Tail),
    };
    let first = ReadOutputRequest { from, part, bytes: Some(bytes.unwrap_or(MAX_OUTPUT_BYTES)), ..named(args)? };
    let mut reply = client.call::<ReadOutput>(&first)?;
    show(&reply, context);
    while args.follow && !context.out.is_closed() {
        let is_all = reply.next_offset >= reply.total_bytes;
        if is_all && reply.is_complete {
            break;
        }
        if is_all || reply.pieces.is_empty() {
            std::thread::sleep(POLL_INTERVAL);
        }
        // The worker stays the same, even if the task gets another one.
        let next = ReadOutputRequest {
            worker: Some(reply.worker.clone()),
            from: Some(reply.next_offset),
            bytes: first.bytes,
            ..ReadOutputRequest::default()
        };
        reply = client.call::<ReadOutput>(&next)?;
        if !reply.pieces.is_empty() || reply.elided_bytes > 0 {
            show(&reply, context);
        }
    }
    if !args.follow && !context.json {
        part_of(&reply).iter().for_each(|part| eprintln!("{part}"));
    }
    Ok(())
}

/// Returns the request for the worker that the arguments name: by its id, or by its task.
fn named(args: &Args) -> Result<ReadOutputRequest, Failure> {
    if !args.task.starts_with(WORKER) {
        let task = Some(args.task.clone());
        return Ok(ReadOutputRequest { task, attempt: args.attempt, ..ReadOutputRequest::default() });
    }
    let bad = |error| Failure::new("request.bad-args", format!("{}: {error}", args.task));
    let worker = Some(WorkerId::new(args.task.clone()).map_err(bad)?);
    Ok(ReadOutputRequest { worker, attempt: args.attempt, ..ReadOutputRequest::default() })
}

/// Prints the pieces. If requested bytes are no longer kept, says so on standard error.
fn show(reply: &ReadOutputReply, context: &mut Context) {
    if context.json {
        context.out.json(reply);
        return;
    }
    if reply.elided_bytes > 0 {
        eprintln!("[{} bytes are left out: they are no longer kept]", reply.elided_bytes);
    }
    reply.pieces.iter().for_each(|piece| context.out.text(&plain(&piece.text)));
}

/// Describes which part of the output was printed; `None` if it was all.
fn part_of(reply: &ReadOutputReply) -> Option<String> {
    let ReadOutputReply { next_offset, total_bytes, dropped_bytes, .. } = reply;
    let start = reply.pieces.first().map_or(*next_offset, |piece| piece.offset);
    if start == 0 && next_offset == total_bytes {
        return None;
    }
    let gone = match dropped_bytes {
        0 => String::new(),
        gone => format!("; {gone} are no longer kept"),
    };
    Some(format!("[bytes {start} to {next_offset} of {total_bytes}{gone}; --from OFFSET reads on]"))
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::id::RunId;
    use switchboard_protocol::verb::run::OutputPiece;

    use super::*;

    fn reply(pieces: &[(u64, &str)], total_bytes: u64, dropped_bytes: u64) -> ReadOutputReply {
        let pieces: Vec<_> =
            pieces.iter().map(|(offset, text)| OutputPiece { offset: *offset, text: (*text).to_owned() }).collect();
        let next_offset = pieces.last().map_or(0, |piece| piece.offset + piece.text.len() as u64);
        ReadOutputReply {
            run: RunId::from_bits(1),
            task: "1.1".to_owned(),
            worker: WorkerId::from_bits(1),
            attempt: 1,
            pieces,
            elided_bytes: 0,
            total_bytes,
            dropped_bytes,
            next_offset,
            is_complete: true,
        }
    }

    #[test]
    fn a_part_is_called_a_part_and_all_is_not() {
        assert_eq!(part_of(&reply(&[(0, "abc")], 3, 0)), None);
        assert_eq!(part_of(&reply(&[], 0, 0)), None);
        assert_eq!(part_of(&reply(&[(0, "abc")], 9, 0)).unwrap(), "[bytes 0 to 3 of 9; --from OFFSET reads on]");
        let tail = part_of(&reply(&[(6, "abc")], 9, 4)).unwrap();
        assert_eq!(tail, "[bytes 6 to 9 of 9; 4 are no longer kept; --from OFFSET reads on]");
    }
}
