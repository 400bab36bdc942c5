//! All index files of a store.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use apogee_remoting::message::java_hash::JavaHash;
use jiff::{Timestamp, tz::TimeZone};
use parking_lot::RwLock;
use tracing::{info, warn};

use super::file::{IndexFile, Shape};
use super::header::{Header, stored_hash};
use super::slots::Slots;
use crate::files::{create_directories, named, remove, sync_directory};
use crate::read::{RecordSource, store_time_at};

/// What a key is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexKind {
    /// One of KEYS, or the unique key: they share a name space on disk.
    #[default]
    Key,
    /// A tag (index type T, since 5.x).
    Tag,
}

/// What a query found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryOffsets {
    /// Physical offsets of records whose key has this hash, ascending. Others with the same hash may be among them.
    pub offsets: Vec<i64>,
    /// Store time of the newest record indexed, ms.
    pub last_update_time: i64,
    /// Physical offset of it.
    pub last_update_offset: i64,
}

/// The index files, oldest first.
#[derive(Debug)]
pub struct IndexTable {
    directory: PathBuf,
    shape: Shape,
    files: RwLock<Vec<IndexFile>>,
}

/// Where building the index goes on: at the record at `position`, whose first `keys` keys are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Resume {
    pub(super) position: i64,
    pub(super) keys: usize,
}

impl IndexTable {
    /// Opens the files in a directory, with this many slots (maxHashSlotNum) and items (maxIndexNum) each.
    ///
    /// After an unclean stop, or where a file reaches behind the log's end, what is left of it is made anew from its
    /// items. A damaged file and all after it are removed: the log has what was in them.
    ///
    /// # Errors
    /// The directory or a file cannot be read or written.
    pub fn open(
        directory: PathBuf,
        slots: usize,
        items: usize,
        log: &dyn RecordSource,
        clean: bool,
    ) -> io::Result<Self> {
        let shape = Shape { slots: slots.max(1), items: items.max(2) };
        let mut paths = names(&directory)?;
        paths.sort_unstable();
        let opened = paths.into_iter().map(|path| Ok((IndexFile::open(path.clone(), shape)?, path)));
        let mut opened = opened.collect::<io::Result<Vec<_>>>()?;
        sort_by_log(&mut opened, |(file, _)| Some(file.as_ref()?.header));
        let mut opened = opened.into_iter();
        let mut files: Vec<IndexFile> = Vec::new();
        while let Some((file, path)) = opened.next() {
            let last = opened.as_slice().is_empty();
            // one whose header did not come to disk would say that it begins at 0
            let follows = |file: &IndexFile| {
                files.last().is_none_or(|last| file.header.begin_offset >= last.header.end_offset)
                    && (last || file.header.range().is_some())
            };
            let begin = |file: &Option<IndexFile>| Some(file.as_ref()?.header.range()?.0);
            let first = opened.as_slice().iter().filter_map(|(file, _)| begin(file)).chain(begin(&file)).min();
            let Some(mut file) = file.filter(follows) else {
                warn!(file = %path.display(), "index file is damaged or of another size and is made again");
                let mut after = Vec::new();
                while let Some(file) = files.pop_if(|file| first.is_some_and(|first| file.header.end_offset > first)) {
                    after.push(file.path().to_owned());
                }
                let others = opened.by_ref().map(|(_, path)| path).collect();
                // in this order: what is left where this is cut off shows the same damage
                for paths in [after, others, vec![path]] {
                    remove_all(&directory, paths)?;
                }
                break;
            };
            let behind = file.header.end_offset >= log.max_offset() && file.header.next > 1;
            if behind || (last && !clean) {
                let rebuilt = file.rebuild(log.max_offset(), |offset| store_time_at(log, offset));
                rebuilt.map_err(named(file.path()))?;
            }
            files.push(file);
            if behind {
                break;
            }
        }
        remove_all(&directory, opened.map(|(_, path)| path))?;
        info!(files = files.len(), "index opened");
        Ok(Self { directory, shape, files: RwLock::new(files) })
    }

