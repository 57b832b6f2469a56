//! Reports of findings and traces: values in, one string out. No files, no clock, no terminal, and nothing
//! known of worlds or engines: the caller copies what is to be shown into the plain values here.
//!
//! [`terminal`] writes for terminals, [`html_page`] one page that stands alone; [`experiment`] has the page of an
//! experiment.
//!
//! ```
//! use misrule_report::{Field, Finding, Step, Style, terminal};
//!
//! let changes = vec![Field::new("n2.count", "4", "5")];
//! let step = Step { number: 1, node: Some(1), choice: "deliver 1->2 #1 Count".into(), changes, ..Step::default() };
//! let finding = Finding {
//!     property: "count-bounded".into(),
//!     message: "a node counts 5".into(),
//!     steps: vec![step],
//!     violates: Some(1),
//!     ..Finding::default()
//! };
//! let text = terminal::finding(&finding, Style::Plain);
//! assert!(text.starts_with("violation  count-bounded: a node counts 5"));
//! assert!(text.contains(" >  1  n2  deliver 1->2 #1 Count  n2.count 4 -> 5  <- violates"));
//! ```

pub mod experiment;
mod html;
mod lanes;
pub mod terminal;
mod values;

pub use html::{STEPS_MAX, escape, html_page};
pub use lanes::{Arrow, Fate, arrows};
pub use terminal::Style;
pub use values::{Field, Finding, Step, Taken};
