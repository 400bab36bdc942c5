//! The command lines of both servers, as operators know them: `-c`, `-n`, `-p`, `-m`, `-h`, their long names after one
//! dash or two, and words that are no options are let pass (old instructions put `key=value` there).

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser};

use crate::server_settings::ServerSettings;

/// The command line of a broker.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(
    name = "mqbroker",
    version,
    about = "Keeps messages and serves producers and consumers.",
    infer_long_args = true
)]
pub struct BrokerArguments {
    /// Read the configuration from this .properties file
    #[arg(short = 'c', long = "configFile", value_name = "FILE")]
    pub config_file: Option<PathBuf>,

    /// Register with these name servers, whatever the file says, for instance 192.168.0.1:9876;192.168.0.2:9876
    #[arg(short = 'n', long = "namesrvAddr", value_name = "ADDRESSES")]
    pub namesrv_addr: Option<String>,

    /// Which part of the configuration to print instead of running.
    #[command(flatten)]
    pub print: PrintArguments,

    #[arg(hide = true)]
    ignored: Vec<OsString>,
}

/// The command line of a name server.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(name = "mqnamesrv", version, about = "Tells clients which brokers serve a topic.", infer_long_args = true)]
pub struct NamesrvArguments {
    /// Read the configuration from this .properties file
    #[arg(short = 'c', long = "configFile", value_name = "FILE")]
    pub config_file: Option<PathBuf>,

    /// Accepted and without effect: a name server calls no other
    #[arg(short = 'n', long = "namesrvAddr", value_name = "ADDRESSES")]
    pub namesrv_addr: Option<String>,

    /// Which part of the configuration to print instead of running.
    #[command(flatten)]
    pub print: PrintArguments,

    #[arg(hide = true)]
    ignored: Vec<OsString>,
}

/// Options that print the configuration on standard output instead of running the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub struct PrintArguments {
    /// Print the whole configuration and exit
    #[arg(short = 'p', long = "printConfigItem")]
    pub all: bool,

    /// Print the important part of the configuration and exit
    #[arg(short = 'm', long = "printImportantConfig")]
    pub important: bool,
}

impl PrintArguments {
    /// The lines to print; `None` when the server is to run. The whole goes before the important part.
    pub fn lines(self, settings: &impl ServerSettings) -> Option<Vec<String>> {
        (self.all || self.important).then(|| settings.lines(!self.all))
    }
}

impl BrokerArguments {
    /// Reads the process' command line. Help is printed on standard output and ends the process with status 0, an error
    /// is printed on standard error and ends it with status 1.
    pub fn from_process() -> Self {
        parse(std::env::args_os()).unwrap_or_else(|error| exit(&error))
    }
}

impl NamesrvArguments {
    /// Reads the process' command line. Help is printed on standard output and ends the process with status 0, an error
    /// is printed on standard error and ends it with status 1.
    pub fn from_process() -> Self {
        parse(std::env::args_os()).unwrap_or_else(|error| exit(&error))
    }
}

fn parse<A: CommandFactory + FromArgMatches>(words: impl IntoIterator<Item = OsString>) -> Result<A, clap::Error> {
    let command = A::command();
    let long_names: Vec<String> =
        command.get_arguments().filter_map(|option| option.get_long().map(str::to_owned)).collect();
    let words: Vec<OsString> = words.into_iter().map(|word| two_dashes(word, &long_names)).collect();
    A::from_arg_matches(&command.try_get_matches_from(words)?)
}

/// `-configFile` is `--configFile`: the reference takes a long name after one dash, too.
fn two_dashes(word: OsString, long_names: &[String]) -> OsString {
    let Some(text) = word.to_str() else { return word };
    let Some(name) = text.strip_prefix('-').and_then(|rest| rest.split('=').next()) else { return word };
    if name == "help" || long_names.iter().any(|long| long == name) {
        return OsString::from(format!("-{text}"));
    }
    word
}

/// Prints a line on standard output, also into a pipe or file, at once: somebody waits for it.
pub fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

fn exit(error: &clap::Error) -> ! {
    // Standard output or error may be closed; there is nobody to tell then.
    let _ = error.print();
    std::process::exit(i32::from(error.use_stderr()))
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;
    use crate::{BrokerSettings, NamesrvSettings};

    fn broker(words: &[&str]) -> Result<BrokerArguments, clap::Error> {
        parse(["mqbroker"].iter().chain(words).map(OsString::from))
    }

    #[test]
    fn short_and_long_names_after_one_dash_or_two() {
        for words in [
            &["-c", "b.conf", "-n", "a:1;b:2"][..],
            &["--configFile", "b.conf", "--namesrvAddr", "a:1;b:2"],
            &["-configFile", "b.conf", "-namesrvAddr", "a:1;b:2"],
            &["-configFile=b.conf", "--namesrvAddr=a:1;b:2"],
            &["-cb.conf", "-na:1;b:2", "autoCreateTopicEnable=true"],
        ] {
            let arguments = broker(words).unwrap();
            assert_eq!(arguments.config_file, Some(PathBuf::from("b.conf")), "{words:?}");
            assert_eq!(arguments.namesrv_addr.as_deref(), Some("a:1;b:2"), "{words:?}");
        }
        assert!(broker(&["-p"]).unwrap().print.all);
        assert!(broker(&["-printImportantConfig"]).unwrap().print.important);
    }

    #[test]
    fn help_goes_to_standard_output_and_errors_do_not() {
        for words in [["-h"], ["-help"], ["--help"]] {
            let error = broker(&words).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::DisplayHelp);
            assert!(!error.use_stderr());
        }
        for words in [&["-x"][..], &["-c"], &["--nothing"]] {
            assert!(broker(words).unwrap_err().use_stderr(), "{words:?}");
        }
    }

    #[test]
    fn the_name_server_takes_the_same() {
        let words = ["mqnamesrv", "-c", "n.conf", "-n", "a:1", "-m"].map(OsString::from);
        let arguments: NamesrvArguments = parse(words).unwrap();
        assert_eq!(arguments.config_file, Some(PathBuf::from("n.conf")));
        assert_eq!(arguments.print, PrintArguments { all: false, important: true });
    }

    #[test]
    fn prints_all_or_the_important_part() {
        let settings = BrokerSettings::default();
        let none = PrintArguments { all: false, important: false };
        assert_eq!(none.lines(&settings), None);
        let important = PrintArguments { important: true, ..none }.lines(&settings).unwrap();
        assert!(important.contains(&"brokerClusterName=DefaultCluster".to_owned()));
        assert!(important.contains(&"haMasterAddress=".to_owned()));
        assert!(!important.contains(&"brokerPermission=6".to_owned()));
        let all = PrintArguments { all: true, important: true }.lines(&settings).unwrap();
        assert_eq!(all.len(), 243 + 219 + 18 + 20);
        let all = PrintArguments { all: true, ..none }.lines(&NamesrvSettings::default()).unwrap();
        assert_eq!(all.len(), 22 + 18 + 20);
    }
}
