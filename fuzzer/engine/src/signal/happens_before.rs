//! `happens-before`: summaries of the Lamport timeline.
//!
//! After Mallory (Meng, Pirlea, Roychoudhury, Sergey 2023, "Greybox Fuzzing of Distributed Systems", section 4), which
//! abstracts the timeline of an execution to its happens-before relation between kinds of events. Here a key is what an
//! event directly follows from (Lamport 1978, section "The partial ordering"): the event before it at its node, the
//! event that sent its message, and the event before that one. Nodes are not named, as in `DistFuzz` (Zou et al. 2025).

use super::Signal;
use super::event::event;
use misrule_world::{Choice, NodeId, Report};
use std::collections::VecDeque;

/// An event and the one before it at its node.
#[derive(Clone, Copy, Debug, Default)]
struct Stamp {
    event: u16,
    before: u16,
}

/// The timeline as far as later events can follow from it.
#[derive(Debug, Default)]
pub(super) struct HappensBefore {
    nodes: usize,
    /// For each node, its last event.
    last: Vec<u16>,
    /// For each link, what sent the messages that wait there.
    waiting: Vec<VecDeque<Stamp>>,
}

/// The event that sends what nodes send when they start.
const START: u16 = u16::MAX;

impl HappensBefore {
    fn push(&mut self, report: &Report, stamp: Stamp) {
        for (from, to, at) in &report.pushed {
            let link = &mut self.waiting[usize::from(*from) * self.nodes + usize::from(*to)];
            link.insert(usize::from(*at).saturating_sub(1).min(link.len()), stamp);
        }
    }

    /// What sent the message of a message choice.
    fn sender(&mut self, choice: Choice) -> Option<Stamp> {
        let slot = choice.slot()?;
        let link = &mut self.waiting[usize::from(slot.from) * self.nodes + usize::from(slot.to)];
        let at = usize::from(slot.at).checked_sub(1)?;
        if matches!(choice, Choice::Duplicate(_)) { link.get(at).copied() } else { link.remove(at) }
    }
}

impl Signal for HappensBefore {
    fn start(&mut self, nodes: NodeId, report: &Report) {
        self.nodes = usize::from(nodes);
        self.last.clear();
        self.last.resize(self.nodes, START);
        self.waiting.resize_with(self.nodes * self.nodes, VecDeque::new);
        self.waiting.iter_mut().for_each(VecDeque::clear);
        self.push(report, Stamp { event: START, before: 0 });
    }

    fn step(&mut self, report: &Report) -> u64 {
        let (node, code) = event(report);
        let sender = self.sender(report.choice).unwrap_or_default();
        let before = match node {
            Some(node) => std::mem::replace(&mut self.last[usize::from(node)], code),
            None => 0,
        };
        let copied = matches!(report.choice, Choice::Duplicate(_));
        self.push(report, if copied { sender } else { Stamp { event: code, before } });
        [before, sender.event, sender.before]
            .iter()
            .fold(u64::from(code), |key, part| (key << 16) | u64::from(*part))
    }
}

#[cfg(test)]
mod tests {
    use super::{HappensBefore, Signal};
    use misrule_world::{Choice, Report, Slot};

    fn step(signal: &mut HappensBefore, choice: Choice, pushed: &[(u8, u8, u16)]) -> u64 {
        signal.step(&Report { choice, pushed: pushed.to_vec(), ..Report::default() })
    }

    fn started() -> HappensBefore {
        let mut signal = HappensBefore::default();
        signal.start(3, &Report::default());
        signal
    }

    fn deliver(from: u8, to: u8, at: u16) -> Choice {
        Choice::Deliver(Slot { from, to, at, kind: 1 })
    }

    #[test]
    fn what_happens_elsewhere_does_not_matter_and_what_sent_a_message_does() {
        let timer = |node| Choice::Timer { node, timer: 0 };
        let mut plain = started();
        step(&mut plain, timer(0), &[(0, 1, 9)]);
        let key = step(&mut plain, deliver(0, 1, 1), &[]);

        let mut elsewhere = started();
        step(&mut elsewhere, timer(0), &[(0, 1, 9)]);
        step(&mut elsewhere, timer(2), &[]);
        step(&mut elsewhere, Choice::Restart { node: 0 }, &[]);
        assert_eq!(
            step(&mut elsewhere, deliver(0, 1, 1), &[]),
            key,
            "events after the sending one are not its past"
        );

        let mut other = started();
        step(&mut other, Choice::Restart { node: 0 }, &[(0, 1, 9)]);
        assert_ne!(step(&mut other, deliver(0, 1, 1), &[]), key, "another event sent it");

        let mut renamed = started();
        step(&mut renamed, timer(1), &[(1, 2, 9)]);
        assert_eq!(step(&mut renamed, deliver(1, 2, 1), &[]), key, "nodes are not named");
    }

    #[test]
    fn messages_keep_their_senders_when_others_are_lost_or_copied() {
        let mut signal = started();
        step(&mut signal, Choice::Timer { node: 0, timer: 0 }, &[(0, 1, 9)]);
        step(&mut signal, Choice::Restart { node: 0 }, &[(0, 1, 9)]);
        let slot = |at| Slot { from: 0, to: 1, at, kind: 1 };
        step(&mut signal, Choice::Duplicate(slot(1)), &[(0, 1, 9)]);
        step(&mut signal, Choice::Drop(slot(2)), &[]);
        let first = step(&mut signal, deliver(0, 1, 1), &[]);
        let copy = step(&mut signal, deliver(0, 1, 1), &[]);
        let sender = |key: u64| key & 0xffff_ffff;
        assert_eq!(sender(first), sender(copy), "the copy has the sender of the first");
        assert_eq!(sender(step(&mut signal, deliver(0, 1, 1), &[])), 0, "nothing is left there");
    }
}
