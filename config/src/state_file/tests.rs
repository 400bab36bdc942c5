use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::*;

/// Accepts what a whole JSON object looks like, as a table's parser would.
fn parse(bytes: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let whole = text.starts_with('{') && text.find('}') == Some(text.len() - 1) && !text.contains('\0');
    if whole { Ok(text.to_owned()) } else { Err(format!("{text:?} is no table")) }
}

fn state() -> (TempDir, StateFile) {
    let folder = tempfile::tempdir().unwrap();
    let file = StateFile::new(folder.path().join("config/topics.json"));
    (folder, file)
}

fn read(file: &StateFile) -> Option<String> {
    // A new one, as after a restart.
    StateFile::new(file.path()).read(parse).unwrap()
}

#[test]
fn writes_and_keeps_the_content_before() {
    let (_folder, file) = state();
    assert_eq!(read(&file), None);
    file.write("{1}").unwrap();
    assert_eq!(read(&file).as_deref(), Some("{1}"));
    assert!(!file.backup_path().exists());
    file.write("{2}").unwrap();
    file.write("{3}").unwrap();
    assert_eq!(read(&file).as_deref(), Some("{3}"));
    assert_eq!(fs::read_to_string(file.backup_path()).unwrap(), "{2}");
    let names = fs::read_dir(file.path().parent().unwrap()).unwrap().count();
    assert_eq!(names, 2, "nothing else is left");
}

#[test]
fn a_kill_after_any_step_leaves_the_old_or_the_new_content() {
    for writes_before in 0..3 {
        for (step, new) in [
            (Step::TemporarySynced, false),
            (Step::OldContentKept, false),
            (Step::MainReplaced, true),
            (Step::BackupReplaced, true),
        ] {
            let (_folder, file) = state();
            for count in 0..writes_before {
                file.write(format!("{{{count}}}")).unwrap();
            }
            let old = read(&file);
            let killed =
                file.write_observed(b"{new}", |done| if done == step { Err(io::Error::other("kill")) } else { Ok(()) });
            assert!(killed.is_err());
            let expected = if new { Some("{new}".to_owned()) } else { old };
            assert_eq!(read(&file), expected, "{writes_before} {step:?}");
            if writes_before > 1 {
                assert!(parse(&fs::read(file.backup_path()).unwrap()).is_ok());
            }
            let restarted = StateFile::new(file.path());
            restarted.write("{after}").unwrap();
            assert_eq!(read(&file).as_deref(), Some("{after}"));
        }
    }
}

#[test]
fn a_kill_within_the_temporary_file_changes_nothing() {
    let (_folder, file) = state();
    file.write("{1}").unwrap();
    fs::write(beside(file.path(), ".tmp"), "{ha").unwrap();
    assert_eq!(read(&file).as_deref(), Some("{1}"));
    file.write("{2}").unwrap();
    assert_eq!(read(&file).as_deref(), Some("{2}"));
}

const DAMAGE: [&str; 5] = ["", "{\"topic", "{1}}garbage", "\0\0\0\0", "{1}\0\0"];

#[test]
fn a_damaged_file_is_replaced_by_its_backup() {
    for damage in DAMAGE {
        let (_folder, file) = state();
        file.write("{1}").unwrap();
        file.write("{2}").unwrap();
        fs::write(file.path(), damage).unwrap();
        let restarted = StateFile::new(file.path());
        assert_eq!(restarted.read(parse).unwrap().as_deref(), Some("{1}"), "{damage:?}");
        // The damaged file must not become the backup, at no moment of the next write.
        let killed = restarted.write_observed(b"{3}", |step| {
            if step == Step::OldContentKept { Err(io::Error::other("kill")) } else { Ok(()) }
        });
        assert!(killed.is_err());
        assert_eq!(read(&file).as_deref(), Some("{1}"));
        restarted.write("{3}").unwrap();
        assert_eq!(fs::read_to_string(file.backup_path()).unwrap(), "{1}");
        restarted.write("{4}").unwrap();
        assert_eq!(fs::read_to_string(file.backup_path()).unwrap(), "{3}");
    }
}

#[test]
fn a_missing_file_is_replaced_by_its_backup() {
    let (_folder, file) = state();
    file.write("{1}").unwrap();
    fs::rename(file.path(), file.backup_path()).unwrap();
    assert_eq!(read(&file).as_deref(), Some("{1}"));
}

#[test]
fn two_bad_files_are_an_error_that_names_them() {
    for damage in DAMAGE {
        for backup in DAMAGE.map(Some).into_iter().chain([None]) {
            let (_folder, file) = state();
            fs::create_dir_all(file.path().parent().unwrap()).unwrap();
            fs::write(file.path(), damage).unwrap();
            if let Some(backup) = backup {
                fs::write(file.backup_path(), backup).unwrap();
            }
            let error = file.read(parse).unwrap_err().to_string();
            assert!(error.contains(file.path().to_str().unwrap()), "{error}");
            assert!(error.contains("topics.json.bak"), "{error}");
            assert_eq!(fs::read_to_string(file.path()).unwrap(), damage, "untouched");
        }
    }
}

#[test]
fn a_missing_file_with_a_bad_backup_is_an_error() {
    let (_folder, file) = state();
    fs::create_dir_all(file.path().parent().unwrap()).unwrap();
    fs::write(file.backup_path(), "{").unwrap();
    let error = file.read(parse).unwrap_err().to_string();
    assert!(error.contains("it does not exist"), "{error}");
}

#[test]
fn a_failed_write_names_the_file_and_keeps_the_old_content() {
    let (_folder, file) = state();
    file.write("{1}").unwrap();
    // A folder where the temporary file should go.
    fs::create_dir(beside(file.path(), ".tmp")).unwrap();
    let error = file.write("{2}").unwrap_err().to_string();
    assert!(error.starts_with("cannot write ") && error.contains("topics.json: "), "{error}");
    assert_eq!(read(&file).as_deref(), Some("{1}"));
}

#[test]
fn a_write_that_fails_late_says_that_the_file_is_replaced() {
    let (_folder, file) = state();
    file.write("{1}").unwrap();
    let is_replaced = |written: Result<(), StateFileError>| match written {
        Err(StateFileError::Write { is_replaced, .. }) => is_replaced,
        other => panic!("{other:?}"),
    };
    // A folder where the backup should go.
    fs::create_dir(file.backup_path()).unwrap();
    assert!(is_replaced(file.write("{2}")));
    assert_eq!(read(&file).as_deref(), Some("{2}"));
    // A folder where the temporary file should go.
    fs::create_dir(beside(file.path(), ".tmp")).unwrap();
    assert!(!is_replaced(file.write("{3}")));
    assert_eq!(read(&file).as_deref(), Some("{2}"));
}

#[test]
fn permissions_and_links_stay() {
    let (folder, file) = state();
    file.write("{1}").unwrap();
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o600)).unwrap();
    let link = folder.path().join("link.json");
    std::os::unix::fs::symlink(file.path(), &link).unwrap();
    StateFile::new(&link).write("{2}").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(read(&file).as_deref(), Some("{2}"));
    assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
}
