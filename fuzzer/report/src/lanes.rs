//! Follows messages from the step that sends them to the step that takes them off their link.

use crate::values::Step;
use std::collections::BTreeMap;

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was handed to its receiver.
    Delivered,
    /// It was lost by a choice.
    Dropped,
    /// It was copied, and waits on.
    Copied,
    /// It still waits when the trace ends.
    Waiting,
}

/// A message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// Sender, counted from 0.
    pub from: u8,
    /// Receiver.
    pub to: u8,
    /// The step that sent it, by position in the trace.
    pub sent: usize,
    /// The step that took it off the link; `None` while it waits.
    pub taken: Option<usize>,
    /// What became of it.
    pub fate: Fate,
}

/// All messages of a trace, in the order in which they were sent.
pub fn arrows(steps: &[Step]) -> Vec<Arrow> {
    let mut arrows: Vec<Arrow> = Vec::new();
    let mut links: BTreeMap<(u8, u8), Vec<usize>> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        if let Some(taken) = step.taken.filter(|taken| taken.fate != Fate::Copied) {
            let waiting = links.entry((taken.from, taken.to)).or_default();
            let position = usize::from(taken.position).saturating_sub(1);
            if position < waiting.len() {
                let arrow = &mut arrows[waiting.remove(position)];
                (arrow.taken, arrow.fate) = (Some(at), taken.fate);
            }
        }
        for (from, to, position) in &step.pushed {
            let waiting = links.entry((*from, *to)).or_default();
            waiting.insert(usize::from(*position).saturating_sub(1).min(waiting.len()), arrows.len());
            arrows.push(Arrow { from: *from, to: *to, sent: at, taken: None, fate: Fate::Waiting });
        }
    }
    arrows
}

#[cfg(test)]
mod tests {
    use super::{Fate, arrows};
    use crate::values::{Step, Taken};

    #[test]
    fn messages_are_followed_by_position() {
        let taken = |position, fate| Some(Taken { from: 0, to: 1, position, fate });
        let steps = [
            Step { pushed: vec![(0, 1, 1), (0, 1, 2), (0, 1, 3)], ..Step::default() },
            Step { taken: taken(2, Fate::Delivered), pushed: vec![(1, 0, 1)], ..Step::default() },
            Step { taken: taken(2, Fate::Dropped), ..Step::default() },
            Step { taken: taken(9, Fate::Delivered), ..Step::default() },
        ];
        let seen: Vec<_> = arrows(&steps).iter().map(|arrow| (arrow.sent, arrow.taken, arrow.fate)).collect();
        assert_eq!(
            seen,
            [
                (0, None, Fate::Waiting),
                (0, Some(1), Fate::Delivered),
                (0, Some(2), Fate::Dropped),
                (1, None, Fate::Waiting)
            ]
        );
    }
}
