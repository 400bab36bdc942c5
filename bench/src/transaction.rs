//! Transactions: half messages, each committed as soon as it is stored.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use apogee_remoting::message::id::OffsetMessageId;
use apogee_remoting::protocol::send::SendMessageResponseHeader;
use apogee_remoting::protocol::transaction::EndTransactionRequestHeader;
use apogee_remoting::{Command, RequestCode, ResponseCode, Serialization};

use crate::clock::{nanos, wall_millis};
use crate::generate::{Course, FIRST_OPAQUE, Outcome, Template, Variation, beside};
use crate::report::Report;
use crate::send;
use crate::server_process::ServerProcess;
use crate::topic;
use crate::wire::{Input, connect_patiently, decode};

/// Measures and prints.
pub fn run(options: &send::Options) -> Result<()> {
    measure(options)?.print(options.json)
}

/// Measures a closed loop; a message counts when its commit is acknowledged, its latency from the half message on.
pub fn measure(options: &send::Options) -> Result<Report> {
    ensure!(options.rate.is_none() && options.batch == 1, "transactions are sent one by one, in a closed loop");
    if !options.no_create {
        topic::create(&options.broker, &topic::names(&options.topic, options.topics), options.queues)?;
    }
    let half = [("TRAN_MSG", "true"), ("PGROUP", GROUP)];
    let mut load = options.clone();
    load.properties.extend(half.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let templates = load.templates();
    let course = Course::new(options.warm_up, options.duration, options.most_bytes());
    let clients = (0..options.connections).map(|number| {
        let (course, templates) = (&course, &templates);
        move || {
            let outcome = Client::connect(options, number, templates)?.run(course);
            outcome.inspect_err(|_| course.end()).with_context(|| format!("transactions at {}", options.broker))
        }
    });
    let watch = || course.watch(options.server_pid.map(ServerProcess));
    let (outcome, watched) = beside(clients.collect(), Outcome::default(), Outcome::add, watch)?;
    let send::Options { connections, in_flight, body, .. } = options;
    let load = format!("transactions of {body} bytes, closed loop, {connections} connections x {in_flight} in flight");
    let report = watched.report(load, outcome.messages, outcome.messages * *body as u64, &outcome.latency);
    Ok(Report { failures: outcome.failures, ..report })
}

/// One connection with so many transactions at a time.
struct Client {
    stream: TcpStream,
    input: Input,
    output: Vec<u8>,
    templates: Arc<[Template]>,
    open: Vec<Open>,
    next_key: u64,
    serialization: Serialization,
}

/// A transaction under way; its place in the table is the number of its requests.
#[derive(Clone, Copy, Default)]
struct Open {
    begun: u64,
    is_stored: bool,
}

impl Client {
    fn connect(options: &send::Options, number: usize, templates: &Arc<[Template]>) -> Result<Self> {
        let stream = connect_patiently(&options.broker, PATIENCE)?;
        let open = vec![Open::default(); options.in_flight];
        Ok(Self {
            stream,
            input: Input::default(),
            output: Vec::new(),
            templates: Arc::clone(templates),
            open,
            next_key: (number as u64) << 56,
            serialization: options.serialization,
        })
    }

    fn run(mut self, course: &Course) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        (0..self.open.len()).for_each(|at| self.begin(at, course));
        while nanos() < course.until() {
            self.stream.write_all(&self.output).context("cannot write")?;
            self.output.clear();
            if self.input.fill(&mut self.stream).context("no answer")? == 0 {
                bail!("the server closed the connection");
            }
            while let Some(answer) = self.input.next_frame().map(decode).transpose()? {
                // The server asks on the same connection how old halves ended.
                if answer.is_response() {
                    self.answered(&answer, course, &mut outcome)?;
                }
            }
        }
        Ok(outcome)
    }

    /// Sends a half message.
    fn begin(&mut self, at: usize, course: &Course) {
        let (now, before) = (nanos(), self.output.len());
        self.open[at] = Open { begun: now, is_stored: false };
        let template = &self.templates[self.next_key as usize % self.templates.len()];
        let variation = Variation { opaque: at as u32, key: self.next_key, time: now, born: wall_millis() };
        template.write(variation, &mut self.output);
        self.next_key += 1;
        course.count_sent((self.output.len() - before) as u64);
    }

    fn answered(&mut self, answer: &Command, course: &Course, outcome: &mut Outcome) -> Result<()> {
        let at = (answer.opaque as u32).wrapping_sub(FIRST_OPAQUE) as usize;
        let open = self.open.get_mut(at).context("an answer nobody waits for")?;
        if answer.response_code() == ResponseCode::SUCCESS && !open.is_stored {
            open.is_stored = true;
            return self.commit(answer);
        }
        let now = nanos();
        if (course.from..course.until()).contains(&now) {
            outcome.record(answer.code, now - open.begun, 1);
        }
        self.begin(at, course);
        Ok(())
    }

    /// Commits the half message that an answer is about.
    fn commit(&mut self, answer: &Command) -> Result<()> {
        let half: SendMessageResponseHeader<'_> = answer.header()?;
        let header = EndTransactionRequestHeader {
            topic: None,
            producer_group: Some(GROUP),
            tran_state_table_offset: half.queue_offset,
            commit_log_offset: half.msg_id.parse::<OffsetMessageId>()?.offset,
            commit_or_rollback: COMMIT,
            from_transaction_check: false,
            msg_id: half.transaction_id,
            transaction_id: half.transaction_id,
        };
        let mut request = Command::request(RequestCode::END_TRANSACTION).with_header(&header);
        request.opaque = answer.opaque;
        self.output.extend_from_slice(&request.encode(self.serialization));
        Ok(())
    }
}

const GROUP: &str = "apogee-bench";
const COMMIT: i32 = 8;
const PATIENCE: Duration = Duration::from_secs(20);
