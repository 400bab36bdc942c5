//! Message properties: `name 0x01 value 0x02`, repeated (constants.md, section 4).
//!
//! The stored form ends with 0x02. A client may leave the last one out, so reading accepts both and
//! everything that is written ends with it: text put behind a missing separator would otherwise run
//! into the last value.

use std::cell::Cell;

use memchr::memmem::Finder;

use crate::word::{bytes_below, find, find_byte};

/// Ends a name.
pub const NAME_VALUE_SEPARATOR: u8 = 1;
/// Ends a value.
pub const PROPERTY_SEPARATOR: u8 = 2;
/// The longest properties text a record can hold, in bytes: the length field is a signed 16-bit number.
pub const MAX_PROPERTIES_LENGTH: usize = i16::MAX as usize;

/// A view of properties text, in any byte content; reading allocates nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Properties<'a>(&'a [u8]);

impl<'a> Properties<'a> {
    /// Looks at properties text as a client sent it or a record stores it.
    pub fn new(text: &'a [u8]) -> Self {
        Self(text)
    }

    /// The text itself.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// All pairs in their stored order. Entries without name, value or separator between them are passed
    /// over, as the reference does.
    pub fn iter(self) -> Iter<'a> {
        Iter { rest: self.0 }
    }

    /// The value of `name`. Of several the last one counts, as in the map the reference reads into.
    pub fn get(self, name: &str) -> Option<&'a [u8]> {
        // Most lookups miss: one pass over the names, values are not looked at.
        self.iter().filter(|(found, _)| *found == name.as_bytes()).last().map(|(_, value)| value)
    }

    /// The value of a name that is looked for in every message; the same as [`Properties::get`].
    pub fn find(self, name: &Name) -> Option<&'a [u8]> {
        let mut value = None;
        for at in name.0.find_iter(self.0) {
            // behind the start or an entry: anywhere else it is part of a name or a value
            if at == 0 || self.0[at - 1] == PROPERTY_SEPARATOR {
                let rest = &self.0[at + name.0.needle().len()..];
                let end = find_byte(rest, PROPERTY_SEPARATOR).unwrap_or(rest.len());
                value = Some(&rest[..end]).filter(|value| !value.is_empty()).or(value);
            }
        }
        value
    }

    /// The value of `name` where it is UTF-8.
    pub fn get_str(self, name: &str) -> Option<&'a str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    /// The value of `name` where it is a decimal number.
    pub fn get_number<T: std::str::FromStr>(self, name: &str) -> Option<T> {
        self.get_str(name)?.trim().parse().ok()
    }

    /// Whether the text could be stored as it is: its last entry is closed.
    pub fn is_closed(self) -> bool {
        self.0.last().is_none_or(|last| *last == PROPERTY_SEPARATOR)
    }
}

/// The name of a property, for [`Properties::find`].
pub struct Name(Finder<'static>);

impl Name {
    /// `text`: the name and [`NAME_VALUE_SEPARATOR`].
    ///
    /// # Panics
    /// The separator is missing, or it is not the only one.
    pub fn new(text: &'static [u8]) -> Self {
        let is_separator = |byte: &u8| matches!(*byte, NAME_VALUE_SEPARATOR | PROPERTY_SEPARATOR);
        let ends = text.iter().position(is_separator) == Some(text.len().saturating_sub(1));
        assert!(
            ends && text.len() > 1 && text.ends_with(&[NAME_VALUE_SEPARATOR]),
            "a name and its separator are needed"
        );
        Self(Finder::new(text))
    }
}

impl<'a> IntoIterator for Properties<'a> {
    type Item = (&'a [u8], &'a [u8]);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Pairs of (name, value), see [`Properties::iter`].
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a [u8], &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while let Some(at) = find_either(self.rest) {
            let (name, rest) = (&self.rest[..at], &self.rest[at + 1..]);
            if self.rest[at] == PROPERTY_SEPARATOR {
                self.rest = rest;
                continue;
            }
            let end = find_byte(rest, PROPERTY_SEPARATOR).unwrap_or(rest.len());
            let value = &rest[..end];
            self.rest = rest.get(end + 1..).unwrap_or_default();
            if !name.is_empty() && !value.is_empty() {
                return Some((name, value));
            }
        }
        None
    }
}

/// Where the first separator of either kind is.
#[inline]
fn find_either(bytes: &[u8]) -> Option<usize> {
    let is_one = |byte| matches!(byte, NAME_VALUE_SEPARATOR | PROPERTY_SEPARATOR);
    // 0 besides them, which no name has
    match find(bytes, |word| bytes_below(word, PROPERTY_SEPARATOR + 1), is_one) {
        Some(at) if bytes[at] == 0 => bytes[at..].iter().position(|byte| is_one(*byte)).map(|more| at + more),
        found => found,
    }
}

/// Properties text being put together, always in the stored form. The memory of one that is dropped serves the next one of
/// the thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropertiesBuf(Vec<u8>);

