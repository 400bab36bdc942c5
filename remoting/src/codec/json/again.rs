//! Reading a header that is written as one before it, with other values: clients write the same again and again. What
//! stands between the values is compared at once, and only values that differ are looked at.
//!
//! A pattern is a header that `plain` read, and its slots are what may differ: in a slot there are only bytes that `plain` goes
//! over without a look (no quote, no backslash), or the digits of the request's number. A header that is the same outside
//! of the slots, and has such bytes in them, is read by `plain` in the same steps.

use std::borrow::Cow;
use std::cell::RefCell;

use super::plain::{self, Places, Scanner};
use crate::command::{Body, Command, Language};
use crate::fields::{Fields, Pair, Span};
use crate::json::text;
use crate::word::same_length;

/// The command of a header; `None` where `plain` does not read it.
pub(super) fn decode(header: &[u8]) -> Option<Command> {
    PATTERNS.with_borrow_mut(|patterns| patterns.decode(header))
}

thread_local! {
    static PATTERNS: RefCell<Patterns> = const { RefCell::new(Patterns::new()) };
}

/// Patterns of what came lately.
struct Patterns {
    known: Vec<Pattern>,
    /// Which one was met last: it is tried first, and stays.
    last: usize,
    /// Which one may go next.
    oldest: usize,
    /// How many headers were like none of them.
    misses: usize,
    /// How many of these came without one in between that was like one.
    in_a_row: usize,
    /// So many are not compared: there are too many kinds of them.
    pause: usize,
    /// Memory for what differs in a header.
    changes: Vec<Change>,
}

impl Patterns {
    const fn new() -> Self {
        Self { known: Vec::new(), last: 0, oldest: 0, misses: 0, in_a_row: 0, pause: 0, changes: Vec::new() }
    }

    fn decode(&mut self, header: &[u8]) -> Option<Command> {
        if self.pause > 0 || header.len() > MOST_HEADER {
            self.pause = self.pause.saturating_sub(1);
            return plain::decode(header).map(|(command, _)| command);
        }
        if let Some(command) = self.read(header) {
            self.in_a_row = 0;
            return Some(command);
        }
        let (command, places) = plain::decode(header)?;
        self.learn(header, &command, &places);
        Some(command)
    }

    /// The command of a header that is like a known one.
    #[inline]
    fn read(&mut self, header: &[u8]) -> Option<Command> {
        for n in (self.last..self.known.len()).chain(0..self.last) {
            if let Some(command) = self.known[n].read(header, &mut self.changes) {
                self.last = n;
                return Some(command);
            }
        }
        None
    }

    fn learn(&mut self, header: &[u8], command: &Command, places: &Places) {
        self.misses += 1;
        self.in_a_row += 1;
        if self.in_a_row == MISSES {
            (self.in_a_row, self.pause) = (0, PAUSE);
        }
        if self.misses > MOST_PATTERNS && !self.misses.is_multiple_of(MISSES) {
            return;
        }
        let Some(pattern) = Pattern::of(header, command, places) else { return };
        if self.known.len() < MOST_PATTERNS {
            self.known.push(pattern);
            return;
        }
        if self.oldest == self.last {
            self.oldest = (self.oldest + 1) % MOST_PATTERNS;
        }
        self.known[self.oldest] = pattern;
        self.oldest = (self.oldest + 1) % MOST_PATTERNS;
    }
}

/// A header, and what of it may differ.
struct Pattern {
    header: Vec<u8>,
    /// What may differ, in order: the values of fields, an escaped one in pieces between its escapes, and the request's number.
    slots: Vec<Slot>,
    /// The text of the fields, and where in it keys and values are.
    text: Vec<u8>,
    pairs: Vec<Pair>,
    code: i32,
    language: Language,
    version: i32,
    opaque: i32,
    flag: i32,
    remark: Option<Cow<'static, str>>,
}

struct Slot {
    place: Span,
    /// Where it is in the text of the fields.
    text_at: usize,
    is_opaque: bool,
}

/// A slot that differs: where it is, and where the pattern has it.
struct Change {
    place: Span,
    before: Span,
    text_at: usize,
    is_opaque: bool,
}

