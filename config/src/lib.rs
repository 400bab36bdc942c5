//! What both servers share as processes: `.properties` files, typed configuration, the command line, logs, signals and
//! state files.
//!
//! One struct per configuration class of the reference ([`BrokerConfig`], [`MessageStoreConfig`], [`NamesrvConfig`],
//! [`NettyServerConfig`], [`NettyClientConfig`]) holds the same keys with the same defaults. This crate knows nothing of the wire.
#![forbid(unsafe_code)]

#[macro_use]
mod settings;

mod broker_config;
pub mod defaults;
mod local_address;
mod message_store_config;
mod namesrv_config;
mod netty_client_config;
mod netty_server_config;
pub mod properties;
pub mod shutdown;
pub mod state_file;

pub use broker_config::{BrokerConfig, MessageRequestMode, MetricsExporterType};
pub use local_address::local_address;
pub use message_store_config::{BrokerRole, FlushDiskType, MessageStoreConfig};
pub use namesrv_config::NamesrvConfig;
pub use netty_client_config::NettyClientConfig;
pub use netty_server_config::NettyServerConfig;
pub use settings::{Key, SettingError, SettingValue, Settings};
