use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use apogee_config::MessageStoreConfig;
use apogee_remoting::message::record::Draft;

use super::super::tests::{Fixture, draft};
use super::super::{AppendError, Appended, CommitLog, RecoverFrom};
use super::Gathered;
use crate::dispatch::Marks;

fn open(fixture: &Fixture) -> std::sync::Arc<CommitLog> {
    fixture.open_with(RecoverFrom::default(), MessageStoreConfig::default())
}

fn gather(log: &CommitLog, fixture: &Fixture, gathered: &mut Gathered, draft: &Draft<'_>) -> Result<(), AppendError> {
    log.gather(gathered, draft, &Marks::default(), fixture.queue())
}

/// Where each went.
fn append(log: &CommitLog, gathered: &mut Gathered) -> Vec<Result<Appended, AppendError>> {
    let mut all = Vec::new();
    log.append_gathered(gathered, |stored| all.push(stored));
    assert!(gathered.is_empty());
    all
}

fn files(fixture: &Fixture) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let entries = fs::read_dir(fixture.path()).unwrap().map(Result::unwrap);
    let mut files: Vec<_> = entries.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn records_lie_where_each_would_lie_alone() {
    let (apart, together) = (Fixture::new(), Fixture::new());
    let (log, other) = (open(&apart), open(&together));
    let mut gathered = Gathered::default();
    let mut rng = fastrand::Rng::with_seed(7);
    let (mut expected, mut stored) = (Vec::new(), Vec::new());
    // over several files; runs of records that do not fit into the rest of one
    for _ in 0..60 {
        for _ in 0..rng.usize(..12) {
            let body = vec![rng.u8(..); rng.usize(..4000)];
            expected.push(apart.append(&log, &body));
            gather(&other, &together, &mut gathered, &draft(&body)).unwrap();
        }
        stored.extend(append(&other, &mut gathered).into_iter().map(Result::unwrap));
        assert_eq!(other.written(), log.written());
    }
    assert_eq!(stored, expected);
    assert!(log.close() && other.close());
    let files = files(&apart);
    assert!(files.len() > 10 && files == self::files(&together));
}

#[test]
fn a_panic_leaves_nothing_to_those_that_come_next() {
    let fixture = Fixture::new();
    let (log, queue) = (open(&fixture), fixture.queue());
    let two = [b"one", b"two"].map(|body| draft(body));
    let panics = two.iter().enumerate().map(|(n, draft)| {
        assert!(n == 0, "as a message that cannot be read might");
        (*draft, &queue)
    });
    assert!(catch_unwind(AssertUnwindSafe(|| log.append_all(panics))).is_err());
    let stored = log.append_all(two.iter().map(|draft| (*draft, &queue))).unwrap();
    assert_eq!((stored.len(), stored[0].physical_offset, stored[0].queue_offset), (2, 0, 0));
    assert_eq!(log.written(), stored[1].end());
}

#[test]
fn what_cannot_be_stored_harms_none_that_came_with_it() {
    let fixture = Fixture::new();
    let log = open(&fixture);
    let mut gathered = Gathered::default();
    gather(&log, &fixture, &mut gathered, &draft(b"one")).unwrap();
    let too_large = gather(&log, &fixture, &mut gathered, &draft(&[0; 8193]));
    assert!(matches!(too_large, Err(AppendError::MessageTooLarge { size: 8193, limit: 8192 })), "{too_large:?}");
    let no_text = Draft { properties: b"\xff", ..draft(b"no") };
    assert_eq!(gather(&log, &fixture, &mut gathered, &no_text), Err(AppendError::Properties));
    gather(&log, &fixture, &mut gathered, &draft(b"two")).unwrap();
    let stored: Vec<_> = append(&log, &mut gathered).into_iter().map(Result::unwrap).collect();
    assert_eq!(stored.iter().map(|one| one.queue_offset).collect::<Vec<_>>(), [0, 1]);
    assert_eq!((stored[1].physical_offset, log.written()), (stored[0].end(), stored[1].end()));

    gather(&log, &fixture, &mut gathered, &draft(b"three")).unwrap();
    gather(&log, &fixture, &mut gathered, &draft(b"four")).unwrap();
    assert!(log.close());
    let refused = append(&log, &mut gathered);
    assert_eq!(refused, [Err(AppendError::Shutdown), Err(AppendError::Shutdown)]);
    assert_eq!(log.written(), stored[1].end());
}