impl Pattern {
    /// `None` where nothing is to be gained, or a value has other escapes than the separators of properties.
    fn of(header: &[u8], command: &Command, places: &Places) -> Option<Self> {
        if places.opaque.is_empty() || places.fields.is_empty() {
            return None;
        }
        let opaque = Slot { place: Span::between(places.opaque.start, places.opaque.end), text_at: 0, is_opaque: true };
        let mut slots = Vec::new();
        let known = command.fields.as_ref()?;
        for pair in known.pairs() {
            let mut at = places.fields.start + pair.value.start();
            let mut text_at = pair.value.start();
            loop {
                let end = at + text::plain_length(&header[at..], b'"')?;
                slots.push(Slot { place: Span::between(at, end), text_at, is_opaque: false });
                match &header[end..] {
                    [b'\\', b'u', b'0', b'0', b'0', b'0'..=b'9', ..] => {}
                    [b'"', ..] => break,
                    _ => return None,
                }
                text_at += end - at + 1;
                at = end + ESCAPE;
            }
        }
        let place = if places.opaque.start < places.fields.start { 0 } else { slots.len() };
        slots.insert(place, opaque);
        Some(Self {
            header: header.to_vec(),
            slots,
            text: known.text().as_bytes().to_vec(),
            pairs: known.pairs().to_vec(),
            code: command.code,
            language: command.language,
            version: command.version,
            opaque: command.opaque,
            flag: command.flag,
            remark: command.remark.clone(),
        })
    }

    /// The command of a header that is like this one.
    fn read(&self, header: &[u8], changes: &mut Vec<Change>) -> Option<Command> {
        let opaque = self.find_changes(header, changes)?;
        let are_even = changes.iter().all(|change| change.place.len() == change.before.len() || change.is_opaque);
        let fields = if are_even { self.even_fields(header, changes) } else { self.uneven_fields(header, changes) };
        Some(Command {
            code: self.code,
            language: self.language,
            version: self.version,
            opaque,
            flag: self.flag,
            remark: self.remark.clone(),
            fields: Some(fields?),
            body: Body::default(),
        })
    }

    /// Finds the slots that differ in a header that is like this one. Gives the request's number.
    #[inline]
    fn find_changes(&self, header: &[u8], changes: &mut Vec<Change>) -> Option<i32> {
        changes.clear();
        let mut opaque = self.opaque;
        let mut slots = self.slots.iter();
        // so far here, and so far there
        let (mut here, mut there) = (0, 0);
        loop {
            let same = same_length(&self.header[here..], &header[there..]);
            (here, there) = (here + same, there + same);
            if here == self.header.len() && there == header.len() {
                return Some(opaque);
            }
            let slot = slots.find(|slot| here <= slot.place.end())?;
            if here < slot.place.start() {
                return None;
            }
            let start = slot.place.start() + there - here;
            if slot.is_opaque {
                let mut digits = Scanner { bytes: header, at: start };
                opaque = digits.integer()?;
                there = digits.at;
            } else {
                there += text::plain_length(&header[there..], b'"')?;
            }
            here = slot.place.end();
            let place = Span::between(start, there);
            changes.push(Change { place, before: slot.place, text_at: slot.text_at, is_opaque: slot.is_opaque });
        }
    }

    /// The fields where all values are as long as in this header; `None` where they are no UTF-8.
    #[inline]
    fn even_fields(&self, header: &[u8], changes: &[Change]) -> Option<Fields> {
        Fields::of_bytes(|text, pairs| {
            text.extend_from_slice(&self.text);
            pairs.extend_from_slice(&self.pairs);
            for change in changes.iter().filter(|change| !change.is_opaque) {
                let value = &header[change.place.start()..change.place.end()];
                text[change.text_at..][..value.len()].copy_from_slice(value);
            }
        })
    }

