//! Draws choices from a world's menu by weight: the generator behind tails and every random strategy.

use crate::draw_clients::{self, peer};
use crate::draw_disk;
use misrule_world::{Choice, ChoiceKind, FaultProfile, LinkOrder, Menu, NodeId, Rng, Slot, nth_bit};

/// Weights of the kinds of choices, by fault profile. A kind that is not enabled has no weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Weights {
    deliver: u32,
    timer: u32,
    request: u32,
    local: u32,
    draw: u32,
    drop: u32,
    duplicate: u32,
    crash: u32,
    restart: u32,
    isolate: u32,
    cut: u32,
    heal: u32,
    disk: u32,
    retry: u32,
    abandon: u32,
}

/// Parts in 10,000. About 70 % message choices, 20 % timers, 5 % requests, as in the trials of
/// `notes/frontier.md`; a stopped node restarts and a cut link heals after some dozen steps,
/// and some session that waits asks again or gives up.
const BASE: Weights = Weights {
    deliver: 7000,
    timer: 2000,
    request: 500,
    local: 800,
    draw: 50,
    drop: 200,
    duplicate: 100,
    crash: 20,
    restart: 300,
    isolate: 20,
    cut: 20,
    heal: 150,
    disk: 100,
    retry: 150,
    abandon: 30,
};

/// How much more often nodes crash where one keeps files: what a crash leaves of them is what is to be tested.
const FILES: u32 = 3;

impl Weights {
    fn of(profile: FaultProfile) -> Self {
        let (part, whole) = match profile {
            FaultProfile::None => (0, 1),
            FaultProfile::Light => (1, 10),
            FaultProfile::Default => (1, 1),
            FaultProfile::Heavy => (4, 1),
        };
        let scaled = |weight: u32| weight * part / whole;
        Self {
            drop: scaled(BASE.drop),
            duplicate: scaled(BASE.duplicate),
            crash: scaled(BASE.crash),
            isolate: scaled(BASE.isolate),
            cut: scaled(BASE.cut),
            disk: scaled(BASE.disk),
            ..BASE
        }
    }
}

/// Draws enabled choices. An isolation is drawn as a whole and expands to plain cuts, one a step, so that the
/// minimiser can take it apart.
#[derive(Clone, Debug)]
pub struct Drawer {
    weights: Weights,
    operations: u32,
    pending: Vec<Choice>,
}

impl Drawer {
    /// A drawer for a fault profile.
    pub fn new(profile: FaultProfile) -> Self {
        Self { weights: Weights::of(profile), operations: 0, pending: Vec::new() }
    }

    /// Forgets what is left of a macro choice. Call it before each execution.
    pub fn reset(&mut self, menu: &Menu) {
        self.pending.clear();
        self.operations = menu.operations.iter().map(|(weight, _)| u32::from(*weight)).sum();
    }

    /// An enabled choice, or `None` when nothing at all can happen.
    pub fn pick(&mut self, menu: &Menu, rng: &mut Rng) -> Option<Choice> {
        while let Some(choice) = self.pending.pop() {
            if still_applies(menu, choice) {
                return Some(choice);
            }
        }
        let all_up = menu.up.count_ones();
        let down = u32::from(menu.nodes) - all_up;
        let w = &self.weights;
        let when = |enabled: bool, weight: u32| if enabled { weight } else { 0 };
        let table = [
            (ChoiceKind::Deliver, when(menu.waiting > 0, w.deliver)),
            (ChoiceKind::Timer, when(menu.timers_set > 0, w.timer)),
            (ChoiceKind::Request, when(draw_clients::can_ask(menu) && self.operations > 0, w.request)),
            (ChoiceKind::Local, when(menu.locals_enabled > 0, w.local)),
            (ChoiceKind::Draw, when(!menu.draws.is_empty(), w.draw)),
            (ChoiceKind::Drop, when(menu.waiting > 0 && menu.contract.loss, w.drop)),
            (ChoiceKind::Duplicate, when(menu.waiting > 0 && menu.contract.duplication, w.duplicate)),
            (ChoiceKind::Crash, when(all_up > 0, if menu.files == 0 { w.crash } else { FILES * w.crash })),
            (ChoiceKind::Restart, when(down > 0, w.restart)),
            (ChoiceKind::Cut, when(menu.nodes > 1, w.isolate + w.cut)),
            (ChoiceKind::Heal, when(menu.cuts > 0, w.heal)),
            (ChoiceKind::Disk, when(draw_disk::has_outcomes(menu), w.disk)),
            (ChoiceKind::Retry, when(all_up > 0 && menu.sessions_waiting != 0, w.retry)),
            (ChoiceKind::Abandon, when(menu.sessions_waiting != 0, w.abandon)),
        ];
        let total: u32 = table.iter().map(|(_, weight)| weight).sum();
        if total == 0 {
            return None;
        }
        // A kind may turn out to have nothing to offer, such as a cut where every link is cut already.
        (0..DRAWS).find_map(|_| self.choice(drawn(&table, rng.below(total)), menu, rng))
    }

