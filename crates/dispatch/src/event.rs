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

/// Returns true if no frame is missing between the last one that was seen, by its key, and this one, by its epoch and
/// sequence.
pub(crate) fn follows(seen: i64, (epoch, seq): (u32, u64)) -> bool {
    let (last_epoch, last) = frame_parts(seen);
    let is_next = epoch == last_epoch && seq <= last + 1;
    let is_first = last_epoch == 0 && seq == 1;
    is_next || is_first || epoch < last_epoch
}

pub(crate) fn frame_key(epoch: u32, seq: u64) -> i64 {
    (i64::from(epoch) << 40) | i64::try_from(seq).unwrap_or(i64::MAX >> 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_follows_if_none_is_missing_before_it() {
        let seen = frame_key(2, 5);

        assert!(follows(seen, (2, 6)) && follows(seen, (2, 5)) && follows(seen, (1, 9)));
        assert!(!follows(seen, (2, 7)) && !follows(seen, (3, 1)), "frames are missing");
        assert!(follows(0, (1, 1)) && !follows(0, (1, 2)) && !follows(0, (2, 2)));
    }
}
