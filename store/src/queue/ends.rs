//! The file `queueEnds`: how far each queue was on disk at the last look, and which topics were deleted. It shows at the next start
//! what is no longer there: units that were lost, and queues whose files are gone; and what must not come back. The
//! reference does not know it.
//!
//! `apgends1`, then the CRC32 of all that follows (4 bytes), then the number of deleted topics (4) and for each of them:
//! length of the topic 2, topic, end of the log at that time 8; then for each queue: length of the topic 2, topic, queue
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

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Topics that were deleted, each with the end of the log at that time: records before it are of its former life.
    pub deleted: Vec<(String, i64)>,
    /// How far queues were.
    pub ends: Vec<KnownEnd>,
}

/// The file.
#[derive(Debug)]
pub struct KnownEnds {
    path: PathBuf,
    /// Checksum of what is in it; `None` when that is not known.
    written: Option<u32>,
}

impl KnownEnds {
    /// The file of the store in `root`, and what it says of a log that ends at `log_end`: one that lost its end has
    /// nothing from behind a later deletion.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn open(root: &Path, log_end: i64) -> io::Result<(Self, Known)> {
        let path = root.join("queueEnds");
        let content = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            content => content.map_err(named(&path))?,
        };
        let mut known = decode(&content).unwrap_or_else(|| {
            if !content.is_empty() {
                warn!(path = %path.display(), "the file is damaged: units that queues lost are not noticed");
            }
            Known::default()
        });
        for (_, end) in &mut known.deleted {
            *end = log_end.min(*end);
        }
        Ok((Self { path, written: None }, known))
    }

    /// Writes down how far the queues are on disk and what was deleted, unless that is what stands there. Where that fails,
    /// what queues lose until the next time is not noticed.
    pub fn note(&mut self, queues: &QueueTable) {
        let known = Known { deleted: queues.deleted(), ends: queues.durable_ends() };
        if let Err(error) = self.write(&known) {
            warn!(%error, "how far the queues are on disk is not written down");
        }
    }

    /// Forgets how far the queues are, for they are about to be removed or made again; `deleted` alone is kept.
    ///
    /// # Errors
    /// It may still stand there.
    pub fn forget(&mut self, deleted: Vec<(String, i64)>) -> io::Result<()> {
        self.write(&Known { deleted, ends: Vec::new() })
    }

    fn write(&mut self, known: &Known) -> io::Result<()> {
        let content = encode(known);
        let sum = crc32fast::hash(&content);
        if self.written == Some(sum) {
            return Ok(());
        }
        self.written = None;
        let temporary = self.path.with_extension("tmp");
        let written = File::create(&temporary).and_then(|file| {
            write_all_at(&file, &content, 0)?;
            sync(&file)
        });
        written.and_then(|()| fs::rename(&temporary, &self.path)).map_err(named(&self.path))?;
        self.path.parent().map_or(Ok(()), sync_directory)?;
        self.written = Some(sum);
        Ok(())
    }
}

fn encode(known: &Known) -> Vec<u8> {
    let mut content = MAGIC.to_vec();
    content.put_u32(0);
    let put_topic = |content: &mut Vec<u8>, topic: &str| {
        content.put_u16(topic.len() as u16);
        content.put_slice(topic.as_bytes());
    };
    content.put_u32(known.deleted.len() as u32);
    for (topic, log_end) in &known.deleted {
        put_topic(&mut content, topic);
        content.put_i64(*log_end);
    }
    for end in &known.ends {
        put_topic(&mut content, &end.topic);
        content.put_i32(end.queue_id);
        content.put_i64(end.max);
        content.put_i64(end.max_physical);
    }
    let crc = crc32fast::hash(&content[HEAD..]);
    content[MAGIC.len()..HEAD].copy_from_slice(&crc.to_be_bytes());
    content
}

fn decode(content: &[u8]) -> Option<Known> {
    let mut rest = content.strip_prefix(MAGIC)?;
    let crc = rest.try_get_u32().ok()?;
    if crc != crc32fast::hash(rest) {
        return None;
    }
    let mut known = Known::default();
    for _ in 0..rest.try_get_u32().ok()? {
        known.deleted.push((topic(&mut rest)?, rest.try_get_i64().ok()?));
    }
    while !rest.is_empty() {
        let (topic, queue_id) = (topic(&mut rest)?, rest.try_get_i32().ok()?);
        let (max, max_physical) = (rest.try_get_i64().ok()?, rest.try_get_i64().ok()?);
        known.ends.push(KnownEnd { topic, queue_id, max, max_physical });
    }
    Some(known)
}

fn topic(rest: &mut &[u8]) -> Option<String> {
    let length = usize::from(rest.try_get_u16().ok()?);
    let (topic, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(std::str::from_utf8(topic).ok()?.to_owned())
}

const MAGIC: &[u8; 8] = b"apgends1";
const HEAD: usize = MAGIC.len() + 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_comes_back_and_damage_is_nothing() {
        let end = |topic: &str, queue_id| KnownEnd { topic: topic.to_owned(), queue_id, max: 7, max_physical: 900 };
        let deleted = vec![("gone".to_owned(), 800)];
        let known = Known { deleted, ends: vec![end("T", 0), end("%LMQ%\u{e9}", 3)] };
        let content = encode(&known);
        assert_eq!(decode(&content).unwrap(), known);
        assert_eq!(decode(&encode(&Known::default())).unwrap(), Known::default());
        for at in 0..content.len() {
            let mut damaged = content.clone();
            damaged[at] ^= 4;
            assert_eq!(decode(&damaged), None, "{at}");
            assert_eq!(decode(&content[..at]), None, "{at}");
        }
    }
}
