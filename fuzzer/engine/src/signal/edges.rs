//! `edges`: the set of code edges that a step ran, where the program counts them (`misrule_edges`).
//!
//! Fuzzers of programs (AFL, libFuzzer) have a key for each edge. A step of a protocol runs hundreds, so that such
//! keys would cost more than the step; the set of them is one key, and tells the path through the code.

use super::Signal;
use misrule_world::{NodeId, Report, mix};

/// The edges since the last step.
#[derive(Debug, Default)]
pub(super) struct Edges;

impl Signal for Edges {
    fn start(&mut self, _nodes: NodeId, _report: &Report) {
        misrule_edges::take(&mut |_| {});
    }

    fn step(&mut self, _report: &Report) -> u64 {
        let mut set = 0;
        misrule_edges::take(&mut |edge| set = mix(set ^ edge as u64));
        set
    }
}
