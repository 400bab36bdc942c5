//! What a master or a slave sends, of any bytes: read within its bounds, refused or passed on unchanged.
#![no_main]

use apogee_replication::protocol::{Entries, Part, ReportReader, Transfer, TransferReader};
use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (cut, bytes) = input;
    let cut = usize::from(cut) + 1;
    let mut reader = ReportReader::default();
    let reports: usize = bytes.chunks(cut).map(|chunk| reader.read(chunk).count()).sum();
    assert_eq!(reports, bytes.len() / 8);
    transfers(bytes, cut);
    entries(bytes, cut);
});

fn transfers(bytes: &[u8], cut: usize) {
    let mut reader = TransferReader::default();
    let (mut received, mut read) = (BytesMut::new(), Vec::new());
    for chunk in bytes.chunks(cut) {
        received.extend_from_slice(chunk);
        loop {
            match reader.next(&mut received) {
                Ok(Some(Part::Head(head))) => read.extend_from_slice(&Transfer { ..head }.encode()),
                Ok(Some(Part::Body(body))) => read.extend_from_slice(&body),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
    read.extend_from_slice(&received);
    assert!(read == bytes, "what was read is what was sent");
}

fn entries(bytes: &[u8], cut: usize) {
    const FILE: i64 = 2048;
    let mut entries = Entries::new(FILE);
    let (mut place, mut received) = (0, 0);
    while received < bytes.len() {
        received = bytes.len().min(received + cut);
        loop {
            match entries.whole(place as i64, &bytes[place..received]) {
                Ok(0) => break,
                Ok(whole) => {
                    assert!(place + whole <= received);
                    assert!(place as i64 / FILE == (place + whole - 1) as i64 / FILE, "within one file");
                    place += whole;
                }
                Err(_) => entries.skip_file(place as i64),
            }
        }
    }
}
