//! The extension fields of a header (`extFields`): text keys with text values.

use std::cell::RefCell;

use crate::header::FieldSink;

/// Key-value text pairs. A header that was read keeps its text as it came; the pairs say what of it are keys and values.
///
/// Keys keep the order in which they came; the order carries no meaning in the protocol.
///
/// The memory of fields that are dropped serves the next ones of the thread.
#[derive(Clone, Default)]
pub struct Fields(Memory);

#[derive(Clone, Default)]
struct Memory {
    /// All keys and values, perhaps with other text between them.
    text: String,
    pairs: Vec<Pair>,
}

#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) key: Span,
    pub(crate) value: Span,
}

/// A part of a text, in bytes: no header is longer than 16 MiB.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    start: u32,
    length: u32,
}

impl Span {
    pub(crate) fn new(start: usize, length: usize) -> Self {
        Self { start: start as u32, length: length as u32 }
    }

    /// The part of `text` between two places.
    pub(crate) fn between(start: usize, end: usize) -> Self {
        Self::new(start, end - start)
    }

    /// Where it begins.
    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    pub(crate) fn len(self) -> usize {
        self.length as usize
    }

    /// Where it ends.
    pub(crate) fn end(self) -> usize {
        self.start as usize + self.length as usize
    }

    #[inline]
    fn bytes_of(self, text: &str) -> &[u8] {
        let start = self.start as usize;
        &text.as_bytes()[start..start + self.length as usize]
    }

    /// Whether it is that key.
    #[inline]
    fn is(self, text: &str, key: &str) -> bool {
        self.len() == key.len() && text.as_bytes().get(self.start()..self.end()) == Some(key.as_bytes())
    }

    #[inline]
    fn of(self, text: &str) -> &str {
        let start = self.start as usize;
        &text[start..start + self.length as usize]
    }
}

impl Fields {
    /// No fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Fields whose keys and values are parts of bytes that `write` gathers; `None` where these are no UTF-8. Before and behind
    /// each part there is ASCII, or an end.
    #[inline]
    pub(crate) fn of_bytes(write: impl FnOnce(&mut Vec<u8>, &mut Vec<Pair>)) -> Option<Self> {
        let Memory { text, mut pairs } = Memory::spare();
        let mut bytes = text.into_bytes();
        write(&mut bytes, &mut pairs);
        Some(Self(Memory { text: String::from_utf8(bytes).ok()?, pairs }))
    }

    /// No fields, with memory for those of an ordinary header.
    pub(crate) fn with_memory() -> Self {
        Self(Memory::spare())
    }

    /// All keys and values, perhaps with other text between them.
    pub(crate) fn text(&self) -> &str {
        &self.0.text
    }

    /// Where keys and values are in the text.
    pub(crate) fn pairs(&self) -> &[Pair] {
        &self.0.pairs
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.0.pairs.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.0.pairs.is_empty()
    }

    /// Adds a pair at the end. The caller sees to it that the key is not there yet.
    pub fn push(&mut self, key: &str, value: &str) {
        if self.0.text.capacity() == 0 {
            self.0 = Memory::spare();
        }
        let Memory { text, pairs } = &mut self.0;
        let start = text.len();
        text.push_str(key);
        text.push_str(value);
        pairs.push(Pair { key: Span::new(start, key.len()), value: Span::new(start + key.len(), value.len()) });
    }

    /// Sets the value of `key`, replacing what is there.
    pub fn set(&mut self, key: &str, value: &str) {
        self.remove(key);
        self.push(key, value);
    }

    /// Removes every pair of `key`.
    pub fn remove(&mut self, key: &str) {
        let Memory { text, pairs } = &mut self.0;
        pairs.retain(|pair| pair.key.of(text) != key);
    }

    /// The value of `key`; the last one where a peer sent it twice, as a Java map would keep it.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.pairs.iter().rev().find(|pair| pair.key.of(&self.0.text) == key)?;
        Some(found.value.of(&self.0.text))
    }

    /// All pairs in order, with keys as bytes: for those who only compare them.
    #[inline]
    pub fn iter_bytes(&self) -> impl Iterator<Item = (&[u8], &str)> {
        let Memory { text, pairs } = &self.0;
        pairs.iter().map(|pair| (pair.key.bytes_of(text), pair.value.of(text)))
    }

    /// For readers that look for keys in the order in which most peers write them.
    #[inline]
    pub fn in_order(&self) -> InOrder<'_> {
        InOrder { text: &self.0.text, pairs: &self.0.pairs }
    }

    /// All pairs in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter { text: &self.0.text, pairs: self.0.pairs.iter() }
    }
}

