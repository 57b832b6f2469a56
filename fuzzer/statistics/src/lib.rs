//! Statistics of times until something is found. A campaign that found nothing is *censored* at its budget: it says
//! that the time is longer, and not how long. Nothing here knows of campaigns, and nothing reads a file or a clock.
//!
//! All intervals are for 95 %. Values are compared with scipy, statsmodels and lifelines by
//! `tests/golden/make.py`.
//!
//! ```
//! use misrule_statistics::{Time, a12, log_rank, median};
//!
//! let guided = [Time::found(0.4), Time::found(0.9), Time::found(1.3), Time::censored(20.0)];
//! let random = [Time::found(3.0), Time::found(8.0), Time::censored(20.0), Time::censored(20.0)];
//! assert_eq!(median(&guided), Some(0.9));
//! assert!(a12(&guided, &random).value > 0.7);
//! assert!(log_rank(&guided, &random).p > 0.05, "four campaigns do not tell");
//! ```

mod a12;
mod bootstrap;
mod generator;
mod holm;
mod kaplan_meier;
mod log_rank;
mod normal;
mod power;
mod restricted;
mod time;
mod wilson;

pub use a12::{Effect, a12};
pub use bootstrap::{bootstrap, bootstrap_two};
pub use generator::Generator;
pub use holm::holm;
pub use kaplan_meier::{Point, median, median_interval, survival};
pub use log_rank::{LogRank, log_rank};
pub use power::{POWER, SIGNIFICANT, campaigns_needed};
pub use restricted::{RestrictedMean, restricted_mean};
pub use time::{Interval, Time};
pub use wilson::wilson;
