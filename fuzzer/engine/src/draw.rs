//! Draws choices from a world's menu by weight: the generator behind tails and every random strategy.

use crate::draw_clients;
use crate::draw_disk;
use crate::draw_links::{self, Pending};
use misrule_world::{
    Choice, ChoiceKind, FaultKind, FaultProfile, FaultWeights, Menu, NodeId, Rng, Slot, nth_bit,
};

/// The weight of a kind of choice, in parts of 10,000 or so. What happens anyway: about 70 % message choices, 20 %
/// timers, 5 % requests, as in the trials of `notes/frontier.md`; and some session that waits asks again or gives up.
fn weight(kind: ChoiceKind, faults: &FaultWeights) -> u32 {
    match kind {
        ChoiceKind::Deliver => 7000,
        ChoiceKind::Timer => 2000,
        ChoiceKind::Request => 500,
        ChoiceKind::Local => 800,
        ChoiceKind::Draw => 50,
        ChoiceKind::Retry => 150,
        ChoiceKind::Abandon => 30,
        ChoiceKind::Drop => faults.of(FaultKind::Drop),
        ChoiceKind::Duplicate => faults.of(FaultKind::Duplicate),
        ChoiceKind::Crash => faults.of(FaultKind::Crash),
        ChoiceKind::Restart => faults.of(FaultKind::Restart),
        ChoiceKind::Cut => faults.of(FaultKind::Isolate) + faults.of(FaultKind::Cut),
        ChoiceKind::Heal => faults.of(FaultKind::Heal),
        ChoiceKind::Disk => faults.of(FaultKind::Disk),
        ChoiceKind::Clog => faults.of(FaultKind::Swizzle) + faults.of(FaultKind::Clog),
        ChoiceKind::Unclog => faults.of(FaultKind::Unclog),
        // Never drawn: it ends an execution.
        ChoiceKind::Recover => 0,
    }
}

/// A message on a slow link is drawn so many times less often.
const SLOWER: u32 = 16;

