//! One connection to a master.

use std::io;
use std::time::Duration;

use apogee_store::{RawError, Store};
use bytes::{Buf, BytesMut};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::warn;

use super::{Fit, Status};
use crate::protocol::{Entries, NoRecord, Part, Transfer, TransferError, TransferReader, encode_report};
use crate::{CurrentOptions, Options};

/// Why a master is no longer followed.
#[derive(Debug, Error)]
pub enum Lost {
    /// This store's log is not the beginning of the master's, or that cannot be told.
    #[error("{0}")]
    Unfit(String),
    /// No connection came about.
    #[error("no connection in {} s", CONNECT.as_secs())]
    NoConnection,
    /// The master ended the connection.
    #[error("the master closed the connection; if it refuses this slave, its log says why")]
    Closed,
    /// Nothing came from it.
    #[error("the master said nothing for {} s (haHousekeepingInterval)", .0.as_secs_f32())]
    Silent(Duration),
    /// It sends another part of its log.
    #[error("the master sends its log from {sent} on, and this one ends at {end}")]
    Elsewhere {
        /// Physical offset of what it sends.
        sent: i64,
        /// Physical offset that would follow.
        end: i64,
    },
    /// What it sends does not continue this store's log.
    #[error("{0}: it does not continue this slave's. Empty this slave's store, or copy the master's to it")]
    NoRecord(#[from] NoRecord),
    /// It speaks otherwise.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// This store does not take what it sends.
    #[error(transparent)]
    Store(#[from] RawError),
    /// The connection broke.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A connection, and what came over it that is not in the log yet.
pub(super) struct Session<'a> {
    store: &'a Store,
    options: &'a CurrentOptions,
    status: &'a Status,
    stream: TcpStream,
    fit: Fit,
    reader: TransferReader,
    received: BytesMut,
    entries: Entries,
    /// Bytes of the master's log that begin at `place`: the beginning of an entry.
    pending: BytesMut,
    /// Physical offset of the next byte for the log.
    place: i64,
    /// What the master was told last, and when.
    reported: i64,
    last_written: Instant,
}

impl<'a> Session<'a> {
    /// Connects to the master at `address`.
    pub(super) async fn open(
        store: &'a Store,
        options: &'a CurrentOptions,
        status: &'a Status,
        address: &str,
        fit: Fit,
    ) -> Result<Self, Lost> {
        let stream = timeout(CONNECT, TcpStream::connect(address)).await.map_err(|_| Lost::NoConnection)??;
        stream.set_nodelay(true)?;
        // It is there, also when it has nothing to send for a while.
        status.note_read(0);
        Ok(Self {
            store,
            options,
            status,
            stream,
            fit,
            reader: TransferReader::default(),
            received: BytesMut::with_capacity(READ),
            entries: Entries::new(store.log_file_size()),
            pending: BytesMut::new(),
            place: store.max_physical_offset(),
            reported: store.max_physical_offset(),
            last_written: Instant::now(),
        })
    }

    /// Takes what the master sends until it is lost.
    pub(super) async fn run(mut self) -> Lost {
        match self.follow().await {
            Ok(never) => match never {},
            Err(lost) => lost,
        }
    }

    async fn follow(&mut self) -> Result<std::convert::Infallible, Lost> {
        self.report().await?;
        let mut last_read = Instant::now();
        loop {
            let Options { heartbeat, silence, .. } = self.options.get();
            tokio::select! {
                readable = self.stream.readable() => readable?,
                () = sleep_until(self.last_written + heartbeat) => {
                    self.report().await?;
                    continue;
                }
                () = sleep_until(last_read + silence) => return Err(Lost::Silent(silence)),
            }
            self.received.reserve(READ);
            match self.stream.try_read_buf(&mut self.received) {
                Ok(0) => return Err(Lost::Closed),
                Ok(length) => self.status.note_read(length),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error.into()),
            }
            last_read = Instant::now();
            self.take()?;
            let end = self.store.max_physical_offset();
            if end > self.reported {
                self.reported = end;
                self.report().await?;
            }
        }
    }

    /// Takes what was received apart, and appends what is whole.
    fn take(&mut self) -> Result<(), Lost> {
        while let Some(part) = self.reader.next(&mut self.received)? {
            match part {
                Part::Head(head) => self.begin(head)?,
                Part::Body(body) => self.pending.extend_from_slice(&body),
            }
        }
        loop {
            let whole = match self.entries.whole(self.place, &self.pending) {
                Ok(0) => return Ok(()),
                Ok(whole) => whole,
                Err(error) if self.fit == Fit::Unknown => return Err(error.into()),
                Err(error) => {
                    warn!(%error, "its bytes are taken as they are up to the end of their file");
                    self.entries.skip_file(self.place);
                    continue;
                }
            };
            self.store.append_raw(self.place, &self.pending[..whole])?;
            self.pending.advance(whole);
            self.place += whole as i64;
            // What follows on what fitted fits, too.
            self.fit = Fit::Proved;
        }
    }

    fn begin(&mut self, head: Transfer) -> Result<(), Lost> {
        if self.place == 0 && self.pending.is_empty() {
            // A log that is empty begins where the master says.
            self.place = head.offset;
        }
        let end = self.place + self.pending.len() as i64;
        if head.offset == end { Ok(()) } else { Err(Lost::Elsewhere { sent: head.offset, end }) }
    }

    /// Tells the master where this log ends.
    async fn report(&mut self) -> io::Result<()> {
        let report = encode_report(self.reported);
        let mut rest = &report[..];
        while !rest.is_empty() {
            self.stream.writable().await?;
            match self.stream.try_write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        self.last_written = Instant::now();
        self.status.note_written();
        Ok(())
    }
}

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(3);
/// Most bytes that are read at once.
const READ: usize = 256 << 10;
