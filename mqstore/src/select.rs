//! Finding the records that are asked for, by the shortest way that leads to them.

use apogee_remoting::message::properties::key;
use apogee_remoting::message::record::Record;
use apogee_store::index::{IndexKind, hash};
use apogee_store::queue::Entry;
use apogee_store::read::RecordFields;
use bytes::Bytes;

use crate::Outcome;
use crate::arguments::Selection;
use crate::error::Error;
use crate::index::IndexFile;
use crate::layout::Layout;
use crate::log::{self, LogFiles, Walk};

/// Gives each record to `take`, in the order of the queue or of the log.
///
/// What is damaged on the way is told on standard error and makes the outcome [`Outcome::Found`].
///
/// # Errors
/// A file cannot be read, or what `take` says.
pub(crate) fn select(
    layout: &Layout,
    selection: &Selection,
    take: impl FnMut(&Record<'_>) -> Result<(), Error>,
) -> Result<Outcome, Error> {
    let log = layout.log()?;
    let mut taken = Taken { selection, take, count: 0 };
    let (from, to) = bounds(&log, selection)?;
    if let (Some(topic), Some(id)) = (&selection.topic, selection.queue) {
        return by_queue(layout, &log, topic, id, (from, to), &mut taken);
    }
    if let (Some(topic), Some(key)) = (&selection.topic, selection.key.as_ref().or(selection.unique_key.as_ref()))
        && !selection.scan
        && layout.index()?.has_items()
    {
        return by_index(layout, &log, topic, key, &mut taken);
    }
    by_log(&log, from, to, &mut taken)
}

/// The physical offsets [from, to) between which the records lie, as far as the first records of the files tell.
fn bounds(log: &LogFiles, selection: &Selection) -> Result<(i64, i64), Error> {
    let (mut from, mut to) = (log.min_offset(), log.end_of_files());
    if selection.begin.is_some() || selection.end.is_some() {
        let mut walk = Walk::whole(log);
        for file in log.list() {
            let Ok(first) = walk.record_at(file.start)? else { continue };
            let Some(time) = Record::parse(&first).ok().map(|record| record.store_timestamp) else { continue };
            if selection.begin.is_some_and(|begin| time < begin) {
                from = file.start;
            }
            if selection.end.is_some_and(|end| time > end) {
                to = file.start;
                break;
            }
        }
    }
    if let Some(offset) = selection.offset.filter(|offset| *offset > from) {
        // where records start is known from the start of a file on
        let is_start = Walk::whole(log).record_at(offset)?.is_ok();
        from = if is_start { offset } else { log.find(offset).map_or(offset, |file| file.start.max(from)) };
    }
    Ok((from, to))
}

fn by_log<T: FnMut(&Record<'_>) -> Result<(), Error>>(
    log: &LogFiles,
    from: i64,
    to: i64,
    taken: &mut Taken<'_, T>,
) -> Result<Outcome, Error> {
    let mut outcome = Outcome::Well;
    let mut walk = Walk::new(log, from, to);
    while !taken.is_done() {
        match walk.next()? {
            None => break,
            Some(log::Entry::Record(bytes)) => taken.offer(&bytes)?,
            Some(log::Entry::Blank { .. }) => {}
            Some(log::Entry::Damage { from, to, why }) => {
                eprintln!("mqstore: no record from {from} to {to}: {why}");
                outcome = Outcome::Found;
            }
        }
    }
    if let Some(why) = walk.torn() {
        eprintln!("mqstore: no record at {}, nor behind it: {why}", walk.position());
        outcome = Outcome::Found;
    }
    Ok(outcome)
}

fn by_queue<T: FnMut(&Record<'_>) -> Result<(), Error>>(
    layout: &Layout,
    log: &LogFiles,
    topic: &str,
    id: i32,
    (from, to): (i64, i64),
    taken: &mut Taken<'_, T>,
) -> Result<Outcome, Error> {
    let queues = layout.queues()?;
    let queue = queues.find(topic, id)?;
    let end = queue.end()?;
    let first = queue.place_of(taken.selection.from.unwrap_or(0), end)?;
    let mut place = queue.place_of_physical(from, end)?.max(first);
    let mut walk = Walk::new(log, from, to);
    let mut outcome = Outcome::Well;
    while place < end {
        let entries = queue.read(place, (end - place).min(AT_ONCE))?;
        if entries.is_empty() {
            break;
        }
        for Entry { offset, unit, .. } in entries {
            let is_behind = taken.selection.to.is_some_and(|to| offset >= to);
            if taken.is_done() || is_behind || unit.is_record() && unit.physical_offset >= to {
                return Ok(outcome);
            }
            if unit.is_record() {
                match walk.record_at(unit.physical_offset)? {
                    Ok(bytes) => taken.offer(&bytes)?,
                    Err(why) => {
                        let at = unit.physical_offset;
                        eprintln!("mqstore: {topic} {id} offset {offset}: no record at {at}: {why}");
                        outcome = Outcome::Found;
                    }
                }
            }
            place += 1;
        }
    }
    Ok(outcome)
}

fn by_index<T: FnMut(&Record<'_>) -> Result<(), Error>>(
    layout: &Layout,
    log: &LogFiles,
    topic: &str,
    key: &str,
    taken: &mut Taken<'_, T>,
) -> Result<Outcome, Error> {
    let index = layout.index()?;
    let shape = index.require_shape()?;
    let hash = hash(topic, key.as_bytes(), IndexKind::Key);
    let mut walk = Walk::whole(log);
    let mut last = -1;
    for path in index.paths() {
        let file = IndexFile::open(path)?;
        for offset in file.search(shape, hash)? {
            // a record may have a word twice; the index keeps what expired
            if offset <= last || offset < log.min_offset() || taken.is_done() {
                continue;
            }
            last = offset;
            if let Ok(bytes) = walk.record_at(offset)? {
                taken.offer(&bytes)?;
            }
        }
    }
    Ok(Outcome::Well)
}

/// Takes records that are asked for until there are enough.
struct Taken<'a, T> {
    selection: &'a Selection,
    take: T,
    count: u64,
}