/// Draws enabled choices. An isolation is drawn as a whole and expands to plain cuts, one a step, so that the
/// minimiser can take it apart; a swizzle expands to plain clogs, with other choices between them.
#[derive(Clone, Debug)]
pub struct Drawer {
    profile: FaultProfile,
    /// The weights of this execution.
    faults: FaultWeights,
    operations: u32,
    pending: Pending,
    /// For each link whether it is slow in this execution; empty where none is.
    slow: Vec<bool>,
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
        Self {
            profile,
            faults: FaultWeights::default(),
            operations: 0,
            pending: Pending::default(),
            slow: Vec::new(),
            possible: 0,
            offered: 0,
            table: Vec::new(),
        }
    }

    /// Forgets what is left of a macro choice, and draws what is to hold for an execution. Call it before each one.
    pub fn reset(&mut self, menu: &Menu, rng: &mut Rng) {
        self.pending.clear();
        let faults = self.profile.weights(rng);
        if faults != self.faults {
            (self.faults, self.offered) = (faults, 0);
        }
        draw_links::slow_links(&self.faults, menu, rng, &mut self.slow);
        self.operations = menu.operations.iter().map(|(weight, _)| u32::from(*weight)).sum();
        let when = |possible: bool, kind: ChoiceKind| if possible { bit(kind) } else { 0 };
        let always = [
            ChoiceKind::Deliver,
            ChoiceKind::Timer,
            ChoiceKind::Local,
            ChoiceKind::Crash,
            ChoiceKind::Restart,
            ChoiceKind::Heal,
            ChoiceKind::Unclog,
            ChoiceKind::Disk,
            ChoiceKind::Retry,
            ChoiceKind::Abandon,
        ];
        self.possible = always.into_iter().map(bit).sum::<u32>()
            | when(self.operations > 0, ChoiceKind::Request)
            | when(!menu.draws.is_empty(), ChoiceKind::Draw)
            | when(menu.contract.loss, ChoiceKind::Drop)
            | when(menu.contract.duplication, ChoiceKind::Duplicate)
            | when(menu.nodes > 1, ChoiceKind::Cut)
            | when(menu.nodes > 1, ChoiceKind::Clog);
    }

    /// An enabled choice, or `None` when nothing at all can happen.
    pub fn pick(&mut self, menu: &Menu, rng: &mut Rng) -> Option<Choice> {
        if let Some(choice) = self.pending.next(menu) {
            return Some(choice);
        }
        let offered = self.offered(menu);
        if offered != self.offered {
            self.tabulate(offered);
        }
        let total = self.table.last()?.0;
        // A kind may turn out to have nothing to offer, such as a cut where every link is cut already.
        for _ in 0..DRAWS {
            let found = match self.drawn(rng.below(total)) {
                ChoiceKind::Deliver if self.slow.is_empty() => message(menu, rng).map(Choice::Deliver),
                kind => self.choice(kind, menu, rng),
            };
            if found.is_some() {
                return found;
            }
        }
        // Perhaps all that waits is on slow links.
        message(menu, rng).map(Choice::Deliver)
    }

    /// A choice of that kind whatever its weight, or `None` when it has nothing to offer now.
    pub(crate) fn of_kind(&mut self, kind: ChoiceKind, menu: &Menu, rng: &mut Rng) -> Option<Choice> {
        if self.offered(menu) & bit(kind) == 0 { None } else { self.choice(kind, menu, rng) }
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
        unless(menu.up != menu.all_nodes(), bit(ChoiceKind::Restart));
        unless(menu.cuts > 0, bit(ChoiceKind::Heal));
        unless(menu.clogs > 0, bit(ChoiceKind::Unclog));
        unless(draw_disk::has_outcomes(menu), bit(ChoiceKind::Disk));
        offered
    }

    /// Makes the table for a set of kinds. Kinds without weight are left out.
    fn tabulate(&mut self, offered: u32) {
        self.offered = offered;
        self.table.clear();
        let mut sum = 0;
        for kind in KINDS {
            let weight = weight(kind, &self.faults);
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
            ChoiceKind::Deliver => self.deliver(menu, rng),
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
                if let Choice::CrashAt { node, .. } = crash
                    && let Some(local) = local_of(node, menu, rng)
                {
                    self.pending.push(local);
                }
                Some(crash)
            }
            ChoiceKind::Restart => {
                let down = !menu.up & menu.all_nodes();
                let node = nth_bit(down, rng.below(down.count_ones()))?;
                Some(draw_disk::restart(node, menu, rng, &mut self.pending))
            }
            ChoiceKind::Cut => draw_links::cut(&self.faults, menu, rng, &mut self.pending),
            ChoiceKind::Heal => draw_links::heal(menu, rng, &mut self.pending),
            ChoiceKind::Clog => draw_links::clog(&self.faults, menu, rng, &mut self.pending),
            ChoiceKind::Unclog => draw_links::unclog(menu, rng, &mut self.pending),
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

    /// A waiting message; seldom one on a slow link.
    fn deliver(&self, menu: &Menu, rng: &mut Rng) -> Option<Choice> {
        let slot = message(menu, rng)?;
        let slow = !self.slow.is_empty() && self.slow[menu.link(slot.from, slot.to)];
        if slow && !rng.chance(1, SLOWER) { None } else { Some(Choice::Deliver(slot)) }
    }
}

/// Draws until some kind has something to offer, at most so often.
const DRAWS: u32 = 64;

/// Kinds in the order of the table: the commonest come first.
const KINDS: [ChoiceKind; 16] = [
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
    ChoiceKind::Clog,
    ChoiceKind::Unclog,
];

fn bit(kind: ChoiceKind) -> u32 {
    1 << kind as u8
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

/// A waiting message: a link by how many wait there, then one that the contract lets be the next, uniformly.
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
                let reach = u32::from(menu.contract.reach());
                let position = if at < reach { at } else { at % reach } as u16 + 1;
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
