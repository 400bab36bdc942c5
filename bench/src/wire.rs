//! Frames on a plain socket, read with as little work as possible: the generator shares the machine with the server.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use apogee_remoting::{Command, ResponseCode, Serialization};
use bytes::Bytes;

/// Bytes that were read and hold whole and begun frames.
#[derive(Default)]
pub struct Input {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    /// Reads once; 0 bytes: the server closed the connection.
    pub fn fill(&mut self, stream: &mut impl Read) -> io::Result<usize> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        let missing = self.frame_length().map_or(0, |length| (length + 4).saturating_sub(self.end - self.start));
        if self.buffer.len() - self.end < missing.max(LEAST_ROOM) {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            self.buffer.resize(self.buffer.len().max(self.end + missing.max(2 * LEAST_ROOM)), 0);
        }
        let read = stream.read(&mut self.buffer[self.end..])?;
        self.end += read;
        Ok(read)
    }

    /// Content of the next whole frame, from the header word on.
    pub fn next_frame(&mut self) -> Option<&[u8]> {
        let length = self.frame_length()?;
        let from = self.start + 4;
        if self.end - from < length {
            return None;
        }
        self.start = from + length;
        Some(&self.buffer[from..from + length])
    }

    fn frame_length(&self) -> Option<usize> {
        let word = self.buffer[self.start..self.end].first_chunk::<4>()?;
        Some(u32::from_be_bytes(*word) as usize)
    }
}

/// What the generator wants to know of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Response code.
    pub code: i32,
    /// Which request it answers.
    pub opaque: i32,
}

impl Answer {
    /// Looks at a frame's content without decoding all of it.
    pub fn read(content: &[u8]) -> Result<Self> {
        let header_length = content.first_chunk::<4>().map(|w| u32::from_be_bytes(*w) as usize & 0xFF_FFFF);
        let header = header_length.and_then(|length| content.get(4..4 + length)).context("frame without header")?;
        let quick = if content[0] == 1 { Self::binary(header) } else { Self::json(header) };
        quick.map_or_else(|| decode(content).map(|c| Self { code: c.code, opaque: c.opaque }), Ok)
    }

    fn binary(header: &[u8]) -> Option<Self> {
        let code = i16::from_be_bytes(*header.first_chunk()?).into();
        Some(Self { code, opaque: i32::from_be_bytes(*header.get(5..)?.first_chunk()?) })
    }

    /// Servers write the code first; the key of opaque cannot be part of an escaped text.
    fn json(header: &[u8]) -> Option<Self> {
        let code = leading_number(header.strip_prefix(b"{\"code\":")?)?;
        let at = memchr::memmem::find(header, OPAQUE)? + OPAQUE.len();
        Some(Self { code, opaque: leading_number(&header[at..])? })
    }
}

fn leading_number(text: &[u8]) -> Option<i32> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&text[..digits]).ok()?.parse().ok()
}

/// The whole command of a frame's content.
pub fn decode(content: &[u8]) -> Result<Command> {
    Ok(Command::decode(Bytes::copy_from_slice(content)).context("not a command")?.0)
}

/// Connects to `address` (`host:port`); what is written leaves at once.
pub fn connect(address: &str) -> Result<TcpStream> {
    let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
    stream.set_nodelay(true).with_context(|| format!("cannot set up the connection to {address}"))?;
    Ok(stream)
}

/// The same for one who waits for answers, at most so long for each.
pub fn connect_patiently(address: &str, patience: Duration) -> Result<TcpStream> {
    let stream = connect(address)?;
    stream.set_read_timeout(Some(patience)).with_context(|| format!("cannot set up the connection to {address}"))?;
    Ok(stream)
}

/// One request at a time over one connection.
pub struct Caller {
    address: String,
    stream: TcpStream,
    input: Input,
}

impl Caller {
    /// Connects to `address` (`host:port`).
    pub fn connect(address: &str) -> Result<Self> {
        let stream = connect_patiently(address, PATIENCE)?;
        Ok(Self { address: address.to_owned(), stream, input: Input::default() })
    }

    /// Sends `request` and gives its response, whatever its code.
    pub fn ask(&mut self, request: &Command) -> Result<Command> {
        self.exchange(request).with_context(|| format!("request {} to {}", request.code, self.address))
    }

    fn exchange(&mut self, request: &Command) -> Result<Command> {
        self.stream.write_all(&request.encode(Serialization::Json)).context("cannot write")?;
        loop {
            while let Some(content) = self.input.next_frame() {
                let command = decode(content)?;
                if command.is_response() && command.opaque == request.opaque {
                    return Ok(command);
                }
            }
            if self.input.fill(&mut self.stream).context("no answer")? == 0 {
                bail!("the server closed the connection");
            }
        }
    }

    /// As [`Self::ask`]; any code but success is an error.
    pub fn call(&mut self, request: &Command) -> Result<Command> {
        let response = self.ask(request)?;
        if response.response_code() != ResponseCode::SUCCESS {
            let remark = response.remark.as_deref().unwrap_or_default();
            bail!("request {} to {} was answered with code {}: {remark}", request.code, self.address, response.code);
        }
        Ok(response)
    }
}

/// A serialisation by its name on the command line.
pub fn parse_serialization(name: &str) -> Result<Serialization, String> {
    let known = Serialization::from_name(&name.to_ascii_uppercase());
    known.ok_or_else(|| "json or rocketmq is expected".to_owned())
}

const LEAST_ROOM: usize = 64 << 10;
const OPAQUE: &[u8] = b"\"opaque\":";
const PATIENCE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_frames_however_they_arrive_and_reads_their_answers() {
        for serialization in [Serialization::Json, Serialization::RocketMq] {
            let mut bytes = Vec::new();
            for opaque in 0..300 {
                let answer = Command::error(ResponseCode(opaque % 20), "a \"remark\"").with_body(vec![9; 777]);
                bytes.extend_from_slice(&Command { opaque, ..answer }.encode(serialization));
            }
            for step in [1, 1000, bytes.len()] {
                let (mut input, mut seen) = (Input::default(), 0);
                for mut piece in bytes.chunks(step) {
                    while !piece.is_empty() {
                        input.fill(&mut piece).unwrap();
                        while let Some(content) = input.next_frame() {
                            let answer = Answer::read(content).unwrap();
                            assert_eq!(answer, Answer { code: seen % 20, opaque: seen });
                            seen += 1;
                        }
                    }
                }
                assert_eq!(seen, 300);
            }
        }
    }
}
