//! A name server: what answering for a thousand topics on ten brokers costs.

use anyhow::Result;

use super::super::routes;
use super::super::servers::Running;
use super::Bench;

/// Route queries while a broker registers every tenth of a second, each with a change.
pub fn queries(bench: &mut Bench) -> Result<()> {
    let lab = bench.lab;
    let server = Running::name_server(&lab.site, bench.kind, lab.serialization, routes::answer_size(BROKERS))?;
    let load = routes::Options {
        brokers: BROKERS,
        topics: lab.many(1000),
        warm_up: lab.warm_up(bench.kind),
        ..routes::Options::closed_loop(server.address(), server.pid(), lab.serialization, lab.seconds)
    };
    bench.add("routes of 1,000 topics on 10 brokers, 8 x 64 in flight", routes::measure(&load)?)?;
    server.stop()
}

const BROKERS: usize = 10;
