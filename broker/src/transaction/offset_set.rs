//! A set of queue offsets, most of them next to one another: a bit for each.

use std::collections::BTreeMap;

/// The offsets.
#[derive(Default)]
pub(super) struct OffsetSet {
    /// Bits of [`BLOCK`] offsets each, by the number of the block.
    blocks: BTreeMap<i64, [u64; WORDS]>,
}

impl OffsetSet {
    pub(super) fn contains(&self, offset: i64) -> bool {
        let (block, word, bit) = place(offset);
        self.blocks.get(&block).is_some_and(|words| words[word] & bit != 0)
    }

    pub(super) fn insert(&mut self, offset: i64) {
        let (block, word, bit) = place(offset);
        self.blocks.entry(block).or_insert([0; WORDS])[word] |= bit;
    }

    /// Removes all offsets before one.
    pub(super) fn forget_before(&mut self, offset: i64) {
        let (block, word, bit) = place(offset);
        self.blocks = self.blocks.split_off(&block);
        if let Some(mut first) = self.blocks.first_entry().filter(|first| *first.key() == block) {
            let words = first.get_mut();
            words[..word].fill(0);
            words[word] &= !(bit - 1);
            if words.iter().all(|word| *word == 0) {
                first.remove();
            }
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

/// Block, word in it and bit of that.
fn place(offset: i64) -> (i64, usize, u64) {
    let in_block = offset.rem_euclid(BLOCK) as usize;
    (offset.div_euclid(BLOCK), in_block / 64, 1 << (in_block % 64))
}

const BLOCK: i64 = 4096;
const WORDS: usize = BLOCK as usize / 64;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn is_a_set() {
        let mut random = fastrand::Rng::with_seed(6);
        for _ in 0..200 {
            let mut offsets: Vec<i64> = (0..random.usize(..60)).map(|_| random.i64(-70..10_000)).collect();
            offsets.extend([i64::MAX, i64::MIN, 1 << 40]);
            let mut set = OffsetSet::default();
            for offset in &offsets {
                set.insert(*offset);
            }
            let mut expected: BTreeSet<i64> = offsets.iter().copied().collect();
            for from in [i64::MIN, random.i64(-100..12_000), 1 << 41] {
                set.forget_before(from);
                expected.retain(|offset| *offset >= from);
                for offset in &offsets {
                    for offset in [offset.saturating_sub(1), *offset, offset.saturating_add(1)] {
                        assert_eq!(
                            set.contains(offset),
                            expected.contains(&offset),
                            "{offset} from {from}: {offsets:?}"
                        );
                    }
                }
            }
            set.forget_before(i64::MAX);
            assert!(set.contains(i64::MAX) && !set.is_empty());
        }
    }
}
