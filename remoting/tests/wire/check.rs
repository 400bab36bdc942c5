//! Reading a command through a type and comparing what the type writes with what came.

use std::collections::BTreeMap;
use std::fmt;

use apogee_remoting::{Command, DecodeHeader, EncodeHeader, Fields, json};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};

/// Reads the header as `H` and looks for fields that `H` does not know or writes differently.
pub fn header<'a, H: DecodeHeader<'a> + EncodeHeader>(command: &'a Command) -> Result<(), String> {
    let header: H = command.header().map_err(|e| e.to_string())?;
    let mut written = Fields::new();
    header.encode(&mut written);
    for (key, value) in command.fields.iter().flatten() {
        match written.get(key) {
            Some(ours) if ours == value => {}
            None if BESIDE_THE_HEADER.contains(&key) => {}
            ours => return Err(format!("{key}: {value:?} became {ours:?}")),
        }
    }
    Ok(())
}

/// Fields that belong to no header class: those of every request, of send answers, of older classes.
const BESIDE_THE_HEADER: [&str; 9] = ["lo", "ns", "nsd", "bname", "oway", "ReqT", "MSG_REGION", "TRACE_ON", "CLUSTER"];

/// Reads the body as `B` and looks for what `B` loses or changes, orders of sets and maps aside. `B` may
/// write more: older processes know fewer properties.
pub fn body<B: DeserializeOwned + serde::Serialize>(command: &Command) -> Result<(), String> {
    let came = command.body.bytes();
    if came.is_empty() {
        return Ok(());
    }
    let body: B = json::from_slice(&came).map_err(|e| e.to_string())?;
    for written in [json::to_vec(&body), json::to_vec_standard(&body), json::to_vec_pretty(&body)] {
        let read = |text: &[u8]| json::from_slice::<Value>(text).map_err(|e| e.to_string());
        let (came, ours) = (read(&came)?, read(&written)?);
        if let Some(lost) = came.lost_in(&ours) {
            return Err(format!("{lost} in {ours:?}"));
        }
    }
    Ok(())
}

/// Any value of the dialect. Keys of all kinds are texts; nulls and empty texts in objects are left out.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Absent,
    Bool(bool),
    Number(f64),
    Text(String),
    Array(Vec<Value>),
    Object(BTreeMap<String, Value>),
}

impl Value {
    /// What of `self` is not in `other`.
    fn lost_in(&self, other: &Self) -> Option<String> {
        match (self, other) {
            (Self::Object(mine), Self::Object(others)) => mine.iter().find_map(|(key, value)| {
                others.get(key).map_or_else(|| Some(format!("{key} is not")), |other| value.lost_in(other))
            }),
            (Self::Array(mine), Self::Array(others)) if mine.len() == others.len() => mine.iter().find_map(|value| {
                let losses = others.iter().map(|other| value.lost_in(other));
                losses.min_by_key(Option::is_some).flatten()
            }),
            _ => (self != other).then(|| format!("{self:?} is not {other:?}")),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Absent)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(if value.is_empty() { Value::Absent } else { Value::Text(value.into()) })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut values: Vec<Value> = Vec::new();
        while let Some(value) = elements.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut values = BTreeMap::new();
        while let Some((key, value)) = entries.next_entry::<Value, Value>()? {
            let key = match key {
                Value::Text(text) => text,
                other => format!("{other:?}").replace("Number(", "").replace(".0)", ""),
            };
            if value != Value::Absent {
                values.insert(key, value);
            }
        }
        Ok(Value::Object(values))
    }
}
