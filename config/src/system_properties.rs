//! Keys of the file that are system properties in the reference (`-D` in `JAVA_OPT`), which has no keys for them.

use crate::settings::SettingError;

/// A property that is a whole number.
#[derive(Debug)]
pub struct SystemProperty {
    /// Its name in the reference, and the key here.
    pub(crate) name: &'static str,
    least: i64,
    most: i64,
}

/// The largest frame that is taken from a peer, bytes with its length word. The least is what frames of ordinary requests stay
/// below.
pub(crate) const FRAME_MAX_LENGTH: SystemProperty =
    SystemProperty { name: "com.rocketmq.remoting.frameMaxLength", least: 4096, most: i32::MAX as i64 };

/// How long a lock of a queue holds that is not renewed, ms.
pub(crate) const LOCK_MAX_LIVE_TIME: SystemProperty =
    SystemProperty { name: "rocketmq.broker.rebalance.lockMaxLiveTime", least: 0, most: i64::MAX };

impl SystemProperty {
    /// The text of a value that fits.
    pub(crate) fn checked(&self, value: &str) -> Result<String, SettingError> {
        let value = value.trim();
        if value.parse().is_ok_and(|number: i64| (self.least..=self.most).contains(&number)) {
            return Ok(value.to_owned());
        }
        let expected = format!("a whole number from {} to {}", self.least, self.most);
        Err(SettingError::Value { key: self.name.to_owned(), value: value.to_owned(), expected })
    }
}
