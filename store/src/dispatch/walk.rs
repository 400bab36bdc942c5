//! Walking the log.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use smallvec::SmallVec;
use thiserror::Error;
use tracing::{error, warn};

use super::arrival::ArrivalListener;
use super::bit_map::BitMaps;
use super::delay::DelayLevels;
use super::feed::{Feed, Line, Listener, Told};
use super::progress::{Progress as Reached, Published};
use super::units::{Added, QueueBuilder};
use crate::progress::Progress;
use crate::queue::QueueTable;
use crate::read::RecordSource;
use crate::read::record::{At, RecordFields};

/// Something else that is made from records: an index, filters. Called in log order, from the dispatcher's
/// thread, and after a restart again for records it may have seen.
pub trait RecordConsumer: Send {
    /// Takes a record.
    ///
    /// # Errors
    /// It could not be taken now. Dispatching stops before it and tries again later.
    fn consume(&mut self, record: &RecordFields<'_>) -> io::Result<()>;

    /// Takes a record of which no more is known than its place, its store time (ms) and the hashes of its keys, as
    /// [`keys`](crate::index::keys) gives them. `false`: it has to be read.
    ///
    /// # Errors
    /// As [`RecordConsumer::consume`].
    fn consume_keys(&mut self, physical_offset: i64, store_timestamp: i64, keys: &[i32]) -> io::Result<bool> {
        let _ = (physical_offset, store_timestamp, keys);
        Ok(false)
    }

    /// Hears of keys that [`RecordConsumer::consume_keys`] brings soon: what they need can come from far memory together.
    fn expect_keys(&mut self, keys: &[i32]) {
        let _ = keys;
    }
}

/// Why dispatching stopped.
#[derive(Debug, Error)]
pub enum DispatchError {
    /// The log cannot be read.
    #[error("cannot read the commit log at {position}")]
    Read {
        /// Physical offset.
        position: i64,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// What stands in the log is no record. Nothing behind it is dispatched.
    #[error("commit log is damaged at {position}: {reason}")]
    Damaged {
        /// Physical offset.
        position: i64,
        /// What is wrong.
        reason: &'static str,
    },
    /// The unit of a record cannot be put into its queue.
    #[error("the record at {position} cannot be put into its queue")]
    Queue {
        /// Physical offset.
        position: i64,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// Units are missing that must be made from records before the place where dispatching began.
    #[error("a queue has no units between its record before {behind} and that at {position}")]
    UnitsMissing {
        /// Physical offset of the record behind the gap.
        position: i64,
        /// Physical offset behind the queue's last record before it, or before which it has none.
        behind: i64,
    },
    /// A consumer cannot go on.
    #[error("what is made from the record at {position} cannot be stored")]
    Consumer {
        /// Physical offset.
        position: i64,
        /// Cause.
        #[source]
        source: io::Error,
    },
}

/// The work of the dispatcher, on whichever thread.
pub struct Dispatch {
    log: Arc<dyn RecordSource>,
    queues: Option<QueueBuilder>,
    published: Published,
    hands: Mutex<Hands>,
}

/// What one who walks has in hand.
#[derive(Default)]
struct Hands {
    consumers: Vec<Box<dyn RecordConsumer>>,
    /// What appends tell, once they do.
    line: Option<Line>,
}

impl Dispatch {
    /// Dispatches `log` into `queues`, from `position` on.
    pub fn new(log: Arc<dyn RecordSource>, queues: Arc<QueueTable>, position: i64) -> Self {
        Self { queues: Some(QueueBuilder::new(queues)), ..Self::without_queues(log, position) }
    }

    /// Only gives records to consumers: a walk of its own for what is slow to make.
    pub fn without_queues(log: Arc<dyn RecordSource>, position: i64) -> Self {
        Self { log, queues: None, published: Published::new(position), hands: Mutex::default() }
    }

    /// With these delay levels.
    pub fn with_delays(mut self, delays: DelayLevels) -> Self {
        if let Some(queues) = &mut self.queues {
            queues.delays = delays;
        }
        self
    }

    /// With messages put also into the light queues their properties name (enableMultiDispatch).
    pub fn with_light_queues(mut self, light_queues: bool) -> Self {
        if let Some(queues) = &mut self.queues {
            queues.light_queues = light_queues;
        }
        self
    }

    /// Refuses gaps in queues that begin before this walk ([`DispatchError::UnitsMissing`]): for a start that may begin
    /// further back instead.
    pub fn refusing_gaps(mut self) -> Self {
        let began = self.position();
        if let Some(queues) = &mut self.queues {
            queues.began = Some(began);
        }
        self
    }

    /// Takes every gap for one of the log, as at first.
    pub fn accepting_gaps(mut self) -> Self {
        if let Some(queues) = &mut self.queues {
            queues.began = None;
        }
        self
    }

    /// Takes a queue without units for one that has no records before a place: it does not miss them.
    pub fn with_whole_before(mut self, position: i64) -> Self {
        if let Some(queues) = &mut self.queues {
            queues.whole_before = position;
        }
        self
    }

    /// Makes no queues for records before a place whose topic is not there any more: they were dispatched once.
    pub fn with_known_before(mut self, position: i64) -> Self {
        if let Some(queues) = &mut self.queues {
            queues.known_before = position;
        }
        self
    }

    /// Tells `listener` of every message.
    pub fn with_listener(mut self, listener: Arc<dyn ArrivalListener>) -> Self {
        if let Some(queues) = &mut self.queues {
            queues.listener = Some(listener);
        }
        self
    }

    /// Asks `bit_maps` what to store in extensions of queues.
    pub fn with_bit_maps(mut self, bit_maps: Option<Arc<dyn BitMaps>>) -> Self {
        if let Some(queues) = &mut self.queues {
            queues.bit_maps = bit_maps;
        }
        self
    }

    /// Gives `consumer` every record from the current position on.
    pub fn with_consumer(self, consumer: Box<dyn RecordConsumer>) -> Self {
        self.hands.lock().consumers.push(consumer);
        self
    }

    /// Takes what appends tell from now on in place of what it would read.
    pub(crate) fn listen(&self, feed: Arc<Feed>) {
        let listener = if self.queues.is_some() { Listener::Queues } else { Listener::Index };
        self.hands.lock().line = Some(Line::new(feed, listener));
    }

    /// Physical offset up to which records are dispatched.
    pub fn position(&self) -> i64 {
        self.published.position()
    }

    /// Whether somebody waits for messages to be dispatched.
    pub(super) fn is_waited_for(&self) -> bool {
        let listener = self.queues.as_ref().and_then(|queues| queues.listener.as_ref());
        listener.is_some_and(|listener| listener.is_waited_for())
    }

    /// How far dispatching came, with the last record's time.
    pub fn progress(&self) -> Reached {
        self.published.get()
    }

    /// Bytes of the log that are not dispatched (dispatchBehindBytes).
    pub fn behind_bytes(&self) -> i64 {
        (self.log.max_offset() - self.position()).max(0)
    }

    /// Goes on from another place: a log that lost its end to a new master.
    pub fn reset(&self, position: i64) {
        let hands = self.hands.lock();
        self.published.set(Reached { position, ..self.published.get() });
        drop(hands);
    }

    /// Dispatches everything that is in the log.
    ///
    /// # Errors
    /// The log cannot be read or is damaged; [`Dispatch::position`] stays at the place.
    pub fn catch_up(&self) -> Result<(), DispatchError> {
        while self.step()? > 0 {}
        Ok(())
    }

    /// The same, telling how far it has come where it takes longer than a time.
    ///
    /// # Errors
    /// As [`Dispatch::catch_up`].
    pub(crate) fn catch_up_telling(&self, what: &'static str, tell_every: Duration) -> Result<(), DispatchError> {
        let mut progress = Progress::new(what, self.position(), self.log.max_offset(), tell_every);
        while self.step()? > 0 {
            progress.at(self.position());
        }
        Ok(())
    }

    /// End of the log as it is now.
    pub(super) fn log_end(&self) -> i64 {
        self.log.max_offset()
    }

    /// Dispatches one stretch of the log; says how many records there were, 0 where there was nothing.
    pub(super) fn step(&self) -> Result<usize, DispatchError> {
        // also keeps two callers from walking at the same time
        let mut hands = self.hands.lock();
        let mut progress = self.published.get();
        if progress.position < self.log.min_offset() {
            warn!(
                position = progress.position,
                min = self.log.min_offset(),
                "files of the commit log went before they were dispatched"
            );
            progress.position = self.log.min_offset();
        }
        let from = progress.position;
        let followed = self.follow(&mut hands, &mut progress, false);
        if progress.position != from {
            self.published.set(progress);
            return followed.map(|followed| followed.records);
        }
        let until = followed?.until;
        let mut at_most = WINDOW;
        let stepped = loop {
            match self.window(progress.position, at_most, until)? {
                None => break Ok(()),
                Some(window) => match self.walk(&window, &mut progress, &mut hands.consumers) {
                    // a record larger than the window
                    Ok(Some(needed)) if progress.position == from && needed > at_most => at_most = needed,
                    Ok(_) => break Ok(()),
                    Err(DispatchError::Damaged { position, reason }) => match self.behind(position)? {
                        Some(next) => {
                            error!(position, next, reason, "commit log is damaged here: these bytes are in no queue");
                            progress.position = next;
                            break Ok(());
                        }
                        None => break Err(DispatchError::Damaged { position, reason }),
                    },
                    Err(error) => break Err(error),
                },
            }
        };
        let moved = progress.position != from;
        if moved {
            self.published.set(progress);
        }
        // what had to be read counts as many
        stepped.map(|()| if moved { usize::MAX } else { 0 })
    }

    /// Dispatches what was told of up to a physical offset, as far as that takes no wait: neither for another who dispatches nor
    /// for a file. Says whether all of it is dispatched.
    pub(super) fn help(&self, end: i64) -> bool {
        let Some(mut hands) = self.hands.try_lock() else { return false };
        let mut progress = self.published.get();
        let from = progress.position;
        let followed = self.follow(&mut hands, &mut progress, true);
        if progress.position != from {
            self.published.set(progress);
        }
        // an error shows again to the dispatcher
        followed.is_ok() && progress.position >= end
    }

    /// Takes the records that were told of, as long as they follow on one another. `at_once`: only those that need no file.
    fn follow(&self, hands: &mut Hands, progress: &mut Reached, at_once: bool) -> Result<Followed, DispatchError> {
        let Hands { consumers, line: Some(line) } = hands else { return Ok(Followed { records: 0, until: i64::MAX }) };
        // first: all that was told of records before it is then in the line
        let end = self.log.max_offset();
        line.refill();
        let mut publish_at = progress.position + i64::from(PUBLISH);
        let mut expected = line.taken();
        let mut records = 0;
        while let Some(told) = line.front() {
            if line.taken() == expected {
                expected += expect(consumers, line.rest());
            }
            if told.physical_offset > progress.position {
                return Ok(Followed { records, until: told.physical_offset.min(end) });
            }
            if told.end() > end {
                // it cannot be read yet
                break;
            }
            if told.physical_offset == progress.position {
                let takes_time =
                    at_once && told.unit.as_ref().is_none_or(|unit| !unit.queue.takes_at_once(unit.queue_offset));
                if takes_time || !self.put_told(told, consumers)? {
                    return Ok(Followed { records, until: told.end() });
                }
                progress.last_record = told.physical_offset;
                progress.store_timestamp = told.store_timestamp;
                progress.position = told.end();
                records += 1;
                if progress.position >= publish_at {
                    publish_at = progress.position + i64::from(PUBLISH);
                    self.published.set(*progress);
                }
            }
            line.pass();
        }
        Ok(Followed { records, until: end })
    }

    /// Puts a record that was told of where it belongs; `false` where it has to be read for that.
    fn put_told(&self, told: &Told, consumers: &mut [Box<dyn RecordConsumer>]) -> Result<bool, DispatchError> {
        let position = told.physical_offset;
        if let Some(queues) = &self.queues {
            let Some(unit) = &told.unit else { return Ok(false) };
            match queues.put_told(told, unit) {
                None => return Ok(false),
                Some(Added::Unnoticed) => {}
                Some(Added::IsWaitedFor) => {
                    let bytes = self.log.slice(position, told.size as usize);
                    let bytes = bytes.map_err(|source| DispatchError::Read { position, source })?;
                    if let Some(record) = bytes.as_deref().and_then(RecordFields::of) {
                        queues.arrived(&record, &unit.queue, unit.tags_code);
                    }
                }
            }
        }
        for consumer in consumers {
            let taken = consumer.consume_keys(position, told.store_timestamp, told.keys.as_slice());
            if !taken.map_err(|source| DispatchError::Consumer { position, source })? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Bytes of the log from a position on, at most up to another.
    fn window(&self, position: i64, at_most: usize, until: i64) -> Result<Option<Bytes>, DispatchError> {
        if position >= until {
            return Ok(None);
        }
        let window = self.log.window(position, at_most);
        let mut window = window.map_err(|source| DispatchError::Read { position, source })?;
        if let Some(window) = &mut window {
            window.truncate(STRETCH.max(at_most).min((until - position) as usize));
        }
        Ok(window)
    }

    fn behind(&self, position: i64) -> Result<Option<i64>, DispatchError> {
        self.log.resume_behind(position).map_err(|source| DispatchError::Read { position, source })
    }

    /// Dispatches the records of a window. `Some`: the next record is not all in it and needs so many bytes.
    fn walk(
        &self,
        window: &[u8],
        progress: &mut Reached,
        consumers: &mut [Box<dyn RecordConsumer>],
    ) -> Result<Option<usize>, DispatchError> {
        let mut rest = window;
        let mut since_published = 0;
        while !rest.is_empty() {
            let position = progress.position;
            if let Some(next) = self.log.damaged_until(position) {
                progress.position = next;
                return Ok(None);
            }
            let record = match At::look(rest) {
                At::Record(record) => record,
                At::Blank => {
                    progress.position = self.log.next_file_start(position);
                    return Ok(None);
                }
                At::Incomplete(needed) if position + needed as i64 > self.log.next_file_start(position) => {
                    let reason = "the size leads out of the file";
                    return Err(DispatchError::Damaged { position, reason });
                }
                At::Incomplete(needed) => return Ok(Some(needed)),
                At::Damaged(reason) => return Err(DispatchError::Damaged { position, reason }),
            };
            if record.physical_offset != position {
                let reason = "the record there is of another place";
                return Err(DispatchError::Damaged { position, reason });
            }
            if let Some(queues) = &self.queues {
                queues.put_record(&record)?;
            }
            for consumer in &mut *consumers {
                consumer.consume(&record).map_err(|source| DispatchError::Consumer { position, source })?;
            }
            progress.last_record = position;
            progress.store_timestamp = record.store_timestamp;
            progress.position += i64::from(record.size);
            rest = &rest[record.size as usize..];
            since_published += record.size;
            if since_published >= PUBLISH {
                since_published = 0;
                self.published.set(*progress);
            }
        }
        Ok(None)
    }
}

/// Lets consumers know of the keys of the first of these records; answers of how many.
fn expect(consumers: &mut [Box<dyn RecordConsumer>], told: &[Told]) -> usize {
    let told = &told[..told.len().min(EXPECTED)];
    if !consumers.is_empty() {
        let keys: SmallVec<[i32; 2 * EXPECTED]> = told.iter().flat_map(|told| told.keys.as_slice()).copied().collect();
        for consumer in consumers {
            consumer.expect_keys(&keys);
        }
    }
    told.len()
}

/// As many fetches from memory as a processor has under way at a time, or a few more.
const EXPECTED: usize = 16;

/// How far one came with what was told.
struct Followed {
    /// Records taken.
    records: usize,
    /// Physical offset up to which what comes next has to be read.
    until: i64,
}

/// Bytes of the log read at once where it is not mapped.
const WINDOW: usize = 1 << 20;
/// Bytes of the log walked at once where it is mapped.
const STRETCH: usize = 32 << 20;
/// Bytes of the log after which the position is published.
const PUBLISH: i32 = 64 * 1024;

#[cfg(test)]
#[path = "walk_tests.rs"]
mod tests;
