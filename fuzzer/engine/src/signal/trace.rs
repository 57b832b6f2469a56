//! `trace`: sequences of events, as published tools count them.
//!
//! The baseline `trace` of `ModelFuzz` (Gulcan et al. 2025, section 5) hashes the event trace of a whole execution,
//! so that nearly every execution is new. The last few events instead are a k-path, of which there are finitely
//! many.

use super::Signal;
use super::event::{BITS, event};
use misrule_world::{NodeId, Report};

/// Events of a key.
const EVENTS: u32 = 3;
/// Bits of a node's number in a key; higher ones are cut.
const NODE: u32 = 6;

/// The last events, the latest in the lowest bits.
#[derive(Debug, Default)]
pub(super) struct Trace {
    last: u64,
}

impl Signal for Trace {
    fn start(&mut self, _nodes: NodeId, _report: &Report) {
        self.last = 0;
    }

    fn step(&mut self, report: &Report) -> u64 {
        let (node, code) = event(report);
        let node = node.map_or(0, |node| u64::from(node) + 1) & ((1 << NODE) - 1);
        let all = (1 << (EVENTS * (BITS + NODE))) - 1;
        self.last = ((self.last << (BITS + NODE)) | (node << BITS) | u64::from(code)) & all;
        self.last
    }
}
