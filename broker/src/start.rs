//! Bringing a broker up and down.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use apogee_config::state_file::{StateFile, StateFileError};
use apogee_config::{BrokerRole, BrokerSettings, ServerSettings};
use apogee_filter::bloom::{BloomFilter, ShapeError};
use apogee_remoting::Serialization;
use apogee_remoting::client::{Client, ClientOptions, NameServers};
use apogee_remoting::frame::DEFAULT_MAX_FRAME;
use apogee_remoting::json;
use apogee_remoting::message::id::UniqueIds;
use apogee_remoting::protocol::offset::ConsumerOffsetSerializeWrapper;
use apogee_remoting::server::{BindError, ConnectionOptions, Server, ServerOptions};
use apogee_store::dispatch::{BitMaps, DelayLevels};
use apogee_store::{Arrival, ArrivalListener, Hooks, Store};
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::assignment::Routes;
use crate::client::{Consumers, Producers};
use crate::clock::Clock;
use crate::filter::{FilterServers, Filters};
use crate::group::GroupTable;
use crate::lock::QueueLocks;
use crate::offset::OffsetTable;
use crate::pull::HeldPulls;
use crate::readers::Readers;
use crate::registration::TopicChanges;
use crate::replication::Replication;
use crate::request_mode::RequestModes;
use crate::router::Router;
use crate::schedule::{Alarm, DelayOffsets, Schedule};
use crate::settings::Settings;
use crate::stats::Stats;
use crate::timer::Timer;
use crate::topic::TopicTable;
use crate::transaction::{Metrics, Transactions};
use crate::{Broker, registration, schedule, tasks, transaction};

/// A broker that serves.
pub struct Running {
    broker: Arc<Broker>,
    serialization: Serialization,
    /// Tells the servers and tasks to end.
    stop: watch::Sender<bool>,
    servers: Vec<JoinHandle<()>>,
    tasks: Vec<JoinHandle<()>>,
}

