//! Changes that share a write, and changes that cannot be written.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use super::*;

struct Text {
    text: &'static str,
    is_saved: AtomicBool,
}

impl From<&'static str> for Text {
    fn from(text: &'static str) -> Self {
        Self { text, is_saved: AtomicBool::new(false) }
    }
}

impl Entry for Text {
    fn is_same(&self, other: &Self) -> bool {
        self.text == other.text
    }

    fn is_saved(&self) -> bool {
        self.is_saved.load(Ordering::Acquire)
    }

    fn note_saved(&self) {
        self.is_saved.store(true, Ordering::Release);
    }

    fn allows_no_more_than(&self, old: &Self) -> bool {
        self.text <= old.text
    }
}

/// A table of texts whose file lists names and values. Each write first takes a permit.
struct Fixture {
    folder: tempfile::TempDir,
    table: Arc<SavedTable<Text>>,
    permits: Option<mpsc::Sender<()>>,
    changed: Arc<Mutex<Vec<String>>>,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (permits, permitted) = mpsc::channel();
        let permitted = Mutex::new(permitted);
        let encode = move |version: DataVersion, entries: Entries<Text>| {
            permitted.lock().recv().unwrap();
            let entries: Vec<_> = entries.iter().map(|(name, text)| format!("{name}={}", text.text)).collect();
            format!("{} {}", version.counter, entries.join(" ")).into_bytes()
        };
        let changed = Arc::new(Mutex::new(Vec::new()));
        let names = Arc::clone(&changed);
        let table = SavedTable::new(
            StateFile::new(folder.path().join("config/table.json")),
            DataVersion::default(),
            [("old".to_owned(), "0".into())],
            Clock,
            encode,
            move |name| names.lock().push(name.to_owned()),
        );
        Self { folder, table, permits: Some(permits), changed }
    }

    fn put(&self, name: &str, text: &'static str) -> Saving {
        self.table.lock().change([(name.to_owned(), Some(Arc::new(text.into())))])
    }

    fn remove(&self, name: &str) -> Saving {
        self.table.lock().change([(name.to_owned(), None)])
    }

    fn is_saved(&self, name: &str) -> bool {
        self.table.get(name).unwrap().is_saved()
    }

    /// What somebody waits for who finds this name.
    fn pending(&self, name: &str) -> Saving {
        self.table.lock().pending(|changed| changed == name)
    }

    /// Lets one write go on.
    fn permit(&self) {
        self.permits.as_ref().unwrap().send(()).unwrap();
    }

    fn without_more_permits(self) -> Self {
        Self { permits: None, ..self }
    }

    fn config(&self) -> std::path::PathBuf {
        self.folder.path().join("config")
    }

    fn written(&self) -> String {
        std::fs::read_to_string(self.config().join("table.json")).unwrap()
    }

    fn content(&self) -> Vec<(String, &'static str)> {
        self.table.snapshot().1.iter().map(|(name, text)| (name.to_string(), text.text)).collect()
    }
}

fn entries(list: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
    list.iter().map(|(name, text)| ((*name).to_owned(), *text)).collect()
}

fn break_folder(config: &Path) {
    std::fs::write(config, "a file where the folder is to be").unwrap();
}

#[tokio::test]
async fn one_write_covers_all_changes_that_came_while_another_was_under_way() {
    let fixture = Fixture::new();
    let first = tokio::spawn(fixture.put("first", "1").done());
    let others: Vec<_> = ["a", "b", "c"].into_iter().map(|name| fixture.put(name, "2")).collect();
    let last = fixture.remove("old");
    // The changes are there when the second write begins, whether or not the first one saw them. A third would panic.
    fixture.permit();
    fixture.permit();
    let fixture = fixture.without_more_permits();
    first.await.unwrap().unwrap();
    for saving in others {
        saving.done().await.unwrap();
    }
    last.done().await.unwrap();
    assert_eq!(fixture.written(), "5 a=2 b=2 c=2 first=1");
    assert_eq!(*fixture.changed.lock(), ["first", "a", "b", "c", "old"]);
}

