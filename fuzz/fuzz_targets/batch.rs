//! A batch as a client sends it, of any bytes: its members are written again to the same batch.
#![no_main]

use apogee_remoting::message::batch;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let members: Vec<_> = batch::decode(bytes).map_while(Result::ok).collect();
    let mut written = Vec::new();
    for member in &members {
        member.encode(&mut written).expect("what was read fits");
    }
    assert!(written.len() <= bytes.len());
    let again: Vec<_> = batch::decode(&written).map(|member| member.expect("our own member")).collect();
    assert_eq!(again, members);
});
