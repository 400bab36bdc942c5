//! Bytes that are no frames.

use std::io::{Read, Write};
use std::net::TcpStream;

use apogee_config::{BrokerSettings, ServerSettings};
use apogee_remoting::RequestCode;
use apogee_remoting::client::CallError;

use crate::harness::{TIMEOUT, TestBroker};
use crate::send;

/// B01 (10832): a short frame or an unknown serialization threw unchecked exceptions. B04 (7042): so did a TLS hello
/// to a server without TLS. Both cost the connection that they came on, and no other.
#[tokio::test(flavor = "multi_thread")]
async fn b01_b04_broken_frames_cost_their_connection_only() {
    let broker = TestBroker::start().await;
    let malformed: [&[u8]; 7] = [
        &[0, 0, 0, 3, 1, 2, 3],
        &[0, 0, 0, 4, 0x7F, 0, 0, 0],
        &[0, 0, 0, 4, 0, 0, 0, 100],
        &[0, 0, 0, 6, 0, 0, 0, 2, b'[', b']'],
        &[0xFF, 0xFF, 0xFF, 0xFF],
        &[0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0],
        &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03],
    ];
    for bytes in malformed {
        let address = broker.address.clone();
        let rest = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(TIMEOUT)).unwrap();
            stream.write_all(bytes).unwrap();
            let mut rest = Vec::new();
            // A reset ends the connection as well as an orderly close.
            if let Err(error) = stream.read_to_end(&mut rest) {
                assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
            }
            rest
        });
        assert_eq!(rest.await.unwrap(), Vec::<u8>::new(), "{bytes:02X?}");
        broker.send("T", 0, "others are served").await;
    }
    broker.stop().await;
}

/// The largest frame is a key of the configuration; a larger one costs the connection that it came on.
#[tokio::test(flavor = "multi_thread")]
async fn the_configured_largest_frame_holds() {
    let limit = |settings: &mut BrokerSettings| {
        settings.set("com.rocketmq.remoting.frameMaxLength", "8192").unwrap();
    };
    let broker = TestBroker::start_with(limit).await;
    let message = |size| send(RequestCode::SEND_MESSAGE_V2, "T", "", vec![b'x'; size]);
    broker.ok(message(7500)).await;
    let larger = broker.client.call(&broker.address, message(8192), TIMEOUT).await;
    assert!(matches!(larger, Err(CallError::Closed(_))), "{larger:?}");
    broker.send("T", 0, "others are served").await;
    broker.stop().await;
}
