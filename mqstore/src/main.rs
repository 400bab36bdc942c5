//! `mqstore`: looks at store directories, verifies and repairs them.
//!
//! Reading commands change nothing and need no write access. Status: 0 all is well, 1 something is wrong with the store or
//! two stores differ, 2 the work could not be done.
#![forbid(unsafe_code)]

mod arguments;
mod cat;
mod delays;
mod derive;
mod diff;
mod error;
mod expected;
mod export;
mod index;
mod info;
mod json;
mod layout;
mod log;
mod ls;
mod output;
mod progress;
mod queue;
mod rebuild;
mod salvage;
mod select;
mod topics;
mod truncate;
mod verify;

use std::process::ExitCode;

use apogee_config::shutdown::one_line;
use clap::Parser;

use arguments::{Arguments, Command};
use error::Error;

/// How the work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// As it should.
    Well,
    /// Something was found.
    Found,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments.command) {
        Ok(Outcome::Well) => ExitCode::SUCCESS,
        Ok(Outcome::Found) => ExitCode::from(1),
        // whoever reads the output has seen enough
        Err(Error::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mqstore: {}", one_line(&error));
            ExitCode::from(2)
        }
    }
}

fn run(command: &Command) -> Result<Outcome, Error> {
    match command {
        Command::Info(arguments) => info::run(arguments),
        Command::Ls(arguments) => ls::run(arguments),
        Command::Cat(arguments) => cat::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Rebuild(arguments) => rebuild::run(arguments),
        Command::Truncate(arguments) => truncate::run(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Salvage(arguments) => salvage::run(arguments),
        Command::Diff(arguments) => diff::run(arguments),
    }
}
