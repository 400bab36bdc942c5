//! Message ids (constants.md, section 12): the broker's, which says where a record lies, and the
//! client's, which is unique before the message is stored.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, AtomicU16, Ordering};

use jiff::{Timestamp, ToSpan, Zoned, tz::TimeZone};
use thiserror::Error;

use crate::word::ONES;

/// Where a record lies: store host and physical offset. As text, upper case hexadecimal of the address (4
/// or 16 bytes), the port (4) and the offset (8): 32 or 56 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OffsetMessageId {
    /// The broker that stored it.
    pub store_host: SocketAddr,
    /// Physical offset in its commit log.
    pub offset: i64,
}

/// Text that is no message id.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is no message id: 32 or 56 hexadecimal digits")]
pub struct InvalidMessageId(String);

impl OffsetMessageId {
    /// The text form.
    pub fn text(&self) -> OffsetIdText {
        let place = [self.store_host.port().into(), (self.offset >> 32) as u32, self.offset as u32];
        let mut digits = [0; 56];
        let length = match self.store_host.ip() {
            IpAddr::V4(ip) => put_words(&mut digits, [ip.to_bits(), place[0], place[1], place[2]]),
            IpAddr::V6(ip) => {
                let ip = |word: u32| (ip.to_bits() >> (32 * word)) as u32;
                put_words(&mut digits, [ip(3), ip(2), ip(1), ip(0), place[0], place[1], place[2]])
            }
        };
        OffsetIdText { digits, length }
    }
}

/// The text form of an [`OffsetMessageId`].
#[derive(Clone, Copy, Debug)]
pub struct OffsetIdText {
    digits: [u8; 56],
    length: usize,
}

impl OffsetIdText {
    /// The text.
    pub fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).expect("hexadecimal digits are ASCII")
    }

    /// The text as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.digits[..self.length]
    }
}

/// Writes words as hexadecimal digits behind one another; how many these are.
#[inline]
fn put_words<const N: usize>(digits: &mut [u8; 56], words: [u32; N]) -> usize {
    for (eight, word) in digits.as_chunks_mut().0.iter_mut().zip(words) {
        *eight = hex_word(word);
    }
    8 * N
}

/// The eight hexadecimal digits of a word, all at once.
#[inline]
fn hex_word(word: u32) -> [u8; 8] {
    let mut digits = u64::from(word);
    digits = (digits | digits << 16) & 0x0000_FFFF_0000_FFFF;
    digits = (digits | digits << 8) & 0x00FF_00FF_00FF_00FF;
    digits = (digits | digits << 4) & 0x0F0F_0F0F_0F0F_0F0F;
    // 1 in each byte from 10 on
    let letters = (digits + 6 * ONES) >> 4 & ONES;
    (digits + u64::from(b'0') * ONES + letters * u64::from(b'A' - b'0' - 10)).to_be_bytes()
}

impl fmt::Display for OffsetMessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().as_str())
    }
}

impl FromStr for OffsetMessageId {
    type Err = InvalidMessageId;

    fn from_str(text: &str) -> Result<Self, InvalidMessageId> {
        let invalid = || InvalidMessageId(text.chars().take(64).collect());
        let mut bytes = [0; 28];
        let length = read_hex(text, &mut bytes).ok_or_else(invalid)?;
        let (ip, rest) = match length {
            16 => {
                let (ip, rest) = bytes[..16].split_first_chunk::<4>().ok_or_else(invalid)?;
                (IpAddr::V4(Ipv4Addr::from(*ip)), rest)
            }
            28 => {
                let (ip, rest) = bytes.split_first_chunk::<16>().ok_or_else(invalid)?;
                (IpAddr::V6(Ipv6Addr::from(*ip)), rest)
            }
            _ => return Err(invalid()),
        };
        let (port, offset) = rest.split_first_chunk::<4>().ok_or_else(invalid)?;
        let port = u16::try_from(u32::from_be_bytes(*port)).map_err(|_| invalid())?;
        let offset = offset.first_chunk::<8>().ok_or_else(invalid)?;
        Ok(Self { store_host: SocketAddr::new(ip, port), offset: i64::from_be_bytes(*offset) })
    }
}

/// Makes client message ids (property UNIQ_KEY): upper case hexadecimal of address, low 16 bits of the process id, a
/// number that tells instances of one process apart (4 bytes), milliseconds since the first of the month
/// (4 bytes, local time) and a counter (2 bytes).
#[derive(Debug)]
pub struct UniqueIds {
    /// Address, process and instance in hexadecimal.
    prefix: String,
    /// Start of the current month, ms since the epoch.
    month_start: AtomicI64,
    /// Start of the next one.
    next_month: AtomicI64,
    counter: AtomicU16,
}