impl Drop for PropertiesBuf {
    fn drop(&mut self) {
        if (1..=MOST_SPARE).contains(&self.0.capacity()) {
            self.0.clear();
            // while the thread ends there is nobody to keep it for
            let _ = SPARE.try_with(|spare| spare.replace(std::mem::take(&mut self.0)));
        }
    }
}

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Room for what a broker adds to a send: region, trace mark, cluster, in bytes.
const MORE: usize = 96;
/// Memory for longer texts is given back, in bytes.
const MOST_SPARE: usize = 4 << 10;

impl PropertiesBuf {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes over text as a client sent it, adding the last separator where it is missing.
    pub fn from_text(text: &[u8]) -> Self {
        let mut buf = SPARE.take();
        buf.reserve(text.len() + MORE);
        buf.extend_from_slice(text);
        let mut this = Self(buf);
        this.close();
        this
    }

    /// Takes over the pairs of a text that pass.
    pub fn of_those<'a>(text: &'a [u8], mut keep: impl FnMut(&'a [u8], &'a [u8]) -> bool) -> Self {
        let mut buf = SPARE.take();
        buf.reserve(text.len() + MORE);
        // pairs behind one another are copied together
        let (mut run, mut pairs) = (0..0, Properties(text).iter());
        while let Some((name, value)) = pairs.next() {
            let behind = text.len() - pairs.rest.len();
            // the last separator may be missing
            let end = if text[behind - 1] == PROPERTY_SEPARATOR { behind - 1 } else { behind };
            let start = end - value.len() - 1 - name.len();
            if !keep(name, value) {
                continue;
            }
            if run.end != start {
                buf.extend_from_slice(&text[run]);
                run = start..start;
            }
            run.end = behind;
        }
        buf.extend_from_slice(&text[run]);
        let mut this = Self(buf);
        this.close();
        this
    }

    /// A reading view.
    pub fn view(&self) -> Properties<'_> {
        Properties(&self.0)
    }

    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text, given away.
    pub fn into_bytes(mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }

    /// Length of the text in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a record can hold it ([`MAX_PROPERTIES_LENGTH`]).
    pub fn fits(&self) -> bool {
        self.0.len() <= MAX_PROPERTIES_LENGTH
    }

    /// Adds a pair whose name is known to be absent.
    pub fn push(&mut self, name: &str, value: impl AsRef<[u8]>) -> &mut Self {
        push(&mut self.0, name.as_bytes(), value.as_ref());
        self
    }

    /// Adds pairs whose names are known to be absent, and whose text [is closed](Properties::is_closed).
    pub fn append(&mut self, others: Properties<'_>) -> &mut Self {
        debug_assert!(others.is_closed(), "the next pair would run into the last value");
        self.0.extend_from_slice(others.0);
        self
    }

    /// Gives `name` this value, in place of any it had.
    pub fn set(&mut self, name: &str, value: impl AsRef<[u8]>) -> &mut Self {
        self.remove(name);
        self.push(name, value)
    }

    /// Takes `name` out; says whether it was there.
    pub fn remove(&mut self, name: &str) -> bool {
        self.retain(|found| found != name.as_bytes())
    }

    /// Keeps the pairs whose name passes; says whether anything went.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8]) -> bool) -> bool {
        let mut pairs = self.view().iter();
        let (mut kept, mut behind) = (0, 0);
        loop {
            let Some((name, value)) = pairs.next() else { return false };
            if !keep(name) {
                break;
            }
            kept += name.len() + value.len() + 2;
            behind = self.0.len() - pairs.rest.len();
        }
        let mut at = self.0.len() - pairs.rest.len();
        if kept < behind {
            // Entries that are none do not stay, either.
            let mut even = Self::new();
            self.view().iter().for_each(|(name, value)| push(&mut even.0, name, value));
            *self = even;
            at = 0;
            kept = 0;
        }
        loop {
            let mut pairs = Properties(&self.0[at..]).iter();
            let Some((name, value)) = pairs.next() else { break };
            let (length, end) = (name.len() + value.len() + 2, self.0.len() - pairs.rest.len());
            if keep(name) {
                self.0.copy_within(end - length..end, kept);
                kept += length;
            }
            at = end;
        }
        self.0.truncate(kept);
        true
    }

    fn close(&mut self) {
        if !self.view().is_closed() {
            self.0.push(PROPERTY_SEPARATOR);
        }
    }
}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(N, V)> for PropertiesBuf {
    fn from_iter<T: IntoIterator<Item = (N, V)>>(pairs: T) -> Self {
        let mut text = Vec::new();
        for (name, value) in pairs {
            push(&mut text, name.as_ref(), value.as_ref());
        }
        Self(text)
    }
}

fn push(text: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    text.reserve(name.len() + value.len() + 2);
    text.extend_from_slice(name);
    text.push(NAME_VALUE_SEPARATOR);
    text.extend_from_slice(value);
    text.push(PROPERTY_SEPARATOR);
}