#[tokio::test]
async fn what_cannot_be_written_is_taken_back_with_all_that_was_built_upon_it() {
    let fixture = Fixture::new();
    break_folder(&fixture.config());
    let first = fixture.put("old", "1");
    let second = fixture.put("new", "1");
    let third = fixture.remove("old");
    assert_eq!(fixture.content(), entries(&[("new", "1")]), "it holds at once");
    fixture.permit();
    for saving in [first, second, third] {
        let error = saving.done().await.unwrap_err().to_string();
        assert!(error.contains("table.json"), "{error}");
    }
    assert_eq!(fixture.content(), entries(&[("old", "0")]));
    assert_eq!(fixture.table.snapshot().0, DataVersion::default());
    assert_eq!(*fixture.changed.lock(), ["old", "new", "old", "old", "new", "old"], "there and back");

    std::fs::remove_file(fixture.config()).unwrap();
    fixture.permit();
    fixture.put("new", "2").done().await.unwrap();
    assert_eq!(fixture.written(), "1 new=2 old=0");
}

/// The write fails when the file has the change already.
#[tokio::test]
async fn what_is_taken_back_is_taken_out_of_the_file_again() {
    let fixture = Fixture::new();
    fixture.permit();
    fixture.put("kept", "1").done().await.unwrap();
    // A folder where the backup should go.
    let obstacle = fixture.config().join("table.json.bak");
    std::fs::create_dir(&obstacle).unwrap();
    for _ in 0..2 {
        let removed = fixture.remove("kept");
        let made = fixture.put("new", "1");
        fixture.permit();
        fixture.permit();
        removed.done().await.unwrap_err();
        made.done().await.unwrap_err();
        fixture.table.settle();
        assert_eq!(fixture.content(), entries(&[("kept", "1"), ("old", "0")]));
        assert_eq!(fixture.written(), "1 kept=1 old=0");
        assert!(fixture.is_saved("kept"));
    }
    std::fs::remove_dir(&obstacle).unwrap();
    fixture.permit();
    fixture.put("new", "2").done().await.unwrap();
    assert_eq!(fixture.written(), "2 kept=1 new=2 old=0");
}

/// Who uses an entry keeps it, and nobody is told of it.
#[tokio::test]
async fn of_a_copy_only_what_differs_is_new() {
    let fixture = Fixture::new();
    (0..4).for_each(|_| fixture.permit());
    fixture.put("other", "1").done().await.unwrap();
    fixture.put("gone", "1").done().await.unwrap();
    let old = fixture.table.get("old").unwrap();
    fixture.changed.lock().clear();
    let become_copy = |counter, other| {
        let version = DataVersion { counter, ..DataVersion::default() };
        let theirs = [("old", "0"), ("other", other)].map(|(name, text)| (name.to_owned(), text.into()));
        fixture.table.lock().become_copy(version, theirs.into())
    };
    become_copy(7, "2").done().await.unwrap();
    assert_eq!(*fixture.changed.lock(), ["gone", "other"]);
    assert_eq!(fixture.written(), "7 old=0 other=2");
    become_copy(8, "2").done().await.unwrap();
    assert_eq!(*fixture.changed.lock(), ["gone", "other"], "the version alone");
    assert_eq!(fixture.written(), "8 old=0 other=2");
    assert!(Arc::ptr_eq(&old, &fixture.table.get("old").unwrap()));
}

#[tokio::test]
async fn a_new_version_needs_no_change() {
    let fixture = Fixture::new();
    fixture.permit();
    fixture.table.lock().change([]).done().await.unwrap();
    assert_eq!(fixture.written(), "1 old=0");
    assert!(fixture.changed.lock().is_empty());
}

#[tokio::test]
async fn a_writer_that_panics_leaves_nobody_waiting() {
    let fixture = Fixture::new().without_more_permits();
    for _ in 0..2 {
        assert!(matches!(fixture.put("new", "1").done().await, Err(SaveError::Panicked)));
        assert_eq!(fixture.content(), entries(&[("old", "0")]));
    }
}

#[tokio::test]
async fn what_nobody_waits_for_is_written_with_the_next_change_or_by_itself() {
    let fixture = Fixture::new();
    let left = fixture.put("left", "1");
    assert!(left.later() && !Saving::nothing().later());
    fixture.permit();
    fixture.permit();
    fixture.put("waited for", "2").done().await.unwrap();
    assert_eq!(fixture.written(), "2 left=1 old=0 waited for=2");
    fixture.permit();
    drop(fixture.remove("left"));
    while fixture.written() != "3 old=0 waited for=2" {
        tokio::task::yield_now().await;
    }
}

