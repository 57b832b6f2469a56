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

    fn of_kind(&self, kind: ChoiceKind) -> u32 {
        match kind {
            ChoiceKind::Deliver => self.deliver,
            ChoiceKind::Drop => self.drop,
            ChoiceKind::Duplicate => self.duplicate,
            ChoiceKind::Timer => self.timer,
            ChoiceKind::Local => self.local,
            ChoiceKind::Request => self.request,
            ChoiceKind::Crash => self.crash,
            ChoiceKind::Restart => self.restart,
            ChoiceKind::Cut => self.isolate + self.cut,
            ChoiceKind::Heal => self.heal,
            ChoiceKind::Draw => self.draw,
            ChoiceKind::Disk => self.disk,
            ChoiceKind::Retry => self.retry,
            ChoiceKind::Abandon => self.abandon,
            // Never drawn: it ends an execution.
            ChoiceKind::Recover => 0,
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
    /// The kinds that the contract and the target's names leave possible: bit set.
    possible: u32,
    /// Which kinds had something to offer when the table was made: bit set.
    offered: u32,
    /// These kinds with their weights, each added to those before it: seldom another one than the step before.
    table: Vec<(u32, ChoiceKind)>,
}

impl Drawer {
    /// A drawer for a fault profile.
    pub fn new(profile: FaultProfile) -> Self {
        let (pending, table) = (Vec::new(), Vec::new());
        Self { weights: Weights::of(profile), operations: 0, pending, possible: 0, offered: 0, table }
    }

    /// Forgets what is left of a macro choice. Call it before each execution.
    pub fn reset(&mut self, menu: &Menu) {
        self.pending.clear();
        self.operations = menu.operations.iter().map(|(weight, _)| u32::from(*weight)).sum();
        let when = |possible: bool, kind: ChoiceKind| if possible { bit(kind) } else { 0 };
        let always = [
            ChoiceKind::Deliver,
            ChoiceKind::Timer,
            ChoiceKind::Local,
            ChoiceKind::Crash,
            ChoiceKind::Restart,
            ChoiceKind::Heal,
            ChoiceKind::Disk,
            ChoiceKind::Retry,
            ChoiceKind::Abandon,
        ];
        self.possible = always.into_iter().map(bit).sum::<u32>()
            | when(self.operations > 0, ChoiceKind::Request)
            | when(!menu.draws.is_empty(), ChoiceKind::Draw)
            | when(menu.contract.loss, ChoiceKind::Drop)
            | when(menu.contract.duplication, ChoiceKind::Duplicate)
            | when(menu.nodes > 1, ChoiceKind::Cut);
    }

    /// An enabled choice, or `None` when nothing at all can happen.
    pub fn pick(&mut self, menu: &Menu, rng: &mut Rng) -> Option<Choice> {
        while let Some(choice) = self.pending.pop() {
            if still_applies(menu, choice) {
                return Some(choice);
            }
        }
        let offered = self.offered(menu);
        if offered != self.offered {
            self.tabulate(offered);
        }
        let total = self.table.last()?.0;
        // A kind may turn out to have nothing to offer, such as a cut where every link is cut already.
        for _ in 0..DRAWS {
            let found = match self.drawn(rng.below(total)) {
                ChoiceKind::Deliver => message(menu, rng).map(Choice::Deliver),
                kind => self.choice(kind, menu, rng),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Which kinds have something to offer now: bit set.
    fn offered(&self, menu: &Menu) -> u32 {
        let mut offered = self.possible;
        let mut unless = |enabled: bool, kinds: u32| offered &= if enabled { u32::MAX } else { !kinds };
        unless(
            menu.waiting > 0,
            bit(ChoiceKind::Deliver) | bit(ChoiceKind::Drop) | bit(ChoiceKind::Duplicate),
        );
        unless(menu.timers_set > 0, bit(ChoiceKind::Timer));
        unless(menu.locals_enabled > 0, bit(ChoiceKind::Local));
        unless(draw_clients::can_ask(menu), bit(ChoiceKind::Request));
        unless(menu.up != 0, bit(ChoiceKind::Crash) | bit(ChoiceKind::Retry));
        unless(menu.sessions_waiting != 0, bit(ChoiceKind::Retry) | bit(ChoiceKind::Abandon));
        unless(menu.up != all(menu), bit(ChoiceKind::Restart));
        unless(menu.cuts > 0, bit(ChoiceKind::Heal));
        unless(menu.files != 0 && draw_disk::has_outcomes(menu), bit(ChoiceKind::Disk));
        offered
    }

    /// Makes the table for a set of kinds. Kinds without weight are left out.
    fn tabulate(&mut self, offered: u32) {
        self.offered = offered;
        self.table.clear();
        let mut sum = 0;
        for kind in KINDS {
            let weight = self.weights.of_kind(kind);
            if offered & bit(kind) != 0 && weight > 0 {
                sum += weight;
                self.table.push((sum, kind));
            }
        }
    }

    /// The kind at a place of the summed weights.
    fn drawn(&self, at: u32) -> ChoiceKind {
        self.table.iter().find(|(end, _)| at < *end).map_or(ChoiceKind::Deliver, |(_, kind)| *kind)
    }

    /// A choice of that kind. Never inlined: it would drag its sums of bits into every pick.
    #[inline(never)]
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
                let crash = draw_disk::crash(node, menu, rng, &mut self.pending);
                if let Choice::CrashAt { node, .. } = crash {
                    self.pending.extend(local_of(node, menu, rng));
                }
                Some(crash)
            }
            ChoiceKind::Restart => {
                let down = !menu.up & all(menu);
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

/// Kinds in the order of the table: the commonest come first.
const KINDS: [ChoiceKind; 14] = [
    ChoiceKind::Deliver,
    ChoiceKind::Timer,
    ChoiceKind::Request,
    ChoiceKind::Local,
    ChoiceKind::Draw,
    ChoiceKind::Drop,
    ChoiceKind::Duplicate,
    ChoiceKind::Crash,
    ChoiceKind::Restart,
    ChoiceKind::Cut,
    ChoiceKind::Heal,
    ChoiceKind::Disk,
    ChoiceKind::Retry,
    ChoiceKind::Abandon,
];

fn bit(kind: ChoiceKind) -> u32 {
    1 << kind as u8
}

/// The bit set of all nodes.
fn all(menu: &Menu) -> u64 {
    u64::MAX >> (64 - u32::from(menu.nodes))
}

fn still_applies(menu: &Menu, choice: Choice) -> bool {
    match choice {
        Choice::Cut { from, to } => !menu.cut[menu.link(from, to)],
        Choice::Heal { from, to } => menu.cut[menu.link(from, to)],
        Choice::Crash { node, .. } => menu.is_up(node),
        Choice::Restart { node } => !menu.is_up(node),
        Choice::Local { node, step } => menu.locals[usize::from(node)] & (1 << step) != 0,
        _ => true,
    }
}

/// Every other time, a local step of a node that has a crash point now: in local steps nodes write the most.
fn local_of(node: NodeId, menu: &Menu, rng: &mut Rng) -> Option<Choice> {
    let locals = menu.locals[usize::from(node)];
    if locals == 0 || rng.chance(1, 2) {
        return None;
    }
    let step = nth_bit(u64::from(locals), rng.below(locals.count_ones()))?;
    Some(Choice::Local { node, step })
}

/// A waiting message, uniformly; on links that keep order, the first of its link.
fn message(menu: &Menu, rng: &mut Rng) -> Option<Slot> {
    if menu.waiting == 0 {
        return None;
    }
    let mut at = rng.below(menu.waiting);
    let mut links = menu.deliverable.iter();
    for from in 0..menu.nodes {
        for to in 0..menu.nodes {
            let count = u32::from(*links.next()?);
            if at < count {
                let position = if menu.contract.order == LinkOrder::Reorder { at as u16 + 1 } else { 1 };
                return Some(Slot { from, to, at: position, kind: Slot::ANY_KIND });
            }
            at -= count;
        }
    }
    None
}

/// The `number`-th set bit over all nodes, as node and bit. Sets are small: bits are counted one by one.
fn nth_of(sets: &[u32], mut number: u32) -> Option<(NodeId, u8)> {
    for (node, set) in sets.iter().enumerate() {
        let mut left = *set;
        while left != 0 {
            if number == 0 {
                return Some((node as NodeId, left.trailing_zeros() as u8));
            }
            number -= 1;
            left &= left - 1;
        }
    }
    None
}
