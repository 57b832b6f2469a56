//! A small random driver: choices that the menu offers, weights that suit most protocols, a ladder of lengths.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, reason = "a module of tests")]

use misrule_two_phase_commit::two_phase_commit;
use misrule_world::{Choice, Effect, Failure, Keep, LinkOrder, Menu, Report, Rng, Run, Slot, Watch, nth_bit};

/// Everything on but the trace.
pub(crate) const ALL: Watch = Watch { keys: true, model: true, conformance: true, trace: false };
/// The oracles of the target, and the model with conformance.
pub(crate) const MODEL: Watch = Watch { keys: false, model: true, conformance: true, trace: false };
/// Oracles of the target only.
pub(crate) const ORACLES: Watch = Watch { keys: false, model: false, conformance: false, trace: false };

/// Lengths of executions; each gets as many steps as the next.
const LADDER: [u32; 5] = [30, 100, 300, 1_000, 3_000];

/// The target with the given settings and contract words over its own.
pub(crate) fn open(given: &[(&str, &str)], contract: &str, lenses: &[&str]) -> Box<dyn Run> {
    let target = two_phase_commit();
    target.open(&target.setup(given, contract, lenses).unwrap()).unwrap()
}

/// A choice that brings things forward, no fault and no new work; `None` when there is none left.
pub(crate) fn onward(menu: &Menu, rng: &mut Rng) -> Option<Choice> {
    let (messages, locals) = (menu.waiting, menu.locals_enabled);
    let timers = u32::from(menu.timers_set > 0);
    match rng.below(messages + locals + timers) {
        _ if messages + locals + timers == 0 => None,
        at if at < messages => Some(Choice::Deliver(slot(menu, rng))),
        at if at < messages + locals => {
            let (node, step) = bit(&menu.locals, rng.below(locals));
            Some(Choice::Local { node, step })
        }
        _ => {
            let (node, timer) = bit(&menu.timers, rng.below(menu.timers_set));
            Some(Choice::Timer { node, timer })
        }
    }
}

/// One enabled choice.
pub(crate) fn pick(menu: &Menu, rng: &mut Rng) -> Choice {
    let weights = [
        if menu.waiting > 0 { 60 } else { 0 },
        if menu.locals_enabled > 0 { 20 } else { 0 },
        if menu.timers_set > 0 { 6 } else { 0 },
        if menu.up != 0 { 4 } else { 0 },
        u32::from(menu.up != 0),
        if menu.up.count_ones() < u32::from(menu.nodes) { 5 } else { 0 },
        if menu.waiting > 0 && menu.contract.loss { 2 } else { 0 },
        if menu.waiting > 0 && menu.contract.duplication { 2 } else { 0 },
        u32::from(menu.contract.loss),
        if menu.cuts > 0 { 4 } else { 0 },
        1,
    ];
    let mut left = rng.below(weights.iter().sum());
    let mut kind = 0;
    while left >= weights[kind] {
        left -= weights[kind];
        kind += 1;
    }
    let up = |rng: &mut Rng| menu.nth_up(rng.below(menu.up.count_ones())).unwrap();
    match kind {
        0 => Choice::Deliver(slot(menu, rng)),
        1 => {
            let (node, step) = bit(&menu.locals, rng.below(menu.locals_enabled));
            Choice::Local { node, step }
        }
        2 => {
            let (node, timer) = bit(&menu.timers, rng.below(menu.timers_set));
            Choice::Timer { node, timer }
        }
        3 => Choice::Request { node: up(rng), operation: 0, argument: 0, session: misrule_world::NO_SESSION },
        4 => {
            let node = up(rng);
            let unsynced = u32::from(menu.unsynced[usize::from(node)]);
            Choice::Crash { node, keep: Keep::prefix(rng.below(unsynced + 1) as u16) }
        }
        5 => {
            let down = !menu.up & ((1 << menu.nodes) - 1);
            Choice::Restart { node: nth_bit(down, rng.below(down.count_ones())).unwrap() }
        }
        6 => Choice::Drop(slot(menu, rng)),
        7 => Choice::Duplicate(slot(menu, rng)),
        8 | 9 => link(menu, rng, kind == 9),
        _ => {
            let node = rng.below(u32::from(menu.nodes)) as u8;
            Choice::Draw { node, name: 0, value: rng.below(menu.draws[0]) }
        }
    }
}

fn slot(menu: &Menu, rng: &mut Rng) -> Slot {
    let mut left = rng.below(menu.waiting);
    let link = menu.deliverable.iter().position(|count| {
        let here = left < u32::from(*count);
        left = if here { left } else { left - u32::from(*count) };
        here
    });
    let (link, nodes) = (link.unwrap(), usize::from(menu.nodes));
    let at = if menu.contract.order == LinkOrder::Fifo { 1 } else { left as u16 + 1 };
    Slot { from: (link / nodes) as u8, to: (link % nodes) as u8, at, kind: Slot::ANY_KIND }
}

fn bit(sets: &[u32], mut number: u32) -> (u8, u8) {
    for (node, set) in (0..).zip(sets) {
        if number < set.count_ones() {
            return (node, nth_bit(u64::from(*set), number).unwrap());
        }
        number -= set.count_ones();
    }
    unreachable!("fewer bits than counted")
}

/// A link to cut or to heal.
fn link(menu: &Menu, rng: &mut Rng, heal: bool) -> Choice {
    let nodes = menu.nodes;
    loop {
        let (from, to) = (rng.below(u32::from(nodes)) as u8, rng.below(u32::from(nodes)) as u8);
        let cut = menu.cut[menu.link(from, to)];
        match (heal, cut) {
            (true, true) => return Choice::Heal { from, to },
            (false, false) => return Choice::Cut { from, to },
            // Every link is cut.
            (false, true) if menu.cuts == u32::from(nodes) * u32::from(nodes) => {
                return Choice::Heal { from, to };
            }
            _ => {}
        }
    }
}

/// Runs executions until one fails or `steps_max` steps are done; the number of steps and what failed.
pub(crate) fn random(run: &mut dyn Run, seed: u64, steps_max: u64, watch: Watch) -> (u64, Option<Failure>) {
    random_into(run, seed, steps_max, watch, &mut Report::default())
}

/// The same with a report whose buffers have grown.
pub(crate) fn random_into(
    run: &mut dyn Run,
    seed: u64,
    steps_max: u64,
    watch: Watch,
    report: &mut Report,
) -> (u64, Option<Failure>) {
    let mut rng = Rng::new(seed);
    report.keys.reserve(1_000);
    let mut steps = 0;
    while steps < steps_max {
        // The chance of a length is inverse to it.
        let length = LADDER[ladder(&mut rng)];
        run.reset(rng.next(), watch, report);
        for _ in 0..length {
            if report.failure.is_some() {
                return (steps, report.failure.take());
            }
            let choice = pick(run.menu(), &mut rng);
            run.step(choice, report);
            let full = matches!(choice, Choice::Duplicate(_));
            assert!(report.effect == Effect::Applied || full, "{choice:?}: {:?}", report.effect);
            steps += 1;
        }
        if report.failure.is_some() {
            return (steps, report.failure.take());
        }
    }
    (steps, None)
}

fn ladder(rng: &mut Rng) -> usize {
    let whole: u32 = LADDER.iter().map(|length| 3_000 / length).sum();
    let mut left = rng.below(whole);
    let mut at = 0;
    while left >= 3_000 / LADDER[at] {
        left -= 3_000 / LADDER[at];
        at += 1;
    }
    at
}
