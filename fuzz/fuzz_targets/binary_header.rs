//! A header of the binary layout: a command, or an error; a command is written and read back as itself.
#![no_main]

use apogee_remoting::{Command, Serialization};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|header: &[u8]| {
    let Ok((command, _)) = Command::decode(content(header)) else { return };
    let written = command.encode(Serialization::RocketMq).freeze();
    let (again, serialization) = Command::decode(written.slice(4..)).expect("our own header");
    assert_eq!(serialization, Serialization::RocketMq);
    // A key can outgrow its length field when bytes that are no UTF-8 become three each; it is left out then.
    if command.fields.iter().flatten().all(|(key, _)| u16::try_from(key.len()).is_ok()) {
        // An empty map is written as none.
        let fields = command.fields.clone().filter(|fields| !fields.is_empty());
        assert_eq!(again, Command { fields, ..command });
    }
});

fn content(header: &[u8]) -> bytes::Bytes {
    [&(1 << 24 | header.len() as u32 & 0x00FF_FFFF).to_be_bytes(), header].concat().into()
}
