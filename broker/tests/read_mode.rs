//! How the commit log is read ahead (2004).

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod harness;

use std::fs;

use apogee_remoting::{Command, RequestCode, ResponseCode};
use harness::TestBroker;

fn set(mode: &str) -> Command {
    Command::request(RequestCode::SET_COMMITLOG_READ_MODE).with_field("READ_AHEAD_MODE", mode)
}

async fn shown(broker: &TestBroker) -> bool {
    let answer = broker.ok(Command::request(RequestCode::GET_BROKER_CONFIG)).await;
    let text = String::from_utf8(answer.body.bytes().to_vec()).unwrap();
    text.lines().find_map(|line| line.strip_prefix("dataReadAheadEnable=")).unwrap().parse().unwrap()
}

/// Whether a mapping of the commit log of this process is read at random, by the kernel's own flags.
fn is_random(broker: &TestBroker) -> bool {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let log = broker.store().join("commitlog").display().to_string();
    let of_log = maps.lines().skip_while(|line| !line.contains(&log));
    let flags = of_log.into_iter().find_map(|line| line.strip_prefix("VmFlags:")).unwrap();
    flags.split_whitespace().any(|flag| flag == "rr")
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_switched_and_shown_and_holds_until_the_next_start() {
    let broker = TestBroker::start().await;
    broker.send("T", 0, "m").await;
    assert!(shown(&broker).await && !is_random(&broker));
    for (mode, read_ahead) in [("1", false), ("1", false), ("0", true), ("1", false)] {
        let answer = broker.ok(set(mode)).await;
        let remark = format!("set commitlog readahead mode success, mode: {mode}");
        assert_eq!(answer.remark.as_deref(), Some(&*remark));
        assert_eq!((shown(&broker).await, is_random(&broker)), (read_ahead, !read_ahead));
    }
    for (request, code, remark) in [
        (set("2"), ResponseCode::INVALID_PARAMETER, "set commitlog readahead mode param value error"),
        (set("x"), ResponseCode::SYSTEM_ERROR, "set commitlog readahead mode failed"),
        (
            Command::request(RequestCode::SET_COMMITLOG_READ_MODE),
            ResponseCode::SYSTEM_ERROR,
            "set commitlog readahead mode param error",
        ),
    ] {
        let answer = broker.call(request).await;
        assert_eq!((answer.response_code(), answer.remark.as_deref()), (code, Some(remark)));
    }
    assert!(is_random(&broker));
    let broker = broker.restart().await;
    assert!(shown(&broker).await && !is_random(&broker));
    let broker = broker.restart_with(|settings| settings.store.data_read_ahead_enable = false).await;
    broker.send("T", 0, "m").await;
    assert!(!shown(&broker).await && is_random(&broker));
    broker.stop().await;
}
