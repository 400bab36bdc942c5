//! One pipelined connection of the generator.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;

use anyhow::{Context, Result, anyhow};

use super::template::{FIRST_OPAQUE, OPAQUES, Template, Variation};
use crate::wire::{self, Answer, Input};

/// Requests that were sent and wait for their answers, in any order.
pub struct Connection {
    address: String,
    stream: TcpStream,
    input: Input,
    output: Vec<u8>,
    written: usize,
    /// Intended times of requests from number `first` on; 0 once answered.
    times: VecDeque<u64>,
    first: u64,
    open: usize,
}

impl Connection {
    pub fn new(address: &str) -> Result<Self> {
        let stream = wire::connect(address)?;
        stream.set_nonblocking(true).with_context(|| format!("cannot set up the connection to {address}"))?;
        Ok(Self {
            address: address.to_owned(),
            stream,
            input: Input::default(),
            output: Vec::new(),
            written: 0,
            times: VecDeque::new(),
            first: 0,
            open: 0,
        })
    }

    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Requests without an answer.
    pub fn open(&self) -> usize {
        self.open
    }

    /// Whether something waits to be written.
    pub fn has_output(&self) -> bool {
        self.written < self.output.len()
    }

    /// Queues a request with the intended time `time`.
    pub fn push(&mut self, template: &Template, key: u64, time: u64, born: i64) {
        let number = self.first + self.times.len() as u64;
        let opaque = (number % u64::from(OPAQUES)) as u32;
        template.write(Variation { opaque, key, time, born }, &mut self.output);
        self.times.push_back(time.max(1));
        self.open += 1;
    }

    /// Writes what the socket takes.
    pub fn flush(&mut self) -> Result<()> {
        while self.has_output() {
            match self.stream.write(&self.output[self.written..]) {
                Ok(written) => self.written += written,
                Err(error) if is_temporary(&error) => return Ok(()),
                Err(error) => return Err(error).with_context(|| format!("cannot write to {}", self.address)),
            }
        }
        self.output.clear();
        self.written = 0;
        Ok(())
    }

    /// Reads once and gives each answer's code with the intended time of its request.
    pub fn receive(&mut self, mut answered: impl FnMut(i32, u64)) -> Result<()> {
        match self.input.fill(&mut &self.stream) {
            Ok(0) => return Err(anyhow!("{} closed the connection", self.address)),
            Ok(_) => {}
            Err(error) if is_temporary(&error) => return Ok(()),
            Err(error) => return Err(error).with_context(|| format!("cannot read from {}", self.address)),
        }
        while let Some(content) = self.input.next_frame() {
            let answer = Answer::read(content)?;
            // Numbers wrap together with their opaques.
            let number = (answer.opaque as u32).wrapping_sub(FIRST_OPAQUE);
            let at = number.wrapping_sub((self.first % u64::from(OPAQUES)) as u32) & (OPAQUES - 1);
            let Some(time) = self.times.get_mut(at as usize).filter(|time| **time > 0) else {
                continue;
            };
            answered(answer.code, std::mem::take(time));
            self.open -= 1;
            while self.times.front() == Some(&0) {
                self.times.pop_front();
                self.first += 1;
            }
        }
        Ok(())
    }

    /// Intended times of the requests that have no answer.
    pub fn unanswered(&self) -> impl Iterator<Item = u64> {
        self.times.iter().copied().filter(|time| *time > 0)
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
