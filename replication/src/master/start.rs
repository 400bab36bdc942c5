//! Where a slave's copy of the log goes on.

use thiserror::Error;

/// A slave whose log does not fit the master's. It is not served: what it would get does not follow what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Misfit {
    /// It has more than the master.
    #[error(
        "the slave's log ends at {asked}, and this master's at {max}: the master lost messages that the slave has. Make \
         the slave the master, or empty its store"
    )]
    Ahead {
        /// Physical offset of the slave's end.
        asked: i64,
        /// Physical offset of the master's end.
        max: i64,
    },
    /// What it needs is deleted.
    #[error(
        "the slave's log ends at {asked}, and this master's begins at {min}: what is between them is deleted. Empty the \
         slave's store, or copy the master's to it"
    )]
    Behind {
        /// Physical offset of the slave's end.
        asked: i64,
        /// Physical offset of the master's first byte.
        min: i64,
    },
}

/// The physical offset from which a slave is served whose log ends at `asked`, by a log from `min` to `max` in files of
/// `file_size` bytes. A slave that has nothing begins with the last file (trap 21).
pub(super) fn start(asked: i64, min: i64, max: i64, file_size: i64) -> Result<i64, Misfit> {
    match asked {
        0 => Ok((max - max.rem_euclid(file_size)).max(min)),
        _ if asked > max => Err(Misfit::Ahead { asked, max }),
        _ if asked < min => Err(Misfit::Behind { asked, min }),
        _ => Ok(asked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slave_goes_on_where_its_log_ends() {
        assert_eq!(start(300, 200, 350, 100), Ok(300));
        assert_eq!(start(350, 200, 350, 100), Ok(350));
        assert_eq!(start(200, 200, 350, 100), Ok(200));
        assert_eq!(start(351, 200, 350, 100), Err(Misfit::Ahead { asked: 351, max: 350 }));
        assert_eq!(start(199, 200, 350, 100), Err(Misfit::Behind { asked: 199, min: 200 }));
    }

    #[test]
    fn one_that_has_nothing_begins_with_the_last_file() {
        assert_eq!(start(0, 200, 350, 100), Ok(300));
        assert_eq!(start(0, 0, 0, 100), Ok(0));
        assert_eq!(start(0, 200, 400, 100), Ok(400), "the next file is not there yet");
    }
}