#[test]
fn nothing_is_left_unwritten_once_it_is_settled() {
    let fixture = Fixture::new();
    fixture.permit();
    fixture.permit();
    assert!(fixture.put("a", "1").later() && fixture.put("b", "2").later());
    fixture.table.settle();
    assert_eq!(fixture.written(), "2 a=1 b=2 old=0");
    fixture.table.settle();
}

#[test]
fn what_cannot_be_written_is_settled_when_it_is_taken_back() {
    let fixture = Fixture::new();
    break_folder(&fixture.config());
    fixture.permit();
    assert!(fixture.put("a", "1").later());
    fixture.table.settle();
    assert_eq!(fixture.content(), entries(&[("old", "0")]));
}

#[tokio::test]
async fn an_entry_is_saved_when_it_is_written_and_what_allows_no_more_at_once() {
    let fixture = Fixture::new();
    assert!(fixture.is_saved("old"), "it comes from the file");
    let same = fixture.put("old", "0");
    let first = fixture.put("new", "1");
    let replacing_first = fixture.put("new", "1");
    assert!(fixture.is_saved("old") && !fixture.is_saved("new"));
    let more = fixture.put("old", "1");
    assert!(!fixture.is_saved("old"), "the file has less");
    let less = fixture.put("old", "0");
    assert!(!fixture.is_saved("old"), "what it replaces is not in the file");
    fixture.permit();
    fixture.permit();
    for saving in [same, first, replacing_first, more, less] {
        saving.done().await.unwrap();
    }
    assert!(fixture.is_saved("new") && fixture.is_saved("old"));
}

/// Who finds what is not on disk yet is told when it is, by the same write.
#[tokio::test]
async fn who_comes_upon_a_change_waits_for_it() {
    let fixture = Fixture::new();
    let first = fixture.put("new", "1");
    let found = tokio::spawn(fixture.pending("new").done());
    let gone = fixture.remove("old");
    let found_gone = fixture.pending("old");
    assert!(!fixture.pending("other").later());
    tokio::task::yield_now().await;
    assert!(!found.is_finished() && !fixture.is_saved("new"));
    fixture.permit();
    fixture.permit();
    let fixture = fixture.without_more_permits();
    found.await.unwrap().unwrap();
    assert!(fixture.is_saved("new"));
    for saving in [first, gone, found_gone] {
        saving.done().await.unwrap();
    }
    assert_eq!(fixture.written(), "2 new=1");
    assert!(!fixture.pending("new").later(), "it is on disk");
}

#[tokio::test]
async fn who_came_upon_a_change_that_cannot_be_written_is_told_so() {
    let fixture = Fixture::new();
    break_folder(&fixture.config());
    let first = fixture.put("new", "1");
    let found = fixture.pending("new");
    let entry = fixture.table.get("new").unwrap();
    fixture.permit();
    for saving in [first, found] {
        saving.done().await.unwrap_err();
    }
    assert!(!entry.is_saved() && fixture.table.get("new").is_none());
    assert!(!fixture.pending("new").later());
}

/// What replaced an entry whose change fails with it, and what comes back is as much on disk as it was.
#[tokio::test]
async fn what_comes_back_is_saved_if_it_was() {
    let fixture = Fixture::new();
    break_folder(&fixture.config());
    let replacing = fixture.put("old", "1");
    fixture.permit();
    replacing.done().await.unwrap_err();
    assert!(fixture.is_saved("old"));
    assert_eq!(fixture.content(), entries(&[("old", "0")]));
    // Removed and made anew within one write, it may be missing in the file until then.
    std::fs::remove_file(fixture.config()).unwrap();
    let removed = fixture.remove("old");
    let made = fixture.put("old", "2");
    assert!(!fixture.is_saved("old"));
    fixture.permit();
    fixture.permit();
    for saving in [removed, made] {
        saving.done().await.unwrap();
    }
    assert!(fixture.is_saved("old"));
}
