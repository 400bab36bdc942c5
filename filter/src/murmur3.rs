//! `MurmurHash3_x64_128` (Austin Appleby, public domain) with seed 0, as Guava's `Hashing.murmur3_128()` computes it.

/// The first 64 bits of the hash.
pub(crate) fn hash64(bytes: &[u8]) -> u64 {
    let (mut h1, mut h2) = (0_u64, 0_u64);
    let (blocks, tail) = bytes.as_chunks::<16>();
    for block in blocks {
        h1 ^= mix1(half(&block[..8]));
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= mix2(half(&block[8..]));
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let (first, second) = tail.split_at(tail.len().min(8));
    h1 ^= mix1(half(first));
    h2 ^= mix2(half(second));

    h1 ^= bytes.len() as u64;
    h2 ^= bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    finish(h1).wrapping_add(finish(h2))
}

/// Up to eight bytes, the first of them the lowest.
fn half(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn mix1(block: u64) -> u64 {
    block.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn mix2(block: u64) -> u64 {
    block.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn finish(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;