impl FieldSink for Fields {
    fn put(&mut self, key: &str, value: &str) {
        self.push(key, value);
    }
}

impl Memory {
    /// Memory of fields that were dropped, or new one: enough for those of an ordinary header.
    fn spare() -> Self {
        let new = || Self { text: String::with_capacity(640), pairs: Vec::with_capacity(16) };
        SPARE.with_borrow_mut(Vec::pop).unwrap_or_else(new)
    }
}

impl Drop for Fields {
    fn drop(&mut self) {
        let Memory { text, pairs } = &mut self.0;
        if text.capacity() == 0 || text.capacity() > MOST_TEXT || pairs.capacity() > MOST_PAIRS {
            return;
        }
        text.clear();
        pairs.clear();
        // While the thread ends there is nobody to keep it for.
        let _ = SPARE.try_with(|spare| {
            let spare = &mut *spare.borrow_mut();
            if spare.len() < MOST_SPARE {
                spare.push(std::mem::take(&mut self.0));
            }
        });
    }
}

thread_local! {
    /// Memory of fields that were dropped.
    static SPARE: RefCell<Vec<Memory>> = const { RefCell::new(Vec::new()) };
}

/// Memory for larger fields, in bytes of text and in pairs, is given back.
const MOST_TEXT: usize = 8 << 10;
const MOST_PAIRS: usize = 64;
/// So much memory is kept for each thread.
const MOST_SPARE: usize = 4;

/// What is left of [`Fields`] that are looked at in order.
pub struct InOrder<'a> {
    text: &'a str,
    pairs: &'a [Pair],
}

impl<'a> InOrder<'a> {
    /// Takes the next value, if it is that of `key`.
    #[inline]
    pub fn take(&mut self, key: &str) -> Option<&'a str> {
        let (pair, rest) = self.pairs.split_first()?;
        if !pair.key.is(self.text, key) {
            return None;
        }
        self.pairs = rest;
        Some(pair.value.of(self.text))
    }

    /// Whether all were taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

/// Iterator over the pairs of [`Fields`].
pub struct Iter<'a> {
    text: &'a str,
    pairs: std::slice::Iter<'a, Pair>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let pair = self.pairs.next()?;
        Some((pair.key.of(self.text), pair.value.of(self.text)))
    }
}

impl<'a> IntoIterator for &'a Fields {
    type Item = (&'a str, &'a str);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Fields {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(pairs: I) -> Self {
        let mut fields = Self::new();
        for (key, value) in pairs {
            fields.push(key, value);
        }
        fields
    }
}

impl std::fmt::Debug for Fields {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Two sets of fields are equal when every key has the same value in both, in any order.
impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        let has_all_of = |a: &Self, b: &Self| b.iter().all(|(key, _)| a.get(key) == b.get(key));
        has_all_of(self, other) && has_all_of(other, self)
    }
}

impl Eq for Fields {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_came_twice_has_its_last_value() {
        let twice: Fields = [("j", "a"), ("j", "0")].into_iter().collect();
        assert_eq!(twice, twice.clone());
        assert_eq!(twice, [("j", "0")].into_iter().collect());
        assert_ne!(twice, [("j", "a")].into_iter().collect());
    }

    #[test]
    fn keeps_order_and_takes_the_last_of_a_repeated_key() {
        let fields: Fields = [("a", "1"), ("ü", "2"), ("a", "")].into_iter().collect();
        assert_eq!(fields.len(), 3);
        assert_eq!(fields.get("a"), Some(""));
        assert_eq!(fields.get("ü"), Some("2"));
        assert_eq!(fields.get("b"), None);
        assert_eq!(fields.iter().collect::<Vec<_>>(), [("a", "1"), ("ü", "2"), ("a", "")]);
    }

    #[test]
    fn set_replaces_and_remove_forgets() {
        let mut fields: Fields = [("a", "1"), ("b", "2")].into_iter().collect();
        fields.set("a", "3");
        assert_eq!(fields.iter().collect::<Vec<_>>(), [("b", "2"), ("a", "3")]);
        fields.remove("b");
        assert_eq!(fields, [("a", "3")].into_iter().collect());
    }
}
