//! What the log takes from the configuration.

use std::time::Duration;

use apogee_config::{FlushDiskType, MessageStoreConfig};

use super::directories::Directories;
use crate::clock::Clock;

/// Settings of a commit log; the names in the comments are the configuration's keys.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Where its files are.
    pub directories: Directories,
    /// Bytes of a file (mappedFileSizeCommitLog).
    pub file_size: usize,
    /// Records carry a checksum over all of themselves (enabledAppendPropCRC).
    pub property_crc: bool,
    /// Recovery wants that checksum in every record (forceVerifyPropCRC).
    pub require_property_crc: bool,
    /// What may change while the log is open.
    pub changeable: Changeable,
    /// The time stamps' clock.
    pub clock: Clock,
}

/// Settings that may change while the log is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changeable {
    /// Most bytes of a body (maxMessageSize).
    pub max_body_size: usize,
    /// Time between flushes nobody waits for (flushIntervalCommitLog).
    pub flush_interval: Duration,
    /// An append lets the flush thread look at once (wakeFlushWhenPutMessage, unless flushCommitLogTimed).
    pub wake_flush: bool,
    /// Pages of 4 KiB that make such a flush worth while (flushCommitLogLeastPages).
    pub flush_least_pages: usize,
    /// Every so often everything is flushed (flushCommitLogThoroughInterval).
    pub flush_thorough: Duration,
    /// Those who append wait until it is on disk (flushDiskType).
    pub synced: bool,
}

impl LogOptions {
    /// Takes the settings from a broker's configuration.
    pub fn from_config(config: &MessageStoreConfig) -> Self {
        Self {
            directories: Directories::from_config(config),
            file_size: usize::try_from(config.mapped_file_size_commit_log).unwrap_or(0),
            property_crc: config.enabled_append_prop_crc,
            require_property_crc: config.force_verify_prop_crc,
            changeable: Changeable::from_config(config),
            clock: Clock::System,
        }
    }
}

impl Changeable {
    /// Takes the settings from a broker's configuration.
    pub fn from_config(config: &MessageStoreConfig) -> Self {
        let ms = |ms: i32| Duration::from_millis(u64::try_from(ms).unwrap_or(0).max(1));
        Self {
            max_body_size: usize::try_from(config.max_message_size).unwrap_or(0),
            flush_interval: ms(config.flush_interval_commit_log),
            wake_flush: config.wake_flush_when_put_message && !config.flush_commit_log_timed,
            flush_least_pages: usize::try_from(config.flush_commit_log_least_pages).unwrap_or(0),
            flush_thorough: ms(config.flush_commit_log_thorough_interval),
            synced: config.flush_disk_type == FlushDiskType::SyncFlush,
        }
    }
}
