//! Everything a name server is configured with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::namesrv_config::NamesrvConfig;
use crate::netty_client_config::NettyClientConfig;
use crate::netty_server_config::NettyServerConfig;
use crate::server_settings::{LoadError, Loaded, ServerSettings, check_range};
use crate::settings::{SettingError, Settings};

/// The port of a name server whose file does not name one.
pub const NAMESRV_PORT: i32 = 9876;

/// A name server's configuration, one struct per class of the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct NamesrvSettings {
    /// What the name server does.
    pub namesrv: NamesrvConfig,
    /// How it listens.
    pub server: NettyServerConfig,
    /// How it calls brokers. The reference fills it from the file and does not list it.
    pub client: NettyClientConfig,
    /// Keys of the file that neither of the listed classes knows.
    pub unknown: BTreeMap<String, String>,
}

impl Default for NamesrvSettings {
    fn default() -> Self {
        Self {
            namesrv: NamesrvConfig::default(),
            server: NettyServerConfig { listen_port: NAMESRV_PORT, ..Default::default() },
            client: NettyClientConfig::default(),
            unknown: BTreeMap::new(),
        }
    }
}

impl NamesrvSettings {
    /// Reads the file (`-c`) and checks everything. The file becomes the one that an update rewrites.
    pub fn load(file: Option<&Path>) -> Result<Loaded<Self>, LoadError> {
        let mut settings = Self::default();
        let mut notices = Vec::new();
        if let Some(file) = file {
            notices = settings.apply_file(file)?;
            settings.namesrv.config_store_path = file.to_string_lossy().into_owned();
        }
        settings.check().map_err(LoadError::Check)?;
        Ok(Loaded { settings, notices })
    }
}

impl ServerSettings for NamesrvSettings {
    fn parts(&self) -> Vec<&dyn Settings> {
        vec![&self.namesrv, &self.server]
    }

    fn parts_mut(&mut self) -> Vec<&mut dyn Settings> {
        vec![&mut self.namesrv, &mut self.server]
    }

    fn unlisted(&self) -> Vec<&dyn Settings> {
        vec![&self.client]
    }

    fn unlisted_mut(&mut self) -> Vec<&mut dyn Settings> {
        vec![&mut self.client]
    }

    fn extra(&self) -> &BTreeMap<String, String> {
        &self.unknown
    }

    fn extra_mut(&mut self) -> &mut BTreeMap<String, String> {
        &mut self.unknown
    }

    fn file(&self) -> PathBuf {
        PathBuf::from(&self.namesrv.config_store_path)
    }

    fn black_list(&self) -> &str {
        &self.namesrv.config_black_list
    }

    fn check(&self) -> Result<(), SettingError> {
        check_range(&self.server, &[("listenPort", 0, 65_535)])?;
        check_range(&self.namesrv, &[("scanNotActiveBrokerInterval", 1, i64::MAX)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_server_without_a_file() {
        let settings = NamesrvSettings::load(None).unwrap().settings;
        assert_eq!(settings.server.listen_port, 9876);
        assert!(settings.file().ends_with("namesrv/namesrv.properties"));
        assert_eq!(settings.entries().len() + missing_values(&settings), 22 + 18);
    }

    /// `rocketmqHome` has a value only where the environment gives one.
    fn missing_values(settings: &NamesrvSettings) -> usize {
        usize::from(settings.namesrv.rocketmq_home.is_none())
    }

    #[test]
    fn a_file_is_read_and_becomes_the_one_to_rewrite() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("namesrv.conf");
        std::fs::write(&file, "listenPort=19876\nclientWorkerThreads=2\nclusterTest=true\nmine=1\n").unwrap();
        let loaded = NamesrvSettings::load(Some(&file)).unwrap();
        let settings = loaded.settings;
        assert_eq!((settings.server.listen_port, settings.client.client_worker_threads), (19876, 2));
        assert!(settings.namesrv.cluster_test);
        assert_eq!(settings.file(), file);
        assert_eq!(loaded.notices.len(), 1);
        let text = settings.text();
        assert!(text.contains("\nclientWorkerThreads=2\n") && text.contains("\nmine=1\n"));
        assert!(!text.contains("clientAsyncSemaphoreValue"), "a class that is not listed");
        assert!(settings.lines(false).iter().any(|line| line == "clientAsyncSemaphoreValue=65535"));
    }
}
