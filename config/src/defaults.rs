//! Defaults that depend on the machine or the environment.

use std::path::PathBuf;

/// A path below the home directory (`user.home` of the reference; the root directory where there is none), as text.
pub fn below_home(path: &str) -> String {
    let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
    home.join(path).to_string_lossy().into_owned()
}

/// The processors this process may use, at least 1 (`availableProcessors` of the reference).
pub fn cores() -> i32 {
    std::thread::available_parallelism().map_or(1, |cores| i32::try_from(cores.get()).unwrap_or(i32::MAX))
}

/// The host's name, for `brokerName`; `DEFAULT_BROKER` where the host has none.
pub fn broker_name() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if host.is_empty() { "DEFAULT_BROKER".to_owned() } else { host }
}

/// `rocketmqHome`: environment `ROCKETMQ_HOME`.
pub fn rocketmq_home() -> Option<String> {
    std::env::var("ROCKETMQ_HOME").ok()
}

/// `namesrvAddr`: environment `NAMESRV_ADDR`, addresses separated by `;`.
pub fn namesrv_addr() -> Option<String> {
    std::env::var("NAMESRV_ADDR").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_value() {
        assert!(cores() >= 1);
        assert!(!broker_name().is_empty());
        assert!(below_home("store").ends_with("/store"));
    }
}
