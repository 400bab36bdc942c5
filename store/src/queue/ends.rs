//! The file `queueEnds`: how far each queue was on disk at the last look. It shows at the next start what is no longer
//! there: units that were lost, and queues whose files are gone. The reference does not know it.
//!
//! `apgends1`, then the CRC32 of all that follows (4 bytes), then for each queue: length of the topic 2, topic, queue
//! number 4, queue offset 8 and physical offset 8 behind the last unit on disk. Whatever does not add up counts for nothing.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use bytes::{Buf, BufMut};
use tracing::warn;

use super::table::QueueTable;
use crate::files::{named, sync, sync_directory, write_all_at};

/// A queue, and how far it was on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownEnd {
    /// Topic.
    pub topic: String,
    /// Number of the queue.
    pub queue_id: i32,
    /// Queue offset behind the last unit.
    pub max: i64,
    /// Physical offset behind the record of the last unit.
    pub max_physical: i64,
}

/// The file.
#[derive(Debug)]
pub struct KnownEnds {
    path: PathBuf,
    /// What is in it; empty when nothing is known of that.
    content: Vec<u8>,
}

impl KnownEnds {
    /// The file of the store in `root`, and what it says.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(root: &Path) -> io::Result<(Self, Vec<KnownEnd>)> {
        let path = root.join("queueEnds");
        let content = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            content => content.map_err(named(&path))?,
        };
        let ends = decode(&content).unwrap_or_else(|| {
            if !content.is_empty() {
                warn!(path = %path.display(), "the file is damaged: units that queues lost are not noticed");
            }
            Vec::new()
        });
        Ok((Self { path, content }, ends))
    }

    /// Writes down how far the queues are on disk, unless that is what stands there. Where that fails, what queues lose until
    /// the next time is not noticed.
    pub fn note(&mut self, queues: &QueueTable) {
        let content = encode(&queues.durable_ends());
        if content == self.content {
            return;
        }
        match self.write(&content) {
            Ok(()) => self.content = content,
            Err(error) => warn!(%error, "how far the queues are on disk is not written down"),
        }
    }

    fn write(&self, content: &[u8]) -> io::Result<()> {
        let temporary = self.path.with_extension("tmp");
        let written = File::create(&temporary).and_then(|file| {
            write_all_at(&file, content, 0)?;
            sync(&file)
        });
        written.and_then(|()| fs::rename(&temporary, &self.path)).map_err(named(&self.path))?;
        self.sync_name()
    }

    /// Removes the file: queues are about to be removed or made again.
    ///
    /// # Errors
    /// It may still be there.
    pub fn forget(&mut self) -> io::Result<()> {
        self.content = Vec::new();
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(named(&self.path)).and_then(|()| self.sync_name()),
        }
    }

    fn sync_name(&self) -> io::Result<()> {
        self.path.parent().map_or(Ok(()), sync_directory)
    }
}

fn encode(ends: &[KnownEnd]) -> Vec<u8> {
    let mut content = MAGIC.to_vec();
    content.put_u32(0);
    for end in ends {
        content.put_u16(end.topic.len() as u16);
        content.put_slice(end.topic.as_bytes());
        content.put_i32(end.queue_id);
        content.put_i64(end.max);
        content.put_i64(end.max_physical);
    }
    let crc = crc32fast::hash(&content[HEAD..]);
    content[MAGIC.len()..HEAD].copy_from_slice(&crc.to_be_bytes());
    content
}

fn decode(content: &[u8]) -> Option<Vec<KnownEnd>> {
    let mut rest = content.strip_prefix(MAGIC)?;
    let crc = rest.try_get_u32().ok()?;
    if crc != crc32fast::hash(rest) {
        return None;
    }
    let mut ends = Vec::new();
    while !rest.is_empty() {
        let length = usize::from(rest.try_get_u16().ok()?);
        let (topic, behind) = rest.split_at_checked(length)?;
        rest = behind;
        let topic = std::str::from_utf8(topic).ok()?.to_owned();
        let queue_id = rest.try_get_i32().ok()?;
        let (max, max_physical) = (rest.try_get_i64().ok()?, rest.try_get_i64().ok()?);
        ends.push(KnownEnd { topic, queue_id, max, max_physical });
    }
    Some(ends)
}

const MAGIC: &[u8; 8] = b"apgends1";
const HEAD: usize = MAGIC.len() + 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_come_back_and_damage_is_nothing() {
        let end = |topic: &str, queue_id| KnownEnd { topic: topic.to_owned(), queue_id, max: 7, max_physical: 900 };
        let ends = [end("T", 0), end("%LMQ%\u{e9}", 3)];
        let content = encode(&ends);
        assert_eq!(decode(&content).unwrap(), ends);
        assert_eq!(decode(&encode(&[])).unwrap(), []);
        for at in 0..content.len() {
            let mut damaged = content.clone();
            damaged[at] ^= 4;
            assert_eq!(decode(&damaged), None, "{at}");
            assert_eq!(decode(&content[..at]), None, "{at}");
        }
    }
}
