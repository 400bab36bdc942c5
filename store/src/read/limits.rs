//! How much one read may return.

use std::ops::AddAssign;

/// Limits of a read by queue offset; the keys' names are the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// maxTransferCountOnMessageInMemory: messages, while they are likely in memory.
    pub count_in_memory: usize,
    /// maxTransferBytesOnMessageInMemory.
    pub bytes_in_memory: usize,
    /// maxTransferCountOnMessageInDisk: messages, when they likely come from disk.
    pub count_on_disk: usize,
    /// maxTransferBytesOnMessageInDisk.
    pub bytes_on_disk: usize,
    /// maxFilterMessageSize: bytes of consume queue units looked at for one read, 20 each.
    pub filter_bytes: usize,
    /// How far behind the end of the log a record counts as in memory: accessMessageInMemoryMaxRatio percent of the
    /// memory this process may use, in bytes.
    pub memory_distance: i64,
    /// Whether next offsets are corrected: not on a slave, unless offsetCheckInSlave.
    pub correct_next_offset: bool,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self {
            count_in_memory: 32,
            bytes_in_memory: 256 * 1024,
            count_on_disk: 8,
            bytes_on_disk: 64 * 1024,
            filter_bytes: 16000,
            memory_distance: i64::MAX,
            correct_next_offset: true,
        }
    }
}

impl ReadLimits {
    /// Whether a record with `more` messages no longer fits a read that `has` some. The first always fits. A batch fits
    /// where one message does, except where the reader asked for less.
    pub(super) fn full(&self, asked: &Amount, has: Amount, more: Amount, in_memory: bool) -> bool {
        if has.count == 0 {
            return false;
        }
        let (most_messages, most_bytes) = if in_memory {
            (self.count_in_memory, self.bytes_in_memory)
        } else {
            (self.count_on_disk, self.bytes_on_disk)
        };
        has.count + more.count > asked.count
            || has.count + 1 > most_messages
            || has.bytes + more.bytes > asked.bytes.min(most_bytes)
    }
}

/// Messages and their bytes: asked for, within what may be asked, or there.
#[derive(Clone, Copy, Default)]
pub(super) struct Amount {
    pub(super) count: usize,
    pub(super) bytes: usize,
}

impl AddAssign for Amount {
    fn add_assign(&mut self, more: Self) {
        self.count += more.count;
        self.bytes += more.bytes;
    }
}
