//! The whole command line over the toy target, without a process: what needs one is tested in `adapters`.

mod bench;
mod clients;
mod crash_states;
mod errors;
mod fuzz;
mod history;
mod lens;
mod recovery;
mod replay;

use crate::session::Session;
use crate::toy::toy;
use misrule_report::Style;
use misrule_world::{Target, target};
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own, removed at the end.
struct Sandbox(PathBuf);

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a command did.
#[derive(Debug)]
struct Ran {
    code: u8,
    out: String,
    err: String,
}

impl Ran {
    /// Standard output as the one JSON object that it must be.
    fn json(&self) -> Value {
        let value: Value =
            serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        assert!(value.is_object(), "{value}");
        value
    }

    /// A value of the last line.
    fn last(&self, key: &str) -> &str {
        let line = self.out.lines().last().unwrap_or_default();
        let value = line.split(' ').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
        value.unwrap_or_else(|| panic!("no {key} in {line:?}: {self:?}"))
    }
}

impl Sandbox {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("misrule-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn run(&self, line: &str) -> Ran {
        self.run_with(&[toy()], line)
    }

    fn run_with(&self, targets: &[Target], line: &str) -> Ran {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut session = Session {
            targets,
            out: &mut out,
            err: &mut err,
            folder: self.0.clone(),
            style: Style::Plain,
            rewrite: false,
            program: None,
            name: "misrule".to_owned(),
        };
        let arguments: Vec<OsString> =
            std::iter::once("misrule").chain(line.split_whitespace()).map(OsString::from).collect();
        let code = crate::run(&mut session, &arguments);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { code, out: text(out), err: text(err) }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.0.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Finds a failure of the toy and returns the path of its minimised schedule.
    fn found(&self) -> String {
        let ran = self.run("fuzz toy --seed 1 --out found --json");
        assert_eq!(ran.code, 1, "{ran:?}");
        ran.json()["findings"][0]["path"].as_str().unwrap().to_owned()
    }
}

/// The toy under another name.
fn other(name: &'static str) -> Target {
    target(name, |_| -> Result<(crate::toy::PingPong, crate::toy::Bound), _> {
        Err(misrule_world::SetupError("cannot be opened".to_owned()))
    })
}
