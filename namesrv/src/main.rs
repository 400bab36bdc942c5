//! `mqnamesrv`: the name server as a process.

use std::error::Error;

use apogee_config::command_line::{NamesrvArguments, say};
use apogee_config::shutdown::{ShutdownSignal, fail};
use apogee_config::{NamesrvSettings, descriptors, logging};
use apogee_namesrv::Listening;
use apogee_remoting::Serialization;

fn main() {
    let arguments = NamesrvArguments::from_process();
    if let Err(error) = run(&arguments) {
        fail("mqnamesrv", &*error);
    }
}

fn run(arguments: &NamesrvArguments) -> Result<(), Box<dyn Error>> {
    let loaded = NamesrvSettings::load(arguments.config_file.as_deref())?;
    if let Some(lines) = arguments.print.lines(&loaded.settings) {
        return Ok(say(&lines.join("\n"))?);
    }
    let _logs = logging::install("namesrv")?;
    for notice in &loaded.notices {
        tracing::warn!("{notice}");
    }
    descriptors::raise_limit();
    if let Some(file) = &arguments.config_file {
        say(&format!("load config properties file OK, {}", file.display()))?;
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(loaded.settings))
}

async fn serve(settings: NamesrvSettings) -> Result<(), Box<dyn Error>> {
    let mut signal = ShutdownSignal::install()?;
    let serialization = Serialization::of_process()?;
    let host = settings.server.bind_address.clone();
    let listening = Listening::start(settings, serialization).await?;
    // Scripts and people wait for this line; it is the reference's.
    let port = listening.local_addr().port();
    say(&format!("The Name Server boot success. serializeType={}, address {host}:{port}", serialization.name()))?;
    listening.run(async { tracing::info!("{}: shutting down", signal.wait().await) }).await;
    Ok(())
}
