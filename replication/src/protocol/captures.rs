//! What the reference's masters and slaves said to one another (constants.md, section 9), read and written again.

use std::path::Path;

use bytes::BytesMut;

use super::{Entries, Part, ReportReader, Transfer, TransferReader, encode_report};

/// Both directions of a captured connection.
struct Capture {
    from_slave: Vec<u8>,
    from_master: Vec<u8>,
}

fn capture(name: &str) -> Capture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name);
    let mut capture = Capture { from_slave: Vec::new(), from_master: Vec::new() };
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        // Others mark that a side opened or closed.
        let Some(hex) = line["hex"].as_str() else { continue };
        let side = if line["dir"] == "c2s" { &mut capture.from_slave } else { &mut capture.from_master };
        side.extend((0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()));
    }
    capture
}

/// Reads a capture, checks that what was sent fits together, and gives where the slave began and ended.
fn replay(name: &str) -> (i64, i64) {
    let capture = capture(name);
    let mut reader = ReportReader::default();
    let reports: Vec<i64> = reader.read(&capture.from_slave).collect();
    let written: Vec<u8> = reports.iter().flat_map(|report| encode_report(*report)).collect();
    assert!(capture.from_slave.starts_with(&written) && capture.from_slave.len() - written.len() < 8);
    assert!(reports.is_sorted(), "{reports:?}");

    let mut received = BytesMut::from(&capture.from_master[..]);
    let mut reader = TransferReader::default();
    let mut written = Vec::new();
    let mut end = reports[0];
    let mut log = BytesMut::new();
    while let Some(part) = reader.next(&mut received).unwrap() {
        match part {
            Part::Head(head) => {
                assert_eq!(head.offset, end);
                written.extend_from_slice(&Transfer { ..head }.encode());
                end += i64::from(head.size);
            }
            Part::Body(body) => {
                written.extend_from_slice(&body);
                log.extend_from_slice(&body);
            }
        }
    }
    assert_eq!(written, capture.from_master);
    assert_eq!(Entries::new(262_144).whole(reports[0], &log), Ok(log.len()), "whole records");
    assert!(reports.contains(&end), "the slave said that it has all: {reports:?}, {end}");
    (reports[0], end)
}

#[test]
fn of_a_slave_that_joins() {
    assert_eq!(replay("4.9.4.jsonl").0, 0);
    assert_eq!(replay("5.5.0.jsonl").0, 0);
}

#[test]
fn of_a_slave_that_comes_back() {
    for name in ["4.9.4-resume.jsonl", "5.5.0-resume.jsonl"] {
        let (start, end) = replay(name);
        assert!(0 < start && start < end);
    }
}
