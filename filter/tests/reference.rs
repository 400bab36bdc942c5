//! Verdicts of the reference (5.5.0), kept as `compat-tests/filter/Verdicts.java` gave them.

mod cases;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use apogee_filter::bloom::BloomFilter;
use flate2::read::GzDecoder;

/// `filter_cases 2026 5000`.
#[test]
fn expressions_have_the_references_verdicts() {
    let text = read("verdicts.tsv.gz").unwrap();
    assert_eq!(text.lines().count(), 5000);
    let differences = cases::differences(text.lines());
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

/// Each line: error rate, consumers, text; then X, or bits, hashes and the positions of the text.
#[test]
fn bloom_filters_have_the_references_shapes_and_positions() {
    for line in read("bloom.tsv.gz").unwrap().lines() {
        let columns: Vec<_> = line.split('\t').collect();
        let number = |column: usize| columns[column].parse().unwrap();
        let filter = BloomFilter::new(number(0), number(1)).ok();
        if columns[3] == "X" {
            assert_eq!(filter, None, "{line}");
            continue;
        }
        let filter = filter.unwrap();
        assert_eq!((filter.bits() as i32, filter.hashes() as i32), (number(3), number(4)), "{line}");
        let positions: Vec<_> = columns[5..].iter().map(|position| position.parse().unwrap()).collect();
        assert_eq!(filter.positions(&cases::decoded(columns[2])), positions, "{line}");
    }
}

fn read(name: &str) -> io::Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let mut text = String::new();
    GzDecoder::new(File::open(path)?).read_to_string(&mut text)?;
    Ok(text)
}
