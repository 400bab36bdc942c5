//! Sending the log to a slave.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use apogee_store::{FileStretch, Store, Stretch};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout_at};

use super::listen::Lost;
use super::slaves::Slave;
use crate::protocol::Transfer;
use crate::{CurrentOptions, Options};

/// One slave's stream. It holds no more of the log than the transfer under way, however slow the slave is.
pub(super) struct Sender<'a> {
    pub(super) store: &'a Store,
    pub(super) options: &'a CurrentOptions,
    pub(super) slave: &'a Slave,
    pub(super) stream: &'a Arc<TcpStream>,
}

impl Sender<'_> {
    /// Sends the log from `position` on, until the slave is lost.
    pub(super) async fn run(self, mut position: i64) -> Result<(), Lost> {
        let mut last = Instant::now();
        let mut has_sent = false;
        loop {
            let Options { heartbeat, batch, bytes_per_second, is_urgent, .. } = self.options.get();
            if let Some(wait) = bytes_per_second.and_then(|limit| self.slave.rate.wait(limit)) {
                sleep(wait).await;
                continue;
            }
            let batch = bytes_per_second.map_or(batch, |limit| batch.min(limit as usize));
            let stretch = self.store.log_stretch(position, batch).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => Lost::FellBehind(position),
                _ => Lost::Io(error),
            })?;
            if let Some(stretch) = stretch {
                let head = Transfer { offset: position, size: stretch.len() as i32 };
                position += stretch.len() as i64;
                self.slave.sending(position);
                self.send(head, stretch).await?;
                (last, has_sent) = (Instant::now(), true);
            } else if has_sent && !is_urgent {
                // Under load, appends would wake this task for nearly every message.
                sleep(NAP).await;
                has_sent = false;
            } else if timeout_at(last + heartbeat, self.store.log_grown(position)).await.is_err() {
                self.write(Transfer { offset: position, size: 0 }, &[]).await?;
                last = Instant::now();
            }
        }
    }

    async fn send(&self, head: Transfer, stretch: Stretch) -> io::Result<()> {
        match stretch {
            Stretch::Mapped(body) => self.write(head, &body).await,
            Stretch::File(file) => {
                self.write(head, &[]).await?;
                self.send_file(file).await
            }
        }
    }

    /// Writes a head and the body behind it in as few calls as the socket allows.
    async fn write(&self, head: Transfer, body: &[u8]) -> io::Result<()> {
        let head = head.encode();
        let mut parts = [IoSlice::new(&head), IoSlice::new(body)];
        let mut parts = &mut parts[..];
        let mut left = head.len() + body.len();
        while left > 0 {
            self.stream.writable().await?;
            match self.stream.try_write_vectored(parts) {
                Ok(written) => {
                    self.slave.rate.add(written);
                    left -= written;
                    IoSlice::advance_slices(&mut parts, written);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends bytes that may have to come from the disk, on a thread that may wait for it.
    async fn send_file(&self, mut file: FileStretch) -> io::Result<()> {
        while file.left() > 0 {
            self.stream.writable().await?;
            let stream = Arc::clone(self.stream);
            let sending = spawn_blocking(move || {
                let sent = stream.try_io(Interest::WRITABLE, || file.send_to(&*stream));
                (file, sent)
            });
            let (rest, sent) = sending.await.map_err(io::Error::other)?;
            file = rest;
            match sent {
                Ok(sent) => self.slave.rate.add(sent),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// How long new messages are gathered when nobody waits for the slaves; as the store's dispatcher.
const NAP: Duration = Duration::from_millis(1);
