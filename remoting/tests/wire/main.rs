//! Every captured frame of the reference's clients and servers, 4.3.0 to 5.5.0, goes through our codec and types.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers, too")]

mod capture;
mod check;
mod types;

use std::collections::{BTreeSet, HashMap};

use apogee_remoting::{Command, Serialization, frame};
use bytes::BytesMut;

use capture::Frame;

#[test]
fn frames_decode_and_are_written_back() {
    let mut different = Vec::new();
    for frame in capture::frames() {
        let (command, serialization) = decode(&frame);
        let again = command.encode(serialization);
        let (second, _) = Command::decode(again.clone().freeze().slice(4..)).unwrap();
        assert_eq!(second, command, "{}", frame.operation);
        let empty_value = EMPTY_VALUE.contains(&frame.operation.as_str());
        if !frame.is_cut() && !empty_value && again[..] != frame.bytes[..] {
            different.push((frame, again));
        }
    }
    for (frame, again) in different.iter().take(10) {
        println!("{}\n  {}\n  {}", frame.operation, frame.bytes.escape_ascii(), again.escape_ascii());
    }
    assert!(different.is_empty(), "{} frames came out with other bytes", different.len());
}

#[test]
fn headers_and_bodies_have_their_types() {
    let mut asked = HashMap::new();
    let mut wrong = BTreeSet::new();
    let mut checked = [0; 4];
    for frame in capture::frames() {
        let (command, _) = decode(&frame);
        let key = |from_client| (frame.operation.clone(), frame.connection.clone(), from_client, command.opaque);
        let (code, results) = if command.is_response() {
            let Some(code) = asked.get(&key(!frame.from_client)).copied().filter(|_| command.code == 0) else {
                continue;
            };
            (code, [None, types::response_header(code, &command), None, types::response_body(code, &command)])
        } else {
            let code = command.request_code();
            asked.insert(key(frame.from_client), code);
            (code, [types::request_header(code, &command), None, types::request_body(code, &command), None])
        };
        let cut = frame.is_cut();
        for (kind, result) in results.into_iter().enumerate().filter(|(kind, _)| *kind < 2 || !cut) {
            checked[kind] += usize::from(result.is_some());
            if let Some(Err(error)) = result {
                let kind = ["request header", "response header", "request body", "response body"][kind];
                wrong.insert(format!("{code:?} {kind} in {}: {error}", frame.operation));
            }
        }
    }
    println!("checked: {checked:?}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.into_iter().take(40).collect::<Vec<_>>().join("\n"));
    assert!(checked.iter().all(|&n| n > 100), "too little was checked: {checked:?}");
}

fn decode(frame: &Frame) -> (Command, Serialization) {
    let mut buffer = BytesMut::from(&frame.bytes[..]);
    let length = (buffer.len() - 4) as u32;
    buffer[..4].copy_from_slice(&length.to_be_bytes());
    let content = frame::take(&mut buffer, usize::MAX).unwrap().unwrap();
    Command::decode(content).unwrap_or_else(|e| panic!("{}: {e}", frame.operation))
}

/// An empty value in a binary header is a null to whoever reads it, and is not written again.
const EMPTY_VALUE: [&str; 1] = ["5.5.0-rocketmq/mqadmin-updateTopic"];
