//! Everything a broker is configured with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::broker_config::BrokerConfig;
use crate::defaults::below_home;
use crate::message_store_config::{BrokerRole, MessageStoreConfig};
use crate::netty_client_config::NettyClientConfig;
use crate::netty_server_config::NettyServerConfig;
use crate::server_settings::{LoadError, Loaded, ServerSettings, check_addresses, check_range};
use crate::settings::{SettingError, Settings};
use crate::system_properties::{FRAME_MAX_LENGTH, LOCK_MAX_LIVE_TIME, SystemProperty};

/// The port of a broker whose file does not name one.
pub const BROKER_PORT: i32 = 10911;

/// A broker's configuration, one struct per class of the reference. Cheap to read: a snapshot that a request may hold;
/// a change at run time makes a new one.
#[derive(Debug, Clone, PartialEq)]
pub struct BrokerSettings {
    /// What the broker is and does.
    pub broker: BrokerConfig,
    /// How it listens.
    pub server: NettyServerConfig,
    /// How it calls others.
    pub client: NettyClientConfig,
    /// How it keeps messages.
    pub store: MessageStoreConfig,
    /// Keys of the file that no class knows.
    pub unknown: BTreeMap<String, String>,
    /// The file given on the command line.
    pub config_file: Option<PathBuf>,
}

impl Default for BrokerSettings {
    /// What a broker without a file runs with, as the reference's start-up sets it.
    fn default() -> Self {
        let mut settings = Self::before_file();
        settings.derive();
        settings
    }
}

impl BrokerSettings {
    /// Reads the file (`-c`), takes the name servers of the command line (`-n`), checks everything and derives what
    /// depends on it.
    pub fn load(file: Option<&Path>, namesrv_addr: Option<&str>) -> Result<Loaded<Self>, LoadError> {
        let mut settings = Self::before_file();
        settings.config_file = file.map(Path::to_owned);
        let notices = match file {
            Some(file) => settings.apply_file(file)?,
            None => Vec::new(),
        };
        if let Some(addresses) = namesrv_addr {
            settings.broker.namesrv_addr = Some(addresses.to_owned());
        }
        settings.check().map_err(LoadError::Check)?;
        settings.derive();
        Ok(Loaded { settings, notices })
    }

    /// How long a lock of a queue holds that is not renewed (`rocketmq.broker.rebalance.lockMaxLiveTime`, ms); `None` where the file
    /// does not say. The reference has a system property of this name and no key.
    pub fn lock_max_live_time(&self) -> Option<Duration> {
        self.unknown.get(LOCK_MAX_LIVE_TIME.name)?.parse().ok().map(Duration::from_millis)
    }

    fn before_file() -> Self {
        Self {
            broker: BrokerConfig::default(),
            server: NettyServerConfig { listen_port: BROKER_PORT, ..Default::default() },
            client: NettyClientConfig::default(),
            store: MessageStoreConfig { ha_listen_port: 0, ..Default::default() },
            unknown: BTreeMap::new(),
            config_file: None,
        }
    }
}

impl ServerSettings for BrokerSettings {
    fn parts(&self) -> Vec<&dyn Settings> {
        vec![&self.broker, &self.server, &self.client, &self.store]
    }

    fn parts_mut(&mut self) -> Vec<&mut dyn Settings> {
        vec![&mut self.broker, &mut self.server, &mut self.client, &mut self.store]
    }

    fn extra(&self) -> &BTreeMap<String, String> {
        &self.unknown
    }

    fn extra_mut(&mut self) -> &mut BTreeMap<String, String> {
        &mut self.unknown
    }

    fn file(&self) -> PathBuf {
        self.config_file.clone().unwrap_or_else(|| PathBuf::from(below_home("store/config/broker.properties")))
    }

    fn black_list(&self) -> &str {
        &self.broker.config_black_list
    }

