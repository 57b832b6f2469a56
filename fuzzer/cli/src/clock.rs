//! The one place that reads the clock.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

/// Measures time since it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "the driver owns the clock")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Nanoseconds since this was first asked.
pub(crate) fn nanoseconds() -> u64 {
    static START: OnceLock<Stopwatch> = OnceLock::new();
    START.get_or_init(Stopwatch::start).elapsed().as_nanos() as u64
}

/// Seconds of processor time of this thread, as Linux counts them; none elsewhere.
pub(crate) fn busy_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds / 1e9)
}

/// Lets other processes run.
#[expect(clippy::disallowed_methods, reason = "between two looks at child processes")]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Time since 1970, for names of folders and for drawing a seed.
#[expect(clippy::disallowed_methods, reason = "the driver owns the clock")]
pub(crate) fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// `20261201T053411Z`.
pub(crate) fn utc(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// The date of a day since 1970-01-01 in the Gregorian calendar, counted in years that begin in March.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::utc;
    use std::time::Duration;

    #[test]
    fn dates_are_gregorian() {
        for (seconds, text) in [
            (0, "19700101T000000Z"),
            (951_782_400, "20000229T000000Z"),
            (951_868_799, "20000229T235959Z"),
            (1_709_251_200, "20240301T000000Z"),
            (1_798_694_451, "20261231T052051Z"),
        ] {
            assert_eq!(utc(Duration::from_secs(seconds)), text);
        }
    }
}
