//! Units whose tags code is the place of an entry in `consumequeue_ext` (enableConsumeQueueExt).
//!
//! An entry: size 2, tags code 8, store time 8, length of the bit map 2, bit map.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::log::numbered;

/// Tags code and store time in the entry at an address; `None` when there is none.
pub(super) fn entry(root: &Path, topic: &str, queue_id: i32, address: i64) -> Option<(i64, i64)> {
    let directory = root.join("consumequeue_ext").join(topic).join(queue_id.to_string());
    let starts = fs::read_dir(&directory).ok()?.flatten().filter_map(|entry| numbered(entry.file_name().to_str()?));
    let start = starts.filter(|start| *start <= address).max()?;
    let mut bytes = [0; 18];
    File::open(directory.join(format!("{start:020}")))
        .ok()?
        .read_exact_at(&mut bytes, (address - start) as u64)
        .ok()?;
    let number = |at: usize| bytes[at..].first_chunk().map(|bytes| i64::from_be_bytes(*bytes));
    let size = i16::from_be_bytes([bytes[0], bytes[1]]);
    Some((number(2)?, number(10)?)).filter(|_| size >= 20)
}
