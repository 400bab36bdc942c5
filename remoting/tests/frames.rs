//! Raw bytes into a server: what it makes of whole, cut and bad frames.

mod support;

use apogee_remoting::Serialization;
use apogee_remoting::server::{ConnectionOptions, ServerOptions};
use support::{ECHO, LATER, request, start};

#[tokio::test]
async fn answers_byte_for_byte() {
    let server = start(ServerOptions::default()).await;
    let mut raw = server.connect().await;
    let header = br#"{"code":1001,"opaque":7,"flag":0,"language":"GO","version":401,"extFields":{"a":"b"}}"#;
    let mut bytes = (4 + header.len() as u32 + 2).to_be_bytes().to_vec();
    bytes.extend_from_slice(&(header.len() as u32).to_be_bytes());
    bytes.extend_from_slice(header);
    bytes.extend_from_slice(b"hi");
    raw.write(&bytes).await;
    let expected =
        br#"{"code":0,"flag":1,"language":"JAVA","opaque":7,"serializeTypeCurrentRPC":"JSON","version":513}"#;
    let content = raw.frame().await.unwrap();
    assert_eq!(content[..4], (expected.len() as u32).to_be_bytes());
    assert_eq!(&content[4..4 + expected.len()], expected);
    assert_eq!(&content[4 + expected.len()..], b"hi");
}

#[tokio::test]
async fn answers_in_its_own_serialisation_whatever_the_request_has() {
    let connection = ConnectionOptions { serialization: Serialization::RocketMq, ..ConnectionOptions::default() };
    let server = start(ServerOptions { connection, ..ServerOptions::default() }).await;
    let mut raw = server.connect().await;
    for serialization in [Serialization::Json, Serialization::RocketMq] {
        raw.write(&request(ECHO, 1, b"").encode(serialization)).await;
        assert_eq!(raw.frame().await.unwrap()[0], 1);
    }
}

#[tokio::test]
async fn takes_pipelined_requests_in_pieces_of_any_size() {
    let server = start(ServerOptions::default()).await;
    let mut bytes = Vec::new();
    for opaque in 0..40 {
        let body = vec![opaque as u8; opaque as usize * 111];
        bytes.extend_from_slice(&request(ECHO, opaque, &body).encode(Serialization::Json));
    }
    for size in [1, 2, 3, 5, 97, 1024, 4095, 4096, 4097, 20_000, bytes.len()] {
        let mut raw = server.connect().await;
        let (mut reader, mut writer) = (Vec::new(), bytes.chunks(size));
        for opaque in 0..40 {
            // Not read meanwhile: pieces and answers overlap as they like.
            for piece in writer.by_ref().take(bytes.len() / size / 40 + 1) {
                raw.write(piece).await;
            }
            reader.push(opaque);
        }
        for opaque in reader {
            let answer = raw.command().await;
            assert_eq!(answer.opaque, opaque);
            assert_eq!(answer.body.bytes(), vec![opaque as u8; opaque as usize * 111], "pieces of {size}");
        }
    }
}

#[tokio::test]
async fn takes_a_frame_of_the_maximum_and_no_larger_one() {
    let connection = ConnectionOptions { max_frame: 300_000, ..ConnectionOptions::default() };
    let server = start(ServerOptions { connection, ..ServerOptions::default() }).await;
    let overhead = request(ECHO, 1, b"").encode(Serialization::Json).len();
    let mut raw = server.connect().await;
    assert_eq!(raw.ask(&request(ECHO, 1, &vec![7; 300_000 - overhead])).await.body.len(), 300_000 - overhead);
    raw.write(&request(ECHO, 1, &vec![7; 300_001 - overhead]).encode(Serialization::Json)[..1000]).await;
    assert_eq!(raw.frame().await, None);
}

/// B01 (#10832): a short frame, an unknown serialisation, a header longer than its frame and a header
/// that is no object made the reference throw in its decoder.
#[tokio::test]
async fn b01_a_bad_frame_closes_its_connection_only() {
    let server = start(ServerOptions::default()).await;
    let mut other = server.connect().await;
    let good = request(ECHO, 5, b"still here").encode(Serialization::Json);
    let bad: [&[u8]; 11] = [
        &[0, 0, 0, 0],
        &[0, 0, 0, 3, 0, 0, 0],
        &[0xFF, 0xFF, 0xFF, 0xFF],
        &[0x7F, 0xFF, 0xFF, 0xFF],
        &[0, 0, 0, 4, 0x7F, 0, 0, 0],
        &[0, 0, 0, 4, 0, 0, 0, 1],
        &[0, 0, 0, 4, 0, 0xFF, 0xFF, 0xFF],
        &[0, 0, 0, 4, 0, 0, 0, 0],
        &[0, 0, 0, 6, 0, 0, 0, 2, b'[', b']'],
        &[0, 0, 0, 5, 1, 0, 0, 1, 0],
        b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n",
    ];
    for bytes in bad {
        let mut raw = server.connect().await;
        raw.write(&good).await;
        raw.write(bytes).await;
        let answer = raw.frame().await.expect("the request before the bad frame is answered");
        assert!(answer.ends_with(b"still here"));
        assert_eq!(raw.frame().await, None, "{bytes:?}");
        assert_eq!(server.connect().await.ask(&request(ECHO, 1, b"new")).await.body.bytes(), &b"new"[..]);
        assert_eq!(other.ask(&request(ECHO, 2, b"old")).await.body.bytes(), &b"old"[..]);
    }
}

/// B04 (#7042): a TLS hello to a server without TLS raised UnsupportedOperationException.
#[tokio::test]
async fn b04_a_tls_hello_closes_its_connection_only() {
    let mut server = start(ServerOptions::default()).await;
    let mut raw = server.connect().await;
    raw.write(&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC]).await;
    assert_eq!(raw.frame().await, None);
    server.closed().await;
    assert_eq!(server.connect().await.ask(&request(ECHO, 1, b"plain")).await.body.bytes(), &b"plain"[..]);
}

#[tokio::test]
async fn a_response_nobody_waits_for_is_ignored() {
    let mut server = start(ServerOptions::default()).await;
    let mut raw = server.connect().await;
    let mut stray = request(LATER, 99, b"");
    stray.flag = 1;
    raw.write(&stray.encode(Serialization::Json)).await;
    assert_eq!(raw.ask(&request(ECHO, 1, b"next")).await.opaque, 1);
    assert!(server.events.try_recv().is_err());
}
