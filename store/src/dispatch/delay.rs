//! Delay levels: how long a message of SCHEDULE_TOPIC_XXXX waits.

use std::fmt;
use std::sync::LazyLock;

use apogee_remoting::message::java_hash;
use apogee_remoting::message::properties::{Name, key};

use crate::read::record::RecordFields;

/// Delays in ms, level 1 first (messageDelayLevel).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayLevels(Vec<i64>);

/// A table of delay levels that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` in messageDelayLevel is no delay: a number with s, m, h or d behind it")]
pub struct InvalidDelay(String);

impl DelayLevels {
    /// Reads a table such as `1s 5s 10s 1m 1h`.
    ///
    /// # Errors
    /// A part is no number with a unit.
    pub fn parse(text: &str) -> Result<Self, InvalidDelay> {
        text.split_ascii_whitespace()
            .map(|part| {
                let invalid = || InvalidDelay(part.to_owned());
                let unit = match part.chars().last() {
                    Some('s') => 1000,
                    Some('m') => 60_000,
                    Some('h') => 3_600_000,
                    Some('d') => 86_400_000,
                    _ => return Err(invalid()),
                };
                let number: i64 = part[..part.len() - 1].parse().map_err(|_| invalid())?;
                number.checked_mul(unit).ok_or_else(invalid)
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Number of levels.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Delay of a level in ms, for levels from 1; a level above the last one is the last one.
    pub fn delay(&self, level: i32) -> Option<i64> {
        let level = usize::try_from(level).ok()?.min(self.0.len());
        self.0.get(level.checked_sub(1)?).copied()
    }

    /// Gives a level from 1 on another delay, ms. Levels before it that are not there yet get the same.
    pub fn set(&mut self, level: i32, delay: i64) {
        let Some(n) = usize::try_from(level).ok().and_then(|level| level.checked_sub(1)) else { return };
        if n < MOST_LEVELS {
            self.0.resize(self.0.len().max(n + 1), delay);
            self.0[n] = delay;
        }
    }

    /// What the unit of a record has as tags code in a queue without an extension: the hash of its tags, in
    /// SCHEDULE_TOPIC_XXXX the time of delivery, ms.
    pub fn tags_code(&self, record: &RecordFields<'_>) -> i64 {
        if record.topic == SCHEDULE_TOPIC
            && let Some(level) = record.properties.get_number(key::DELAY)
            && level > 0
        {
            // a level without a delay waits a second, as in the reference
            return record.store_timestamp + self.delay(level).unwrap_or(1000);
        }
        java_hash::tags_code(record.properties.find(&TAGS))
    }
}

/// As messageDelayLevel.
impl fmt::Display for DelayLevels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|delay| write!(f, "{}s ", delay / 1000))
    }
}

impl Default for DelayLevels {
    /// The reference's eighteen.
    fn default() -> Self {
        let minutes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 60, 120].map(|m| m * 60_000);
        Self([1000, 5000, 10_000, 30_000].into_iter().chain(minutes).collect())
    }
}

/// More than anybody configures.
const MOST_LEVELS: usize = 1000;

static TAGS: LazyLock<Name> = LazyLock::new(|| Name::new(b"TAGS\x01"));

pub(super) const SCHEDULE_TOPIC: &str = "SCHEDULE_TOPIC_XXXX";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_references() {
        let text = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h";
        assert_eq!(DelayLevels::parse(text), Ok(DelayLevels::default()));
        assert_eq!(DelayLevels::default().count(), 18);
    }

    #[test]
    fn levels_are_capped() {
        let levels = DelayLevels::parse("1s 1d").unwrap();
        let delays: Vec<_> = [-1, 0, 1, 2, 25].map(|level| levels.delay(level)).to_vec();
        assert_eq!(delays, [None, None, Some(1000), Some(86_400_000), Some(86_400_000)]);
        assert_eq!(DelayLevels::parse("").unwrap().delay(1), None);
        for bad in ["1", "s", "1x", "9223372036854775807d", "1é"] {
            assert!(DelayLevels::parse(bad).is_err(), "{bad}");
        }
    }
}