impl<T: FnMut(&Record<'_>) -> Result<(), Error>> Taken<'_, T> {
    fn is_done(&self) -> bool {
        self.selection.max.is_some_and(|max| self.count >= max)
    }

    fn offer(&mut self, bytes: &Bytes) -> Result<(), Error> {
        if let Ok(record) = Record::parse(bytes)
            && self.selection.is_of(&record)
        {
            self.count += 1;
            (self.take)(&record)?;
        }
        Ok(())
    }
}

impl Selection {
    /// Whether a record is asked for.
    fn is_of(&self, record: &Record<'_>) -> bool {
        let has = |name, word: &str| {
            let words = record.properties.get(name).unwrap_or_default();
            words == word.as_bytes() || name == key::KEYS && words.split(|b| *b == b' ').any(|w| w == word.as_bytes())
        };
        let light = || record.properties.get_str(key::INNER_MULTI_DISPATCH).unwrap_or_default();
        let topic_is = |topic: &String| record.topic == topic || light().split(',').any(|name| name == topic);
        // a record of a batch stands for many messages
        let end = || {
            let batch = RecordFields::of(record.as_bytes()).and_then(|fields| fields.inner_batch());
            record.queue_offset.saturating_add(batch.map_or(1, |(_, count)| i64::from(count)))
        };
        let in_queue = |range: &Self| {
            range.queue.is_none_or(|id| record.queue_id == id)
                && range.from.is_none_or(|from| end() > from)
                && range.to.is_none_or(|to| record.queue_offset < to)
        };
        self.topic.as_ref().is_none_or(topic_is)
            && (self.topic.as_deref() != Some(record.topic) || in_queue(self))
            && self.key.as_ref().is_none_or(|word| has(key::KEYS, word))
            && self.unique_key.as_ref().is_none_or(|id| has(key::UNIQ_KEY, id))
            && self.begin.is_none_or(|begin| record.store_timestamp >= begin)
            && self.end.is_none_or(|end| record.store_timestamp <= end)
            && self.offset.is_none_or(|offset| record.physical_offset >= offset)
    }
}

const AT_ONCE: i64 = 1000;
