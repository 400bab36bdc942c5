//! Binding, accepting, shutting down.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::task::{Id, JoinError, JoinSet};

use super::{Peer, ServerOptions, Service};
use crate::connection::{Connection, Limits, Phase, Stream};

/// A bound port that does not accept yet.
pub struct Server {
    listener: TcpListener,
    local: SocketAddr,
    options: ServerOptions,
}

/// The port could not be bound.
#[derive(Debug, Error)]
#[error("cannot listen on {address}: {source}")]
pub struct BindError {
    /// What was to be bound, as configured.
    pub address: String,
    /// The system's reason.
    #[source]
    pub source: io::Error,
}

impl Server {
    /// Binds `address` (`host:port`; port 0: a free one).
    ///
    /// # Errors
    /// The name does not resolve, the port is in use or not ours to take.
    pub async fn bind(address: &str, options: ServerOptions) -> Result<Self, BindError> {
        let failed = |source| BindError { address: address.to_owned(), source };
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for candidate in lookup_host(address).await.map_err(failed)? {
            let bound = listen(candidate, &options).and_then(|listener| Ok((listener.local_addr()?, listener)));
            match bound {
                Ok((local, listener)) => return Ok(Self { listener, local, options }),
                Err(error) => last = error,
            }
        }
        Err(failed(last))
    }

    /// Where this listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Accepts and serves until `shutdown` ends; then answers what is in hand within
    /// [`ServerOptions::shutdown_grace`] and closes. Dropping the future closes everything at once.
    pub async fn run<S: Service + ?Sized>(self, service: Arc<S>, shutdown: impl Future<Output = ()>) {
        let Self { listener, options, .. } = self;
        let mut connections = Connections::new(service, options);
        let mut shutdown = pin!(shutdown);
        let mut pause = FIRST_PAUSE;
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(ended) = connections.tasks.join_next_with_id() => connections.forget(&ended),
                accepted = listener.accept() => match accepted {
                    Ok((socket, address)) => {
                        pause = FIRST_PAUSE;
                        connections.serve(socket, address);
                    }
                    Err(error) if concerns_one_connection(&error) => {}
                    Err(error) => {
                        // Out of descriptors or memory: those who are connected go on meanwhile.
                        tracing::warn!(%error, ?pause, "cannot accept connections, trying again");
                        tokio::select! {
                            () = &mut shutdown => break,
                            () = tokio::time::sleep(pause) => {}
                        }
                        pause = (pause * 2).min(LAST_PAUSE);
                    }
                },
            }
        }
        drop(listener);
        connections.close().await;
    }
}

fn listen(address: SocketAddr, options: &ServerOptions) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    if options.send_buffer > 0 {
        socket.set_send_buffer_size(options.send_buffer)?;
    }
    if options.receive_buffer > 0 {
        socket.set_recv_buffer_size(options.receive_buffer)?;
    }
    socket.bind(address)?;
    socket.listen(options.backlog)
}

/// Whether only the connection that was to be accepted is lost.
fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// The tasks of all connections.
struct Connections<S: Service + ?Sized> {
    service: Arc<S>,
    options: ServerOptions,
    per_connection: Arc<crate::connection::ConnectionOptions>,
    limits: Arc<Limits>,
    tasks: JoinSet<()>,
    peers: HashMap<Id, Arc<Peer>>,
    /// The limit was reached and said so, and no connection was taken since.
    full: bool,
}

impl<S: Service + ?Sized> Connections<S> {
    fn new(service: Arc<S>, options: ServerOptions) -> Self {
        Self {
            service,
            per_connection: Arc::new(options.connection.clone()),
            limits: Limits::new(options.max_requests_in_flight, options.max_bytes_in_flight),
            options,
            tasks: JoinSet::new(),
            peers: HashMap::new(),
            full: false,
        }
    }

    fn serve(&mut self, socket: TcpStream, address: SocketAddr) {
        let max = self.options.max_connections;
        if self.peers.len() >= max {
            if !std::mem::replace(&mut self.full, true) {
                tracing::warn!(peer = %address, max, "connection refused: the limit of connections is reached");
            }
            return;
        }
        self.full = false;
        if let Err(error) = socket.set_nodelay(true) {
            tracing::debug!(peer = %address, "connection lost before it was served: {error}");
            return;
        }
        let peer = Peer::new(address, &self.per_connection);
        let connection = Connection::new(
            Stream::accepted(socket),
            Arc::clone(&peer),
            Arc::clone(&self.service),
            Arc::clone(&self.per_connection),
            Arc::clone(&self.limits),
        );
        let task = self.tasks.spawn(connection);
        self.peers.insert(task.id(), peer);
    }

    fn forget(&mut self, ended: &Result<(Id, ()), JoinError>) {
        let id = match ended {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        self.peers.remove(&id);
    }

    async fn close(mut self) {
        self.peers.values().for_each(|peer| peer.advance(Phase::Draining));
        let drained = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(self.options.shutdown_grace, drained).await.is_err() {
            self.peers.values().for_each(|peer| peer.close());
            let closed = async { while self.tasks.join_next().await.is_some() {} };
            let _ = tokio::time::timeout(LAST_WRITE, closed).await;
        }
        self.tasks.shutdown().await;
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LAST_PAUSE: Duration = Duration::from_secs(1);
/// For writing what is queued once the grace is over.
const LAST_WRITE: Duration = Duration::from_millis(100);
