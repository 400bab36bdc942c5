//! How far a timer wheel is, as 56 bytes in the file `timercheck` (which the reference makes a page long) and in answers to
//! GET_TIMER_CHECK_POINT (60). All numbers are 8 bytes, big endian:
//!
//! | at | |
//! |---|---|
//! | 0 | time up to which messages are delivered, ms |
//! | 8 | position up to which the wheel's log is on disk |
//! | 16 | offset in the wheel's queue up to which messages are in the wheel |
//! | 24 | the same of the master |
//! | 32 | version: state, time in ms, counter |

use apogee_remoting::protocol::data_version::DataVersion;

/// How far a wheel is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CheckPoint {
    /// Messages are delivered up to this time, ms.
    pub(crate) last_read: i64,
    /// The wheel's log is on disk up to this position.
    pub(crate) log_flushed: i64,
    /// Messages of the wheel's queue before this offset are in the wheel.
    pub(crate) queue_offset: i64,
    /// The same of the master.
    pub(crate) master_queue_offset: i64,
    /// Version of all that.
    pub(crate) version: DataVersion,
}

impl CheckPoint {
    /// Reads what a file or an answer holds; one from before 5.0 has no version.
    ///
    /// # Errors
    /// It is too short.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let number = |n: usize| bytes.get(n * 8..)?.first_chunk().map(|number| i64::from_be_bytes(*number));
        let all = || Some([number(0)?, number(1)?, number(2)?, number(3)?]);
        let [last_read, log_flushed, queue_offset, master_queue_offset] = all().ok_or("shorter than a check point")?;
        let version = DataVersion {
            state_version: number(4).unwrap_or(0),
            timestamp: number(5).unwrap_or(0),
            counter: number(6).unwrap_or(0),
        };
        Ok(Self { last_read, log_flushed, queue_offset, master_queue_offset, version })
    }

    /// The same as bytes.
    pub(crate) fn encode(self) -> [u8; 56] {
        let Self { last_read, log_flushed, queue_offset, master_queue_offset, version } = self;
        let DataVersion { state_version, timestamp, counter } = version;
        let numbers = [last_read, log_flushed, queue_offset, master_queue_offset, state_version, timestamp, counter];
        let mut bytes = [0; 56];
        for (into, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            into.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let version = DataVersion { state_version: 5, timestamp: 6, counter: -7 };
        let point =
            CheckPoint { last_read: 1, log_flushed: 2, queue_offset: 3, master_queue_offset: i64::MAX, version };
        assert_eq!(CheckPoint::parse(&point.encode()), Ok(point));
        // as the reference leaves it
        let mut page = point.encode().to_vec();
        page.resize(4096, 0);
        assert_eq!(CheckPoint::parse(&page), Ok(point));
        assert_eq!(CheckPoint::parse(&page[..32]), Ok(CheckPoint { version: DataVersion::default(), ..point }));
        assert!(CheckPoint::parse(&page[..31]).is_err());
    }
}
