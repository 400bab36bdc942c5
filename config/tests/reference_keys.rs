//! Every key of the reference's configuration classes is there, with its type, its default and its importance.

use apogee_config::{
    BrokerConfig, MessageStoreConfig, NamesrvConfig, NettyClientConfig, NettyServerConfig, Settings, defaults,
    local_address,
};

/// `class key default important-or-fixed`, tab-separated, from reflection on the classes of 5.5.0; defaults that
/// depend on the machine are words in angle brackets, `null` is no default.
const KEYS: &str = include_str!("data/reference_keys.tsv");

#[test]
fn keys_defaults_and_importance_are_the_references() {
    let classes: [&dyn Settings; 5] = [
        &BrokerConfig::default(),
        &MessageStoreConfig::default(),
        &NamesrvConfig::default(),
        &NettyServerConfig::default(),
        &NettyClientConfig::default(),
    ];
    let mut counted = 0;
    for line in KEYS.lines() {
        let [class, name, default, marks] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let settings = classes.iter().find(|settings| settings.class() == class).unwrap();
        let key = settings.keys().iter().find(|key| key.name == name).unwrap_or_else(|| panic!("{class} lacks {name}"));
        assert_eq!(key.important, marks.contains("important"), "{name}");
        assert_eq!(key.settable, !marks.contains("fixed"), "{name}");
        assert_eq!(settings.get(name), on_this_machine(name, default), "{class} {name}");
        counted += 1;
    }
    assert_eq!(counted, classes.iter().map(|settings| settings.keys().len()).sum::<usize>());
}

fn on_this_machine(name: &str, default: &str) -> Option<String> {
    let cores = defaults::cores();
    let text = match default {
        "null" if name == "rocketmqHome" => return std::env::var("ROCKETMQ_HOME").ok(),
        "null" if name == "namesrvAddr" => return std::env::var("NAMESRV_ADDR").ok(),
        "null" => return None,
        "<local address>" => local_address(),
        "<host name>" => defaults::broker_name(),
        "<cores>" => cores.to_string(),
        "min(<cores>, 4)" => cores.min(4).to_string(),
        "min(32, <cores>)" => cores.min(32).to_string(),
        "16 + <cores>*2" => (16 + cores * 2).to_string(),
        "8 + <cores>" => (8 + cores).to_string(),
        "max(8 + <cores>*2, <sendMessageThreadPoolNums>*4)" => (8 + cores * 2).max(cores.min(4) * 4).to_string(),
        _ => match default.strip_prefix("<user.home>/") {
            Some(path) => defaults::below_home(path),
            None => default.to_owned(),
        },
    };
    Some(text)
}