/// Names the protocol knows (constants.md, section 4), those of client-side bookkeeping left out.
pub mod key {
    macro_rules! keys {
        ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
            $($(#[$doc])* pub const $name: &str = $text;)*
        };
    }

    keys! {
        /// User keys, separated by spaces.
        KEYS = "KEYS";
        /// The tag.
        TAGS = "TAGS";
        /// Whether the producer waits until the message is stored as the broker's role asks.
        WAIT = "WAIT";
        /// Delay level, from 1.
        DELAY = "DELAY";
        /// First topic of a message being retried.
        RETRY_TOPIC = "RETRY_TOPIC";
        /// Topic a delayed or half message is for.
        REAL_TOPIC = "REAL_TOPIC";
        /// Queue a delayed or half message is for.
        REAL_QID = "REAL_QID";
        /// `true` on a half message.
        TRAN_MSG = "TRAN_MSG";
        /// Producer group of a half message.
        PGROUP = "PGROUP";
        /// Transaction id the producer knows.
        TRANSACTION_ID = "__transactionId__";
        /// How often a half message was checked.
        TRANSACTION_CHECK_TIMES = "TRANSACTION_CHECK_TIMES";
        /// Queue offset of the half message that was written again.
        TRAN_PREPARED_QUEUE_OFFSET = "TRAN_PREPARED_QUEUE_OFFSET";
        /// Seconds a half message is not checked.
        CHECK_IMMUNITY_TIME_IN_SECONDS = "CHECK_IMMUNITY_TIME_IN_SECONDS";
        /// Offset of the half message, on an op message.
        TRANS_OFFSET = "TRANS_OFFSET";
        /// How often the message was consumed before, as text.
        RECONSUME_TIME = "RECONSUME_TIME";
        /// How often it may be.
        MAX_RECONSUME_TIMES = "MAX_RECONSUME_TIMES";
        /// Region of the broker.
        MSG_REGION = "MSG_REGION";
        /// Whether the send is traced.
        TRACE_ON = "TRACE_ON";
        /// Cluster of the broker.
        CLUSTER = "CLUSTER";
        /// The client's message id.
        UNIQ_KEY = "UNIQ_KEY";
        /// More about the unique key.
        EXTEND_UNIQ_INFO = "EXTEND_UNIQ_INFO";
        /// Namespace.
        INSTANCE_ID = "INSTANCE_ID";
        /// Offset id of the first copy of a retried message.
        ORIGIN_MESSAGE_ID = "ORIGIN_MESSAGE_ID";
        /// Group a retried message failed in (pop).
        ORIGIN_GROUP = "ORIGIN_GROUP";
        /// Request-reply: pairs the two.
        CORRELATION_ID = "CORRELATION_ID";
        /// Request-reply: client that asked.
        REPLY_TO_CLIENT = "REPLY_TO_CLIENT";
        /// Request-reply: time the request lives, ms.
        TTL = "TTL";
        /// Request-reply: when the reply arrived, ms.
        ARRIVE_TIME = "ARRIVE_TIME";
        /// Request-reply: when the reply was pushed, ms.
        PUSH_REPLY_TIME = "PUSH_REPLY_TIME";
        /// `reply` on the reply of a request.
        MSG_TYPE = "MSG_TYPE";
        /// First pop, ms.
        FIRST_POP_TIME = "1ST_POP_TIME";
        /// Pop handle.
        POP_CK = "POP_CK";
        /// Order key.
        SHARDING_KEY = "__SHARDINGKEY";
        /// Lite topic.
        LITE_TOPIC = "__LITE_TOPIC";
        /// Number of messages in an inner batch.
        INNER_NUM = "INNER_NUM";
        /// First queue offset of an inner batch.
        INNER_BASE = "INNER_BASE";
        /// Light queues a message also goes to, separated by commas.
        INNER_MULTI_DISPATCH = "INNER_MULTI_DISPATCH";
        /// Its offsets in them.
        INNER_MULTI_QUEUE_OFFSET = "INNER_MULTI_QUEUE_OFFSET";
        /// Timer: delay in seconds.
        TIMER_DELAY_SEC = "TIMER_DELAY_SEC";
        /// Timer: delay in ms.
        TIMER_DELAY_MS = "TIMER_DELAY_MS";
        /// Timer: delivery time, ms.
        TIMER_DELIVER_MS = "TIMER_DELIVER_MS";
        /// Timer: delivery time rounded down by the broker, ms.
        TIMER_OUT_MS = "TIMER_OUT_MS";
        /// Dead letter: first topic.
        DLQ_ORIGIN_TOPIC = "DLQ_ORIGIN_TOPIC";
        /// Dead letter: first offset id.
        DLQ_ORIGIN_MESSAGE_ID = "DLQ_ORIGIN_MESSAGE_ID";
        /// Born host a proxy saw.
        BORN_HOST = "__BORNHOST";
        /// Born time a proxy saw, ms.
        BORN_TIMESTAMP = "BORN_TIMESTAMP";
        /// Checksum of the record, its last property.
        CRC32 = "__CRC32#";
        /// Names with this beginning are never stored.
        TRANSIENT_PREFIX = "__RMQ.TRANSIENT.";
    }
}

#[cfg(test)]
#[path = "properties_tests.rs"]
mod tests;
