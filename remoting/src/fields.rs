//! The extension fields of a header (`extFields`): text keys with text values.

/// Key-value text pairs. A header that was read keeps its text as it came; the pairs say what of it are keys and values.
///
/// Keys keep the order in which they came; the order carries no meaning in the protocol.
#[derive(Clone, Default)]
pub struct Fields {
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

    /// No fields, with room for `bytes` of texts.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), pairs: Vec::new() }
    }

    /// Fields that are parts of a text.
    pub(crate) fn of_text(text: String, pairs: Vec<Pair>) -> Self {
        Self { text, pairs }
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Adds a pair at the end. The caller sees to it that the key is not there yet.
    pub fn push(&mut self, key: &str, value: &str) {
        let start = self.text.len();
        let needed = key.len() + value.len();
        if self.text.capacity() - start < needed {
            // The fields of an ordinary answer: no growing in small steps.
            self.text.reserve(needed.max(ROOM));
            self.pairs.reserve(8);
        }
        self.text.push_str(key);
        self.text.push_str(value);
        self.pairs.push(Pair { key: Span::new(start, key.len()), value: Span::new(start + key.len(), value.len()) });
    }

    /// Sets the value of `key`, replacing what is there.
    pub fn set(&mut self, key: &str, value: &str) {
        self.remove(key);
        self.push(key, value);
    }

    /// Removes every pair of `key`.
    pub fn remove(&mut self, key: &str) {
        let text = &self.text;
        self.pairs.retain(|pair| pair.key.of(text) != key);
    }

    /// The value of `key`; the last one where a peer sent it twice, as a Java map would keep it.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.pairs.iter().rev().find(|pair| pair.key.of(&self.text) == key)?;
        Some(found.value.of(&self.text))
    }

    /// All pairs in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter { text: &self.text, pairs: self.pairs.iter() }
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

/// Bytes of text that are made room for at once.
const ROOM: usize = 192;

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
