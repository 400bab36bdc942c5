//! Making one connection.

use std::io;
use std::sync::Arc;

use tokio::net::{TcpStream, lookup_host};

use super::{CallError, ClientOptions, Peer};
use crate::connection::{Connection, Limits, Stream};
use crate::server::Service;

/// Connects to `address` (`host:port`) and starts the connection's task; the server's own requests go to `service`.
pub(super) async fn connect<S: Service + ?Sized>(
    address: &str,
    options: &ClientOptions,
    service: Arc<S>,
) -> Result<Arc<Peer>, CallError> {
    let failed = |reason: String| CallError::Connect { address: address.to_owned(), reason };
    let socket = match tokio::time::timeout(options.connect_timeout, open(address)).await {
        Ok(Ok(socket)) => socket,
        Ok(Err(error)) => return Err(failed(error.to_string())),
        Err(_) => return Err(failed(format!("no answer within {:?}", options.connect_timeout))),
    };
    let remote = socket.peer_addr().map_err(|error| failed(error.to_string()))?;
    let peer = Peer::new(remote, &options.connection);
    let limits = Limits::new(usize::MAX, usize::MAX);
    let options = Arc::new(options.connection.clone());
    tokio::spawn(Connection::new(Stream::connected(socket), Arc::clone(&peer), service, options, limits));
    Ok(peer)
}

async fn open(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for candidate in lookup_host(address).await? {
        match TcpStream::connect(candidate).await {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}
