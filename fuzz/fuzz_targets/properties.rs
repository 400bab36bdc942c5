//! Message properties, of any bytes: changing one leaves the others.
#![no_main]

use apogee_remoting::message::properties::{Properties, PropertiesBuf, key};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let pairs: Vec<_> = Properties::new(text).iter().collect();
    let mut changed = PropertiesBuf::from_text(text);
    assert!(changed.view().is_closed());
    assert_eq!(changed.view().iter().collect::<Vec<_>>(), pairs);

    changed.set(key::TAGS, "tag");
    assert_eq!(changed.view().get(key::TAGS), Some(&b"tag"[..]));
    let others = |pairs: &[(&[u8], &[u8])]| -> Vec<(Vec<u8>, Vec<u8>)> {
        let others = pairs.iter().filter(|(name, _)| *name != key::TAGS.as_bytes());
        others.map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
    };
    assert_eq!(others(&changed.view().iter().collect::<Vec<_>>()), others(&pairs));
    assert!(changed.remove(key::TAGS) && changed.view().get(key::TAGS).is_none());
});
