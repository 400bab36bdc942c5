//! Topics that were deleted, or deleted and made anew, while another broker had the store. The reference writes it down nowhere:
//! without a trace, records of the former topic would come back into the queues of the new one.

use std::io;

use tracing::info;

use super::ends::KnownEnd;
use super::entry::Entry;
use super::recover::Loaded;
use super::table::QueueTable;

impl QueueTable {
    /// Takes topics for deleted that once had units and are not there any more, or have queues that begin behind these.
    ///
    /// # Errors
    /// A directory or file cannot be read.
    pub(super) fn find_remade(&self, log: Loaded<'_>) -> io::Result<()> {
        for ends in log.known_ends.chunk_by(|a, b| a.topic == b.topic) {
            let topic = &ends[0].topic;
            let is_known = self.is_known(topic);
            // An unclean start takes back units of records that it checks. It may have been cut off before all were there again.
            let is_there = |end: &&KnownEnd| {
                let is_before = end.max_physical <= log.checked_from;
                log.clean || !is_known || is_before || end.max > 1 && end.max_physical <= log.checked_behind
            };
            let last = ends.iter().filter(is_there).map(|end| end.max_physical).max().unwrap_or(-1);
            if last <= log.log_min {
                continue;
            }
            let former_end = match self.begins_at(topic)? {
                Begins::Nowhere if log.clean || !is_known => log.log_end,
                // units of the new topic may have been lost
                Begins::Nowhere => last,
                Begins::At(first) if first >= last => first,
                Begins::At(_) => continue,
            };
            info!(topic, former_end, "a topic was deleted while another broker had the store");
            self.set_deleted([(topic.clone(), former_end)]);
        }
        Ok(())
    }

    /// Where the first record of a topic's queues lies.
    fn begins_at(&self, topic: &str) -> io::Result<Begins> {
        let mut begins = None::<i64>;
        for queue in self.queues(topic) {
            let Some((start, length)) = queue.files().list()?.first().copied() else { continue };
            let mut unit = vec![0; queue.kind().unit_size()];
            if length >= unit.len() as u64 {
                queue.files().read(start, &mut unit, true)?;
            }
            let first = match Entry::decode(queue.kind(), start, &unit) {
                Some(Entry { offset: 0, unit, .. }) if unit.is_record() => unit.physical_offset,
                // nothing was put into its file yet
                Some(Entry { unit, .. }) if start == 0 && !unit.is_written() => continue,
                _ => 0,
            };
            begins = Some(begins.map_or(first, |begins| begins.min(first)));
        }
        Ok(begins.map_or(Begins::Nowhere, Begins::At))
    }
}

enum Begins {
    /// It has no units.
    Nowhere,
    /// At this physical offset; 0 where the beginning is not there any more.
    At(i64),
}
