use apogee_config::state_file::StateFile;
use apogee_filter::bloom::BloomFilter;
use apogee_remoting::json;
use apogee_remoting::message::properties::Properties;
use apogee_remoting::protocol::subscription::SubscriptionData;
use apogee_store::dispatch::{BitMaps, RecordFields};
use apogee_store::queue::ExtensionUnit;
use tempfile::TempDir;

use super::*;

const DAY: i64 = 86_400_000;

struct TestFilters {
    filters: Filters,
    folder: TempDir,
}

impl TestFilters {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { filters: open(&folder, 20, 0), folder }
    }

    fn subscribe(&self, subscriptions: &[(&str, &str, i64)], now: i64) {
        let subscriptions: Vec<_> = subscriptions
            .iter()
            .map(|(topic, expression, version)| SubscriptionData {
                topic: (*topic).into(),
                sub_string: (*expression).into(),
                expression_type: if *expression == "*" { "TAG".into() } else { "SQL92".into() },
                sub_version: *version,
                ..SubscriptionData::default()
            })
            .collect();
        self.filters.subscribe("G", &subscriptions, now);
    }

    fn data(&self, topic: &str) -> Option<ConsumerFilterData> {
        self.filters.get(topic, "G").map(|filter| filter.data.clone())
    }

    /// Saved and opened again, with another error rate.
    fn reopened(self, error_rate: i32, now: i64) -> Self {
        self.filters.save(DAY, now).unwrap();
        Self { filters: open(&self.folder, error_rate, now), folder: self.folder }
    }
}

fn open(folder: &TempDir, error_rate: i32, now: i64) -> Filters {
    let file = StateFile::new(folder.path().join("consumerFilter.json"));
    let saved = file.read(json::from_slice).unwrap().unwrap_or_default();
    Filters::new(file, saved, BloomFilter::new(error_rate, 32).unwrap(), now)
}

#[test]
fn the_newest_version_counts() {
    let filters = TestFilters::new();
    filters.subscribe(&[("T", "a > 1", 5)], 100);
    let first = filters.data("T").unwrap();
    assert_eq!((first.born_time, first.client_version, first.dead_time), (100, 5, 0));
    assert_eq!(first.bloom_filter_data.bit_num, 112);

    filters.subscribe(&[("T", "a > 2", 5)], 200);
    filters.subscribe(&[("T", "a > 3", 4)], 200);
    assert_eq!(filters.data("T").unwrap(), first);
    filters.subscribe(&[("T", "a > 1", 6)], 200);
    assert_eq!(filters.data("T").unwrap(), ConsumerFilterData { client_version: 6, ..first });
    filters.subscribe(&[("T", "a > 7", 7)], 300);
    let other = filters.data("T").unwrap();
    assert_eq!((other.expression.as_str(), other.born_time), ("a > 7", 300));
}

#[test]
fn what_does_not_parse_takes_the_place_of_what_did() {
    let filters = TestFilters::new();
    filters.subscribe(&[("T", "a >", 1)], 100);
    assert_eq!(filters.data("T"), None);
    filters.subscribe(&[("T", "a > 1", 2)], 100);
    filters.subscribe(&[("T", "a >", 3)], 100);
    assert_eq!(filters.data("T"), None);
}

#[test]
fn a_group_that_goes_is_dead_and_lives_again() {
    let filters = TestFilters::new();
    filters.subscribe(&[("T", "a > 1", 1), ("U", "a > 1", 1)], 100);
    filters.subscribe(&[("T", "a > 1", 1), ("U", "*", 2)], 150);
    filters.subscribe(&[("T", "a > 1", 1)], 200);
    assert_eq!((filters.data("T").unwrap().dead_time, filters.data("U").unwrap().dead_time), (0, 200));
    filters.filters.unsubscribe("G", 300);
    assert_eq!((filters.data("T").unwrap().dead_time, filters.data("U").unwrap().dead_time), (300, 200));
    filters.subscribe(&[("T", "a > 1", 1), ("U", "a > 1", 9)], 400);
    assert_eq!((filters.data("T").unwrap().dead_time, filters.data("U").unwrap().dead_time), (0, 0));
    assert_eq!(filters.data("U").unwrap().born_time, 100);
}

