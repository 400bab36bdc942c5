//! The extension fields of a header (`extFields`): text keys with text values.

use smallvec::SmallVec;

/// Key-value text pairs, kept in two flat buffers so that a header of ordinary size is decoded,
/// read and written with one allocation for all of its texts.
///
/// Keys keep the order in which they came; the order carries no meaning in the protocol.
#[derive(Clone, Default)]
pub struct Fields {
    /// All keys and values, one after the other, cut at `lengths`.
    text: String,
    /// Byte lengths in `text`, alternating key and value.
    lengths: SmallVec<[u32; 32]>,
}

impl Fields {
    /// No fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// No fields, with room for `bytes` of texts.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), lengths: SmallVec::new() }
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.lengths.len() / 2
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Adds a pair at the end. The caller sees to it that the key is not there yet.
    pub fn push(&mut self, key: &str, value: &str) {
        if self.text.capacity() == 0 {
            // The fields of an ordinary answer: no growing in small steps.
            self.text.reserve((key.len() + value.len()).max(FIRST_ROOM));
        }
        self.text.push_str(key);
        self.text.push_str(value);
        self.lengths.push(key.len() as u32);
        self.lengths.push(value.len() as u32);
    }

    /// Adds a pair whose value `write` appends to the text it is given.
    ///
    /// # Errors
    /// Those of `write`; nothing is added then.
    pub(crate) fn push_with<E>(
        &mut self,
        key: &str,
        write: impl FnOnce(&mut String) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.text.len();
        self.text.push_str(key);
        let from = self.text.len();
        if let Err(error) = write(&mut self.text) {
            self.text.truncate(start);
            return Err(error);
        }
        self.lengths.push(key.len() as u32);
        self.lengths.push((self.text.len() - from) as u32);
        Ok(())
    }

    /// Sets the value of `key`, replacing what is there.
    pub fn set(&mut self, key: &str, value: &str) {
        self.remove(key);
        self.push(key, value);
    }

    /// Removes every pair of `key`.
    pub fn remove(&mut self, key: &str) {
        if self.get(key).is_some() {
            let kept = std::mem::take(self);
            for (k, v) in kept.iter().filter(|(k, _)| *k != key) {
                self.push(k, v);
            }
        }
    }

    /// The value of `key`; the last one where a peer sent it twice, as a Java map would keep it.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.iter().filter(|(k, _)| *k == key).last().map(|(_, v)| v)
    }

    /// All pairs in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter { text: &self.text, lengths: self.lengths.chunks_exact(2) }
    }
}

/// Iterator over the pairs of [`Fields`].
pub struct Iter<'a> {
    text: &'a str,
    lengths: std::slice::ChunksExact<'a, u32>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let pair = self.lengths.next()?;
        let (key, rest) = self.text.split_at_checked(pair[0] as usize)?;
        let (value, rest) = rest.split_at_checked(pair[1] as usize)?;
        self.text = rest;
        Some((key, value))
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

/// Bytes of text that the first pair makes room for.
const FIRST_ROOM: usize = 128;

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
