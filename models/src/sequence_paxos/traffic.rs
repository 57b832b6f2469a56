//! Messages between nodes, where the model keeps them.

use super::message::{Envelope, Message};
use super::{Network, NodeId};
use std::collections::{BTreeSet, VecDeque};

/// The messages of a bounded network.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Traffic {
    /// None: whoever drives the model guarantees that only sent messages arrive.
    Open,
    /// One queue for each ordered pair of nodes, at `from * nodes + to`.
    Fifo(Vec<VecDeque<Message>>),
    /// Every message ever sent.
    Tracked(BTreeSet<Envelope>),
}

impl Traffic {
    pub(super) fn new(network: Network, nodes: NodeId) -> Self {
        match network {
            Network::Open => Self::Open,
            Network::Fifo => Self::Fifo(vec![VecDeque::new(); usize::from(nodes) * usize::from(nodes)]),
            Network::Tracked => Self::Tracked(BTreeSet::new()),
        }
    }

    fn link(&self, from: NodeId, to: NodeId) -> Option<&VecDeque<Message>> {
        let Self::Fifo(links) = self else { return None };
        let nodes = links.len().isqrt();
        links.get(usize::from(from) * nodes + usize::from(to))
    }

    fn link_mut(&mut self, from: NodeId, to: NodeId) -> Option<&mut VecDeque<Message>> {
        let Self::Fifo(links) = self else { return None };
        let nodes = links.len().isqrt();
        links.get_mut(usize::from(from) * nodes + usize::from(to))
    }

    /// Whether `message` can arrive now.
    pub(super) fn can_arrive(&self, from: NodeId, to: NodeId, message: &Message) -> bool {
        match self {
            Self::Open => true,
            Self::Fifo(_) => self.link(from, to).and_then(VecDeque::front) == Some(message),
            Self::Tracked(ever) => {
                // A clone for the look-up: only the explorer comes here.
                ever.contains(&Envelope { from, to, message: message.clone() })
            }
        }
    }

    /// Takes the first message off a queue; elsewhere messages stay.
    pub(super) fn arrived(&mut self, from: NodeId, to: NodeId) {
        if let Some(link) = self.link_mut(from, to) {
            link.pop_front();
        }
    }

    /// Loses everything between two nodes.
    pub(super) fn cut(&mut self, a: NodeId, b: NodeId) {
        for (from, to) in [(a, b), (b, a)] {
            if let Some(link) = self.link_mut(from, to) {
                link.clear();
            }
        }
    }

    pub(super) fn send(&mut self, sent: &[Envelope]) {
        match self {
            Self::Open => {}
            Self::Fifo(_) => {
                for envelope in sent {
                    if let Some(link) = self.link_mut(envelope.from, envelope.to) {
                        link.push_back(envelope.message.clone());
                    }
                }
            }
            Self::Tracked(ever) => ever.extend(sent.iter().cloned()),
        }
    }

    /// Appends what can arrive.
    pub(super) fn arrivals(&self, out: &mut Vec<Envelope>) {
        match self {
            Self::Open => {}
            Self::Fifo(links) => {
                let nodes = links.len().isqrt();
                out.extend(links.iter().enumerate().filter_map(|(at, link)| {
                    let message = link.front()?.clone();
                    Some(Envelope { from: (at / nodes) as NodeId, to: (at % nodes) as NodeId, message })
                }));
            }
            Self::Tracked(ever) => out.extend(ever.iter().cloned()),
        }
    }

    /// Calls `visit` for every message, with its place.
    pub(super) fn each(&self, visit: &mut dyn FnMut(usize, &Envelope)) {
        match self {
            Self::Open => {}
            Self::Fifo(links) => {
                let nodes = links.len().isqrt();
                let mut place = 0;
                for (at, link) in links.iter().enumerate() {
                    for message in link {
                        let (from, to) = ((at / nodes) as NodeId, (at % nodes) as NodeId);
                        visit(place, &Envelope { from, to, message: message.clone() });
                        place += 1;
                    }
                }
            }
            Self::Tracked(ever) => {
                for (place, envelope) in ever.iter().enumerate() {
                    visit(place, envelope);
                }
            }
        }
    }
}
