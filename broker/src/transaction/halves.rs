//! What became of first halves. All offsets are queue offsets.

use std::collections::{HashMap, VecDeque};

use super::offset_set::OffsetSet;

/// Which halves ended, which were stored again elsewhere, and which ends are noted where.
pub(super) struct Halves {
    /// No half before this waits for its end.
    checked: i64,
    /// Halves that ended. They are kept until the second check after that, for producers that answer late.
    ended: OffsetSet,
    /// Where a half was stored again: from any offset that a producer may know to the last one.
    moved: HashMap<i64, i64>,
    /// The other way round.
    known_as: HashMap<i64, Vec<i64>>,
    /// Ends that are not noted yet, in their order.
    unwritten: Vec<i64>,
    /// Notes that still mean something, in the order of their offsets.
    notes: VecDeque<Note>,
    /// Offset of the next note.
    next_note: i64,
}

/// A message that lists halves that ended.
struct Note {
    offset: i64,
    /// The last half in it.
    last: i64,
}

impl Halves {
    /// Nothing ended from these offsets on.
    pub(super) fn new(checked: i64, next_note: i64) -> Self {
        Self {
            checked,
            ended: OffsetSet::default(),
            moved: HashMap::new(),
            known_as: HashMap::new(),
            unwritten: Vec::new(),
            notes: VecDeque::new(),
            next_note,
        }
    }

    /// The first half that a check has not passed.
    pub(super) fn checked(&self) -> i64 {
        self.checked
    }

    /// Whether a half ended, by whatever offset its producer knows it.
    pub(super) fn is_ended(&self, half: i64) -> bool {
        self.ended.contains(self.latest(half))
    }

    /// A half ends.
    pub(super) fn end(&mut self, half: i64) {
        let latest = self.latest(half);
        self.ended.insert(latest);
        self.unwritten.push(latest);
        if latest != half {
            // Whoever reads the notes without knowing of the move finds the half that its producer ended.
            self.unwritten.push(half);
        }
    }

    /// A half was stored again. Producers know it by its offset before, unless `is_secret`.
    pub(super) fn moved(&mut self, from: i64, to: i64, is_secret: bool) {
        let mut known_as = self.known_as.remove(&from).unwrap_or_default();
        if !is_secret {
            known_as.push(from);
        }
        for half in &known_as {
            self.moved.insert(*half, to);
        }
        if !known_as.is_empty() {
            self.known_as.insert(to, known_as);
        }
    }

    /// A check has passed all halves before an offset. With the next one what is known of them is forgotten.
    pub(super) fn pass(&mut self, checked: i64) {
        let kept_from = std::mem::replace(&mut self.checked, checked);
        self.ended.forget_before(kept_from);
        let moved = &mut self.moved;
        self.known_as.retain(|latest, known_as| {
            let stays = *latest >= kept_from;
            if !stays {
                for half in known_as {
                    moved.remove(half);
                }
            }
            stays
        });
    }

    /// The first note that still means something: one before it lists only halves that were passed.
    pub(super) fn pass_notes(&mut self) -> i64 {
        while self.notes.front().is_some_and(|note| note.last < self.checked) {
            self.notes.pop_front();
        }
        self.notes.front().map_or(self.next_note, |note| note.offset)
    }

    /// Ends that are not noted yet.
    pub(super) fn unwritten(&self) -> &[i64] {
        &self.unwritten
    }

    /// The first `count` of them are in the note at `offset` now.
    pub(super) fn noted(&mut self, count: usize, offset: i64) {
        let last = self.unwritten.drain(..count).max().unwrap_or(i64::MIN);
        self.notes.push_back(Note { offset, last });
        self.next_note = offset + 1;
    }

    /// A note that was found in the store, with the halves that it lists.
    pub(super) fn found_note(&mut self, offset: i64, halves: impl Iterator<Item = i64>) {
        let mut last = i64::MIN;
        for half in halves {
            last = last.max(half);
            self.ended.insert(half);
        }
        self.notes.push_back(Note { offset, last });
        self.next_note = offset + 1;
    }

    /// A half that was found in the store and says that it was `original` before.
    pub(super) fn found_copy(&mut self, original: i64, half: i64) {
        if self.ended.contains(original) {
            self.ended.insert(half);
        }
        self.moved(self.latest(original), half, self.moved.contains_key(&original));
    }

    fn latest(&self, half: i64) -> i64 {
        self.moved.get(&half).copied().unwrap_or(half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_is_known_by_every_offset_that_its_producer_was_told() {
        let mut halves = Halves::new(0, 0);
        halves.moved(1, 5, false);
        halves.moved(5, 9, false);
        halves.pass(6);
        assert!([1, 5, 9].iter().all(|half| !halves.is_ended(*half)));
        halves.end(5);
        assert!([1, 5, 9].iter().all(|half| halves.is_ended(*half)));
        assert_eq!(halves.unwritten(), [9, 5]);
        halves.pass(10);
        assert!([1, 5, 9].iter().all(|half| halves.is_ended(*half)), "a producer may answer once more");
        halves.pass(10);
        assert!(halves.moved.is_empty() && halves.known_as.is_empty() && halves.ended.is_empty());
    }

    #[test]
    fn copies_that_no_producer_knows_take_no_memory() {
        let mut halves = Halves::new(0, 0);
        halves.moved(1, 5, false);
        halves.moved(5, 9, true);
        assert_eq!(halves.moved, HashMap::from([(1, 9)]));
        halves.end(1);
        assert!(halves.is_ended(9) && !halves.is_ended(5));
    }

    #[test]
    fn notes_are_done_with_their_last_half() {
        let mut halves = Halves::new(0, 3);
        assert_eq!(halves.pass_notes(), 3);
        for half in [2, 0, 1, 7] {
            halves.end(half);
        }
        halves.noted(3, 3);
        halves.noted(1, 4);
        assert!(halves.unwritten().is_empty());
        halves.pass(2);
        assert_eq!(halves.pass_notes(), 3);
        halves.pass(3);
        assert_eq!(halves.pass_notes(), 4);
        halves.pass(8);
        assert_eq!(halves.pass_notes(), 5);
    }

    #[test]
    fn what_the_store_says_is_taken_up() {
        let mut halves = Halves::new(4, 0);
        halves.found_note(0, [1, 6].into_iter());
        halves.found_copy(1, 5);
        halves.found_copy(2, 7);
        halves.found_copy(2, 8);
        assert!([5, 6].iter().all(|half| halves.is_ended(*half)) && !halves.is_ended(8));
        halves.end(2);
        assert!(halves.is_ended(8) && !halves.is_ended(7));
    }
}
