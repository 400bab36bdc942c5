//! Writes what the targets start from into `fuzz/corpus/TARGET`: parts of the captured frames.

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
    Ok(())
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
