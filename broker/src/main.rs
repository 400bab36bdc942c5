//! `mqbroker`: the broker as a process.

use std::error::Error;

use apogee_broker::Running;
use apogee_config::command_line::{BrokerArguments, say};
use apogee_config::shutdown::{ShutdownSignal, fail};
use apogee_config::{BrokerSettings, descriptors, logging};
use apogee_remoting::Serialization;

fn main() {
    let arguments = BrokerArguments::from_process();
    if let Err(error) = run(&arguments) {
        fail("mqbroker", &*error);
    }
}

fn run(arguments: &BrokerArguments) -> Result<(), Box<dyn Error>> {
    let loaded = BrokerSettings::load(arguments.config_file.as_deref(), arguments.namesrv_addr.as_deref())?;
    if let Some(lines) = arguments.print.lines(&loaded.settings) {
        return Ok(say(&lines.join("\n"))?);
    }
    let _logs = logging::install("broker")?;
    for notice in &loaded.notices {
        tracing::warn!("{notice}");
    }
    descriptors::raise_limit();
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(loaded.settings))
}

async fn serve(settings: BrokerSettings) -> Result<(), Box<dyn Error>> {
    let mut signal = ShutdownSignal::install()?;
    let running = Running::start(settings, Serialization::of_process()?).await?;
    // Scripts and people wait for this line; it is the reference's.
    say(&running.ready_line())?;
    tracing::info!("{}: shutting down", signal.wait().await);
    running.stop().await;
    Ok(())
}