#[test]
fn what_is_dead_for_a_day_is_forgotten() {
    let filters = TestFilters::new();
    filters.subscribe(&[("T", "a > 1", 1)], 100);
    filters.filters.unsubscribe("G", 200);
    filters.filters.save(DAY, DAY + 199).unwrap();
    assert!(filters.data("T").is_some());
    filters.filters.save(DAY, DAY + 200).unwrap();
    assert_eq!(filters.data("T"), None);
    assert_eq!(filters.reopened(20, DAY + 200).data("T"), None);
}

#[test]
fn after_a_start_all_are_dead() {
    let filters = TestFilters::new();
    filters.subscribe(&[("T", "a > 1", 1), ("U", "b = 'x'", 1)], 100_000);
    let before = filters.data("T").unwrap();
    let filters = filters.reopened(20, 150_000);
    assert_eq!(filters.data("T").unwrap(), ConsumerFilterData { dead_time: 120_000, ..before });
    let filters = filters.reopened(20, 150_000);
    filters.subscribe(&[("T", "a > 1", 1)], 150_000);
    assert_eq!(filters.data("T").unwrap().dead_time, 0);
    let filters = filters.reopened(10, 150_000);
    assert_eq!(filters.data("T"), None);
}

#[test]
fn the_file_is_the_references() {
    let filters = TestFilters::new();
    filters.subscribe(&[("T", "a > 1", 1)], 100);
    filters.filters.save(DAY, 100).unwrap();
    let text = std::fs::read_to_string(filters.folder.path().join("consumerFilter.json")).unwrap();
    let positions = filters.filters.get("T", "G").unwrap().positions.iter().map(u32::to_string).collect::<Vec<_>>();
    let lines = [
        r"{",
        r#"	"filterDataByTopic":{"#,
        r#"		"T":{"#,
        r#"			"groupFilterData":{"#,
        r#"				"G":{"#,
        r#"					"bloomFilterData":{"#,
        r#"						"bitNum":112,"#,
        &format!("						\"bitPos\":[{}]", positions.join(",")),
        r"					},",
        r#"					"bornTime":100,"#,
        r#"					"clientVersion":1,"#,
        r#"					"consumerGroup":"G","#,
        r#"					"dead":false,"#,
        r#"					"deadTime":0,"#,
        r#"					"expression":"a > 1","#,
        r#"					"expressionType":"SQL92","#,
        r#"					"topic":"T""#,
        r"				}",
        r"			},",
        r#"			"topic":"T""#,
        r"		}",
        r"	}",
        r"}",
    ];
    assert_eq!(text, lines.join("\n"));
}

#[test]
fn a_bit_map_tells_who_may_want_a_message() {
    let filters = TestFilters::new();
    filters.subscribe(&[("T", "a > 1", 1)], 100);
    let filter = filters.filters.get("T", "G").unwrap();
    let unit = |topic, properties: &str, store_timestamp| {
        let record = RecordFields {
            size: 100,
            queue_id: 0,
            queue_offset: 0,
            physical_offset: 0,
            sys_flag: 0,
            store_timestamp,
            topic,
            properties: Properties::new(properties.as_bytes()),
        };
        let bit_map = filters.filters.bit_map(&record).unwrap_or_default();
        ExtensionUnit { tags_code: 0, store_timestamp, bit_map }
    };
    assert!(filter.may_pass(&unit("T", "a\u{1}2\u{2}", 200)));
    assert_eq!(unit("T", "a\u{1}1\u{2}", 200).bit_map, [0; 14]);
    assert!(!filter.may_pass(&unit("T", "a\u{1}1\u{2}", 200)));
    // From before the group, and without a map.
    assert!(filter.may_pass(&unit("T", "a\u{1}1\u{2}", 100)));
    assert!(unit("U", "a\u{1}1\u{2}", 200).bit_map.is_empty());
    assert!(filter.may_pass(&unit("U", "a\u{1}1\u{2}", 200)));
}