impl UniqueIds {
    /// For the process that listens at `ip`; `instance` stands where the reference has a class loader's hash.
    pub fn new(ip: IpAddr, pid: u32, instance: u32) -> Self {
        let mut prefix = String::with_capacity(44);
        match ip {
            IpAddr::V4(ip) => push_hex(&mut prefix, &ip.octets()),
            IpAddr::V6(ip) => push_hex(&mut prefix, &ip.octets()),
        }
        push_hex(&mut prefix, &(pid as u16).to_be_bytes());
        push_hex(&mut prefix, &instance.to_be_bytes());
        Self {
            prefix,
            month_start: AtomicI64::new(0),
            next_month: AtomicI64::new(i64::MIN),
            counter: AtomicU16::new(0),
        }
    }

    /// The next id, at `now` (ms since the epoch).
    pub fn next(&self, now: i64) -> String {
        if now >= self.next_month.load(Ordering::Acquire) {
            let (start, end) = month_around(now);
            self.month_start.store(start, Ordering::Relaxed);
            self.next_month.store(end, Ordering::Release);
        }
        let mut id = String::with_capacity(self.prefix.len() + 12);
        id.push_str(&self.prefix);
        // A clock set back a little must not show as a huge number.
        let since = (now - self.month_start.load(Ordering::Relaxed)).max(0);
        // Passes 2^31 on the 25th; readers take it as unsigned.
        push_hex(&mut id, &(since as u32).to_be_bytes());
        let count = self.counter.fetch_add(1, Ordering::Relaxed);
        push_hex(&mut id, &count.to_be_bytes());
        id
    }
}

/// Start and end of the month, local time, in ms since the epoch.
fn month_around(now: i64) -> (i64, i64) {
    let zone = TimeZone::system();
    let month = || -> Result<(i64, i64), jiff::Error> {
        let now: Zoned = Timestamp::from_millisecond(now)?.to_zoned(zone);
        let first = now.first_of_month()?.start_of_day()?;
        let next = first.checked_add(1.month())?;
        Ok((first.timestamp().as_millisecond(), next.timestamp().as_millisecond()))
    };
    // Out of the calendar's range (year 9999): an id need only be unique.
    month().unwrap_or((now, now.saturating_add(86_400_000)))
}

fn push_hex(into: &mut String, bytes: &[u8]) {
    into.extend(bytes.iter().flat_map(|byte| hex_digits(*byte)).map(char::from));
}

fn hex_digits(byte: u8) -> [u8; 2] {
    const PAIRS: [[u8; 2]; 256] = {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        let mut pairs = [[0; 2]; 256];
        let mut byte = 0;
        while byte < 256 {
            pairs[byte] = [DIGITS[byte >> 4], DIGITS[byte & 15]];
            byte += 1;
        }
        pairs
    };
    PAIRS[usize::from(byte)]
}

/// Reads hexadecimal text of either case; `None` when it is none or does not fit.
fn read_hex(text: &str, into: &mut [u8]) -> Option<usize> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || digits.len() / 2 > into.len() {
        return None;
    }
    for (pair, byte) in digits.chunks_exact(2).zip(into.iter_mut()) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = (high << 4 | low) as u8;
    }
    Some(digits.len() / 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn offset_ids_have_the_known_form() {
        let id: OffsetMessageId = "7F00000100002A9F00000000000003E8".parse().unwrap();
        assert_eq!(id.store_host, "127.0.0.1:10911".parse().unwrap());
        assert_eq!(id.offset, 1000);
        assert_eq!(id.to_string(), "7F00000100002A9F00000000000003E8");
        let id: OffsetMessageId = "0000000000000000000000000000000100002A9F00000000000003E8".parse().unwrap();
        assert_eq!(id.store_host, "[::1]:10911".parse().unwrap());
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in [
            "",
            "7F",
            "7F00000100002A9F00000000000003E",
            "7F00000100002A9F00000000000003EG",
            "7F000001FFFF2A9F00000000000003E8",
            "é00000100002A9F00000000000003E8",
        ] {
            assert!(text.parse::<OffsetMessageId>().is_err(), "{text}");
        }
    }

    #[test]
    fn unique_ids_differ_and_hold_their_time() {
        let ids = UniqueIds::new("10.1.2.3".parse().unwrap(), 0x0001_ABCD, 0x1234_5678);
        let now = 1_795_962_571_508;
        let (first, second) = (ids.next(now), ids.next(now));
        assert_eq!(&first[..20], "0A010203ABCD12345678");
        assert_eq!(first.len(), 32);
        assert_ne!(first, second);
        let since = i64::from_str_radix(&first[20..28], 16).unwrap();
        assert_eq!(month_around(now).0 + since, now);
    }

    #[test]
    fn a_clock_set_back_over_the_month_gives_zero() {
        let ids = UniqueIds::new("::1".parse().unwrap(), 1, 2);
        let (start, _) = month_around(1_795_962_571_508);
        ids.next(start);
        assert_eq!(&ids.next(start - 1)[44..52], "00000000");
    }

    proptest! {
        #[test]
        fn offset_ids_round_trip(ip: IpAddr, port: u16, offset: i64) {
            let id = OffsetMessageId { store_host: SocketAddr::new(ip, port), offset };
            prop_assert_eq!(id.to_string().parse::<OffsetMessageId>(), Ok(id));
        }

        #[test]
        fn any_text_is_read(text: String) {
            let _ = text.parse::<OffsetMessageId>();
        }
    }
}
