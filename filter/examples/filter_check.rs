//! Reads cases with the reference's verdicts and ends with an error where ours is another (`compat-tests/filter/run`).

use std::io::{self, Read};
use std::process::ExitCode;

#[path = "../tests/cases/mod.rs"]
mod cases;

fn main() -> io::Result<ExitCode> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let found = cases::differences(text.lines());
    for difference in found.iter().take(SHOWN) {
        println!("{difference}");
    }
    println!("{} compared, {} differ", text.lines().count(), found.len());
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

const SHOWN: usize = 50;
