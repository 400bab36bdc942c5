//! SQL-92 filters: any text is compiled or refused, and what was compiled says something of any message.
#![no_main]

use std::borrow::Cow;

use apogee_filter::{Expression, PropertySource};
use apogee_remoting::message::properties::Properties;
use libfuzzer_sys::fuzz_target;

struct Message<'a>(Properties<'a>);

impl PropertySource for Message<'_> {
    fn property(&self, name: &str) -> Option<Cow<'_, str>> {
        self.0.get(name).map(String::from_utf8_lossy)
    }
}

fuzz_target!(|input: &[u8]| {
    // The expression ends with the first zero, behind it is the message.
    let end = input.iter().position(|byte| *byte == 0).unwrap_or(input.len());
    let (text, properties) = input.split_at(end);
    let Ok(text) = std::str::from_utf8(text) else { return };
    let Ok(expression) = Expression::parse(text) else { return };
    let message = Message(Properties::new(properties.get(1..).unwrap_or_default()));
    let answer = expression.evaluate(&message);
    assert_eq!(expression.matches(&message), answer == Ok(Some(true)));
});
