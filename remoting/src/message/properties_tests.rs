use proptest::prelude::*;

use super::*;

fn pairs(text: &[u8]) -> Vec<(&[u8], &[u8])> {
    Properties::new(text).iter().collect()
}

#[test]
fn reads_with_and_without_the_last_separator() {
    let expected: Vec<(&[u8], &[u8])> = vec![(b"TAGS", b"TagA"), (b"KEYS", b"k1 k2")];
    assert_eq!(pairs(b"TAGS\x01TagA\x02KEYS\x01k1 k2\x02"), expected);
    assert_eq!(pairs(b"TAGS\x01TagA\x02KEYS\x01k1 k2"), expected);
}

#[test]
fn passes_over_what_is_no_pair() {
    assert_eq!(pairs(b"\x02\x02a\x02\x01b\x02c\x01\x02d\x01e\x01f\x02"), vec![(&b"d"[..], &b"e\x01f"[..])]);
}

#[test]
fn the_last_of_equal_names_counts() {
    let text = Properties::new(b"a\x011\x02aa\x012\x02a\x013\x02");
    assert_eq!(text.get("a"), Some(&b"3"[..]));
    assert_eq!(text.get_number::<u32>("aa"), Some(2));
    assert_eq!(text.get("aaa"), None);
    assert_eq!(text.get_number::<i32>("nope"), None);
}

// apache/rocketmq#3476: a property added behind a missing separator became part of the last value.
#[test]
fn report_3476_a_pair_added_does_not_run_into_the_last_value() {
    let mut text = PropertiesBuf::from_text(b"TAGS\x01TagA");
    text.push("CLUSTER", "c");
    assert_eq!(text.as_bytes(), b"TAGS\x01TagA\x02CLUSTER\x01c\x02");
    assert_eq!(text.view().get_str("TAGS"), Some("TagA"));
}

#[test]
fn sets_and_removes() {
    let mut text = PropertiesBuf::new();
    assert!(text.is_empty() && text.view().is_closed());
    text.push("a", "1").push("b", "2").set("a", "3");
    assert_eq!(text.as_bytes(), b"b\x012\x02a\x013\x02");
    assert!(text.remove("b"));
    assert!(!text.remove("b"));
    assert_eq!(text.into_bytes(), b"a\x013\x02");
}

#[test]
fn knows_the_limit() {
    let mut text = PropertiesBuf::new();
    text.push("a", vec![b'x'; MAX_PROPERTIES_LENGTH - 3]);
    assert!(text.fits());
    text.set("a", vec![b'x'; MAX_PROPERTIES_LENGTH - 2]);
    assert!(!text.fits());
}

proptest! {
    #[test]
    fn any_bytes_are_read_and_kept(text in proptest::collection::vec(prop_oneof![0u8..4, any::<u8>()], 0..64)) {
        let read = pairs(&text);
        let rebuilt: PropertiesBuf = read.iter().copied().collect();
        prop_assert!(rebuilt.view().is_closed());
        prop_assert_eq!(pairs(rebuilt.as_bytes()), read);

        let mut more = PropertiesBuf::from_text(&text);
        more.set("new", "value");
        prop_assert_eq!(more.view().get_str("new"), Some("value"));
        for (name, _) in Properties::new(&text) {
            if name != b"new" {
                prop_assert!(more.view().iter().any(|(n, _)| n == name));
            }
        }
    }
}

proptest! {
    #[test]
    fn what_is_found_is_what_a_walk_gets(
        text in proptest::collection::vec(prop_oneof![Just(b'T'), Just(b'A'), Just(1u8), Just(2u8), Just(0u8), Just(b'x')], 0..40),
        parts in proptest::collection::vec(prop_oneof![Just("TA\u{1}"), Just("TA"), Just("\u{1}"), Just("\u{2}"), Just("v")], 0..12),
    ) {
        let name = Name::new(b"TA\x01");
        for text in [text, parts.concat().into_bytes()] {
            let properties = Properties::new(&text);
            prop_assert_eq!(properties.find(&name), properties.get("TA"), "{}", text.escape_ascii());
        }
    }
}

proptest! {
    #[test]
    fn what_is_kept_is_what_passes(
        text in proptest::collection::vec(prop_oneof![Just(b'a'), Just(b'b'), Just(1u8), Just(2u8)], 0..40),
    ) {
        for names in [&[&b"a"[..]][..], &[b"b", b"ab"], &[]] {
            let mut properties = PropertiesBuf::from_text(&text);
            let before = properties.clone();
            let goes = |name: &[u8]| names.contains(&name);
            let has_gone = properties.retain(|name| !goes(name));
            prop_assert_eq!(has_gone, before.view().iter().any(|(name, _)| goes(name)));
            let kept: PropertiesBuf = before.view().iter().filter(|(name, _)| !goes(name)).collect();
            prop_assert_eq!(&PropertiesBuf::of_those(&text, |name, _| !goes(name)), &kept);
            prop_assert_eq!(properties, if has_gone { kept } else { before });
        }
    }
}
