//! A JSON header: a command, or an error; a command is written and read back as itself.
#![no_main]

use apogee_remoting::command::Language;
use apogee_remoting::{Command, Serialization};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|header: &[u8]| {
    let Ok((mut command, _)) = Command::decode(content(header)) else { return };
    // A language that nobody knows is left out, and none is Java.
    if command.language == Language::UNKNOWN {
        command.language = Language::JAVA;
    }
    let written = command.encode(Serialization::Json).freeze();
    let (again, serialization) = Command::decode(written.slice(4..)).expect("our own header");
    assert_eq!((again, serialization), (command, Serialization::Json));
});

fn content(header: &[u8]) -> bytes::Bytes {
    [&(header.len() as u32 & 0x00FF_FFFF).to_be_bytes(), header].concat().into()
}
