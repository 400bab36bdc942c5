//! Taking slaves' connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::{error, info, warn};

use super::Master;
use super::reports::Reports;
use super::send::Sender;
use super::slaves::{NeverSent, Slaves};
use super::start::{Misfit, start};

/// Listens for slaves.
///
/// # Errors
/// The address is taken, or none of this host.
pub async fn bind(address: &str) -> io::Result<TcpListener> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("cannot listen for slaves on {address}: {error}"));
    TcpListener::bind(address).await.map_err(named)
}

/// Why a slave is no longer served.
#[derive(Debug, Error)]
pub(super) enum Lost {
    #[error("it closed the connection")]
    Closed,
    #[error("it said nothing for {} s (haHousekeepingInterval)", .0.as_secs_f32())]
    Silent(Duration),
    #[error("it fell behind the first file of the log: {0} is deleted")]
    FellBehind(i64),
    #[error(transparent)]
    Misfit(#[from] Misfit),
    #[error(transparent)]
    NeverSent(#[from] NeverSent),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Master {
    /// Serves whoever connects, for ever. Dropping it ends all connections.
    pub async fn run(self, listener: TcpListener) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, address)) => {
                        connections.spawn(self.clone().serve(stream, address));
                    }
                    Err(error) => {
                        warn!(%error, "a slave's connection is not taken");
                        sleep(PAUSE).await;
                    }
                },
                // A panic was reported by the panic hook.
                Some(_) = connections.join_next() => {}
            }
        }
    }

    async fn serve(self, stream: TcpStream, address: SocketAddr) {
        match self.feed(stream, address).await {
            Ok(()) => {}
            Err(error @ (Lost::Misfit(_) | Lost::NeverSent(_) | Lost::FellBehind(_))) => {
                error!(slave = %address, %error, "a slave is not served");
            }
            Err(error) => warn!(slave = %address, %error, "a slave is gone"),
        }
    }

    async fn feed(&self, stream: TcpStream, address: SocketAddr) -> Result<(), Lost> {
        stream.set_nodelay(true)?;
        let stream = Arc::new(stream);
        let mut reports = Reports::new(&stream, &self.options);
        let asked = reports.next().await?;
        let (min, max) = (self.store.min_physical_offset(), self.store.max_physical_offset());
        let from = start(asked, min, max, self.store.log_file_size())?;
        let joined = Slaves::join(&self.slaves, address, asked, from);
        info!(slave = %address, asked, from, max, "a slave is served");
        let sender = Sender { store: &self.store, options: &self.options, slave: &joined.slave, stream: &stream };
        tokio::try_join!(reports.take(&joined), sender.run(from)).map(|_| ())
    }
}

/// Between attempts to take a connection when there is no descriptor for it.
const PAUSE: Duration = Duration::from_millis(100);
