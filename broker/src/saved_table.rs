//! A table of named configurations in a state file: whoever makes a change is answered when it is on disk.
//!
//! A change holds at once for those who read. One thread writes, and its next write covers all changes that came while it was
//! busy. What cannot be written down is taken back, with everything that was changed behind it, and also from a file that has
//! got it all the same. Changes that nobody waits for are written a little later, many at once.

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use apogee_config::state_file::{StateFile, StateFileError};
use apogee_remoting::protocol::data_version::DataVersion;
use apogee_store::NameMap;
use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::clock::Clock;

/// The table. Reads take no lock that writers hold for long. `T` is one configuration.
pub(crate) struct SavedTable<T> {
    entries: NameMap<Arc<T>>,
    changes: Mutex<Changes<T>>,
    file: StateFile,
    clock: Clock,
    encode: Encode<T>,
    changed: OnChange,
    hurry: Arc<Hurry>,
    /// Told when everything is written.
    idle: Condvar,
    /// Wakes the thread that writes, if it has nothing to do.
    wake: Condvar,
}

/// One configuration. It knows whether a restart would find its name, so that who uses it need not ask the table.
pub(crate) trait Entry: Send + Sync + 'static {
    /// Whether another says the same.
    fn is_same(&self, other: &Self) -> bool;

    /// Whether the file has this entry, or one for which whatever rests on this one is right as well, or it is made at each
    /// start. In a table on which no acknowledged message rests, all count as if they were.
    fn is_saved(&self) -> bool {
        true
    }

    /// From now on it is.
    fn note_saved(&self) {}

    /// Whether nothing can rest on this entry that could not rest on the one that it replaces.
    fn allows_no_more_than(&self, old: &Self) -> bool {
        let _ = old;
        true
    }
}

/// What a table holds at one moment.
pub(crate) type Entries<T> = BTreeMap<Arc<str>, Arc<T>>;
/// Makes the content of the file.
type Encode<T> = Box<dyn Fn(DataVersion, Entries<T>) -> Vec<u8> + Send + Sync>;
/// Told the name of each entry that changed, or whose change was taken back.
type OnChange = Box<dyn Fn(&str) + Send + Sync>;

struct Changes<T> {
    /// All entries in the order of their names, which the table of those who read does not keep.
    sorted: Entries<T>,
    /// Of the table with all changes.
    version: DataVersion,
    /// Of what is in the file.
    saved_version: DataVersion,
    /// Changes that are not in the file, in their order.
    unsaved: Vec<Change<T>>,
    /// Whether the file has changes that were taken back.
    is_ahead: bool,
    /// Whether there is a thread that writes, though it may have nothing to do.
    has_writer: bool,
    /// Whether the last write failed: that is said once, for a full disk refuses each change anew.
    is_failing: bool,
}

impl<T> Changes<T> {
    /// Whether the file has what the table has, as far as it can be written.
    fn is_written(&self) -> bool {
        self.unsaved.is_empty() && !self.is_ahead
    }
}

struct Change<T> {
    replaced: Vec<Replaced<T>>,
    /// Who made it, and who came upon it.
    waiting: Vec<oneshot::Sender<Result<(), SaveError>>>,
}

struct Replaced<T> {
    name: Arc<str>,
    /// `None` where nothing was.
    old: Option<Arc<T>>,
    /// `None` where nothing is.
    new: Option<Arc<T>>,
}

/// A change that was taken back.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum SaveError {
    /// The file could not be written.
    #[error(transparent)]
    File(Arc<StateFileError>),
    /// There is no thread that could write.
    #[error("no thread to write the change down: {0}")]
    NoThread(Arc<io::Error>),
    /// The thread that writes panicked.
    #[error("the change could not be written down")]
    Panicked,
}

/// A change on its way to the disk.
#[must_use = "a change counts when it is on disk"]
pub(crate) struct Saving(Option<Unsaved>);

struct Unsaved {
    done: oneshot::Receiver<Result<(), SaveError>>,
    /// `None` for what nobody can hurry.
    hurry: Option<Arc<Hurry>>,
}

