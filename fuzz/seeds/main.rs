//! Writes what the targets start from into `fuzz/corpus/TARGET`: parts of the captured frames, and filters.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{fs, io};

use apogee_remoting::message::record::entries;
use apogee_remoting::{Command, RequestCode};
use bytes::Bytes;

#[allow(dead_code, reason = "the tests look at more of a frame")]
#[path = "../../remoting/tests/wire/capture.rs"]
mod capture;

fn main() -> io::Result<()> {
    for frame in capture::frames() {
        if frame.bytes.len() > LARGEST || frame.is_cut() {
            continue;
        }
        seed("frame", &[&[0xFF], &frame.bytes[..]].concat())?;
        let header = usize::from(frame.bytes[6]) << 8 | usize::from(frame.bytes[7]);
        let target = if frame.bytes[4] == 0 { "json_header" } else { "binary_header" };
        seed(target, &frame.bytes[8..8 + header])?;
        let Ok((command, _)) = Command::decode(Bytes::copy_from_slice(&frame.bytes[4..])) else { continue };
        seed("typed_header", &[&command.code.to_be_bytes(), &frame.bytes[4..]].concat())?;
        body(&command)?;
    }
    EXPRESSIONS.iter().try_for_each(|expression| seed("filter", expression.as_bytes()))
}

fn body(command: &Command) -> io::Result<()> {
    let body = command.body.bytes();
    if body.first() == Some(&b'{') {
        return (0..9u8).try_for_each(|kind| seed("json_dialect", &[&[kind], &body[..]].concat()));
    }
    if command.request_code() == RequestCode::SEND_BATCH_MESSAGE && !command.is_response() {
        seed("batch", &body)?;
    }
    for name in ["properties", "i"] {
        if let Some(text) = command.field(name) {
            seed("properties", text.as_bytes())?;
        }
    }
    for record in entries(&body).map_while(Result::ok) {
        seed("record", record.as_bytes())?;
        seed("properties", record.properties.as_bytes())?;
    }
    Ok(())
}

/// One file for each content, so that writing twice changes nothing.
fn seed(target: &str, bytes: &[u8]) -> io::Result<()> {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(format!("capture-{:016x}", hasher.finish())), bytes)
}

/// Larger inputs slow the targets down more than they find.
const LARGEST: usize = 4096;
/// Filters with a message each that has what they ask for.
const EXPRESSIONS: [&str; 6] = [
    "a = 1 AND b <> 'x''y' OR NOT (c IS NULL)\0a\x011\x02b\x01z\x02",
    "a BETWEEN -1.5e3 AND 10L AND b NOT BETWEEN .5 AND 5.\0a\x013\x02b\x010x1p4\x02",
    "a IN ('x', 'y') OR a NOT IN ('z')\0a\x01x\x02",
    "a CONTAINS 'b' AND a NOT STARTSWITH 'b' AND a ENDSWITH 'c'\0a\x01abc\x02",
    "a IS NOT NULL = TRUE -- no more\n AND /* but this */ b >= c\0a\x011\x02b\x01NaN\x02c\x01-Infinity\x02",
    "((NOT -a > +5)) = FALSE\0a\x015\x02",
];
