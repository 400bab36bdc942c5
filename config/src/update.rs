//! A change of the configuration at run time, asked for by a request (UPDATE_BROKER_CONFIG, UPDATE_NAMESRV_CONFIG).
//!
//! A request is applied as a whole or refused as a whole. It never changes where files are, which code runs, or what may
//! be changed: those keys have been used to run commands and write files (CVE-2023-33246, CVE-2023-37582).

use crate::properties::{self, SyntaxError};
use crate::server_settings::{Notice, ServerSettings};
use crate::settings::SettingError;
use crate::state_file::{StateFile, StateFileError};

/// A change that has been checked and written to the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Update<S> {
    /// The new configuration, to take the place of the present one.
    pub settings: S,
    /// The keys whose value is another now, sorted.
    pub changed: Vec<String>,
    /// Keys without effect, to be logged as warnings: the reference drops them and answers success.
    pub notices: Vec<Notice>,
}

/// Why a change was refused. The text is the remark of the answer.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The key may not be changed by a request.
    #[error("Can not update config in black list. {key} can only be changed in the file, by a restart")]
    BlackListed {
        /// The key.
        key: String,
    },
    /// The body is no properties text.
    #[error("string2Properties error: {0}")]
    Syntax(#[from] SyntaxError),
    /// A value does not fit its key.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The file could not be written.
    #[error(transparent)]
    Persist(#[from] StateFileError),
}

/// Applies the body of a request to a copy of the present configuration and writes the file: every key, sorted, the file
/// before it kept as `.bak`. Nothing is changed on an error. Two updates of one server must follow one another.
pub fn update<S: ServerSettings>(present: &S, body: &[u8]) -> Result<Update<S>, UpdateError> {
    let properties = properties::parse(body)?;
    if let Some(property) = properties.iter().find(|property| is_black_listed(present, &property.key)) {
        return Err(UpdateError::BlackListed { key: property.key.clone() });
    }
    let mut settings = present.clone();
    let mut notices = Vec::new();
    for property in &properties {
        if settings.set(&property.key, &property.value)? {
            continue;
        }
        notices.push(Notice::unknown(&settings, &property.key, property.line));
        if let Some(kept) = settings.extra_mut().get_mut(&property.key) {
            kept.clone_from(&property.value);
        }
    }
    settings.check()?;
    settings.derive();
    let (before, after) = (present.entries(), settings.entries());
    let changed = after.iter().filter(|(key, value)| before.get(*key) != Some(*value));
    let changed = changed.map(|(key, _)| key.clone()).collect();
    StateFile::new(settings.file()).write(settings.text())?;
    Ok(Update { settings, changed, notices })
}

/// The configured list, and whatever the list says: paths, code, and the list itself.
fn is_black_listed(settings: &impl ServerSettings, key: &str) -> bool {
    settings.black_list().split(';').any(|listed| listed.trim() == key)
        || NEVER.contains(&key)
        || key.to_ascii_lowercase().contains("path")
        || key.ends_with("Provider")
}

/// `messageStorePlugIn` names classes; `filterServerNums` made old brokers run a script below `rocketmqHome`.
const NEVER: [&str; 4] = ["configBlackList", "rocketmqHome", "messageStorePlugIn", "filterServerNums"];

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{BrokerSettings, NamesrvSettings};

    fn broker(folder: &tempfile::TempDir) -> BrokerSettings {
        let file = folder.path().join("broker.conf");
        fs::write(&file, "brokerName=b\nmine=1\n").unwrap();
        BrokerSettings::load(Some(&file), None).unwrap().settings
    }

    #[test]
    fn applies_and_rewrites_the_whole_file_with_a_backup() {
        let folder = tempfile::tempdir().unwrap();
        let present = broker(&folder);
        let done = update(&present, b"autoCreateTopicEnable=false\nbrokerPermission=4\nmine=2\nbrokerName=b").unwrap();
        assert!(!done.settings.broker.auto_create_topic_enable);
        assert_eq!(done.changed, ["autoCreateTopicEnable", "brokerPermission", "mine"]);
        assert!(present.broker.auto_create_topic_enable, "a copy");
        let text = fs::read_to_string(folder.path().join("broker.conf")).unwrap();
        assert_eq!(text, done.settings.text());
        assert!(text.contains("\nmine=2\n") && text.lines().count() > 450);
        assert_eq!(fs::read_to_string(folder.path().join("broker.conf.bak")).unwrap(), "brokerName=b\nmine=1\n");
        let again = BrokerSettings::load(Some(&folder.path().join("broker.conf")), None).unwrap().settings;
        assert_eq!(again.text(), text);
    }

    #[test]
    fn what_follows_from_other_keys_is_as_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let done = update(&broker(&folder), b"brokerId=3\nhaListenPort=0\nregionId=r").unwrap();
        assert_eq!((done.settings.broker.broker_id, done.settings.store.ha_listen_port), (0, 10_912));
        assert_eq!(done.changed, ["regionId"]);
        let again = BrokerSettings::load(Some(&folder.path().join("broker.conf")), None).unwrap().settings;
        assert_eq!(again.text(), done.settings.text());
    }

    #[test]
    fn an_unknown_key_is_dropped_with_a_notice() {
        let folder = tempfile::tempdir().unwrap();
        let done = update(&broker(&folder), b"autoCreateTopicEnabled=false").unwrap();
        assert_eq!(done.changed, [""; 0]);
        assert_eq!(done.notices.len(), 1);
        assert!(!done.settings.text().contains("autoCreateTopicEnabled"));
    }

    /// CVE-2023-33246, CVE-2023-37582: mixed requests are refused whole, the file stays as it was.
    #[test]
    fn paths_code_and_the_list_itself_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let present = broker(&folder);
        for key in [
            "brokerConfigPath",
            "rocketmqHome",
            "configBlackList",
            "configStorePath",
            "kvConfigPath",
            "filterServerNums",
            "storePathRootDir",
            "storePathCommitLog",
            "readOnlyCommitLogStorePaths",
            "messageStorePlugIn",
            "authenticationProvider",
        ] {
            let body = format!("brokerPermission=4\n{key}=/tmp/x\n");
            let remark = update(&present, body.as_bytes()).unwrap_err().to_string();
            assert!(remark.starts_with("Can not update config in black list."), "{remark}");
            assert!(remark.contains(key), "{remark}");
        }
        assert_eq!(fs::read_to_string(folder.path().join("broker.conf")).unwrap(), "brokerName=b\nmine=1\n");
        assert!(!folder.path().join("broker.conf.bak").exists());
    }

    #[test]
    fn the_configured_list_counts() {
        let folder = tempfile::tempdir().unwrap();
        let mut present = broker(&folder);
        present.broker.config_black_list = "brokerPermission; aclEnable".to_owned();
        for body in [&b"brokerPermission=4"[..], b"aclEnable=true"] {
            assert!(matches!(update(&present, body), Err(UpdateError::BlackListed { .. })));
        }
    }

    #[test]
    fn a_value_that_does_not_fit_refuses_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let present = broker(&folder);
        for (body, remark) in [
            (
                "traceOn=false\nbrokerPermission=x",
                "brokerPermission=x: a whole number from -2147483648 to 2147483647 is expected",
            ),
            ("brokerPermission=9", "brokerPermission=9: a whole number from 0 to 7 is expected"),
            ("isBrokerContainer=true", "isBrokerContainer=true: the key cannot be changed"),
            ("a=\\u1", "string2Properties error: line 1: \\u1 is not \\u and four hexadecimal digits"),
        ] {
            assert_eq!(update(&present, body.as_bytes()).unwrap_err().to_string(), remark);
        }
        assert_eq!(fs::read_to_string(folder.path().join("broker.conf")).unwrap(), "brokerName=b\nmine=1\n");
    }

    #[test]
    fn a_value_cannot_smuggle_in_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let done = update(&broker(&folder), b"regionId=x\\nrocketmqHome=/tmp/x").unwrap();
        let file = folder.path().join("broker.conf");
        let again = BrokerSettings::load(Some(&file), None).unwrap().settings;
        assert_eq!(again.broker.region_id, "x\nrocketmqHome=/tmp/x");
        assert_eq!(again.broker.rocketmq_home, done.settings.broker.rocketmq_home);
    }

    #[test]
    fn a_file_that_cannot_be_written_refuses() {
        let folder = tempfile::tempdir().unwrap();
        let mut present = broker(&folder);
        present.config_file = Some(folder.path().join("broker.conf/below-a-file"));
        let remark = update(&present, b"brokerPermission=4").unwrap_err().to_string();
        assert!(remark.starts_with("cannot write ") && remark.contains("below-a-file"), "{remark}");
    }

    #[test]
    fn a_name_server_creates_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut present = NamesrvSettings::default();
        present.namesrv.config_store_path = folder.path().join("new/namesrv.properties").to_string_lossy().into_owned();
        let done = update(&present, b"orderMessageEnable=true\n").unwrap();
        assert!(done.settings.namesrv.order_message_enable);
        assert_eq!(fs::read_to_string(done.settings.file()).unwrap(), done.settings.text());
        assert!(matches!(update(&present, b"kvConfigPath=/x"), Err(UpdateError::BlackListed { .. })));
    }
}