    fn choice(&mut self, kind: ChoiceKind, menu: &Menu, rng: &mut Rng) -> Option<Choice> {
        match kind {
            ChoiceKind::Deliver => message(menu, rng).map(Choice::Deliver),
            ChoiceKind::Drop => message(menu, rng).map(Choice::Drop),
            ChoiceKind::Duplicate => message(menu, rng).map(Choice::Duplicate),
            ChoiceKind::Timer => {
                let (node, timer) = nth_of(&menu.timers, rng.below(menu.timers_set))?;
                Some(Choice::Timer { node, timer })
            }
            ChoiceKind::Local => {
                let (node, step) = nth_of(&menu.locals, rng.below(menu.locals_enabled))?;
                Some(Choice::Local { node, step })
            }
            ChoiceKind::Request => draw_clients::request(menu, self.operations, rng),
            ChoiceKind::Crash => {
                let node = menu.nth_up(rng.below(menu.up.count_ones()))?;
                Some(draw_disk::crash(node, menu, rng, &mut self.pending))
            }
            ChoiceKind::Restart => {
                let down = !menu.up & (u64::MAX >> (64 - u32::from(menu.nodes)));
                let node = nth_bit(down, rng.below(down.count_ones()))?;
                Some(draw_disk::restart(node, menu, rng, &mut self.pending))
            }
            ChoiceKind::Cut => self.cut(menu, rng),
            ChoiceKind::Heal => self.heal(menu, rng),
            ChoiceKind::Draw => {
                let name = rng.below(menu.draws.len() as u32) as u8;
                let node = rng.below(u32::from(menu.nodes)) as NodeId;
                Some(Choice::Draw { node, name, value: rng.below(menu.draws[usize::from(name)]) })
            }
            ChoiceKind::Disk => draw_disk::outcome(menu, rng),
            ChoiceKind::Retry => draw_clients::retry(menu, rng),
            ChoiceKind::Abandon => draw_clients::abandon(menu, rng),
            // The campaign decides about the end of an execution.
            ChoiceKind::Recover => None,
        }
    }

    /// Cuts one direction of one link, or all links of one node.
    fn cut(&mut self, menu: &Menu, rng: &mut Rng) -> Option<Choice> {
        let node = rng.below(u32::from(menu.nodes)) as NodeId;
        if rng.below(self.weights.isolate + self.weights.cut) < self.weights.cut {
            let (from, to) = (node, peer(menu, node, rng));
            let choice = Choice::Cut { from, to };
            return if still_applies(menu, choice) {
                Some(choice)
            } else {
                message(menu, rng).map(Choice::Deliver)
            };
        }
        for other in (0..menu.nodes).filter(|other| *other != node) {
            self.pending.push(Choice::Cut { from: node, to: other });
            self.pending.push(Choice::Cut { from: other, to: node });
        }
        self.pending.retain(|choice| still_applies(menu, *choice));
        self.pending.pop()
    }

    /// Heals one cut, or all of them.
    fn heal(&mut self, menu: &Menu, rng: &mut Rng) -> Option<Choice> {
        let link =
            |at: usize| ((at / usize::from(menu.nodes)) as NodeId, (at % usize::from(menu.nodes)) as NodeId);
        let cuts = menu.cut.iter().enumerate().filter(|(_, cut)| **cut);
        if rng.chance(1, 2) {
            let (at, _) = cuts.into_iter().nth(rng.below(menu.cuts) as usize)?;
            let (from, to) = link(at);
            return Some(Choice::Heal { from, to });
        }
        self.pending.extend(cuts.map(|(at, _)| Choice::Heal { from: link(at).0, to: link(at).1 }));
        self.pending.pop()
    }
}

/// Draws until some kind has something to offer, at most so often.
const DRAWS: u32 = 64;

/// The kind at a place of the summed weights.
fn drawn(table: &[(ChoiceKind, u32)], mut at: u32) -> ChoiceKind {
    for (kind, weight) in table {
        if at < *weight {
            return *kind;
        }
        at -= weight;
    }
    ChoiceKind::Deliver
}

fn still_applies(menu: &Menu, choice: Choice) -> bool {
    match choice {
        Choice::Cut { from, to } => !menu.cut[menu.link(from, to)],
        Choice::Heal { from, to } => menu.cut[menu.link(from, to)],
        Choice::Crash { node, .. } => menu.is_up(node),
        Choice::Restart { node } => !menu.is_up(node),
        _ => true,
    }
}

/// A waiting message, uniformly; on links that keep order, the first of its link.
fn message(menu: &Menu, rng: &mut Rng) -> Option<Slot> {
    if menu.waiting == 0 {
        return None;
    }
    let mut at = rng.below(menu.waiting);
    for (link, count) in menu.deliverable.iter().enumerate() {
        let count = u32::from(*count);
        if at < count {
            let nodes = usize::from(menu.nodes);
            let position = if menu.contract.order == LinkOrder::Reorder { at as u16 + 1 } else { 1 };
            return Some(Slot {
                from: (link / nodes) as NodeId,
                to: (link % nodes) as NodeId,
                at: position,
                kind: Slot::ANY_KIND,
            });
        }
        at -= count;
    }
    None
}

/// The `number`-th set bit over all nodes, as node and bit.
fn nth_of(sets: &[u32], mut number: u32) -> Option<(NodeId, u8)> {
    for (node, set) in sets.iter().enumerate() {
        let count = set.count_ones();
        if number < count {
            return nth_bit(u64::from(*set), number).map(|bit| (node as NodeId, bit));
        }
        number -= count;
    }
    None
}
