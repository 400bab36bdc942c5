//! What both servers share as processes: `.properties` files, typed configuration, the command line, logs, signals and
//! state files.
//!
//! One struct per configuration class of the reference ([`BrokerConfig`], [`MessageStoreConfig`], [`NamesrvConfig`],
//! [`NettyServerConfig`], [`NettyClientConfig`]) holds the same keys with the same defaults; [`BrokerSettings`] and
//! [`NamesrvSettings`] put together the ones a server has. This crate knows nothing of the wire.
#![forbid(unsafe_code)]

#[macro_use]
mod settings;

mod broker_config;
mod broker_settings;
pub mod command_line;
pub mod defaults;
pub mod descriptors;
mod local_address;
pub mod logging;
mod message_store_config;
mod namesrv_config;
mod namesrv_settings;
mod nearest;
mod netty_client_config;
mod netty_server_config;
mod other_keys;
pub mod properties;
mod server_settings;
pub mod shutdown;
pub mod state_file;
mod system_properties;
mod update;

pub use broker_config::{BrokerConfig, MessageRequestMode, MetricsExporterType};
pub use broker_settings::{BROKER_PORT, BrokerSettings};
pub use local_address::local_address;
pub use message_store_config::{BrokerRole, FlushDiskType, MessageStoreConfig};
pub use namesrv_config::NamesrvConfig;
pub use namesrv_settings::{NAMESRV_PORT, NamesrvSettings};
pub use netty_client_config::NettyClientConfig;
pub use netty_server_config::NettyServerConfig;
pub use server_settings::{LoadError, Loaded, Notice, ServerSettings};
pub use settings::{Key, SettingError, SettingValue, Settings};
pub use system_properties::SystemProperty;
pub use update::{Update, UpdateError, update};
