//! What ours costs with more of something: queues, connections, bytes of a body, files of a log, topics on a name server.

use anyhow::Result;

use super::super::servers::Running;
use super::super::{connections, routes, send, topic};
use super::{Bench, fill, first_send, resident};
use crate::report::{Meter, Report};
use crate::server_process::ServerProcess;

/// All of them.
pub fn all(bench: &mut Bench) -> Result<()> {
    queues(bench)?;
    idle_connections(bench)?;
    connections(bench)?;
    bodies(bench)?;
    files(bench)?;
    routes(bench)
}

/// Sends over so many queues, and the memory that they take after a start.
fn queues(bench: &mut Bench) -> Result<()> {
    for topics in [1, 100, 1000] {
        let mut server = bench.start("")?;
        let (load, of) = (bench.warm(&server)?, Some(topics as u64 * 8));
        let load = send::Options { topic: "apogee-many".into(), topics, ..load };
        topic::create(&load.broker, &topic::names(&load.topic, topics), load.queues)?;
        bench.send_of("sends over queues", of, &load)?;
        server.end_broker()?;
        first_send(&mut server)?;
        bench.add_of("memory after a start with queues", of, resident(&server)?)?;
        server.stop()?;
    }
    Ok(())
}

/// Clients in as many groups that do nothing but be there.
fn idle_connections(bench: &mut Bench) -> Result<()> {
    for clients in [500, 2000, 8000] {
        let server = bench.start("")?;
        let outcome = connections::measure(&super::clients(&server, clients))?;
        bench.add_of("clients and groups", Some(clients as u64), super::of_clients(&outcome))?;
        server.stop()?;
    }
    Ok(())
}

/// Sends over so many connections, as many requests in flight in all.
fn connections(bench: &mut Bench) -> Result<()> {
    let server = bench.start("")?;
    let load = bench.warm(&server)?;
    for connections in [8, 64, 512] {
        let load = send::Options { connections, in_flight: 512 / connections, ..load.clone() };
        bench.send_of("sends over connections", Some(connections as u64), &load)?;
    }
    server.stop()
}

fn bodies(bench: &mut Bench) -> Result<()> {
    let server = bench.start("")?;
    let load = bench.warm(&server)?;
    for body in [128, 1 << 10, 8 << 10, 64 << 10, 512 << 10] {
        // Not much more on its way than with small ones.
        let in_flight = (65_536 / body).clamp(2, 64);
        let load = send::Options { in_flight, body, ..load.clone() };
        bench.send_of("sends of bodies of bytes", Some(body as u64), &load)?;
    }
    server.stop()
}

/// A backlog: starting with so many files of a log, and going on with it. Each is as small as a file may be, so that there
/// are as many as of a thousand times the bytes.
fn files(bench: &mut Bench) -> Result<()> {
    for files in [16, 256, 4096] {
        let mut server = bench.start(&format!("mappedFileSizeCommitLog={FILE}\nmappedFileSizeConsumeQueue=20000\n"))?;
        fill(&bench.lab.load(&server), files * FILE)?;
        server.end_broker()?;
        bench.add_of("start with files of a log, after a clean end", Some(files), first_send(&mut server)?)?;
        server.kill_broker();
        bench.add_of("start with files of a log, after kill -9", Some(files), first_send(&mut server)?)?;
        bench.add_of("memory with files of a log", Some(files), resident(&server)?)?;
        server.stop()?;
    }
    Ok(())
}

/// Registrations and route queries with so many topics on each of a hundredth as many brokers.
fn routes(bench: &mut Bench) -> Result<()> {
    for topics in [1000, 3000, 10_000] {
        let (brokers, lab) = (topics / 100, bench.lab);
        let server = Running::name_server(&lab.site, bench.kind, lab.serialization, 0)?;
        let process = ServerProcess(server.pid());
        let meter = Meter::start(Some(process))?;
        let begun = std::time::Instant::now();
        let registered = routes::Brokers::register(server.address(), brokers, topics)?;
        let seconds = begun.elapsed().as_secs_f64();
        let places = (brokers * topics) as u64;
        let usage = meter.stop()?.map(|spent| spent.on(places));
        let report = Report { server: usage, ..Report::new("registration".into(), seconds, places, 0) };
        bench.add_of("topics on brokers, registered", Some(places), report)?;
        let load = routes::Options {
            brokers,
            topics,
            warm_up: 1.0,
            ..routes::Options::closed_loop(server.address(), server.pid(), lab.serialization, lab.seconds)
        };
        bench.add_of("routes of topics on brokers", Some(places), routes::ask(&load, registered)?)?;
        server.stop()?;
    }
    Ok(())
}

const FILE: u64 = 1 << 20;