    fn system_properties(&self) -> &'static [SystemProperty] {
        &[FRAME_MAX_LENGTH, LOCK_MAX_LIVE_TIME]
    }

    fn check(&self) -> Result<(), SettingError> {
        check_range(&self.server, &[("listenPort", 0, 65_535)])?;
        check_range(&self.broker, &BROKER_RANGES)?;
        check_range(&self.store, &STORE_RANGES)?;
        if let Some(addresses) = &self.broker.namesrv_addr {
            check_addresses("namesrvAddr", addresses)?;
        }
        let is_slave = self.store.broker_role == BrokerRole::Slave && !self.broker.enable_controller_mode;
        if is_slave && self.broker.broker_id <= 0 {
            return Err(SettingError::Value {
                key: "brokerId".to_owned(),
                value: self.broker.broker_id.to_string(),
                expected: "a number above 0 for a slave".to_owned(),
            });
        }
        for (key, value) in
            [("brokerName", &self.broker.broker_name), ("storePathRootDir", &self.store.store_path_root_dir)]
        {
            if value.is_empty() {
                let expected = "a text that is not empty".to_owned();
                return Err(SettingError::Value { key: key.to_owned(), value: value.clone(), expected });
            }
        }
        Ok(())
    }

    /// What the reference's start-up derives: a master's id is 0, the replication port is the next one.
    fn derive(&mut self) {
        if !self.broker.enable_controller_mode && self.store.broker_role != BrokerRole::Slave {
            self.broker.broker_id = 0;
        }
        if self.store.ha_listen_port <= 0 {
            self.store.ha_listen_port = self.server.listen_port + 1;
        }
    }
}

const INT_MAX: i64 = i32::MAX as i64;

/// Permission bits are 4 read, 2 write, 1 inherit.
const BROKER_RANGES: [(&str, i64, i64); 4] = [
    ("brokerPermission", 0, 7),
    ("defaultTopicQueueNums", 1, INT_MAX),
    ("registerNameServerPeriod", 1, INT_MAX),
    ("flushConsumerOffsetInterval", 1, INT_MAX),
];

