use std::sync::Arc;

use proptest::prelude::*;
use tempfile::TempDir;

use super::super::layout::Layout;
use super::super::shared::Shared;
use super::*;

/// Room for four units without a bit map and the end of the file.
const FILE: u64 = 90;

fn extension(directory: &TempDir) -> Extension {
    let shared = Arc::new(Shared::new(2));
    Extension::new(QueueFiles::new(directory.path().join("t/0"), Layout::of_extension(FILE), shared), true)
}

fn append(extension: &Extension, n: i64, bit_map: &[u8]) -> Option<i64> {
    let unit = Unit { physical_offset: n * 100, size: 100, tags_code: n };
    let address = extension.append(Entry { offset: n, count: 1, unit, store_timestamp: n * 10 }, bit_map)?;
    Unit { tags_code: address, ..unit }.extension_address()
}

/// A unit of the queue that points at a place.
fn at(place: i64) -> Unit {
    Unit { tags_code: unit::address_of(place), ..Unit::BLANK }
}

fn stored(n: i64, bit_map: &[u8]) -> ExtensionUnit {
    ExtensionUnit { tags_code: n, store_timestamp: n * 10, bit_map: bit_map.to_vec() }
}

#[test]
fn files_end_as_the_references_do() {
    let directory = TempDir::new().unwrap();
    let extension = extension(&directory);
    let places: Vec<_> = (0..6).map(|n| append(&extension, n, &[]).unwrap()).collect();
    assert_eq!(places, [0, 20, 40, 60, 90, 110]);
    for _ in 0..2 {
        for (n, place) in places.iter().enumerate() {
            assert_eq!(extension.read(*place, true).unwrap(), Some(stored(n as i64, &[])));
        }
        assert_eq!(extension.read(130, true).unwrap(), None);
        assert_eq!(extension.read(80, true).unwrap(), None);
        extension.write_out().unwrap();
    }
    let first = fs::read(directory.path().join("t/0/00000000000000000000")).unwrap();
    assert_eq!(first.len(), 90);
    assert_eq!(first[20..40], [0, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0]);
    assert_eq!(first[78..], [0, 0, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn what_the_queue_does_not_point_at_is_cut_off() {
    let own = Some(Unit { tags_code: 7, ..Unit::BLANK });
    let cases =
        [(Some(at(0)), 20), (Some(at(60)), 90), (Some(at(90)), 110), (Some(at(110)), 130), (own, 130), (None, 0)];
    for (last, next) in cases {
        let directory = TempDir::new().unwrap();
        let first = extension(&directory);
        let places: Vec<_> = (0..6).map(|n| append(&first, n, &[]).unwrap()).collect();
        first.write_out().unwrap();
        let again = extension(&directory);
        again.recover(last).unwrap();
        for (n, place) in places.iter().enumerate() {
            let expected = if *place < next { Some(stored(n as i64, &[])) } else { None };
            assert_eq!(again.read(*place, true).unwrap(), expected, "{last:?} {place}");
        }
        assert_eq!(append(&again, 7, &[]), Some(next), "{last:?}");
        again.write_out().unwrap();
        assert_eq!(again.read(next, true).unwrap(), Some(stored(7, &[])));
    }
}

#[test]
fn a_unit_that_has_no_room_stays_with_the_queue() {
    let directory = TempDir::new().unwrap();
    let extension = extension(&directory);
    assert_eq!(append(&extension, 0, &[1; 67]), None);
    assert_eq!(append(&extension, 0, &[1; 66]), Some(0));
    assert_eq!(append(&extension, 1, &[]), Some(90));
    let off = Extension { is_written: false, ..extension };
    assert_eq!(append(&off, 1, &[]), None);
    assert_eq!(off.read(0, true).unwrap(), Some(stored(0, &[1; 66])));
}

#[test]
fn old_files_go() {
    let directory = TempDir::new().unwrap();
    let extension = extension(&directory);
    for n in 0..10 {
        append(&extension, n, &[]);
    }
    extension.write_out().unwrap();
    extension.sync().unwrap();
    let files = || fs::read_dir(directory.path().join("t/0")).unwrap().count();
    assert_eq!(files(), 3);
    extension.remove_before(180).unwrap();
    assert_eq!(
        (files(), extension.read(60, true).unwrap(), extension.read(90, true).unwrap()),
        (2, None, Some(stored(4, &[])))
    );
    extension.delete().unwrap();
    assert!(!directory.path().join("t/0").exists());
    assert_eq!(append(&extension, 0, &[]), Some(0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn units_of_any_length_are_found_again(
        maps in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 1..40),
        written in 0usize..40,
        counted: bool,
    ) {
        let directory = TempDir::new().unwrap();
        let first = extension(&directory);
        let mut places = Vec::new();
        for (n, map) in maps.iter().enumerate() {
            places.push(append(&first, n as i64, map).unwrap());
            if n == written {
                first.write_out().unwrap();
            }
        }
        first.write_out().unwrap();
        let again = extension(&directory);
        let last = if counted { Unit::BLANK } else { at(*places.last().unwrap()) };
        again.recover(Some(last)).unwrap();
        for (n, (place, map)) in places.iter().zip(&maps).enumerate() {
            prop_assert_eq!(again.read(*place, true).unwrap(), Some(stored(n as i64, map)));
        }
        prop_assert_eq!(append(&again, 99, &[]), append(&first, 99, &[]));
    }

    #[test]
    fn any_file_is_recovered(mut bytes in proptest::collection::vec(any::<u8>(), 0..90), last in proptest::option::of(0i64..200)) {
        let length = bytes.len().min(2);
        bytes[..length].fill(0);
        let directory = TempDir::new().unwrap();
        fs::create_dir_all(directory.path().join("t/0")).unwrap();
        fs::write(directory.path().join("t/0/00000000000000000000"), &bytes).unwrap();
        let extension = extension(&directory);
        extension.recover(last.map(at)).unwrap();
        let place = append(&extension, 5, &[7]).unwrap();
        extension.write_out().unwrap();
        prop_assert_eq!(extension.read(place, true).unwrap(), Some(stored(5, &[7])));
    }
}
