//! The fields of a command through the typed header and body of any code.
#![no_main]

use apogee_remoting::{Command, RequestCode};
use libfuzzer_sys::fuzz_target;

// The table of the captured frames' test: which header and body belongs to which code.
#[path = "../../remoting/tests/wire/check.rs"]
mod check;
#[path = "../../remoting/tests/wire/types.rs"]
mod types;

fuzz_target!(|input: &[u8]| {
    let Some((code, content)) = input.split_first_chunk() else { return };
    let Ok((command, _)) = Command::decode(bytes::Bytes::copy_from_slice(content)) else { return };
    let code = RequestCode(i32::from_be_bytes(*code));
    // What was lost on the way is no fault here: strange fields are to be passed over.
    let _ = types::request_header(code, &command);
    let _ = types::response_header(code, &command);
    let _ = types::request_body(code, &command);
    let _ = types::response_body(code, &command);
});
