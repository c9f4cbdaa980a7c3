//! Keys of frames.

use switchboard_protocol::frame::Frame;
pub(crate) use switchboard_protocol::text::cut;

/// Returns the number by which frames are deduplicated: epoch, then sequence.
pub(crate) fn frame_number(frame: &Frame) -> i64 {
    frame_key(frame.epoch, frame.seq)
}

/// Returns epoch and sequence of a frame from its key.
pub(crate) fn frame_parts(key: i64) -> (u32, u64) {
    (u32::try_from(key >> 40).unwrap_or(0), u64::try_from(key & ((1 << 40) - 1)).unwrap_or(0))
}

pub(crate) fn frame_key(epoch: u32, seq: u64) -> i64 {
    (i64::from(epoch) << 40) | i64::try_from(seq).unwrap_or(i64::MAX >> 24)
}
