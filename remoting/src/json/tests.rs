use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
struct Queue {
    broker: String,
    id: i32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Sample {
    by_id: BTreeMap<i64, String>,
    by_queue: BTreeMap<Queue, i64>,
    list: Vec<String>,
    name: Option<String>,
    numbers: Vec<i32>,
    on: bool,
    plain: String,
    rate: f64,
}

fn sample() -> Sample {
    Sample {
        by_id: [(0, "zero".into()), (-2, "ü\"\\\n\u{1b}".into())].into(),
        by_queue: [(Queue { broker: "b".into(), id: 1 }, 1 << 60)].into(),
        list: vec!["x".into(), "y".into()],
        name: Some(String::new()),
        numbers: vec![1, 2],
        on: true,
        plain: String::new(),
        rate: 3.0,
    }
}

const DIALECT: &str = r#"{"by_id":{-2:"ü\"\\\n\u001b",0:"zero"},"by_queue":{{"broker":"b","id":1}:1152921504606846976},"list":["x","y"],"name":"","numbers":[1,2],"on":true,"rate":3.0}"#;

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn writes_the_dialect_and_reads_it_back() {
    assert_eq!(text(to_vec(&sample())), DIALECT);
    assert_eq!(from_str::<Sample>(DIALECT).unwrap(), sample());
}

#[test]
fn the_standard_form_quotes_keys_and_large_numbers() {
    let standard = Sample { by_queue: BTreeMap::new(), ..sample() };
    let written = text(to_vec_standard(&standard));
    assert!(written.starts_with(r#"{"by_id":{"-2":"#), "{written}");
    serde_json::from_str::<serde_json::Value>(&written).unwrap();
    assert_eq!(text(to_vec_standard(&vec![1i64 << 53, (1 << 53) + 1])), "[9007199254740992,\"9007199254740993\"]");
}

#[test]
fn the_pretty_form_is_that_of_the_state_files() {
    let value = Sample { by_queue: BTreeMap::new(), by_id: [(2, "x".into())].into(), ..sample() };
    assert_eq!(
        text(to_vec_pretty(&value)),
        "{\n\t\"by_id\":{\n\t\t2:\"x\"\n\t},\n\t\"by_queue\":{},\n\t\"list\":[\n\t\t\"x\",\n\t\t\"y\"\n\t],\n\t\"name\":\"\",\n\t\"numbers\":[1,2],\n\t\"on\":true,\n\t\"rate\":3.0\n}"
    );
}

#[test]
fn reals_look_like_javas() {
    for (value, expected) in
        [(0.0, "0.0"), (1.5, "1.5"), (1e7, "1.0E7"), (9_999_999.0, "9999999.0"), (1.25e-4, "1.25E-4"), (0.001, "0.001")]
    {
        assert_eq!(text(to_vec(&value)), expected);
        assert_eq!(from_str::<f64>(expected).unwrap().to_bits(), f64::to_bits(value));
    }
    assert_eq!(text(to_vec(&f64::NAN)), "null");
}

#[test]
fn reads_leniently() {
    let read: Sample = from_str(
        " {'by_id': {\"1\":'a' ,2:\"\\u00fc\\ud83d\\ude00\\ud800x\\x41\", } , numbers:[\"7\", 8.9, null,], on:\"TRUE\",
           unknown:{{a:[1,{}]}:null}, list:null, plain:null, rate:\"2\", name:17, by_queue:{{id:\"3\"}:\"4\"}}",
    )
    .unwrap();
    assert_eq!(
        read,
        Sample {
            by_id: [(1, "a".into()), (2, "ü😀\u{FFFD}xA".into())].into(),
            by_queue: [(Queue { broker: String::new(), id: 3 }, 4)].into(),
            list: vec![],
            name: Some("17".into()),
            numbers: vec![7, 8, 0],
            on: true,
            plain: String::new(),
            rate: 2.0,
        }
    );
}

#[test]
fn errors_tell_where() {
    for (input, expected) in [
        ("", "malformed JSON at byte 0: an object is expected"),
        ("{\"on\" true}", "malformed JSON at byte 6: a colon is expected"),
        ("{\"on\":true", "malformed JSON at byte 10: a comma or the end is expected"),
        ("{\"plain\":\"a", "malformed JSON at byte 10: a string does not end"),
        ("{\"numbers\":[x]}", "malformed JSON at byte 13: \"x\" is not an integer"),
        ("{} {", "malformed JSON at byte 3: text behind the end"),
        ("{\"numbers\":[3000000000]}", "malformed JSON at byte 22: invalid value: integer `3000000000`, expected i32"),
    ] {
        assert_eq!(from_str::<Sample>(input).unwrap_err().to_string(), expected, "{input}");
    }
    let deep = format!("{{\"unknown\":{}", "[".repeat(100_000));
    assert_eq!(from_str::<Sample>(&deep).unwrap_err().what, "nested too deeply");
}

proptest! {
    #[test]
    fn any_bytes_are_a_value_or_an_error(bytes in any::<Vec<u8>>()) {
        let _ = from_slice::<Sample>(&bytes);
    }

    #[test]
    fn any_near_json_is_a_value_or_an_error(text in "([{}\\[\\],:\"'\\\\u0d8x ü-]|null|by_id|by_queue|id|[0-9]){0,40}") {
        let _ = from_str::<Sample>(&text);
        let _ = from_str::<serde_json::Value>(&text);
    }

    #[test]
    fn what_is_written_reads_back(
        by_id in proptest::collection::btree_map(any::<i64>(), ".*", 0..4),
        queues in proptest::collection::btree_map((".*", any::<i32>()), any::<i64>(), 0..4),
        list in proptest::collection::vec(".*", 0..4),
        name in proptest::option::of(".*"),
        numbers in proptest::collection::vec(any::<i32>(), 0..4),
        rate in -1e12f64..1e12,
    ) {
        let by_queue = queues.into_iter().map(|((broker, id), offset)| (Queue { broker, id }, offset)).collect();
        let value = Sample { by_id, by_queue, list, name, numbers, on: false, plain: String::new(), rate };
        prop_assert_eq!(&from_slice::<Sample>(&to_vec(&value)).unwrap(), &value);
        prop_assert_eq!(&from_slice::<Sample>(&to_vec_pretty(&value)).unwrap(), &value);
    }
}