impl Saving {
    /// Something else to wait for before a change can be made.
    pub(crate) fn until(over: oneshot::Receiver<Result<(), SaveError>>) -> Self {
        Self(Some(Unsaved { done: over, hurry: None }))
    }

    /// For who changed nothing.
    pub(crate) fn nothing() -> Self {
        Self(None)
    }

    /// Leaves the change to be written soon, for who would make it again if it were lost; whether there was any, be it
    /// another's.
    pub(crate) fn later(self) -> bool {
        self.0.is_some()
    }

    /// What rests on the change, if it is on disk.
    ///
    /// # Errors
    /// It is not yet.
    pub(crate) fn then<T>(self, there: T) -> Result<T, Self> {
        if self.0.is_none() { Ok(there) } else { Err(self) }
    }

    /// Ends when the change is on disk.
    ///
    /// # Errors
    /// It could not be written and is taken back.
    pub(crate) async fn done(self) -> Result<(), SaveError> {
        let Some(unsaved) = self.0 else { return Ok(()) };
        unsaved.hurried().await.unwrap_or(Err(SaveError::Panicked))
    }

    /// The same, for a thread that may wait; a task of the runtime may not.
    pub(crate) fn wait(self) -> Result<(), SaveError> {
        let Some(unsaved) = self.0 else { return Ok(()) };
        unsaved.hurried().blocking_recv().unwrap_or(Err(SaveError::Panicked))
    }
}

impl Unsaved {
    /// For who waits from now on.
    fn hurried(self) -> oneshot::Receiver<Result<(), SaveError>> {
        if let Some(hurry) = self.hurry {
            hurry.call();
        }
        self.done
    }
}

/// Whether somebody waits for what is not written.
#[derive(Default)]
struct Hurry {
    called: Mutex<bool>,
    changed: Condvar,
}

impl Hurry {
    fn call(&self) {
        *self.called.lock() = true;
        self.changed.notify_one();
    }

    /// Waits for the next call, or for the time in which changes gather.
    fn wait(&self) {
        let mut called = self.called.lock();
        if !*called {
            self.changed.wait_for(&mut called, GATHER);
        }
        *called = false;
    }
}

/// How long changes gather that nobody waits for.
const GATHER: Duration = Duration::from_millis(100);
/// How long the thread that writes stays when it has nothing to do.
const LINGER: Duration = Duration::from_secs(1);

impl<T: Entry> SavedTable<T> {
    /// The table with what `file` held. `encode` makes the file's content; `changed` is told the name of every change, and must
    /// not ask the table.
    pub(crate) fn new(
        file: StateFile,
        version: DataVersion,
        entries: impl IntoIterator<Item = (String, T)>,
        clock: Clock,
        encode: impl Fn(DataVersion, Entries<T>) -> Vec<u8> + Send + Sync + 'static,
        changed: impl Fn(&str) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let entries = entries.into_iter().inspect(|(_, entry)| entry.note_saved());
        let sorted: Entries<T> = entries.map(|(name, entry)| (Arc::from(name), Arc::new(entry))).collect();
        Arc::new(Self {
            entries: sorted.iter().map(|(name, entry)| (Arc::clone(name), Arc::clone(entry))).collect(),
            changes: Mutex::new(Changes {
                sorted,
                version,
                saved_version: version,
                unsaved: Vec::new(),
                is_ahead: false,
                has_writer: false,
                is_failing: false,
            }),
            file,
            clock,
            encode: Box::new(encode),
            changed: Box::new(changed),
            hurry: Arc::default(),
            idle: Condvar::new(),
            wake: Condvar::new(),
        })
    }