    /// The fields where values are shorter or longer: what stands between them is copied, and what is behind one moves.
    fn uneven_fields(&self, header: &[u8], changes: &[Change]) -> Option<Fields> {
        let mut changes = changes.iter().filter(|change| !change.is_opaque);
        Fields::of_bytes(|text, pairs| {
            let mut copied = 0;
            for change in changes.clone() {
                text.extend_from_slice(&self.text[copied..change.text_at]);
                text.extend_from_slice(&header[change.place.start()..change.place.end()]);
                copied = change.text_at + change.before.len();
            }
            text.extend_from_slice(&self.text[copied..]);
            let mut next = changes.next();
            // what the changes so far have taken away and added
            let (mut less, mut more) = (0, 0);
            pairs.extend(self.pairs.iter().map(|Pair { key, value }| {
                let key = Span::new(key.start() + more - less, key.len());
                let start = value.start() + more - less;
                while let Some(change) = next.filter(|change| change.text_at <= value.end()) {
                    (less, more) = (less + change.before.len(), more + change.place.len());
                    next = changes.next();
                }
                Pair { key, value: Span::between(start, value.end() + more - less) }
            }));
        })
    }
}

/// Bytes of an escape.
const ESCAPE: usize = 6;
/// So many patterns are kept for each thread, of headers of so many bytes at most.
const MOST_PATTERNS: usize = 4;
const MOST_HEADER: usize = 2 << 10;
/// One of so many headers that are like none of them takes the place of one. Where they come in a row, so many behind them are not compared.
const MISSES: usize = 16;
const PAUSE: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec::json::read;

    const SEND: &str = r#"{"code":310,"extFields":{"a":"g","b":"T","e":"3","i":"UNIQ_KEY\u0001A0\u0002WAIT\u0001true\u0002","k":"","topic":"x"},"flag":0,"language":"JAVA","opaque":2147483647,"serializeTypeCurrentRPC":"JSON","version":513}"#;
    const OF_GO: &str = r#"{"code":310,"language":"GO","version":317,"opaque":7,"flag":0,"remark":"","extFields":{"b":"T","i":"a\u0001b\u0002","e":"12"}}"#;

    fn pattern(header: &str) -> Pattern {
        let (command, places) = plain::decode(header.as_bytes()).unwrap();
        Pattern::of(header.as_bytes(), &command, &places).unwrap()
    }

    fn read(pattern: &Pattern, header: &[u8]) -> Option<Command> {
        pattern.read(header, &mut Vec::new())
    }

    #[test]
    fn reads_other_values_of_any_length() {
        for header in [SEND, OF_GO] {
            let pattern = pattern(header);
            for (old, new) in [
                ("\"e\":\"", "\"e\":\"123"),
                ("\"b\":\"T\"", "\"b\":\"\""),
                ("\"b\":\"T\"", "\"b\":\"a longer text than there was\""),
                ("\"b\":\"T\"", "\"b\":\"ä\""),
                ("\\u0001", "\u{4e2d}\\u0001"),
                ("\\u0001", "more\\u0001"),
                ("\\u0002", "\\u0002more"),
                ("\"opaque\":", "\"opaque\":0"),
                ("3647", "3648"),
                ("3647", "36"),
                ("\"opaque\":7", "\"opaque\":78"),
            ] {
                let other = header.replacen(old, new, 1);
                let expected = read::general(&other).ok();
                assert_eq!(read(&pattern, other.as_bytes()), expected, "{other}");
                assert_eq!(decode(other.as_bytes()), expected, "{other}");
            }
        }
    }

    #[test]
    fn leaves_headers_that_are_written_otherwise() {
        for header in [SEND, OF_GO] {
            let pattern = pattern(header);
            for (old, new) in [
                ("\"b\":", "\"c\":"),
                ("\"b\":\"", "\"b\":\"\\u0001"),
                ("\\u0001", "\\u0002"),
                ("\\u0001", "\\\""),
                ("310", "311"),
                ("310", "3100"),
                ("\"opaque\":", "\"opaque\":-"),
                ("\"opaque\":", "\"opaque\":11111111111"),
                ("}", "},\"x\":1"),
                ("}", ""),
            ] {
                let other = header.replacen(old, new, 1);
                assert_eq!(read(&pattern, other.as_bytes()), None, "{other}");
            }
            for cut in 0..header.len() {
                assert_eq!(read(&pattern, &header.as_bytes()[..cut]), None);
                assert_eq!(read(&pattern, &[header.as_bytes(), b"}"].concat()), None);
            }
        }
    }

    #[test]
    fn keeps_a_bounded_number_of_patterns() {
        let mut patterns = Patterns::new();
        for n in 0..1000 {
            let header = SEND.replacen("310", &n.to_string(), 1);
            assert_eq!(patterns.decode(header.as_bytes()), read::general(&header).ok());
        }
        assert_eq!(patterns.known.len(), MOST_PATTERNS);
        patterns.pause = 0;
        let long = SEND.replacen("\"T\"", &format!("\"{}\"", "T".repeat(MOST_HEADER)), 1);
        assert!(patterns.decode(long.as_bytes()).is_some());
        assert!(patterns.known.iter().all(|pattern| pattern.header.len() <= MOST_HEADER));
    }

    #[test]
    fn what_is_met_stays_and_what_is_never_met_is_not_compared() {
        let mut patterns = Patterns::new();
        let mut read = |code: usize| {
            let header = SEND.replacen("310", &code.to_string(), 1);
            assert_eq!(patterns.decode(header.as_bytes()), read::general(&header).ok());
            (patterns.misses, patterns.pause)
        };
        read(1);
        for code in 1000..1200 {
            read(code);
            let misses = read(1).0;
            assert_eq!(misses, code - 998, "the one that is met again and again stays");
        }
        let paused = (2000..2100).filter(|code| read(*code).1 > 0).count();
        assert!((PAUSE..100 - MISSES).contains(&paused), "{paused}");
    }

    /// A header with some of its bytes changed.
    fn changed(header: &str, changes: Vec<(prop::sample::Index, usize, String)>) -> String {
        let mut text = header.to_owned();
        for (from, gone, new) in changes {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let from = from.index(places.len());
            let to = places.get(from + gone).copied().unwrap_or(text.len());
            text.replace_range(places[from]..to, &new);
        }
        text
    }

    fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, String)>> {
        let new = prop_oneof!["[a-z0-9\"\\\\{}:,u \u{e4}]{0,4}", "[0-9a-zA-Z]{0,20}", Just("\\u0001".to_owned())];
        proptest::collection::vec((any::<prop::sample::Index>(), 0..4usize, new), 0..4)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

        /// A header with the same fields is always taken, whatever their values are.
        #[test]
        fn takes_any_values(
            before in proptest::array::uniform4("[^\"\\\\]{0,40}"), now in proptest::array::uniform4("[^\"\\\\]{0,40}"),
            same in proptest::array::uniform4(any::<bool>()), (opaque, is_first) in (0..=i32::MAX, any::<bool>()),
        ) {
            let header = |[a, b, c, d]: &[String; 4], opaque: i32| {
                let fields = format!(r#""extFields":{{"a":"{a}","topic":"{b}","i":"{c}\u0001{d}\u0002"}}"#);
                let number = format!(r#""opaque":{opaque}"#);
                let (first, second) = if is_first { (number, fields) } else { (fields, number) };
                format!(r#"{{"code":310,{first},"flag":0,{second},"language":"GO"}}"#)
            };
            let pattern = pattern(&header(&before, 7));
            let values = std::array::from_fn(|n| if same[n] { before[n].clone() } else { now[n].clone() });
            let now = header(&values, opaque);
            prop_assert_eq!(read(&pattern, now.as_bytes()), Some(read::general(&now).unwrap()));
        }

        /// After any header, any header is read as the general reader reads it.
        #[test]
        fn agrees_with_the_general_reader(
            (is_go, before, now) in (any::<bool>(), changes(), changes()),
            broken in any::<prop::sample::Index>(),
        ) {
            let known = changed(if is_go { OF_GO } else { SEND }, before);
            let header = changed(&known, now);
            let mut patterns = Patterns::new();
            let _ = patterns.decode(known.as_bytes());
            if let Some(command) = patterns.decode(header.as_bytes()) {
                prop_assert_eq!(Ok(command), read::general(&header), "{} after {}", header, known);
            }
            // the same with a byte that is no UTF-8
            let mut bytes = header.into_bytes();
            if !bytes.is_empty() {
                let at = broken.index(bytes.len());
                bytes[at] |= 0x80;
            }
            if let Some(command) = patterns.decode(&bytes) {
                prop_assert_eq!(Ok(command), read::general(&String::from_utf8_lossy(&bytes)), "{:?} after {}", bytes, known);
            }
        }
    }
}
