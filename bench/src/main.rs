//! Load on a broker and what comes of it: rates, latencies, processor time and memory of the server.
#![forbid(unsafe_code)]

mod clock;
mod compare;
mod connections;
mod delay;
mod echo;
mod figures;
mod generate;
mod journal;
mod log_end;
mod proof;
mod pull;
mod replication;
mod report;
mod routes;
mod send;
mod server_process;
mod store;
mod tail;
mod topic;
mod transaction;
mod wire;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures a broker; every command prints a table, or one line of JSON with --json.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serves: answers every request at once and stores nothing. The ceiling for a broker.
    Echo(echo::Options),
    /// Sends as fast as answers come (closed loop), or at a given rate (open loop).
    Send(send::Options),
    /// Pulls queues from their beginning.
    Pull(pull::Options),
    /// Sends at a rate and pulls at the same time: latency from one end to the other.
    #[command(alias = "e2e")]
    Tail(tail::Options),
    /// Sends half messages and commits each as soon as it is stored.
    Transactions(send::Options),
    /// Asks a name server for routes while brokers register.
    Routes(routes::Options),
    /// Opens idle clients with one heartbeat each: time and memory.
    Connections(connections::Options),
    /// Runs ours, the reference and the echo server in turn under the same load.
    Compare(compare::Options),
    /// Draws plots and writes tables of what `compare --json` measured.
    Figures(figures::Options),
    /// Measures masters with slaves, ours and the reference's in turn.
    Replication(replication::Options),
    /// Appends to a store in this process with synchronous flush, beside bare writes and syncs.
    Store(store::Options),
    /// Sends a few messages by way of a name server and receives them.
    Proof(proof::Options),
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("apogee-bench: {}", one_line(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error with its causes, which name what it is about. Where in this program it came up helps nobody who measures.
fn one_line(error: &anyhow::Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // Some errors say themselves what caused them.
        if !line.ends_with(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Echo(options) => echo::run(&options),
        Command::Send(options) => send::run(&options),
        Command::Pull(options) => pull::run(&options),
        Command::Tail(options) => tail::run(&options),
        Command::Transactions(options) => transaction::run(&options),
        Command::Routes(options) => routes::run(&options),
        Command::Connections(options) => connections::run(&options),
        Command::Compare(options) => compare::run(&options),
        Command::Figures(options) => figures::run(&options),
        Command::Replication(options) => replication::run(&options),
        Command::Store(options) => store::run(&options),
        Command::Proof(options) => proof::run(&options),
    }
}