    /// An entry.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<T>> {
        self.entries.get(name).map(|entry| Arc::clone(&entry))
    }

    /// Whether there is an entry of this name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Version of the table.
    pub(crate) fn version(&self) -> DataVersion {
        self.changes.lock().version
    }

    /// All entries and their version.
    pub(crate) fn snapshot(&self) -> (DataVersion, Entries<T>) {
        let changes = self.changes.lock();
        (changes.version, changes.sorted.clone())
    }

    /// Keeps others from changing the table while its caller decides on a change.
    pub(crate) fn lock(self: &Arc<Self>) -> Locked<'_, T> {
        Locked { table: self, changes: self.changes.lock() }
    }

    /// Ends when everything is written, or taken back. Nobody changes the table any more soon. For a thread that may wait.
    pub(crate) fn settle(&self) {
        let mut changes = self.changes.lock();
        while !changes.is_written() {
            self.hurry.call();
            self.idle.wait(&mut changes);
        }
        self.wake.notify_one();
    }

    /// Puts an entry in, or takes it out; gives what was there.
    fn replace(&self, sorted: &mut Entries<T>, name: &Arc<str>, entry: Option<Arc<T>>) -> Option<Arc<T>> {
        let old = if let Some(entry) = entry {
            sorted.insert(Arc::clone(name), Arc::clone(&entry));
            self.entries.insert(Arc::clone(name), entry)
        } else {
            sorted.remove(name);
            self.entries.remove(name).map(|(_, old)| old)
        };
        (self.changed)(name);
        old
    }

    /// Writes until nothing is left and nothing comes for a while, whatever happens.
    fn write_all(&self) {
        while catch_unwind(AssertUnwindSafe(|| self.write())).is_err() {
            // The panic hook has reported it.
            self.take_back(&SaveError::Panicked, false);
        }
    }

    fn write(&self) {
        loop {
            let is_ahead = {
                let mut changes = self.changes.lock();
                if changes.is_written() {
                    self.idle.notify_all();
                    // Who creates many topics one after the other need not wait for a thread each time.
                    self.wake.wait_for(&mut changes, LINGER);
                }
                if changes.is_written() {
                    changes.has_writer = false;
                    return;
                }
                changes.is_ahead
            };
            if !is_ahead {
                self.hurry.wait();
            }
            let (count, version, entries) = {
                let changes = self.changes.lock();
                (changes.unsaved.len(), changes.version, changes.sorted.clone())
            };
            match self.file.write((self.encode)(version, entries)) {
                Ok(()) => self.written(count, version),
                Err(error) => {
                    if !std::mem::replace(&mut self.changes.lock().is_failing, true) {
                        tracing::error!(%error, "changes are taken back, for they cannot be written down; said once until they can");
                    }
                    if is_ahead && count == 0 && !error.is_replaced() {
                        tracing::error!(%error, "the file has changes that were refused, until another one can be written");
                    }
                    // It is written once more for them; then it has them no longer, or cannot be written.
                    let is_ahead = count > 0 && (is_ahead || error.is_replaced());
                    self.take_back(&SaveError::File(Arc::new(error)), is_ahead);
                }
            }
        }
    }

    /// The first `count` changes are on disk.
    fn written(&self, count: usize, version: DataVersion) {
        let (had_failed, saved): (_, Vec<_>) = {
            let mut changes = self.changes.lock();
            changes.saved_version = version;
            changes.is_ahead = false;
            let saved: Vec<Change<T>> = changes.unsaved.drain(..count).collect();
            // Under the lock: a new name is not saved as long as its change is among the unsaved ones.
            let made = saved.iter().flat_map(|change| &change.replaced).filter_map(|replaced| replaced.new.as_ref());
            made.for_each(|entry| entry.note_saved());
            (std::mem::take(&mut changes.is_failing), saved)
        };
        if had_failed {
            tracing::info!("changes can be written down again");
        }
        for waiting in saved.into_iter().flat_map(|change| change.waiting) {
            // It may have gone.
            let _ = waiting.send(Ok(()));
        }
    }

    fn take_back(&self, error: &SaveError, is_ahead: bool) {
        let mut changes = self.changes.lock();
        changes.is_ahead = is_ahead;
        self.take_back_from(&mut changes, error);
    }

    fn take_back_from(&self, changes: &mut Changes<T>, error: &SaveError) {
        changes.version = changes.saved_version;
        for change in std::mem::take(&mut changes.unsaved).into_iter().rev() {
            for Replaced { name, old, .. } in change.replaced.into_iter().rev() {
                self.replace(&mut changes.sorted, &name, old);
            }
            for waiting in change.waiting {
                let _ = waiting.send(Err(error.clone()));
            }
        }
    }
}

