//! Wyhash, final version 4, with seed 0: the hash function of the JavaScript runtime Bun.

const SECRET: [u64; 4] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db, 0x8ebc_6af0_9c88_c6e3, 0x5899_65cc_7537_4cc3];

/// Number of bytes that one round hashes.
const ROUND: usize = 48;

/// Hashes bytes with seed 0.
#[must_use]
pub fn wyhash(input: &[u8]) -> u64 {
    let seed = mix(SECRET[0], SECRET[1]);
    let (state, a, b) = if input.len() <= 16 { (seed, short_a(input), short_b(input)) } else { long(seed, input) };
    let (a, b) = multiply(a ^ SECRET[1], b ^ state);
    mix(a ^ SECRET[0] ^ input.len() as u64, b ^ SECRET[1])
}

fn short_a(input: &[u8]) -> u64 {
    match input.len() {
        0 => 0,
        len @ 1..=3 => u64::from(input[0]) << 16 | u64::from(input[len >> 1]) << 8 | u64::from(input[len - 1]),
        len => read4(input, 0) << 32 | read4(input, (len >> 3) << 2),
    }
}

fn short_b(input: &[u8]) -> u64 {
    match input.len() {
        0..=3 => 0,
        len => read4(input, len - 4) << 32 | read4(input, len - 4 - ((len >> 3) << 2)),
    }
}

/// Hashes all but the last 16 bytes, which are left for the end.
fn long(seed: u64, input: &[u8]) -> (u64, u64, u64) {
    let mut at = 0;
    let mut lanes = [seed; 3];
    while at + ROUND < input.len() {
        for (lane, state) in lanes.iter_mut().enumerate() {
            *state = mix(read8(input, at + 16 * lane) ^ SECRET[lane + 1], read8(input, at + 16 * lane + 8) ^ *state);
        }
        at += ROUND;
    }
    let mut state = if at > 0 { lanes[0] ^ lanes[1] ^ lanes[2] } else { seed };
    while at + 16 < input.len() {
        state = mix(read8(input, at) ^ SECRET[1], read8(input, at + 8) ^ state);
        at += 16;
    }
    (state, read8(input, input.len() - 16), read8(input, input.len() - 8))
}

fn multiply(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    (product as u64, (product >> 64) as u64)
}

fn mix(a: u64, b: u64) -> u64 {
    let (low, high) = multiply(a, b);
    low ^ high
}

fn read4(input: &[u8], at: usize) -> u64 {
    input[at..at + 4].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn read8(input: &[u8], at: usize) -> u64 {
    input[at..at + 8].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
