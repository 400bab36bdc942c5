//! What the brokers of a test's process log.

use std::io::{self, Write};
use std::sync::Once;

use parking_lot::Mutex;

static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(&mut *LOG.lock(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// From now on it is kept.
pub fn keep() {
    static KEPT: Once = Once::new();
    KEPT.call_once(|| tracing_subscriber::fmt().with_writer(|| Log).with_ansi(false).init());
}

/// What was logged so far.
pub fn text() -> String {
    String::from_utf8_lossy(&LOG.lock()).into_owned()
}

/// How many lines say `what`.
pub fn count(what: &str) -> usize {
    text().lines().filter(|line| line.contains(what)).count()
}
