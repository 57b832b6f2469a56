//! Histories of client operations, and checkers of what clients may see. No files, no clock, no threads, and nothing
//! known of worlds or engines.
//!
//! [`check`] decides whether a [`History`] is linearizable, or sequentially consistent, against a
//! [`Specification`]; [`specifications`] come with it. [`read`] and [`print()`] know the text form. Two more
//! checkers need no history: [`cycle`] and [`survival`].
//!
//! ```
//! use misrule_history::{Limits, Order, Verdict, read, specifications::Named};
//!
//! // A client reads 1, which nobody ever wrote.
//! let text = r#"{"process":0,"type":"invoke","f":"write","value":2}
//! {"process":1,"type":"invoke","f":"read"}
//! {"process":1,"type":"ok","f":"read","value":1}
//! {"process":0,"type":"ok","f":"write"}
//! "#;
//! let history = read(text).unwrap();
//! let limits = Limits { stop_after_steps: 1_000_000, expired: &mut || false };
//! let checked = Named::Register.check(&history, Order::RealTime, limits).unwrap();
//! assert_eq!(checked.verdict, Verdict::Fail);
//! let explanation = checked.explanation.unwrap();
//! assert_eq!(history.operations()[explanation.misplaced].to_string(), "process 1: read -> 1");
//! assert_eq!(explanation.allowed, ["null"]);
//! ```

mod check;
pub mod cycle;
mod history;
mod online;
mod read;
mod search;
mod specification;
pub mod specifications;
pub mod survival;
mod value;
mod whole;

pub use check::{Checked, Explanation, Limits, Order, Verdict, check};
pub use history::{History, Operation, OrderError, Outcome};
pub use online::{Online, OnlineVerdict};
pub use read::{BYTES_MAX, ReadError, column, print, read};
pub use specification::{Misfit, Specification};
pub use value::Value;
