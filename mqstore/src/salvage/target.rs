//! The log of the new store.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use apogee_remoting::message::record::{BLANK_HEAD, MAGIC_BLANK};

use super::filler;
use crate::error::{Error, at};
use crate::log::LogFiles;

/// Writes the files of a log, one behind another.
pub(super) struct Target<'a> {
    directory: &'a Path,
    source: &'a LogFiles,
    /// The one being written.
    file: Option<(i64, PathBuf, File)>,
}

impl<'a> Target<'a> {
    /// A log in an empty directory, with files as the source has.
    pub(super) fn new(directory: &'a Path, source: &'a LogFiles) -> Self {
        Self { directory, source, file: None }
    }

    /// Writes bytes at a physical offset; they are all in one file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&mut self, place: i64, bytes: &[u8]) -> Result<(), Error> {
        let start = self.source.next_start(place) - self.source.file_size() as i64;
        let (_, path, file) = match self.file.take() {
            Some(open) if open.0 == start => self.file.insert(open),
            _ => {
                let path = self.directory.join(format!("{start:020}"));
                let file = File::create_new(&path).map_err(at(&path))?;
                file.set_len(self.source.file_size() as u64).map_err(at(&path))?;
                self.file.insert((start, path, file))
            }
        };
        file.write_all_at(bytes, (place - start) as u64).map_err(at(path))
    }

    /// Closes a file from a place on.
    ///
    /// # Errors
    /// As [`Target::write`], or less than a blank is left.
    pub(super) fn blank(&mut self, place: i64) -> Result<(), Error> {
        let left = self.source.left_in_file(place);
        if left < BLANK_HEAD {
            return Err(Error::refused(format!("{place}: {left} bytes at the end of a file cannot be passed over")));
        }
        let mut head = [0; BLANK_HEAD];
        head[..4].copy_from_slice(&(left as u32).to_be_bytes());
        head[4..].copy_from_slice(&MAGIC_BLANK.to_be_bytes());
        self.write(place, &head)
    }

    /// Lets readers pass from one place to another; `time` is what the records in between are said to be stored at.
    ///
    /// # Errors
    /// As [`Target::write`], or too few bytes are between the two for a record.
    pub(super) fn fill(&mut self, mut from: i64, to: i64, time: i64) -> Result<(), Error> {
        while self.source.next_start(from) <= to && from < to {
            self.blank(from)?;
            from = self.source.next_start(from);
        }
        while from < to {
            let left = (to - from) as usize;
            let Some(size) = filler::part(left) else {
                return Err(Error::refused(format!(
                    "{from}: {left} damaged bytes are too few for a record in their place"
                )));
            };
            self.write(from, &filler::record(size, from, time))?;
            from += size as i64;
        }
        Ok(())
    }
}
