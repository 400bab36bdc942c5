//! Whole entries of the log in a stream of its bytes.

use apogee_remoting::message::record::{BLANK_HEAD, LEAST_SIZE, MAGIC_BLANK, MAGIC_V1, MAGIC_V2};
use thiserror::Error;

/// Cuts what a master sends between entries, so that a slave's log always ends with one.
///
/// An entry, a record or the blank at the end of a file, waits until it is whole. Bytes that the master's disk damaged cannot
/// be cut, and entries that are too large do not wait: those are given as they come.
#[derive(Clone, Copy, Debug)]
pub struct Entries {
    file_size: i64,
    /// Physical offset up to which bytes are given as they come.
    uncut: i64,
}

/// No entry of the log begins at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no record begins at {0} in the master's log")]
pub struct NoRecord(pub i64);

impl Entries {
    /// Cuts a log whose files have so many bytes.
    pub fn new(file_size: i64) -> Self {
        Self { file_size, uncut: 0 }
    }

    /// How many bytes at the front of `bytes`, which stand at `place`, end with an entry and lie in one file. 0 when more
    /// bytes have to come first.
    ///
    /// # Errors
    /// No entry begins at `place`.
    pub fn whole(&mut self, place: i64, bytes: &[u8]) -> Result<usize, NoRecord> {
        let left = (self.file_end(place) - place) as usize;
        let bytes = &bytes[..bytes.len().min(left)];
        let mut at = ((self.uncut - place).max(0) as usize).min(bytes.len());
        while at < bytes.len() {
            match Entry::look(&bytes[at..], place + at as i64, left - at) {
                Entry::OfSize(size) if size <= bytes.len() - at => at += size,
                Entry::OfSize(size) if size > LARGEST => {
                    self.uncut = place + (at + size) as i64;
                    return Ok(bytes.len());
                }
                Entry::None if at == 0 => return Err(NoRecord(place)),
                Entry::OfSize(_) | Entry::TooShort | Entry::None => break,
            }
        }
        Ok(at)
    }

    /// Takes bytes as they come up to the end of the file that holds `place`.
    pub fn skip_file(&mut self, place: i64) {
        self.uncut = self.file_end(place);
    }

    fn file_end(&self, place: i64) -> i64 {
        place - place.rem_euclid(self.file_size) + self.file_size
    }
}

/// What stands at a place.
enum Entry {
    OfSize(usize),
    /// It cannot be told yet.
    TooShort,
    None,
}

impl Entry {
    /// Looks at bytes that stand at `place`, `left` bytes before the end of its file.
    fn look(bytes: &[u8], place: i64, left: usize) -> Self {
        if left < BLANK_HEAD {
            // too little for any head: it belongs to the blank
            return Self::OfSize(left);
        }
        let (Some(size), Some(magic)) = (number(bytes, 0), number(bytes, 4)) else { return Self::TooShort };
        let size = size as usize;
        match magic {
            MAGIC_BLANK if size == left => Self::OfSize(size),
            MAGIC_V1 | MAGIC_V2 if (LEAST_SIZE..=left).contains(&size) => match bytes.get(PLACE..PLACE + 8) {
                Some(own) if own == place.to_be_bytes() => Self::OfSize(size),
                Some(_) => Self::None,
                None => Self::TooShort,
            },
            _ => Self::None,
        }
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// Where a record says its own physical offset.
const PLACE: usize = 28;
/// A larger entry does not wait until it is whole.
const LARGEST: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: i64 = 1024;

    /// A log of records that are 91 to 300 bytes long, with a blank at the end of each file.
    fn log(sizes: &[usize]) -> Vec<u8> {
        let mut log = Vec::new();
        for size in sizes {
            let left = FILE as usize - log.len() % FILE as usize;
            if size + BLANK_HEAD > left {
                log.extend_from_slice(&(left as u32).to_be_bytes());
                log.extend_from_slice(&MAGIC_BLANK.to_be_bytes());
                log.resize(log.len() + left - BLANK_HEAD, 0);
            }
            log.extend_from_slice(&record(log.len() as i64, *size));
        }
        log
    }

    fn record(place: i64, size: usize) -> Vec<u8> {
        let mut record = vec![7; size];
        record[..4].copy_from_slice(&(size as u32).to_be_bytes());
        record[4..8].copy_from_slice(&MAGIC_V1.to_be_bytes());
        record[PLACE..PLACE + 8].copy_from_slice(&place.to_be_bytes());
        record
    }

    /// The places that a slave's log ends at, when the bytes come in pieces.
    fn ends(entries: &mut Entries, log: &[u8], cut: usize) -> Vec<usize> {
        let (mut place, mut received, mut ends) = (0, 0, Vec::new());
        while received < log.len() {
            received = log.len().min(received + cut);
            loop {
                let whole = entries.whole(place as i64, &log[place..received]).unwrap();
                if whole == 0 {
                    break;
                }
                place += whole;
                ends.push(place);
            }
        }
        ends
    }

    proptest! {
        #[test]
        fn a_log_ends_with_an_entry_whatever_the_cuts(
            sizes in proptest::collection::vec(91..300usize, 1..30),
            cut in 1..400usize,
        ) {
            let log = log(&sizes);
            let at_once = ends(&mut Entries::new(FILE), &log, 1);
            let in_pieces = ends(&mut Entries::new(FILE), &log, cut);
            prop_assert_eq!(in_pieces.last(), Some(&log.len()));
            prop_assert!(in_pieces.iter().all(|end| at_once.contains(end)), "{:?} {:?}", in_pieces, at_once);
        }
    }

    #[test]
    fn damage_is_told_and_passed_over_to_the_next_file() {
        let mut log = log(&[200; 12]);
        log[400..600].fill(0xAB);
        let mut entries = Entries::new(FILE);
        assert_eq!(entries.whole(0, &log), Ok(400));
        assert_eq!(entries.whole(400, &log[400..]), Err(NoRecord(400)));
        entries.skip_file(400);
        assert_eq!(entries.whole(400, &log[400..500]), Ok(100));
        assert_eq!(entries.whole(500, &log[500..]), Ok(524), "to the end of the file");
        assert_eq!(entries.whole(1024, &log[1024..1524]), Ok(400), "and in the next one by records");
    }

    #[test]
    fn a_record_of_another_place_is_none() {
        assert_eq!(Entries::new(FILE).whole(100, &record(200, 100)), Err(NoRecord(100)));
    }
}
