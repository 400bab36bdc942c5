//! Logs of a whole process: it runs itself with the environment set, and what it wrote is read.

use std::process::{Command, Output};

use apogee_config::logging;

/// Not a test of its own: what the others run as a process.
#[test]
#[ignore = "run by the other tests with their environment"]
fn logging_process() {
    match logging::install("broker") {
        Ok(_guard) => {
            tracing::info!("listens on {}", 10911);
            tracing::debug!("a detail");
        }
        Err(error) => apogee_config::shutdown::fail("mqbroker", &error),
    }
}

fn run(environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("a test is a program"));
    command.args(["--exact", "logging_process", "--ignored", "--nocapture"]);
    command.env_remove("ROCKETMQ_LOG_DIR").env_remove("ROCKETMQ_LOG_LEVEL").envs(environment.iter().copied());
    command.output().expect("the program that runs can be run")
}

#[test]
fn standard_error_always_and_a_file_when_configured() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("logs");
    let output = run(&[("ROCKETMQ_LOG_DIR", directory.to_str().unwrap())]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("INFO") && error.contains("listens on 10911"), "{error}");
    assert!(!error.contains("a detail"), "{error}");
    let file = std::fs::read_to_string(directory.join("broker.log")).unwrap();
    assert!(file.contains("listens on 10911") && !file.contains('\u{1b}'), "{file}");
}

#[test]
fn the_level_is_configured() {
    let output = run(&[("ROCKETMQ_LOG_LEVEL", "debug")]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("a detail"));
}

#[test]
fn what_cannot_work_is_one_line_and_status_1() {
    for (environment, start) in [
        (("ROCKETMQ_LOG_LEVEL", "a=b=c"), "mqbroker: ROCKETMQ_LOG_LEVEL=a=b=c: "),
        (("ROCKETMQ_LOG_DIR", "/dev/null/logs"), "mqbroker: cannot write logs to /dev/null/logs/broker.log: "),
    ] {
        let output = run(&[environment]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.starts_with(start), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert_eq!(output.status.code(), Some(1));
    }
}
