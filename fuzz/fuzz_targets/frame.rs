//! A stream of frames, arriving in pieces: cut and decoded to the same commands however it arrives.
#![no_main]

use apogee_remoting::{Command, frame};
use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;

const MAX: usize = 64 * 1024;

fuzz_target!(|input: &[u8]| {
    let Some((&step, stream)) = input.split_first() else { return };
    let whole = read(stream, stream.len().max(1));
    assert_eq!(read(stream, usize::from(step) + 1), whole);
});

/// Everything up to the first error, and whether there was one.
fn read(stream: &[u8], step: usize) -> (Vec<Command>, bool) {
    let mut buffer = BytesMut::new();
    let mut commands = Vec::new();
    for piece in stream.chunks(step) {
        buffer.extend_from_slice(piece);
        loop {
            match frame::take(&mut buffer, MAX) {
                Ok(None) => break,
                Ok(Some(content)) => match Command::decode(content) {
                    Ok((command, _)) => commands.push(command),
                    Err(_) => return (commands, true),
                },
                Err(_) => return (commands, true),
            }
        }
    }
    (commands, false)
}
