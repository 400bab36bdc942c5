//! The bloom filter in which a consume queue remembers, message by message, whose expression was true.
//!
//! Every subscription has a few bits of the map, its text `group#topic` says which; the map of a message has the bits of all
//! subscriptions that it passed. A subscription with a bit unset was not among them; one with all its bits set probably was.

use thiserror::Error;

use crate::murmur3;

/// The shape of the maps: how long they are, and how many bits each subscription has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BloomFilter {
    bits: u32,
    hashes: u32,
}

/// The shape cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ShapeError {
    /// `maxErrorRateOfBloomFilter` is out of range.
    #[error("an error rate of {0} percent is not between 1 and 99")]
    ErrorRate(i32),
    /// `expectConsumerNumUseFilter` is out of range.
    #[error("{0} is no number of consumers that a map can be made for")]
    Consumers(i32),
}

impl BloomFilter {
    /// The shape for so many consumers of one topic, of which `error_rate` percent may be taken for one that passed.
    ///
    /// # Errors
    /// The rate is not between 1 and 99, or the number not positive, or so large that the map had more than 2^31 bits.
    pub fn new(error_rate: i32, consumers: i32) -> Result<Self, ShapeError> {
        if !(1..100).contains(&error_rate) {
            return Err(ShapeError::ErrorRate(error_rate));
        }
        if consumers < 1 {
            return Err(ShapeError::Consumers(consumers));
        }
        let rate = f64::from(error_rate) / 100.0;
        let hashes = log(0.5, rate).ceil() as u32;
        let bits = (f64::from(consumers) * log(2.0, 1.0 / rate) * log(2.0, std::f64::consts::E)).ceil();
        let bits = (bits / 8.0).ceil() * 8.0;
        if bits > f64::from(i32::MAX) {
            return Err(ShapeError::Consumers(consumers));
        }
        Ok(Self { bits: bits as u32, hashes })
    }

    /// Length of a map in bits; a multiple of 8.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Length of a map in bytes.
    pub fn bytes(&self) -> usize {
        self.bits as usize / 8
    }

    /// Number of bits that each subscription has.
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    /// The bits of a text; some may be the same.
    pub fn positions(&self, text: &str) -> Vec<u32> {
        let hash = murmur3::hash64(text.as_bytes());
        let (low, high) = (hash as u32, (hash >> 32) as u32);
        (1..=self.hashes)
            .map(|index| {
                let combined = low.wrapping_add(index.wrapping_mul(high)) as i32;
                let positive = if combined < 0 { !combined } else { combined };
                positive as u32 % self.bits
            })
            .collect()
    }
}

/// Sets bits of a map. The bits of a byte count from the lowest; those behind the end are left out.
pub fn set(map: &mut [u8], positions: &[u32]) {
    for position in positions {
        if let Some(byte) = map.get_mut(*position as usize / 8) {
            *byte |= 1 << (position % 8);
        }
    }
}

/// Whether all these bits of a map are set.
pub fn has_all(map: &[u8], positions: &[u32]) -> bool {
    positions.iter().all(|position| map.get(*position as usize / 8).is_some_and(|byte| byte >> (position % 8) & 1 == 1))
}

fn log(base: f64, value: f64) -> f64 {
    value.ln() / base.ln()
}