    /// Physical offsets of the records of a topic with a key, stored within [begin, end] (ms; file times have whole
    /// seconds). The newest `max` at most.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn query(
        &self,
        topic: &str,
        key: &str,
        kind: IndexKind,
        max: usize,
        begin: i64,
        end: i64,
    ) -> io::Result<QueryOffsets> {
        let hash = hash(topic, key.as_bytes(), kind);
        let files = self.files.read();
        let mut result = QueryOffsets::default();
        if let Some(last) = files.last() {
            result.last_update_time = last.header.end_time;
            result.last_update_offset = last.header.end_offset;
        }
        for file in files.iter().rev() {
            if file.header.overlaps(begin, end) {
                file.search(hash, begin, end, max, &mut result.offsets)?;
            }
            if file.header.begin_time < begin || result.offsets.len() >= max {
                break;
            }
        }
        drop(files);
        result.offsets.sort_unstable();
        Ok(result)
    }

    /// Removes files all of whose records lie before the log's minimum; the last file stays.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn delete_expired(&self, log_min: i64) -> io::Result<usize> {
        let mut files = self.files.write();
        let last = files.len().saturating_sub(1);
        let expired = files[..last].iter().take_while(|file| file.header.end_offset < log_min).count();
        for _ in 0..expired {
            // one that cannot be removed is not forgotten: the next round tries again
            remove(files[0].path())?;
            files.remove(0);
        }
        Ok(expired)
    }

    /// Adds a key; returns the end time of a file that was finished because it was full (checkpoint, bytes 16..24).
    pub(super) fn put(&self, hash: i32, physical_offset: i64, store_time: i64) -> io::Result<Option<i64>> {
        let mut files = self.files.write();
        let mut finished = None;
        if files.last().is_none_or(IndexFile::is_full) {
            let (header, memory) = match files.last_mut() {
                Some(full) => {
                    let memory = full.finish()?;
                    sync_directory(&self.directory)?;
                    finished = Some(full.header.end_time);
                    (Header::after(full.header.end_offset, full.header.end_time), memory)
                }
                None => (Header::after(0, 0), None),
            };
            let file = self.create(&files, header, memory)?;
            files.push(file);
        }
        if let Some(file) = files.last_mut() {
            file.put(hash, physical_offset, store_time)?;
        }
        Ok(finished)
    }

    /// Brings near what putting these keys needs.
    pub(super) fn expect(&self, hashes: &[i32]) {
        if let Some(file) = self.files.read().last() {
            file.expect(hashes);
        }
    }

    /// Writes what is in memory.
    pub(super) fn flush(&self) -> io::Result<()> {
        self.files.write().last_mut().map_or(Ok(()), IndexFile::flush)
    }

    /// Writes and syncs what is in memory.
    pub(super) fn finish(&self) -> io::Result<()> {
        self.files.write().last_mut().map_or(Ok(None), IndexFile::finish)?;
        match sync_directory(&self.directory) {
            // nothing was ever indexed
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            synced => synced,
        }
    }

    /// Where building goes on.
    pub(super) fn resume(&self, log_min: i64) -> io::Result<Resume> {
        let files = self.files.read();
        let mut resume = Resume { position: log_min, keys: 0 };
        let Some(last) = files.last() else {
            return Ok(resume);
        };
        let position = last.header.end_offset;
        if position < log_min {
            return Ok(resume);
        }
        resume.position = position;
        for file in files.iter().rev() {
            if file.header.end_offset != position {
                break;
            }
            let (keys, whole_file) = file.items_of_last()?;
            resume.keys += keys;
            if !whole_file {
                break;
            }
        }
        Ok(resume)
    }

    /// Makes a file behind these. Its name is a local time, as with the reference, and behind theirs.
    fn create(&self, files: &[IndexFile], header: Header, memory: Option<Slots>) -> io::Result<IndexFile> {
        create_directories(&self.directory)?;
        let mut name = Timestamp::now().to_zoned(TimeZone::system()).strftime("%Y%m%d%H%M%S%3f").to_string();
        // two files within a millisecond, and a clock that was set back
        let last = files.last().and_then(|last| last.path().file_name()?.to_str()?.parse::<u64>().ok());
        if let Some(last) = last.filter(|last| name.parse().is_ok_and(|name: u64| name <= *last)) {
            name = format!("{:017}", last + 1);
        }
        IndexFile::create(self.directory.join(name), self.shape, header, memory)
    }
}

/// The stored hash of `topic#key`, or `topic#T#key` for a tag.
pub fn hash(topic: &str, key: &[u8], kind: IndexKind) -> i32 {
    hash_in(JavaHash::default().with(topic.as_bytes()), key, kind)
}

/// The same for a topic whose hash is known.
pub(super) fn hash_in(topic: JavaHash, key: &[u8], kind: IndexKind) -> i32 {
    let separator: &[u8] = match kind {
        IndexKind::Key => b"#",
        IndexKind::Tag => b"#T#",
    };
    stored_hash(topic.with(separator).with(key).finish())
}

/// Removes files, on disk when this returns: one that came back would stand between others.
fn remove_all(directory: &Path, paths: impl IntoIterator<Item = PathBuf>) -> io::Result<()> {
    let mut paths = paths.into_iter().peekable();
    if paths.peek().is_none() {
        return Ok(());
    }
    for path in paths {
        warn!(file = %path.display(), "index file is removed and made again");
        remove(&path)?;
    }
    sync_directory(directory)
}

/// Puts files, which come in the order of their names, into that of the log. Names are local times: where a clock was set back,
/// as each autumn, they tell another order. A file without items, or without a header, leaves all as it is.
pub fn sort_by_log<T>(files: &mut [T], header: impl Fn(&T) -> Option<Header>) {
    let range = |file: &T| header(file).and_then(|header| header.range());
    let Some(mut ranges) = files.iter().map(range).collect::<Option<Vec<_>>>() else { return };
    ranges.sort_unstable();
    if ranges.windows(2).all(|two| two[0].1 <= two[1].0) {
        files.sort_by_key(range);
    }
}

/// Files named by a time: 17 digits.
fn names(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        if name.len() == 17 && name.as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
