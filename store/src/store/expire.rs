//! Deleting files whose time is over, so that the disk does not fill.

use std::io;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use apogee_config::MessageStoreConfig;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Store;
use crate::index::IndexBuilder;
use crate::read::RecordSource;

/// What a round of expiry goes by, besides the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpiryRound {
    /// Now, ms since the epoch.
    pub now: i64,
    /// How full the disk is, see [`Store::used_percent`].
    pub used_percent: Option<i32>,
    /// Whether an administrator asks for it: then it need not be the hour of `deleteWhen`.
    pub by_hand: bool,
}

/// How many files a round deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// Files of the commit log.
    pub log: usize,
    /// Files of consume queues.
    pub queues: usize,
    /// Files of the index.
    pub index: usize,
}

impl Store {
    /// Deletes old files of the log, oldest first and at most `deleteFileBatchMax`, then files of queues and index that
    /// lead to nothing any more. Waits `deleteCommitLogFilesInterval` between two files.
    ///
    /// Files go that were last written `fileReservedTime` hours ago, in the hours of `deleteWhen`, when the disk is
    /// fuller than `diskMaxUsedSpaceRatio`, or by hand. Above `diskSpaceCleanForciblyRatio` they go whatever their age.
    /// The last file stays, and so does what is not synced or not dispatched. A closed store deletes nothing.
    ///
    /// # Errors
    /// A file cannot be read or removed. What went before it is gone; the next round goes on.
    pub fn expire(&self, config: &MessageStoreConfig, round: ExpiryRound) -> io::Result<Expired> {
        let mut cleared = self.cleared.lock();
        let mut expired = Expired::default();
        let log = match Policy::of(config, round, &TimeZone::system()) {
            Some(policy) => self.expire_log(config, policy, &mut expired.log),
            None => Ok(()),
        };
        let min = self.log.min_offset();
        if min > *cleared && !self.is_closed() {
            // one that cannot be cleaned does not keep the others from it
            let queues = self.queues.delete_expired(min);
            let index = self
                .threads
                .lock()
                .as_ref()
                .and_then(|threads| threads.index.as_ref().map(IndexBuilder::table).cloned());
            if let Some(index) = index {
                expired.index = index.delete_expired(min)?;
            }
            expired.queues = queues?;
            *cleared = min;
        }
        log.map(|()| expired)
    }

    /// Deletes files of queues that lead to nothing any more, and says how many.
    ///
    /// # Errors
    /// A file cannot be read or removed.
    pub fn expire_queues(&self) -> io::Result<usize> {
        self.queues.delete_expired(self.log.min_offset())
    }

    fn expire_log(&self, config: &MessageStoreConfig, policy: Policy, deleted: &mut usize) -> io::Result<()> {
        let pause = Duration::from_millis(config.delete_commit_log_files_interval.max(0) as u64);
        let most = config.delete_file_batch_max.max(1) as usize;
        while *deleted < most && !self.is_closed() {
            if *deleted > 0 && !pause.is_zero() {
                // many blocks freed at once would hold up those who write
                thread::sleep(pause);
            }
            if !self.log.delete_first(self.dispatch.position(), policy.written_by)? {
                break;
            }
            *deleted += 1;
        }
        Ok(())
    }

    fn is_closed(&self) -> bool {
        self.threads.lock().is_none()
    }
}

/// Which files go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Policy {
    /// Those last written until then; all when it is None.
    written_by: Option<SystemTime>,
}

impl Policy {
    /// None when nothing is to go now. The bounds of the ratios are the reference's.
    fn of(config: &MessageStoreConfig, round: ExpiryRound, zone: &TimeZone) -> Option<Self> {
        let above = |level: i32| round.used_percent.is_some_and(|used| used > level);
        let is_tight = above(config.disk_space_clean_forcibly_ratio.clamp(30, 85))
            || above(config.disk_space_warning_level_ratio.clamp(35, 90));
        if is_tight && config.clean_file_forcibly_enable {
            return Some(Self { written_by: None });
        }
        let is_due = round.by_hand
            || is_tight
            || above(config.disk_max_used_space_ratio.clamp(10, 95))
            || is_hour(&config.delete_when, round.now, zone);
        let reserved = i64::from(config.file_reserved_time.max(0)) * MS_PER_HOUR;
        let written_by = UNIX_EPOCH + Duration::from_millis(u64::try_from(round.now - reserved).unwrap_or(0));
        is_due.then_some(Self { written_by: Some(written_by) })
    }
}

/// Whether it is one of the hours of `deleteWhen`, as in `04` or `01;02`. What is no number is no hour.
fn is_hour(delete_when: &str, now: i64, zone: &TimeZone) -> bool {
    let Ok(now) = Timestamp::from_millisecond(now) else { return false };
    let hour = zone.to_datetime(now).hour();
    delete_when.split(';').any(|when| when.trim().parse() == Ok(hour))
}

const MS_PER_HOUR: i64 = 3_600_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// 04:30 on the second day of the epoch.
    const HALF_PAST_FOUR: i64 = 28 * MS_PER_HOUR + MS_PER_HOUR / 2;

    #[test]
    fn hours_are_read_as_operators_write_them() {
        for (text, expected) in
            [("04", true), ("4", true), ("01;04", true), ("03;05", false), ("", false), ("x;4", true)]
        {
            assert_eq!(is_hour(text, HALF_PAST_FOUR, &TimeZone::UTC), expected, "{text}");
        }
    }

    #[test]
    fn files_go_by_hour_by_space_and_by_hand() {
        let config = MessageStoreConfig { file_reserved_time: 2, ..MessageStoreConfig::default() };
        let policy = |hours: i64, used_percent, by_hand| {
            let now = HALF_PAST_FOUR + hours * MS_PER_HOUR;
            Policy::of(&config, ExpiryRound { now, used_percent, by_hand }, &TimeZone::UTC)
        };
        let two_hours_before = |hours: i64| {
            let ms = HALF_PAST_FOUR + (hours - 2) * MS_PER_HOUR;
            Some(Policy { written_by: Some(UNIX_EPOCH + Duration::from_millis(ms as u64)) })
        };
        assert_eq!(policy(0, None, false), two_hours_before(0));
        assert_eq!(policy(1, None, false), None);
        assert_eq!(policy(1, Some(75), false), None);
        assert_eq!(policy(1, Some(76), false), two_hours_before(1));
        assert_eq!(policy(1, Some(10), true), two_hours_before(1));
        assert_eq!(policy(1, Some(86), false), Some(Policy { written_by: None }));
        let gentle = MessageStoreConfig { clean_file_forcibly_enable: false, ..config.clone() };
        let round = ExpiryRound { now: HALF_PAST_FOUR + MS_PER_HOUR, used_percent: Some(99), by_hand: false };
        assert_eq!(Policy::of(&gentle, round, &TimeZone::UTC), two_hours_before(1));
    }
}
