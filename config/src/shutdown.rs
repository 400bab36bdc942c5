//! Leaving: the signals that ask a server to stop, and the line that says why it could not start.

use std::error::Error;
use std::fmt::Write as _;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for SIGTERM or SIGINT. From its installation on neither signal kills the process, so install it before there is
/// anything to lose.
#[derive(Debug)]
pub struct ShutdownSignal {
    terminate: Signal,
    interrupt: Signal,
}

impl ShutdownSignal {
    /// Takes over both signals; to be called within a tokio runtime.
    pub fn install() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Completes when either signal has come since the last call; gives its name.
    pub async fn wait(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// Prints why the program cannot go on, as one line on standard error, and ends the process with status 1.
pub fn fail(program: &str, error: &dyn Error) -> ! {
    eprintln!("{program}: {}", one_line(error));
    std::process::exit(1)
}

/// An error and its sources in one line. A source that the text before it already ends with is not repeated.
pub fn one_line(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let text = error.to_string();
        if !line.ends_with(&text) {
            // Writing to a String cannot fail.
            let _ = write!(line, ": {text}");
        }
        source = error.source();
    }
    line.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};

    #[tokio::test]
    async fn completes_on_either_signal() {
        let mut shutdown = ShutdownSignal::install().unwrap();
        kill_process(getpid(), Signal::TERM).unwrap();
        assert_eq!(shutdown.wait().await, "SIGTERM");
        kill_process(getpid(), Signal::INT).unwrap();
        assert_eq!(shutdown.wait().await, "SIGINT");
    }

    #[derive(Debug, thiserror::Error)]
    #[error("cannot start\nhere")]
    struct Outer {
        source: std::io::Error,
    }

    #[test]
    fn an_error_and_its_sources_are_one_line() {
        let error = Outer { source: std::io::Error::other("no room") };
        assert_eq!(one_line(&error), "cannot start here: no room");
        let error = crate::properties::read_file(std::path::Path::new("/nowhere")).unwrap_err();
        assert_eq!(one_line(&error), "/nowhere: No such file or directory (os error 2)");
    }
}
