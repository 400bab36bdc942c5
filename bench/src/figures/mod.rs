//! Plots and tables from measurements that `compare --json` printed.

mod bars;
mod curves;
mod scale;
mod svg;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::compare::results::{Measurement, Results};
use crate::compare::servers::Kind;

/// From what, and where to.
#[derive(Args)]
pub struct Options {
    /// Files with the output of `compare --json`; lines that are no measurement are passed over.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Folder for the plots.
    #[arg(long, default_value = "docs/performance")]
    out: PathBuf,
}

/// Measurements with the same headers and bodies, and what these were.
struct Group {
    headers: String,
    body: usize,
    results: Results,
}

/// Draws, and prints tables in Markdown.
pub fn run(options: &Options) -> Result<()> {
    let groups = read(&options.files)?;
    ensure!(!groups.is_empty(), "no measurements in {:?}", options.files);
    fs::create_dir_all(&options.out).with_context(|| format!("cannot make {}", options.out.display()))?;
    for (name, drawing) in [
        ("cpu.svg", bars::per_cpu_second(&groups)),
        ("latency.svg", curves::latencies(&groups)),
        ("growth.svg", curves::growth(&groups)),
    ] {
        if let Some(drawing) = drawing {
            write(&options.out.join(name), &drawing)?;
        }
    }
    for group in &groups {
        print!("{}", tables::markdown(group));
    }
    Ok(())
}

fn read(files: &[PathBuf]) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        for one in text.lines().filter_map(|line| serde_json::from_str::<Measurement>(line).ok()) {
            let known = groups.iter().position(|group| group.headers == one.headers && group.body == one.body);
            let at = known.unwrap_or_else(|| {
                let (headers, body) = (one.headers.clone(), one.body);
                groups.push(Group { headers, body, results: Results::default() });
                groups.len() - 1
            });
            groups[at].results.add(one);
        }
    }
    Ok(groups)
}

fn write(path: &Path, drawing: &str) -> Result<()> {
    fs::write(path, drawing).with_context(|| format!("cannot write {}", path.display()))?;
    eprintln!("{}", path.display());
    Ok(())
}

impl Group {
    /// A load of this group in words, where others stand beside it.
    fn name(&self, load: &str) -> String {
        let headers = if self.headers == "JSON" { "" } else { ", ROCKETMQ headers" };
        let body = if self.body == 1024 { String::new() } else { format!(", {} B", self.body) };
        format!("{load}{headers}{body}")
    }
}

fn color(kind: Kind) -> &'static str {
    match kind {
        Kind::Reference => "#8a93a0",
        Kind::Ours => "#d9480f",
        Kind::Echo => "#1c7ed6",
        Kind::Journal => "#2b8a3e",
        Kind::Bare => "#5f3dc4",
    }
}

/// The names of servers in their colours, from left to right.
fn legend(sheet: &mut svg::Svg, (mut x, y): (f64, f64), kinds: &[Kind]) {
    for kind in kinds {
        sheet.bar((x, y - 10.0), (12.0, 12.0), color(*kind));
        sheet.text((x + 17.0, y), svg::Anchor::Start, &kind.to_string());
        x += 95.0;
    }
}
