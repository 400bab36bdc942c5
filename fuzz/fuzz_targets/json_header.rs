//! JSON headers, one a line: each a command, or an error, whatever came before it; a command is written and read back as itself.
#![no_main]

use apogee_remoting::command::Language;
use apogee_remoting::{Command, Serialization};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|headers: &[u8]| headers.split(|byte| *byte == b'\n').for_each(check));

fn check(header: &[u8]) {
    let read = Command::decode(content(header));
    if let Some(rest) = header.strip_prefix(b"{") {
        // a blank leaves it to the general reader
        let general = Command::decode(content(&[b"{ ", rest].concat()));
        assert_eq!(read.as_ref().ok(), general.as_ref().ok());
    }
    let Ok((mut command, _)) = read else { return };
    // A language that nobody knows is left out, and none is Java.
    if command.language == Language::UNKNOWN {
        command.language = Language::JAVA;
    }
    let written = command.encode(Serialization::Json).freeze();
    let (again, serialization) = Command::decode(written.slice(4..)).expect("our own header");
    assert_eq!((again, serialization), (command, Serialization::Json));
}

fn content(header: &[u8]) -> bytes::Bytes {
    [&(header.len() as u32 & 0x00FF_FFFF).to_be_bytes(), header].concat().into()
}
