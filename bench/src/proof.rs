//! Sends a few messages by way of a name server and receives them: that an installation works.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use apogee_remoting::message::record::entries;
use apogee_remoting::protocol::route::{GetRouteInfoRequestHeader, TopicRouteData};
use apogee_remoting::protocol::send::{SendMessageRequestHeaderV2, SendMessageResponseHeader};
use apogee_remoting::{Command, RequestCode, ResponseCode, json};
use clap::Args;

use crate::clock::wall_millis;
use crate::pull::{Filter, PullShape, Puller};
use crate::wire::Caller;

/// Where and what.
#[derive(Args)]
pub struct Options {
    /// Name server, host:port.
    #[arg(long)]
    name_server: String,
    /// Topic; the first message creates it.
    #[arg(long, default_value = "apogee-proof")]
    topic: String,
    /// Messages.
    #[arg(long, default_value_t = 4)]
    count: u32,
}

/// Sends, receives and says so.
pub fn run(options: &Options) -> Result<()> {
    let mut name_server = Caller::connect(&options.name_server)?;
    // Until a topic exists, clients take the route of the topic that new ones are made from.
    let broker = broker_of(&mut name_server, DEFAULT_TOPIC)?;
    println!("name server {}: a new topic goes to the broker at {broker}", options.name_server);
    let mut caller = Caller::connect(&broker)?;
    let mut first = None;
    for number in 0..options.count {
        let offset = send(&mut caller, &options.topic, &text(number))?;
        println!("sent      \"{}\" to {} queue 0 at offset {offset}", text(number), options.topic);
        first.get_or_insert(offset);
    }
    let owner = broker_of(&mut name_server, &options.topic)?;
    println!("name server: {} is at {owner}", options.topic);
    receive(&owner, options, first.unwrap_or(0))?;
    println!("proof: {} of {} messages came back as they were sent", options.count, options.count);
    Ok(())
}

/// Address of a broker that has `topic`, asked for until brokers had the time to register it.
fn broker_of(name_server: &mut Caller, topic: &str) -> Result<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let header = GetRouteInfoRequestHeader { topic, accept_standard_json_only: Some(true) };
        let response = name_server.ask(&Command::request(RequestCode::GET_ROUTEINFO_BY_TOPIC).with_header(&header))?;
        match response.response_code() {
            ResponseCode::SUCCESS => {
                let route: TopicRouteData = json::from_slice(&response.body.bytes())?;
                let addresses = route.broker_datas.into_iter().flat_map(|broker| broker.broker_addrs);
                let master = addresses.into_iter().find(|(id, _)| *id == 0);
                return master.map(|(_, address)| address).context("no broker takes messages");
            }
            ResponseCode::TOPIC_NOT_EXIST if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(50));
            }
            code => bail!("no route for {topic}: code {}: {}", code.0, response.remark.unwrap_or_default()),
        }
    }
}

/// Sends to queue 0 and gives the message's offset there.
pub fn send(caller: &mut Caller, topic: &str, body: &str) -> Result<i64> {
    let header = SendMessageRequestHeaderV2 {
        producer_group: Some("apogee-proof"),
        topic,
        default_topic: Some(DEFAULT_TOPIC),
        default_topic_queue_nums: Some(4),
        queue_id: 0,
        sys_flag: 0,
        born_timestamp: wall_millis(),
        flag: 0,
        properties: Some("TAGS\u{1}proof\u{2}"),
        reconsume_times: Some(0),
        unit_mode: Some(false),
        max_reconsume_times: None,
        batch: Some(false),
        broker_name: None,
    };
    let request = Command::request(RequestCode::SEND_MESSAGE_V2).with_header(&header).with_body(body.to_owned());
    let response = caller.call(&request)?;
    Ok(response.header::<SendMessageResponseHeader>()?.queue_offset)
}

/// Pulls from `offset` until all messages came, and compares them.
fn receive(broker: &str, options: &Options, offset: i64) -> Result<()> {
    let shape = PullShape { most: 32, filter: Filter::Tags("proof".into()), hold_millis: 1000 };
    let mut puller = Puller::connect(broker, [(options.topic.clone(), 0, offset)], shape)?;
    let (mut received, deadline) = (0, Instant::now() + PATIENCE);
    puller.ask_all()?;
    while received < options.count {
        ensure!(Instant::now() < deadline, "{received} of {} messages came back", options.count);
        puller.next(|answer| {
            for record in entries(answer.records).take((options.count - received) as usize) {
                let record = record?;
                record.verify(false)?;
                let body = String::from_utf8_lossy(record.body).into_owned();
                println!("received  \"{body}\" at offset {}", record.queue_offset);
                ensure!(body == text(received), "another message was expected");
                received += 1;
            }
            Ok(())
        })??;
        puller.ask_again()?;
    }
    Ok(())
}

fn text(number: u32) -> String {
    format!("message {} of the proof", number + 1)
}

const DEFAULT_TOPIC: &str = "TBW102";
const PATIENCE: Duration = Duration::from_secs(20);
