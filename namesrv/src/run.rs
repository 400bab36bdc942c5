//! From a configuration to a listening server, and to its end.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use apogee_config::{NamesrvSettings, ServerSettings};
use apogee_remoting::Serialization;
use apogee_remoting::frame::DEFAULT_MAX_FRAME;
use apogee_remoting::server::{BindError, ConnectionOptions, Server, ServerOptions};
use thiserror::Error;

use crate::kv::KvError;
use crate::name_server::NameServer;
use crate::settings::RuntimeSettings;

/// A name server whose port is bound.
pub struct Listening {
    server: Server,
    name_server: Arc<NameServer>,
}

/// Why the server did not start. Each is one line that names what is wrong.
#[derive(Debug, Error)]
pub enum StartError {
    /// The key-value configuration is damaged.
    #[error(transparent)]
    Kv(#[from] KvError),
    /// The port is not to be had.
    #[error(transparent)]
    Bind(#[from] BindError),
}

impl Listening {
    /// Reads the stored state and binds the port; nobody is served before [`Listening::run`].
    ///
    /// # Errors
    /// The state is damaged or the port is not to be had; nothing has been changed then.
    pub async fn start(settings: NamesrvSettings, serialization: Serialization) -> Result<Self, StartError> {
        let listen = &settings.server;
        let address = format!("{}:{}", listen.bind_address, listen.listen_port);
        let server = Server::bind(&address, options(&settings, serialization)).await?;
        Ok(Self { server, name_server: Arc::new(NameServer::new(RuntimeSettings::new(settings))?) })
    }

    /// Where this listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.server.local_addr()
    }

    /// Serves until `shutdown` ends.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let scan = tokio::spawn(scan(Arc::clone(&self.name_server)));
        self.server.run(self.name_server, shutdown).await;
        scan.abort();
    }
}

/// Looks for silent brokers, as often as the setting says at the time.
async fn scan(name_server: Arc<NameServer>) {
    loop {
        let interval = name_server.settings.current().scan_not_active_broker_interval.clamp(1, MAX_INTERVAL);
        tokio::time::sleep(Duration::from_millis(interval.unsigned_abs())).await;
        name_server.remove_silent_brokers();
    }
}

/// What the reference's keys mean for this server; the counts of its threads and queues mean nothing here.
fn options(settings: &NamesrvSettings, serialization: Serialization) -> ServerOptions {
    let config = &settings.server;
    let size = |bytes: i32| u32::try_from(bytes).unwrap_or(0);
    ServerOptions {
        connection: ConnectionOptions {
            serialization,
            max_frame: settings.frame_max_length().unwrap_or(DEFAULT_MAX_FRAME),
            idle: Duration::from_secs(u64::try_from(config.server_channel_max_idle_time_seconds).unwrap_or(0)),
            ..ConnectionOptions::default()
        },
        backlog: u32::try_from(config.server_socket_backlog).unwrap_or(1024),
        send_buffer: size(config.server_socket_snd_buf_size),
        receive_buffer: size(config.server_socket_rcv_buf_size),
        ..ServerOptions::default()
    }
}

/// A day, in ms: an absurd interval shall still end.
const MAX_INTERVAL: i64 = 86_400_000;