/// A table that only its holder changes.
pub(crate) struct Locked<'a, T> {
    table: &'a Arc<SavedTable<T>>,
    changes: MutexGuard<'a, Changes<T>>,
}

impl<T: Entry> Locked<'_, T> {
    /// An entry.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<T>> {
        self.table.get(name)
    }

    /// The last change of these names that is not on disk yet. It is for who finds them as they are to be, and promises
    /// somebody that they are there.
    pub(crate) fn pending(mut self, is_meant: impl Fn(&str) -> bool) -> Saving {
        let is_of_them = |change: &&mut Change<T>| change.replaced.iter().any(|replaced| is_meant(&replaced.name));
        let Some(last) = self.changes.unsaved.iter_mut().rev().find(is_of_them) else { return Saving::nothing() };
        let (done, written) = oneshot::channel();
        last.waiting.push(done);
        Saving(Some(Unsaved { done: written, hurry: Some(Arc::clone(&self.table.hurry)) }))
    }

    /// Whether the last change could not be written down.
    pub(crate) fn is_failing(&self) -> bool {
        self.changes.is_failing
    }

    /// Puts entries in, and takes those out that are `None`, all as one change and one version. With none at all there is a new
    /// version of the table as it is.
    pub(crate) fn change(self, entries: impl IntoIterator<Item = (String, Option<Arc<T>>)>) -> Saving {
        let mut version = self.changes.version;
        version.advance(0, self.table.clock.now());
        self.change_to(version, entries)
    }

    /// Becomes a table with these entries alone and this version, unless it is of this version already. Entries that say the same
    /// stay.
    pub(crate) fn become_copy(self, version: DataVersion, entries: BTreeMap<String, T>) -> Saving {
        if self.changes.version == version {
            return Saving::nothing();
        }
        let gone = self.changes.sorted.keys().filter(|name| !entries.contains_key(&***name));
        let gone: Vec<_> = gone.map(|name| (name.to_string(), None)).collect();
        let is_own = |(name, entry): &(String, T)| self.table.get(name).is_some_and(|own| own.is_same(entry));
        let others = entries.into_iter().filter(|named| !is_own(named));
        let changed: Vec<_> =
            gone.into_iter().chain(others.map(|(name, entry)| (name, Some(Arc::new(entry))))).collect();
        self.change_to(version, changed)
    }

    fn change_to(
        mut self,
        version: DataVersion,
        entries: impl IntoIterator<Item = (String, Option<Arc<T>>)>,
    ) -> Saving {
        let mut replaced = Vec::new();
        for (name, entry) in entries {
            let name = Arc::from(name);
            let new = entry.clone();
            let old = self.table.replace(&mut self.changes.sorted, &name, entry);
            if let (Some(old), Some(new)) = (&old, &new)
                && old.is_saved()
                && new.allows_no_more_than(old)
            {
                new.note_saved();
            }
            replaced.push(Replaced { name, old, new });
        }
        let (done, written) = oneshot::channel();
        let changes = &mut *self.changes;
        changes.version = version;
        changes.unsaved.push(Change { replaced, waiting: vec![done] });
        if std::mem::replace(&mut changes.has_writer, true) {
            self.table.wake.notify_one();
        } else {
            let table = Arc::clone(self.table);
            // None of the runtime's threads: all of those may be waiting for this one.
            let writer = thread::Builder::new().name("table-writer".to_owned()).spawn(move || table.write_all());
            if let Err(error) = writer {
                changes.has_writer = false;
                tracing::error!(%error, "changes are taken back, for there is no thread to write them down");
                self.table.take_back_from(changes, &SaveError::NoThread(Arc::new(error)));
            }
        }
        Saving(Some(Unsaved { done: written, hurry: Some(Arc::clone(&self.table.hurry)) }))
    }
}

#[cfg(test)]
mod tests;
