//! The crate's own log lines, for `replay --log`: a drain that formats nothing unless a trace is recorded.

use misrule_world::log;
use slog::{Drain, Level, Logger, Never, OwnedKVList, Record};
use std::sync::OnceLock;

/// Hands records to the world's log.
struct WorldDrain;

impl Drain for WorldDrain {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, _values: &OwnedKVList) -> Result<(), Never> {
        if log::wanted() {
            log::line(format_args!("{} {}", record.level().as_short_str(), record.msg()));
        }
        Ok(())
    }

    fn is_enabled(&self, _level: Level) -> bool {
        log::wanted()
    }
}

/// The logger of all nodes of all worlds: it has no content, and the world knows whose step it is.
pub(crate) fn shared() -> Logger {
    static LOGGER: OnceLock<Logger> = OnceLock::new();
    LOGGER.get_or_init(|| Logger::root(WorldDrain, slog::o!())).clone()
}
