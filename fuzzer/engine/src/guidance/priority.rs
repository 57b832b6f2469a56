//! Priorities over what can run: links for deliveries, timers of nodes. The drawer says which kind of choice comes
//! next, by weight, and the priorities which one of the kind: faults and requests cannot be starved.

use misrule_world::{Choice, Menu, NodeId, Rng, Slot, TIMERS_MAX, bits};

/// Something with a priority: a link or a timer.
pub(super) type Place = usize;

/// A priority for each link and each timer; the highest runs first.
#[derive(Clone, Debug, Default)]
pub(super) struct Priorities {
    nodes: usize,
    /// First all links (`from * nodes + to`), then the timers of each node.
    all: Vec<u64>,
}

impl Priorities {
    /// Draws all anew. Priorities are at least `floor`, so that those below it can be given by hand.
    pub(super) fn draw(&mut self, menu: &Menu, floor: u64, rng: &mut Rng) {
        self.nodes = usize::from(menu.nodes);
        self.all.clear();
        self.all.resize_with(self.nodes * (self.nodes + TIMERS_MAX), || rng.next().max(floor));
    }

    /// What runs instead of a drawn choice, and its place; a choice that is neither delivery nor timer runs itself.
    pub(super) fn instead(&self, drawn: Choice, menu: &Menu) -> (Choice, Option<Place>) {
        match drawn {
            Choice::Deliver(slot) => match self.link(menu) {
                Some(link) => (Choice::Deliver(next_message(link, slot, menu)), Some(link)),
                None => (drawn, None),
            },
            Choice::Timer { .. } => match self.timer(menu) {
                Some((place, node, timer)) => (Choice::Timer { node, timer }, Some(place)),
                None => (drawn, None),
            },
            _ => (drawn, None),
        }
    }

    /// Gives a place another priority.
    pub(super) fn set(&mut self, place: Place, priority: u64) {
        self.all[place] = priority;
    }

    /// Draws anew what races with a step of the node: messages for it and its timers.
    pub(super) fn redraw(&mut self, node: NodeId, menu: &Menu, rng: &mut Rng) {
        let node = usize::from(node);
        for from in 0..self.nodes {
            self.all[from * self.nodes + node] = rng.next();
        }
        for timer in bits(menu.timers[node]) {
            let place = self.place(node, timer);
            self.all[place] = rng.next();
        }
    }

    /// The link to deliver from.
    fn link(&self, menu: &Menu) -> Option<Place> {
        let waiting = menu.deliverable.iter().enumerate().filter(|(_, count)| **count > 0);
        waiting.map(|(link, _)| link).max_by_key(|link| self.all[*link])
    }

    /// The timer to fire.
    fn timer(&self, menu: &Menu) -> Option<(Place, NodeId, u8)> {
        let mut best: Option<(u64, Place, NodeId, u8)> = None;
        for (node, timers) in menu.timers.iter().enumerate() {
            for timer in bits(*timers) {
                let place = self.place(node, timer);
                if best.is_none_or(|(priority, ..)| self.all[place] > priority) {
                    best = Some((self.all[place], place, node as NodeId, timer));
                }
            }
        }
        best.map(|(_, place, node, timer)| (place, node, timer))
    }

    fn place(&self, node: usize, timer: u8) -> Place {
        self.nodes * self.nodes + node * TIMERS_MAX + usize::from(timer)
    }
}

/// The message of the link; where links reorder, at a place that the drawn one makes random. It is never
/// farther back than the drawn one, which the contract allows.
fn next_message(link: Place, drawn: Slot, menu: &Menu) -> Slot {
    let (from, to) = menu.ends(link);
    let at = (drawn.at.max(1) - 1) % menu.deliverable[link].max(1) + 1;
    Slot { from, to, at, kind: Slot::ANY_KIND }
}
