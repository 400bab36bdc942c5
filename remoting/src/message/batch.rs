//! The client's batch form: the body of SEND_BATCH_MESSAGE (320) and of an inner batch record.
//!
//! Each member: total size 4, magic 4 (0), CRC 4 (0), flag 4, body length 4, body, properties length 2,
//! properties (constants.md, section 5).

use bytes::{Buf, BufMut};
use thiserror::Error;

use super::properties::MAX_PROPERTIES_LENGTH;

/// One message of a batch; body and properties borrow from the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchMember<'a> {
    /// The user's flag.
    pub flag: i32,
    /// The body.
    pub body: &'a [u8],
    /// Properties text as the client wrote it.
    pub properties: &'a [u8],
}

/// Why a batch cannot be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BatchError {
    /// The bytes end within a member.
    #[error("batch ends within member {member}: {needed} more bytes needed, {left} left")]
    Truncated {
        /// Number of the member, from 0.
        member: usize,
        /// Bytes the next field needs.
        needed: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// A length is negative: for the properties, a client wrapped a text longer than 32767 bytes.
    #[error("length {length} of the {field} of batch member {member} is negative")]
    NegativeLength {
        /// Number of the member, from 0.
        member: usize,
        /// `body` or `properties`.
        field: &'static str,
        /// The length read.
        length: i64,
    },
    /// The properties do not fit the length field.
    #[error("{length} bytes of properties, at most 32767 can be stored")]
    PropertiesTooLong {
        /// Bytes of the properties.
        length: usize,
    },
}

/// Reads the members of a batch in order.
///
/// Sizes are those of the parts; the total size, magic and CRC a client writes are not looked at, as in
/// the reference. After an error the iteration ends.
pub fn decode(batch: &[u8]) -> BatchIter<'_> {
    BatchIter { rest: batch, member: 0 }
}

/// Members of a batch, see [`decode`].
#[derive(Clone, Debug)]
pub struct BatchIter<'a> {
    rest: &'a [u8],
    member: usize,
}

impl<'a> BatchIter<'a> {
    fn member(&mut self) -> Result<BatchMember<'a>, BatchError> {
        let head = self.take(HEAD)?;
        let flag = (&head[12..]).get_i32();
        let body_length = (&head[16..]).get_i32();
        let body_length = self.length("body", i64::from(body_length))?;
        let body = self.take(body_length)?;
        let properties_length = self.take(2)?.get_i16();
        let properties_length = self.length("properties", i64::from(properties_length))?;
        let properties = self.take(properties_length)?;
        self.member += 1;
        Ok(BatchMember { flag, body, properties })
    }

    fn length(&self, field: &'static str, length: i64) -> Result<usize, BatchError> {
        usize::try_from(length).map_err(|_| BatchError::NegativeLength { member: self.member, field, length })
    }

    fn take(&mut self, needed: usize) -> Result<&'a [u8], BatchError> {
        let Some((taken, rest)) = self.rest.split_at_checked(needed) else {
            return Err(BatchError::Truncated { member: self.member, needed, left: self.rest.len() });
        };
        self.rest = rest;
        Ok(taken)
    }
}

impl<'a> Iterator for BatchIter<'a> {
    type Item = Result<BatchMember<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let member = self.member();
        if member.is_err() {
            self.rest = &[];
        }
        Some(member)
    }
}

impl BatchMember<'_> {
    /// Bytes of the encoded member.
    pub fn encoded_len(&self) -> usize {
        HEAD + self.body.len() + 2 + self.properties.len()
    }

    /// Appends the member in the client's form.
    pub fn encode(&self, into: &mut impl BufMut) -> Result<(), BatchError> {
        if self.properties.len() > MAX_PROPERTIES_LENGTH {
            return Err(BatchError::PropertiesTooLong { length: self.properties.len() });
        }
        into.put_i32(self.encoded_len() as i32);
        into.put_i32(0);
        into.put_i32(0);
        into.put_i32(self.flag);
        into.put_i32(self.body.len() as i32);
        into.put_slice(self.body);
        into.put_i16(self.properties.len() as i16);
        into.put_slice(self.properties);
        Ok(())
    }
}

/// Bytes before the body.
const HEAD: usize = 20;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn negative_and_short_lengths_are_errors() {
        let member = BatchMember { flag: 0, body: b"x", properties: b"" };
        let mut batch = Vec::new();
        member.encode(&mut batch).unwrap();
        batch[21] = 0xFF; // length of the properties
        assert_eq!(
            decode(&batch).next(),
            Some(Err(BatchError::NegativeLength { member: 0, field: "properties", length: -256 }))
        );
        batch[16] = 0x7F; // length of the body
        assert!(matches!(decode(&batch).next(), Some(Err(BatchError::Truncated { member: 0, .. }))));
        let long = vec![b'a'; MAX_PROPERTIES_LENGTH + 1];
        let member = BatchMember { properties: &long, ..member };
        assert_eq!(member.encode(&mut Vec::new()), Err(BatchError::PropertiesTooLong { length: 32768 }));
    }

    proptest! {
        #[test]
        fn decodes_what_it_encoded(members in proptest::collection::vec(
            (any::<i32>(), proptest::collection::vec(any::<u8>(), 0..40), proptest::collection::vec(any::<u8>(), 0..40)), 0..6)
        ) {
            let mut batch = Vec::new();
            for (flag, body, properties) in &members {
                BatchMember { flag: *flag, body, properties }.encode(&mut batch).unwrap();
            }
            let read: Vec<_> = decode(&batch).map(Result::unwrap)
                .map(|m| (m.flag, m.body.to_vec(), m.properties.to_vec())).collect();
            prop_assert_eq!(read, members);
        }

        #[test]
        fn any_bytes_end(batch in proptest::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..200)) {
            let read: Vec<_> = decode(&batch).collect();
            prop_assert!(read.len() <= batch.len() / (HEAD + 2) + 1);
            prop_assert!(read.iter().rev().skip(1).all(Result::is_ok));
        }
    }
}
