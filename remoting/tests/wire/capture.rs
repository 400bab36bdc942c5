//! The captured frames: `golden/wire.txt.gz`, a line each: connection, direction, side, hexadecimal bytes; before the
//! frames of an operation a line with `#` and its name. A body beyond 8 KiB is cut.

use std::io::Read;

use flate2::read::GzDecoder;

/// A frame as one side of a connection sent it.
pub struct Frame {
    /// Group and operation of the capture.
    pub operation: String,
    /// Connection.
    pub connection: String,
    /// Whether a client sent it.
    pub from_client: bool,
    /// The bytes with the length word.
    pub bytes: Vec<u8>,
}

impl Frame {
    /// Whether the end of the body is missing.
    pub fn is_cut(&self) -> bool {
        u32::from_be_bytes(self.bytes[..4].try_into().unwrap()) as usize + 4 > self.bytes.len()
    }
}

/// All frames in order.
pub fn frames() -> Vec<Frame> {
    let mut text = String::new();
    GzDecoder::new(&include_bytes!("../golden/wire.txt.gz")[..]).read_to_string(&mut text).unwrap();
    let mut operation = "";
    let mut frames = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("# ") {
            operation = name;
            continue;
        }
        let mut parts = line.split(' ');
        let mut next = || parts.next().unwrap();
        let (connection, direction, _side, hex) = (next(), next(), next(), next());
        frames.push(Frame {
            operation: operation.into(),
            connection: connection.into(),
            from_client: direction == "c2s",
            bytes: (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect(),
        });
    }
    frames
}
