//! A log file that makes room for a new one when it is full.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Appends to `NAME.log`. When it is full it becomes `NAME.1.log`, that one `NAME.2.log`, and so on; the oldest goes.
#[derive(Debug)]
pub(super) struct RotatingFile {
    path: PathBuf,
    file: File,
    written: u64,
    limit: u64,
    kept: usize,
}

impl RotatingFile {
    /// Opens or creates the file and its directory. `limit` is in bytes; `kept` full files are kept beside it.
    pub(super) fn open(path: &Path, limit: u64, kept: usize) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let file = append_to(path)?;
        let written = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, written, limit, kept })
    }

    fn rotate(&mut self) -> io::Result<()> {
        for age in (1..self.kept).rev() {
            rename_if_there(&self.aged(age), &self.aged(age + 1))?;
        }
        rename_if_there(&self.path, &self.aged(1))?;
        self.file = append_to(&self.path)?;
        self.written = 0;
        Ok(())
    }

    fn aged(&self, age: usize) -> PathBuf {
        self.path.with_extension(format!("{age}.log"))
    }
}

impl Write for RotatingFile {
    /// One call is one line: lines are not split between files.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.written > 0 && self.written + line.len() as u64 > self.limit {
            // A file that cannot be moved goes on growing; no line is lost for it.
            if self.rotate().is_err() {
                self.written = 0;
            }
        }
        let count = self.file.write(line)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_makes_room_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/broker.log");
        let mut log = RotatingFile::open(&path, 10, 2).unwrap();
        for line in ["one 45\n", "two 4\n", "three\n", "four\n"] {
            log.write_all(line.as_bytes()).unwrap();
        }
        let content = |name: &str| fs::read_to_string(folder.path().join("logs").join(name)).ok();
        assert_eq!(content("broker.log").as_deref(), Some("four\n"));
        assert_eq!(content("broker.1.log").as_deref(), Some("three\n"));
        assert_eq!(content("broker.2.log").as_deref(), Some("two 4\n"));
        assert_eq!(content("broker.3.log"), None);
    }

    #[test]
    fn goes_on_with_the_file_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("namesrv.log");
        fs::write(&path, "before\n").unwrap();
        let mut log = RotatingFile::open(&path, 20, 2).unwrap();
        log.write_all(b"after\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\nafter\n");
        log.write_all(b"a line of its own\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a line of its own\n");
    }
}
