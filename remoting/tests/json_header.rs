//! JSON headers as another implementation of JSON reads them: what serde_json takes for a header comes out the same
//! here, and what is written here is the same to it. What it refuses and the reference's parser reads is generated
//! together with its meaning.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers, too")]

use std::collections::BTreeMap;

use apogee_remoting::{Command, DecodeError, Fields, ResponseCode, Serialization};
use proptest::collection::vec;
use proptest::prelude::*;
use serde::Deserialize;

/// A header, by either reader.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Header {
    code: i32,
    flag: i32,
    opaque: i32,
    version: i32,
    remark: Option<String>,
    ext_fields: Option<BTreeMap<String, String>>,
}

fn read(header: &[u8]) -> Result<Header, DecodeError> {
    let content = [&(header.len() as u32).to_be_bytes(), header].concat();
    let (command, _) = Command::decode(content.into())?;
    let Command { code, flag, opaque, version, remark, fields, .. } = command;
    let pairs = |fields: &Fields| fields.iter().map(|(key, value)| (key.into(), value.into())).collect();
    Ok(Header { code, flag, opaque, version, remark: remark.map(Into::into), ext_fields: fields.as_ref().map(pairs) })
}

proptest! {
    #[test]
    fn reads_what_another_reader_reads(text in header()) {
        let expected: Header = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read(text.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn a_damaged_header_is_read_alike_or_refused(text in header(), damage in vec((any::<prop::sample::Index>(), byte()), 1..4)) {
        let mut bytes = text.into_bytes();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let ours = read(&bytes);
        if let Ok(expected) = serde_json::from_str::<Header>(&String::from_utf8_lossy(&bytes)) {
            prop_assert_eq!(ours.unwrap(), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn another_reader_reads_what_is_written(
        code: i32, remark in prop::option::of(characters()),
        fields in prop::option::of(prop::collection::btree_map(characters(), characters(), 0..6)),
    ) {
        let mut command = Command::response(ResponseCode(code));
        command.remark = remark.clone().map(Into::into);
        let pairs = |pairs: &BTreeMap<String, String>| pairs.iter().map(|(k, v)| (&k[..], &v[..])).collect::<Fields>();
        command.fields = fields.as_ref().map(pairs);
        let frame = command.encode(Serialization::Json);
        let expected = Header { code, flag: 1, version: 513, remark, ext_fields: fields, ..Header::default() };
        prop_assert_eq!(serde_json::from_slice::<Header>(&frame[8..]).unwrap(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_header_cut_anywhere_is_an_error(text in header()) {
        for end in 0..text.len() {
            let cut = &text.as_bytes()[..end];
            prop_assert!(read(cut).is_err(), "{}", cut.escape_ascii());
        }
    }
}

proptest! {
    #[test]
    fn fields_are_read_in_each_way_to_write_them(pairs in vec(pair(), 0..8)) {
        let members: Vec<_> = pairs.iter().map(|(member, ..)| &member[..]).collect();
        // As in a Java map, the last of a key counts. Null is nothing.
        let expected = pairs.iter().filter_map(|(_, key, value)| Some((key.clone(), value.clone()?))).collect();
        let text = format!("{{\"extFields\":{{{}}}}}", members.join(","));
        prop_assert_eq!(read(text.as_bytes()).unwrap().ext_fields, Some(expected), "{}", text);
    }

    #[test]
    fn a_remark_is_read_in_each_way_to_write_it((written, expected) in text()) {
        let header = format!("{{\"remark\":{written}}}");
        prop_assert_eq!(read(header.as_bytes()).unwrap().remark, Some(expected), "{}", header);
    }

    #[test]
    fn integers_may_be_quoted_and_must_fit(number in prop_oneof![any::<i32>().prop_map(i64::from), any::<i64>()]) {
        for written in [format!("{number}"), format!("\"{number}\""), format!(" {number}\n")] {
            let header = format!("{{\"opaque\":{written},\"code\":{written}}}");
            let read = read(header.as_bytes()).ok().map(|header| (header.opaque, header.code));
            let expected = i32::try_from(number).ok();
            prop_assert_eq!(read, expected.zip(expected), "{}", header);
        }
    }

    #[test]
    fn any_bytes_may_stand_between_quotes(bytes in vec(any::<u8>(), 0..40)) {
        let bytes: Vec<u8> = bytes.into_iter().filter(|byte| !b"\"\\".contains(byte)).collect();
        let header = [b"{\"remark\":\"", &bytes[..], b"\"}"].concat();
        prop_assert_eq!(&read(&header).unwrap().remark.unwrap(), &String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn bytes_that_are_no_utf8_are_replaced() {
    let header = read(b"{\"remark\":\"a\xFFb\xE4\xB8\",\"extFields\":{\"\xC3\":\"\x80\xC3\xA4\"}}").unwrap();
    assert_eq!(header.remark.as_deref(), Some("a\u{FFFD}b\u{FFFD}"));
    assert_eq!(header.ext_fields, Some([("\u{FFFD}".to_owned(), "\u{FFFD}ä".to_owned())].into()));
}

#[test]
fn the_last_of_a_repeated_member_counts() {
    let text = r#"{"code":1,"remark":"a","extFields":{"a":"1"},"code":2,"extFields":{"b":"2"},"remark":null}"#;
    let ext_fields = Some([("b".to_owned(), "2".to_owned())].into());
    assert_eq!(read(text.as_bytes()).unwrap(), Header { code: 2, ext_fields, ..Header::default() });
}

#[test]
fn null_is_zero_or_nothing() {
    let text = br#"{"code":null,"flag":null,"opaque":null,"version":null,"remark":null,"extFields":null}"#;
    assert_eq!(read(text).unwrap(), Header::default());
}

/// A header as anybody may write it: members in any order, some of them unknown, blanks anywhere inside.
fn header() -> impl Strategy<Value = String> {
    let number = |key: &str| member(Just(format!("\"{key}\"")), any::<i32>().prop_map(|number| number.to_string()));
    let known = (
        (number("code"), number("flag"), number("opaque"), number("vers\\u0069on")),
        member(Just("\"remark\"".to_owned()), quoted()),
        member(Just("\"extFields\"".to_owned()), object(member(quoted(), quoted()))),
    );
    let unknown = vec(member(quoted().prop_map(|key| key.replacen('"', "\"x", 1)), value()), 0..3);
    let members = (known, unknown).prop_map(|(((code, flag, opaque, version), remark, fields), mut members)| {
        members.extend([code, flag, opaque, version, remark, fields]);
        members
    });
    members.prop_shuffle().prop_map(|members| format!("{{{}}}", members.join(",")))
}

/// A value of any kind.
fn value() -> impl Strategy<Value = String> {
    let single = prop_oneof!["null|true|false", NUMBER, quoted()];
    single.prop_recursive(4, 16, 4, |inner| {
        let array = vec((blank(), inner.clone(), blank()).prop_map(|(a, b, c)| a + &b + &c), 0..4);
        prop_oneof![array.prop_map(|values| format!("[{}]", values.join(","))), object(member(quoted(), inner))]
    })
}

fn object(member: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    vec(member, 0..5).prop_map(|members| format!("{{{}}}", members.join(",")))
}

fn member(key: impl Strategy<Value = String>, value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (blank(), key, blank(), blank(), value, blank())
        .prop_map(|(a, key, b, c, value, d)| format!("{a}{key}{b}:{c}{value}{d}"))
}

fn blank() -> impl Strategy<Value = String> {
    prop_oneof![6 => Just(String::new()), 1 => "[ \t\r\n]{1,2}"]
}

/// A text in quotes that every reader of JSON takes.
fn quoted() -> impl Strategy<Value = String> {
    let character = prop_oneof![12 => letter(), 2 => as_it_is(), 1 => escaped(), 2 => short_escape("\"\\/bfnrt")];
    texts(character).prop_map(|(written, _)| written)
}

/// A text in quotes, its characters written in any way that the reference reads, and what it says.
fn text() -> impl Strategy<Value = (String, String)> {
    let control = (0..0x20u16).prop_map(|unit| (char::from(unit as u8).to_string(), vec![unit]));
    let hexadecimal = any::<u8>().prop_map(|byte| (format!("\\x{byte:02X}"), vec![byte.into()]));
    let half = (0xD800..0xE000u16).prop_map(|unit| (format!("\\u{unit:04X}"), vec![unit]));
    texts(prop_oneof![
        8 => letter(), 2 => as_it_is(), 2 => escaped(), 2 => short_escape("\"\\/bfnrt'v0"), 1 => control, 1 => hexadecimal,
        2 => half,
    ])
}

/// Characters in quotes, and what they say; halves of surrogate pairs that found no other half are replaced.
fn texts(character: impl Strategy<Value = Character>) -> impl Strategy<Value = (String, String)> {
    vec(character, 0..24).prop_map(|characters| {
        let (written, units): (Vec<_>, Vec<_>) = characters.into_iter().unzip();
        (format!("\"{}\"", written.concat()), String::from_utf16_lossy(&units.concat()))
    })
}

/// A character as it is written, and its UTF-16.
type Character = (String, Vec<u16>);

fn letter() -> impl Strategy<Value = Character> {
    "[a-zA-Z0-9 :,{}\\[\\]%_.-]".prop_map(|letter| (letter.clone(), letter.encode_utf16().collect()))
}

/// Any character; those that must be escaped are.
fn as_it_is() -> impl Strategy<Value = Character> {
    any::<char>().prop_map(|character| match character {
        '"' | '\\' | '\0'..='\u{1F}' => in_units(character),
        _ => (character.to_string(), in_units(character).1),
    })
}

fn escaped() -> impl Strategy<Value = Character> {
    any::<char>().prop_map(in_units)
}

fn in_units(character: char) -> Character {
    let units = character.encode_utf16(&mut [0; 2]).to_vec();
    let written: Vec<_> = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
    (written.concat(), units)
}

/// A backslash and one of `letters`.
fn short_escape(letters: &'static str) -> impl Strategy<Value = Character> {
    prop::sample::select(letters.as_bytes()).prop_map(|letter| {
        let meaning = match letter {
            b'b' => 8,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'v' => 11,
            b'0' => 0,
            itself => itself.into(),
        };
        (format!("\\{}", char::from(letter)), vec![meaning])
    })
}

/// A field with blanks around its parts, its key and its value, which is text whatever it was.
fn pair() -> impl Strategy<Value = (String, String, Option<String>)> {
    let few = prop::sample::select(&[("\"a\"", "a"), ("\"\\u0061\"", "a"), ("\"b\"", "b")][..]);
    let key = prop_oneof![3 => text(), 2 => few.prop_map(|(written, key)| (written.into(), key.into()))];
    let some = |(written, value)| (written, Some(value));
    let as_it_is = prop_oneof!["true|false", NUMBER, "\\[1, *\\{\"a\":\\[\\]\\}\\]"];
    let value = prop_oneof![
        6 => text().prop_map(some),
        2 => as_it_is.prop_map(move |value| some((value.clone(), value))),
        1 => Just(("null".to_owned(), None)),
    ];
    (blank(), key, blank(), blank(), value, blank())
        .prop_map(|(a, (key, name), b, c, (value, meaning), d)| (format!("{a}{key}{b}:{c}{value}{d}"), name, meaning))
}

/// Characters of which many must be escaped.
fn characters() -> impl Strategy<Value = String> {
    vec(
        prop_oneof![4 => prop::char::range(' ', '~'), 1 => prop::char::range('\0', '\u{1F}'), 1 => any::<char>()],
        0..24,
    )
    .prop_map(String::from_iter)
}

/// A byte that is likely to mean something.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![prop::sample::select(b"\"\\{}[]:,u0dD8nx ".to_vec()), any::<u8>()]
}

const NUMBER: &str = "-?(0|[1-9][0-9]{0,11})(\\.[0-9]{1,3})?([eE][+-]?[0-9])?";
