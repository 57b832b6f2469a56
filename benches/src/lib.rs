//! What the benches share: a clock, campaigns without files, numbers, and the bare drivers that
//! everything is measured against.
//!
//! `cargo bench --bench throughput` compares steps per second with the bare driver of omnipaxos, `cargo
//! bench --bench elections` executions per second with that of raft; `cargo bench --bench bugs`
//! counts what `random` and `frontier` need for each planted bug; `cargo bench --bench same` compares `random` with itself.
//! They print tables to keep in `results/`.
//!
//! ```
//! use misrule_benches::{Campaign, bare};
//!
//! let mut bare = bare::omnipaxos(1);
//! assert_eq!(bare.execute(1_000), 1_000);
//!
//! let target = misrule_omnipaxos::omnipaxos();
//! let campaign = Campaign::new(&target, &[("trim", "off")], "fifo", &["pairs@impl"]).unwrap();
//! assert!(campaign.run("frontier", 1, 10_000).unwrap().summary.steps >= 10_000);
//! ```

pub mod bare;
mod campaign;
mod numbers;
mod place;

pub use campaign::{Campaign, Ran, Stopwatch, busy_seconds};
pub use numbers::{a12, grouped, median, quantiles, rate};
pub use place::place;
