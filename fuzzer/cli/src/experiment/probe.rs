//! Resolves each cell before anything runs, by asking the program that will run it for a campaign of no execution: what
//! it refuses is refused here, with the place in the file.

use super::Cell;
use super::file::File;
use crate::exit::Error;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A cell as its program understands it.
pub(crate) struct Resolved<'a> {
    pub(crate) cell: Cell<'a>,
    pub(crate) program: PathBuf,
    pub(crate) target_version: String,
    pub(crate) build: String,
    pub(crate) contract: String,
    pub(crate) lens: Vec<String>,
}

/// Resolves all cells in `scratch`, a folder for what the probes write.
pub(crate) fn resolve<'a>(
    file: &'a File,
    cells: &[Cell<'a>],
    own: &Path,
    base: &Path,
    scratch: &Path,
) -> Result<Vec<Resolved<'a>>, Error> {
    cells.iter().map(|cell| one(file, *cell, own, base, scratch)).collect()
}

fn one<'a>(
    file: &'a File,
    cell: Cell<'a>,
    own: &Path,
    base: &Path,
    scratch: &Path,
) -> Result<Resolved<'a>, Error> {
    let (bug, arm) = (cell.bug, cell.arm);
    let program = match &bug.program {
        None => own.to_owned(),
        Some(other) => fs::canonicalize(base.join(other))
            .map_err(|error| file.error(&bug.at, &format!("bug `{}`: program {other}: {error}", bug.name)))?,
    };
    let out = scratch.join("probe");
    let _ = fs::remove_dir_all(&out);
    let mut probe = Command::new(&program);
    probe
        .args(cell.words())
        .args(["--seed", "1", "--executions", "0", "--json", "--quiet", "--out"])
        .arg(&out);
    let output = probe.current_dir(scratch).stdin(Stdio::null()).output();
    let output = output.map_err(|error| file.error(&bug.at, &format!("bug `{}`: {error}", bug.name)))?;
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    if !output.status.success() {
        let text = said["error"].as_str().map_or_else(|| last_line(&output.stderr), str::to_owned);
        let of_arm = ["guidance", "lens"].iter().any(|word| text.contains(word));
        let at = if of_arm { &arm.at } else { &bug.at };
        return Err(file.error(at, &format!("bug `{}`, arm `{}`: {text}", bug.name, arm.name)));
    }
    let text = |field: &str| said[field].as_str().unwrap_or_default().to_owned();
    let target_version = text("target_version");
    if let Some(wanted) = bug.version.as_ref().filter(|wanted| **wanted != target_version) {
        let text =
            format!("bug `{}`: `version` is {wanted}, and {} is {target_version}", bug.name, bug.target);
        return Err(file.error(&bug.at, &text));
    }
    let lens =
        said["lens"].as_array().into_iter().flatten().filter_map(|lens| lens.as_str().map(str::to_owned));
    let (lens, build, contract) = (lens.collect(), text("build"), text("contract"));
    Ok(Resolved { cell, program, target_version, build, contract, lens })
}

/// The last line that a program wrote.
pub(super) fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim().to_owned()
}