/// Why a broker could not start. One line that names what is to be mended.
#[derive(Debug, Error)]
pub enum StartError {
    /// A port cannot be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The port for slaves cannot be listened on.
    #[error(transparent)]
    Slaves(std::io::Error),
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] apogee_store::OpenError),
    /// A table of the broker can neither be read from its file nor from the backup.
    #[error(transparent)]
    State(#[from] StateFileError),
    /// The transactions in the store cannot be read.
    #[error("cannot read the transactions of the store: {0}")]
    Transactions(#[source] std::io::Error),
    /// `maxErrorRateOfBloomFilter` or `expectConsumerNumUseFilter` is out of range.
    #[error("bit maps of filters cannot be made: {0}")]
    Filters(#[from] ShapeError),
    /// `brokerIP1` is no address.
    #[error("brokerIP1={0} is no IP address")]
    Address(String),
    /// `listenPort` leaves no room for the fast port.
    #[error("listenPort={0} leaves no room for the fast port two below it")]
    Port(i32),
}

impl Running {
    /// Opens the store, reads the tables, listens, and tells the name servers.
    ///
    /// # Errors
    /// Nothing was changed on disk if a port is taken, and nothing but what a recovery does otherwise.
    pub async fn start(settings: BrokerSettings, serialization: Serialization) -> Result<Self, StartError> {
        let port = settings.server.listen_port;
        let fast_port = u16::try_from(port - 2).map_err(|_| StartError::Port(port))?;
        let options = server_options(&settings, serialization);
        // The ports first: when one is taken, the disk stays untouched.
        let main = Server::bind(&listen_address(&settings, port as u16), options.clone()).await?;
        let fast = Server::bind(&listen_address(&settings, fast_port), options).await?;
        let slaves = slaves_address(&settings);
        let slaves = apogee_replication::master::bind(&slaves).await.map_err(StartError::Slaves)?;

        let broker = Arc::new(open(settings)?);
        let (stop, stopped) = watch::channel(false);
        let serve = |server: Server, is_fast| {
            let router = Arc::new(Router { broker: Arc::clone(&broker), is_fast });
            let mut stopped = stopped.clone();
            tokio::spawn(async move {
                server.run(router, async move { drop(stopped.wait_for(|stop| *stop).await) }).await;
            })
        };
        let servers = vec![serve(main, false), serve(fast, true)];
        let mut tasks = tasks::spawn(&broker);
        tasks.push(tokio::spawn(broker.replication.master.clone().run(slaves)));
        registration::settled(&broker).await;
        Ok(Self { broker, serialization, stop, servers, tasks })
    }

    /// The line that operators wait for, as the reference prints it.
    pub fn ready_line(&self) -> String {
        let settings = self.broker.settings();
        let config = &settings.broker;
        let (name, address, serialization) = (&config.broker_name, &self.broker.address, self.serialization.name());
        let mut line = format!("The broker[{name}, {address}] boot success. serializeType={serialization}");
        if let Some(servers) = &config.namesrv_addr {
            line.push_str(" and name server is ");
            line.push_str(servers);
        }
        line
    }

    /// Leaves the name servers, finishes what is in hand, and writes everything down.
    pub async fn stop(self) {
        registration::unregister(&self.broker).await;
        self.stop.send_replace(true);
        self.broker.held_pulls.end();
        for server in self.servers {
            // A server that panicked has reported it.
            let _ = server.await;
        }
        self.broker.replication.master.drained(LAST_BYTES).await;
        for task in self.tasks {
            task.abort();
            let _ = task.await;
        }
        // It notes its progress among the offsets.
        transaction::stop(&self.broker).await;
        tasks::save_offsets(&self.broker);
        tasks::save_filters(&self.broker);
        self.broker.schedule.stop();
        schedule::save(&self.broker).await;
        let broker = self.broker;
        let closed = tokio::task::spawn_blocking(move || {
            broker.topics.settle();
            broker.groups.settle();
            broker.store.close()
        });
        let closed = closed.await;
        if let Ok(Err(error)) = closed {
            tracing::error!(%error, "the store was not closed cleanly");
        }
    }
}

/// How long slaves may take to get what they do not have when the broker stops.
const LAST_BYTES: Duration = Duration::from_secs(2);

/// Opens what is on disk.
fn open(mut settings: BrokerSettings) -> Result<Broker, StartError> {
    let clock = Clock;
    let ip: IpAddr = parse_ip(&settings.broker.broker_ip1)?;
    let store_host = SocketAddr::new(ip, settings.server.listen_port as u16);
    let held_pulls = Arc::new(HeldPulls::default());
    let alarm = Arc::new(Alarm::default());
    let arrivals = Arrivals { held_pulls: Arc::clone(&held_pulls), alarm: Arc::clone(&alarm) };
    let topic_changes = Arc::new(TopicChanges::new());
    let topics = state_file(&settings, "topics.json");
    let saved = read(&topics)?;
    let topics = TopicTable::new(topics, saved, &settings, clock, Arc::clone(&topic_changes));
    let shape = BloomFilter::new(
        settings.broker.max_error_rate_of_bloom_filter,
        settings.broker.expect_consumer_num_use_filter,
    )?;
    // What is configured counts as little in the reference, and shows as little.
    settings.store.bit_map_length_consume_queue_ext = shape.bits() as i32;
    let filters = state_file(&settings, "consumerFilter.json");
    let saved = read(&filters)?;
    let filters = Arc::new(Filters::new(filters, saved, shape, clock.now()));

    let bit_maps = settings.broker.enable_calc_filter_bit_map.then(|| Arc::clone(&filters) as Arc<dyn BitMaps>);
    let hooks = Hooks { queue_kinds: Arc::new(topics.clone()), bit_maps, ..Hooks::from(Arc::new(arrivals)) };
    let store = Store::open(&settings.store, hooks)?;

    let groups = state_file(&settings, "subscriptionGroup.json");
    let saved = read(&groups)?;
    let groups = GroupTable::new(groups, saved, &settings, clock);
    let (offsets_file, mut saved) = read_offsets(&settings)?;
    // What a slave had to tell its master is nothing to tell for who is none.
    saved.committed_here.take_if(|_| settings.store.broker_role != BrokerRole::Slave);
    let offsets = OffsetTable::new(saved, settings.store.enable_lmq, clock);

    let delay_offsets = state_file(&settings, "delayOffset.json");
    let saved = read(&delay_offsets)?;
    let delay_offsets = DelayOffsets::new(delay_offsets, saved, clock);
    // The store has refused a table that does not parse.
    let levels = DelayLevels::parse(&settings.store.message_delay_level).unwrap_or_default();
    let schedule = Schedule::new(levels, delay_offsets, alarm, &store);

    let metrics = state_file(&settings, "transactionMetrics");
    let saved = read(&metrics)?;
    let metrics = Metrics::new(metrics, saved);
    let transactions = Transactions::open(&store, &offsets, metrics).map_err(StartError::Transactions)?;

    let request_modes = state_file(&settings, "messageRequestMode.json");
    let saved = read(&request_modes)?;
    let request_modes = RequestModes::new(request_modes, saved);

    let stats = Stats::new(settings.store.enable_lmq && !settings.broker.enable_lmq_stats);
    let client = Arc::new(Client::new(client_options(&settings)));
    let size = |number: i32| usize::try_from(number).unwrap_or(0);
    let (threads, line) =
        (settings.broker.pull_message_thread_pool_nums, settings.broker.pull_thread_pool_queue_capacity);
    let locks = QueueLocks::new(settings.lock_max_live_time());
    let port = settings.server.listen_port;
    Ok(Broker {
        readers: Readers::new(size(threads), size(line)),
        name_servers: NameServers::new(Arc::clone(&client), registration::addresses(&settings.broker)),
        address: format!("{}:{port}", settings.broker.broker_ip1),
        ha_address: format!("{}:{}", settings.broker.broker_ip2, settings.store.ha_listen_port),
        client,
        replication: Replication::new(&settings, &store),
        routes: Routes::default(),
        request_modes,
        timer: Timer::new(&config_folder(&settings)),
        unique_ids: UniqueIds::new(ip, std::process::id(), port as u32),
        settings: ArcSwap::from_pointee(Settings::from(settings)),
        settings_version: Mutex::default(),
        clock,
        store,
        topics,
        topic_changes,
        groups,
        offsets,
        offsets_file,
        producers: Producers::default(),
        consumers: Consumers::default(),
        filters,
        filter_servers: FilterServers::default(),
        locks,
        held_pulls,
        schedule,
        transactions,
        stats,
        boot_time: clock.now(),
        store_host,
    })
}

/// Wakes those who wait when the store's dispatcher has made a message readable.
struct Arrivals {
    held_pulls: Arc<HeldPulls>,
    alarm: Arc<Alarm>,
}

impl ArrivalListener for Arrivals {
    fn is_waited_for(&self) -> bool {
        self.held_pulls.len() > 0
    }

    fn arrived(&self, arrival: &Arrival<'_>) {
        self.alarm.arrived(arrival);
        self.held_pulls.arrived(arrival);
    }
}

fn state_file(settings: &BrokerSettings, name: &str) -> StateFile {
    StateFile::new(config_folder(settings).join(name))
}

fn config_folder(settings: &BrokerSettings) -> PathBuf {
    PathBuf::from(&settings.store.store_path_root_dir).join("config")
}

/// Consumers' offsets, and the file that they are kept in. With light queues that is another one: whoever begins with them
/// goes on where groups are, while the reference then begins with nothing.
fn read_offsets(settings: &BrokerSettings) -> Result<(StateFile, ConsumerOffsetSerializeWrapper), StateFileError> {
    let file = state_file(settings, "consumerOffset.json");
    if !settings.store.enable_lmq {
        let saved = read(&file)?;
        return Ok((file, saved));
    }
    let light = state_file(settings, "lmqConsumerOffset.json");
    let saved = match light.read(json::from_slice)? {
        Some(saved) => saved,
        None => read(&file)?,
    };
    Ok((light, saved))
}

fn read<T: DeserializeOwned + Default>(file: &StateFile) -> Result<T, StateFileError> {
    Ok(file.read(json::from_slice)?.unwrap_or_default())
}

/// Reads an address as `brokerIP1` may have it: `::1`, `[::1]`, with or without a zone.
fn parse_ip(text: &str) -> Result<IpAddr, StartError> {
    let bare = text.trim().trim_start_matches('[').trim_end_matches(']');
    let bare = bare.split_once('%').map_or(bare, |(address, _)| address);
    bare.parse().map_err(|_| StartError::Address(text.to_owned()))
}

fn listen_address(settings: &BrokerSettings, port: u16) -> String {
    format!("{}:{port}", settings.server.bind_address)
}

/// Where slaves connect: on all addresses where theirs is another one than that of clients, as in the reference.
fn slaves_address(settings: &BrokerSettings) -> String {
    let port = u16::try_from(settings.store.ha_listen_port).unwrap_or(0);
    if settings.broker.broker_ip2 == settings.broker.broker_ip1 {
        listen_address(settings, port)
    } else {
        format!("0.0.0.0:{port}")
    }
}

/// Answers may be as large as requests.
fn client_options(settings: &BrokerSettings) -> ClientOptions {
    let mut options = ClientOptions::default();
    options.connection.max_frame = max_frame(settings);
    options
}

fn max_frame(settings: &BrokerSettings) -> usize {
    settings.frame_max_length().unwrap_or(DEFAULT_MAX_FRAME)
}

/// As the name server's: what the reference's keys mean for listening.
fn server_options(settings: &BrokerSettings, serialization: Serialization) -> ServerOptions {
    let listen = &settings.server;
    let size = |bytes: i32| u32::try_from(bytes).unwrap_or(0);
    let idle = listen.server_channel_max_idle_time_seconds.max(0) as u64;
    ServerOptions {
        connection: ConnectionOptions {
            serialization,
            max_frame: max_frame(settings),
            idle: Duration::from_secs(idle),
            ..ConnectionOptions::default()
        },
        backlog: u32::try_from(listen.server_socket_backlog).unwrap_or(1024),
        send_buffer: size(listen.server_socket_snd_buf_size),
        receive_buffer: size(listen.server_socket_rcv_buf_size),
        ..ServerOptions::default()
    }
}
