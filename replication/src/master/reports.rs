//! What a slave says.

use std::io;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::slaves::Joined;
use crate::CurrentOptions;
use crate::master::listen::Lost;
use crate::protocol::ReportReader;

/// The reports of one slave.
pub(super) struct Reports<'a> {
    stream: &'a TcpStream,
    reader: ReportReader,
    options: &'a CurrentOptions,
}

impl<'a> Reports<'a> {
    pub(super) fn new(stream: &'a TcpStream, options: &'a CurrentOptions) -> Self {
        Self { stream, reader: ReportReader::default(), options }
    }

    /// The last report of those that are there, when there is one.
    pub(super) async fn next(&mut self) -> Result<i64, Lost> {
        let silence = self.options.get().silence;
        timeout(silence, self.read()).await.map_err(|_| Lost::Silent(silence))?
    }

    async fn read(&mut self) -> Result<i64, Lost> {
        let mut bytes = [0; 512];
        loop {
            self.stream.readable().await?;
            match self.stream.try_read(&mut bytes) {
                Ok(0) => return Err(Lost::Closed),
                Ok(length) => {
                    if let Some(report) = self.reader.read(&bytes[..length]).last() {
                        return Ok(report);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Takes reports until the slave is lost.
    pub(super) async fn take(mut self, slave: &Joined) -> Result<(), Lost> {
        loop {
            slave.report(self.next().await?)?;
        }
    }
}
