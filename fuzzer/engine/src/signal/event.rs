//! Events: what a step was, as a small number.

use misrule_world::{Choice, NodeId, Report};

/// Bits of an event's code.
pub(super) const BITS: u32 = 14;

/// What a step was: kind of choice, message kind or timer or the like, and how many messages it sent, three for more.
/// The code names no node, so that what the same node might do at another place is the same.
pub(super) fn event(report: &Report) -> (Option<NodeId>, u16) {
    let (node, detail) = match report.choice {
        Choice::Deliver(slot) => (Some(slot.to), slot.kind),
        Choice::Drop(slot) | Choice::Duplicate(slot) => (None, slot.kind),
        Choice::Timer { node, timer } => (Some(node), timer),
        Choice::Local { node, step } => (Some(node), step),
        Choice::Request { node, operation, .. } => (Some(node), operation),
        Choice::Draw { name, .. } => (None, name),
        Choice::CrashAt { node, .. } => (Some(node), 1),
        Choice::Crash { node, .. }
        | Choice::Restart { node }
        | Choice::Retry { node, .. }
        | Choice::Disk { node, .. } => (Some(node), 0),
        _ => (None, 0),
    };
    let kind = report.choice.kind() as u16 & 0x1f;
    let sent = report.pushed.len().min(3) as u16;
    (node, (kind << 9) | (u16::from(detail & 0x7f) << 2) | sent)
}

#[cfg(test)]
mod tests {
    use super::{BITS, event};
    use misrule_world::{Choice, Report, Slot};

    #[test]
    fn codes_tell_kinds_details_and_sends_apart_and_fit() {
        let slot = |kind| Slot { from: 0, to: 1, at: 1, kind };
        let choices = [
            Choice::Deliver(slot(1)),
            Choice::Deliver(slot(2)),
            Choice::Drop(slot(1)),
            Choice::Timer { node: 1, timer: 1 },
            Choice::Abandon { session: 2 },
        ];
        let mut codes = Vec::new();
        for choice in choices {
            for sent in [0, 1, 3] {
                let report = Report { choice, pushed: vec![(1, 0, 1); sent], ..Report::default() };
                let code = event(&report).1;
                assert!(u32::from(code) < 1 << BITS);
                codes.push(code);
            }
        }
        let all = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), all);
    }
}