const STORE_RANGES: [(&str, i64, i64); 9] = [
    ("haListenPort", 0, 65_535),
    ("mappedFileSizeCommitLog", 1, INT_MAX),
    ("mappedFileSizeConsumeQueue", 20, INT_MAX),
    ("maxMessageSize", 1, INT_MAX),
    ("flushIntervalCommitLog", 1, INT_MAX),
    ("flushIntervalConsumeQueue", 1, INT_MAX),
    ("syncFlushTimeout", 1, INT_MAX),
    ("maxHashSlotNum", 1, INT_MAX),
    ("maxIndexNum", 1, INT_MAX),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Loaded<BrokerSettings>, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("broker.conf");
        std::fs::write(&file, text).unwrap();
        let loaded = BrokerSettings::load(Some(&file), None);
        loaded.map_err(|error| error.to_string().replace(folder.path().to_str().unwrap(), ""))
    }

    #[test]
    fn a_broker_without_a_file() {
        let settings = BrokerSettings::load(None, Some("127.0.0.1:9876;b:1")).unwrap().settings;
        assert_eq!(settings.server.listen_port, 10911);
        assert_eq!(settings.store.ha_listen_port, 10912);
        assert_eq!(settings.broker.namesrv_addr.as_deref(), Some("127.0.0.1:9876;b:1"));
        assert!(settings.file().ends_with("store/config/broker.properties"));
    }

    #[test]
    fn a_file_sets_every_class_that_knows_a_key() {
        let text = "brokerName=b\nlistenPort=10931\nwriteBufferHighWaterMark=7\nbrokerRole=SYNC_MASTER\nbrokerId=4\n";
        let settings = load(text).unwrap().settings;
        assert_eq!((settings.broker.listen_port, settings.server.listen_port), (10931, 10931));
        assert_eq!(
            (settings.server.write_buffer_high_water_mark, settings.client.write_buffer_high_water_mark),
            (7, 7)
        );
        assert_eq!(settings.store.ha_listen_port, 10932);
        assert_eq!(settings.broker.broker_id, 0, "a master's");
        assert_eq!(settings.store.broker_role, BrokerRole::SyncMaster);
    }

    #[test]
    fn unknown_keys_are_reported_and_kept() {
        let loaded =
            load("autoCreateTopicEnabled=true\nmy.own=1\nauthenticationEnabled=true\nisBrokerContainer=true\n")
                .unwrap();
        let notices: Vec<_> = loaded.notices.iter().map(ToString::to_string).collect();
        assert_eq!(
            notices,
            [
                "line 1: autoCreateTopicEnabled is not known and has no effect; is autoCreateTopicEnable meant?",
                "line 2: my.own is not known and has no effect",
                "line 3: authenticationEnabled has no effect here",
                "line 4: isBrokerContainer cannot be changed",
            ]
        );
        assert_eq!(loaded.settings.get("my.own").as_deref(), Some("1"));
        assert!(loaded.settings.text().contains("\nmy.own=1\n"));
    }

    /// A system property of the reference, whose files may hold it as any unknown key.
    #[test]
    fn the_largest_frame_is_a_key_of_the_file() {
        assert_eq!(load("").unwrap().settings.frame_max_length(), None);
        let loaded = load("com.rocketmq.remoting.frameMaxLength = 33554432\n").unwrap();
        assert_eq!(loaded.settings.frame_max_length(), Some(32 << 20));
        assert_eq!(loaded.notices, []);
        assert!(loaded.settings.text().contains("\ncom.rocketmq.remoting.frameMaxLength=33554432\n"));
        for value in ["16M", "", "0", "4095", "2147483648", "-1"] {
            assert_eq!(
                load(&format!("com.rocketmq.remoting.frameMaxLength={value}")).unwrap_err(),
                format!(
                    "/broker.conf: line 1: com.rocketmq.remoting.frameMaxLength={value}: a whole number from 4096 to \
                     2147483647 is expected"
                )
            );
        }
    }

    /// As above, of the broker alone.
    #[test]
    fn the_lifetime_of_locks_is_a_key_of_the_file() {
        assert_eq!(load("").unwrap().settings.lock_max_live_time(), None);
        let loaded = load("rocketmq.broker.rebalance.lockMaxLiveTime=2000\n").unwrap();
        assert_eq!(loaded.settings.lock_max_live_time(), Some(Duration::from_secs(2)));
        assert_eq!(loaded.notices, []);
        for value in ["1m", "", "-1"] {
            let error = load(&format!("rocketmq.broker.rebalance.lockMaxLiveTime={value}")).unwrap_err();
            assert!(error.ends_with("a whole number from 0 to 9223372036854775807 is expected"), "{error}");
        }
    }

    #[test]
    fn bad_lines_are_named() {
        for (text, error) in [
            (
                "a=1\nlistenPort=x",
                "/broker.conf: line 2: listenPort=x: a whole number from -2147483648 to 2147483647 is expected",
            ),
            ("listenPort=70000", "/broker.conf: line 1: listenPort=70000: a whole number from 0 to 65535 is expected"),
            (
                "maxMessageSize=0",
                "/broker.conf: line 1: maxMessageSize=0: a whole number from 1 to 2147483647 is expected",
            ),
            (
                "brokerRole=MASTER",
                "/broker.conf: line 1: brokerRole=MASTER: one of ASYNC_MASTER SYNC_MASTER SLAVE is expected",
            ),
            ("brokerRole=SLAVE", "brokerId=0: a number above 0 for a slave is expected"),
            (
                "namesrvAddr=localhost",
                "/broker.conf: line 1: namesrvAddr=localhost: addresses such as 127.0.0.1:9876;192.168.0.1:9876 is expected",
            ),
            ("a=\\u1", "/broker.conf: line 1: \\u1 is not \\u and four hexadecimal digits"),
        ] {
            assert_eq!(load(text).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn the_listing_is_sorted_and_reads_back() {
        let settings = load("listenPort=10931\nz=1\nbrokerName=b").unwrap().settings;
        let text = settings.text();
        let keys: Vec<_> = text.lines().map(|line| line.split('=').next().unwrap()).collect();
        assert!(keys.is_sorted());
        assert!(text.contains("\nlistenPort=10931\n") && text.contains("\nbrokerIP1="));
        assert_eq!(load(&text).unwrap().settings.text(), text);
    }
}
