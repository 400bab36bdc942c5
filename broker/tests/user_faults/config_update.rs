//! Configuration changed from afar.

use apogee_remoting::{RequestCode, ResponseCode};

use crate::harness::TestBroker;
use crate::request;

/// B38 (CVE-2023-33246, CVE-2023-37582, 7542): keys that name files and programs were changed over the wire, and with them
/// files were written and commands run.
#[tokio::test(flavor = "multi_thread")]
async fn b38_paths_and_programs_are_refused_and_a_mixed_update_is_refused_whole() {
    let mut file = None;
    let broker = TestBroker::start_with(|settings| {
        let path = settings.config_file.clone().unwrap();
        std::fs::write(&path, "flushIntervalCommitLog=500\n").unwrap();
        file = Some(path);
    })
    .await;
    let file = file.unwrap();
    let keys = [
        "configStorePath",
        "kvConfigPath",
        "rocketmqHome",
        "configBlackList",
        "filterServerNums",
        "brokerConfigPath",
        "storePathRootDir",
        "storePathCommitLog",
        "messageStorePlugIn",
    ];
    for key in keys {
        for text in [
            format!("{key}=/tmp/x"),
            format!("flushIntervalCommitLog=700\n{key}=/tmp/x\n"),
            format!("{key}=/tmp/x\nflushIntervalCommitLog=700\n"),
            format!(" {} : /tmp/x\nflushIntervalCommitLog=700", key.replacen('o', "\\u006f", 1)),
        ] {
            let answer = broker.call(request(RequestCode::UPDATE_BROKER_CONFIG, &[]).with_body(text.clone())).await;
            assert_eq!(answer.response_code(), ResponseCode::NO_PERMISSION, "{text}");
            assert!(answer.remark.unwrap().starts_with("Can not update config in black list."), "{text}");
            assert!(get(&broker).await.contains("flushIntervalCommitLog=500\n"), "{text}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "flushIntervalCommitLog=500\n", "{text}");
        }
    }
    assert!(!get(&broker).await.contains("/tmp/x"));
    broker.stop().await;
}

async fn get(broker: &TestBroker) -> String {
    let answer = broker.ok(request(RequestCode::GET_BROKER_CONFIG, &[])).await;
    String::from_utf8(answer.body.bytes().to_vec()).unwrap()
}
