//! Run folders: every file is written under a temporary name and renamed, so that a run that is killed at any
//! moment leaves whole files.

use crate::clock;
use crate::exit::Error;
use crate::session::Session;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Writes `text` to `path`, whole or not at all.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    fs::write(&part, text)
        .and_then(|()| fs::rename(&part, path))
        .map_err(|error| Error::Write(format!("cannot write {}: {error}", path.display())))
}

/// The folder of one run.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    /// As shown to people: relative where it was given so.
    pub(crate) shown: PathBuf,
    /// Where it is.
    pub(crate) path: PathBuf,
}

impl Folder {
    /// Makes `given`, or `runs/<target>/<utc>-<id>`. The folder must be new.
    pub(crate) fn create(session: &Session<'_>, target: &str, given: Option<&Path>) -> Result<Self, Error> {
        if let Some(shown) = given {
            return Self::make(session, shown);
        }
        let parent = Path::new("runs").join(target);
        let now = clock::since_1970();
        let base = misrule_world::mix(u64::from(now.subsec_nanos()) << 32 | u64::from(std::process::id()));
        let mut last = None;
        // Another run may take the same name in the same second.
        for attempt in 0..16 {
            let id = misrule_world::mix(base.wrapping_add(attempt)) >> 48;
            let name = format!("{}-{id:04x}", clock::utc(now));
            match Self::make(session, &parent.join(&name)) {
                Ok(folder) => {
                    latest(&folder.path, &name);
                    return Ok(folder);
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::Internal("no name for the run's folder".to_owned())))
    }

    fn make(session: &Session<'_>, shown: &Path) -> Result<Self, Error> {
        let path = session.at(shown);
        let problem = |text: String| Error::Usage(format!("output folder {}: {text}", shown.display()));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| problem(error.to_string()))?;
        }
        fs::create_dir(&path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => problem("it exists; name one that does not".to_owned()),
            _ => problem(error.to_string()),
        })?;
        fs::create_dir(path.join("findings")).map_err(|error| problem(error.to_string()))?;
        Ok(Self { shown: shown.to_owned(), path })
    }
}

/// Lets `latest` beside a run's folder point to it. A convenience: nothing depends on it.
fn latest(path: &Path, name: &str) {
    #[cfg(unix)]
    if let Some(parent) = path.parent() {
        let part = parent.join(format!("{name}.latest"));
        if std::os::unix::fs::symlink(name, &part).is_ok()
            && fs::rename(&part, parent.join("latest")).is_err()
        {
            let _ = fs::remove_file(part);
        }
    }
    #[cfg(not(unix))]
    let _ = (path, name);
}
