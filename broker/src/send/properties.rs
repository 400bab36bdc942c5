//! The properties of a message on its way from the client to the log.

use std::borrow::Cow;

use apogee_config::BrokerSettings;
use apogee_remoting::ResponseCode;
use apogee_remoting::message::properties::{Properties, PropertiesBuf, key};
use apogee_store::Marks;
use apogee_store::light::LIGHT_PREFIX;

use crate::answer::Refusal;
use crate::settings::Settings;
use crate::{Broker, transaction};

/// The properties of a message that comes alone.
#[derive(Debug)]
pub(super) struct SingleProperties<'a> {
    /// As they are stored.
    pub(super) stored: PropertiesBuf,
    /// What queue and index are made of, as the producer sent it: where it gave no unique key, the broker has added one.
    pub(super) marks: Marks<'a>,
    /// Whether the producer waits until the message is durable.
    pub(super) waits: bool,
    /// Delay level that the producer asks for; 0 without.
    pub(super) delay_level: i32,
    /// Of the first half of a transaction.
    pub(super) half: Option<Half>,
    /// Whether the producer asks for delivery at a time of its own.
    pub(super) is_timer: bool,
    /// How many messages the producer says this is, for a batch.
    pub(super) number: Option<&'a [u8]>,
}

/// What only the first half of a transaction has.
#[derive(Debug)]
pub(super) struct Half {
    /// Whether there are properties that [are replaced](transaction::is_replaced) in it.
    pub(super) has_own: bool,
}

/// Properties as they are stored: what the client sent, without a pop handle, and with
/// what a broker adds to a single send (trap 13).
pub(super) fn for_single<'a>(
    broker: &Broker,
    settings: &Settings,
    topic: &str,
    sent: &'a str,
) -> Result<SingleProperties<'a>, Refusal> {
    let mut properties = PropertiesBuf::from_text(sent.as_bytes());
    let mut marks = Marks::default();
    let mut waits = true;
    let mut has_own = false;
    let mut lite_topic = None;
    let mut delay = None;
    let mut is_half = false;
    let mut half = Half { has_own: false };
    let mut is_timer = false;
    let mut number = None;
    for (name, value) in Properties::new(sent.as_bytes()) {
        if marks.take(name, value) {
            continue;
        }
        has_own |= is_replaced(name);
        if name == key::WAIT.as_bytes() {
            waits = value != b"false";
        } else if name == key::DELAY.as_bytes() {
            delay = Some(value);
        } else if name == key::TRAN_MSG.as_bytes() {
            is_half = value.eq_ignore_ascii_case(b"true");
        } else if name == key::INNER_NUM.as_bytes() {
            number = Some(value);
        } else if name == key::LITE_TOPIC.as_bytes() {
            lite_topic = Some(value);
        } else {
            is_timer |= TIMER.iter().any(|key| name == key.as_bytes());
            half.has_own |= transaction::is_replaced(name);
        }
    }
    if has_own {
        properties.retain(|name| !is_replaced(name));
    }
    if let Some(lite_topic) = lite_topic {
        // The light queue of a lite topic.
        let name = [LIGHT_PREFIX.as_bytes(), b"$", topic.as_bytes(), b"$", lite_topic].concat();
        properties.set(key::INNER_MULTI_DISPATCH, name);
    }
    if marks.unique_key.is_none() {
        properties.push(key::UNIQ_KEY, broker.unique_ids.next(broker.now()));
    }
    properties.append(settings.own_properties());
    let delay_level = delay.map_or(Ok(0), delay_level)?;
    let half = is_half.then_some(half);
    Ok(SingleProperties { stored: properties, marks, waits, delay_level, half, is_timer, number })
}

/// Properties of a member of a batch that is stored as a record of its own. They are closed by a last separator: later
/// readers would run the value into what follows.
pub(super) fn for_member<'a>(settings: &BrokerSettings, sent: &'a [u8]) -> Cow<'a, [u8]> {
    if Properties::new(sent).is_closed() && !settings.store.enable_multi_dispatch {
        return Cow::Borrowed(sent);
    }
    let mut properties = PropertiesBuf::from_text(sent);
    if settings.store.enable_multi_dispatch {
        // Only the broker gives offsets, and to a member of a batch none.
        properties.remove(key::INNER_MULTI_QUEUE_OFFSET);
    }
    Cow::Owned(properties.into_bytes())
}

/// Properties of a batch that becomes one record, of `count` messages.
pub(super) fn for_inner_batch(settings: &Settings, sent: Properties<'_>, count: usize) -> PropertiesBuf {
    let kept = sent.iter().filter(|(name, _)| !is_replaced(name) && *name != key::INNER_NUM.as_bytes());
    let mut properties: PropertiesBuf = kept.collect();
    properties.append(settings.own_properties());
    properties.push(key::INNER_NUM, count.to_string());
    properties
}

/// Any of these asks for delivery at a time.
const TIMER: [&str; 3] = [key::TIMER_DELAY_SEC, key::TIMER_DELAY_MS, key::TIMER_DELIVER_MS];

/// The reference, too, refuses a level that is no number.
fn delay_level(text: &[u8]) -> Result<i32, Refusal> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        let remark = format!("the property <DELAY> is not a 32-bit integer: {:?}", String::from_utf8_lossy(text));
        Refusal::new(ResponseCode::SYSTEM_ERROR, remark)
    })
}

/// Properties that a client may send but that the broker sets or drops.
fn is_replaced(name: &[u8]) -> bool {
    const OWN: [&str; 5] = [key::MSG_REGION, key::TRACE_ON, key::CLUSTER, key::POP_CK, key::INNER_MULTI_QUEUE_OFFSET];
    OWN.iter().any(|own| name == own.as_bytes())
}
