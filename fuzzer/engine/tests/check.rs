//! `check` is silent about a deterministic target and names the first difference of one that is not; the
//! causal cone leaves out what has no part.

mod common;

use common::{setup, two_phase_commit};
use misrule_engine::{causal_cone, check, replay};
use misrule_world::{
    BootError, Choice, Context, FaultProfile, Fields, Input, Judge, Report, Schedule, Seen, Settings, Setup,
    Slot, System, Target, Vocabulary, Watch, target,
};
use std::cell::Cell;
use std::fmt::Display;

thread_local! {
    static LEAK: Cell<u64> = const { Cell::new(0) };
}

/// Two nodes that send each other what a timer counted; the fifth count comes from outside the world.
struct Leaky {
    vocabulary: Vocabulary,
    leaks: bool,
}

#[derive(Clone, Default)]
struct Count(u64);

impl Fields for Count {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("count", &self.0);
    }
}

impl System for Leaky {
    type Node = u64;
    type Message = u64;
    type View = Count;
    fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }
    fn boot(&self, cx: &mut Context<u64>) -> Result<u64, BootError> {
        cx.set_timer(0);
        Ok(0)
    }
    fn handle(&self, node: &mut u64, input: Input<u64>, cx: &mut Context<u64>) {
        match input {
            Input::Timer(_) => {
                *node += 1;
                if *node == 5 && self.leaks {
                    LEAK.set(LEAK.get() + 1);
                    *node += LEAK.get();
                }
                cx.set_timer(0);
                cx.send(1 - cx.me(), *node);
            }
            Input::Message { message, .. } => *node = (*node).max(message),
            Input::Local(_) | Input::Request { .. } => {}
        }
    }
    fn view(&self, node: &u64, out: &mut Count) {
        out.0 = *node;
    }
    fn kind(&self, _message: &u64) -> u8 {
        0
    }
}

struct Nothing;

impl Judge<Leaky> for Nothing {
    fn reset(&mut self, _seen: &Seen<'_, Leaky>, _report: &mut Report) {}
    fn after(&mut self, _seen: &Seen<'_, Leaky>, _report: &mut Report) {}
}

fn leaky(leaks: bool) -> Target {
    target("leaky", move |_| {
        let vocabulary =
            Vocabulary { nodes: 2, kinds: vec!["Count"], timers: vec!["tick"], ..Vocabulary::default() };
        Ok((Leaky { vocabulary, leaks }, Nothing))
    })
}

fn plain(target: &Target) -> Setup {
    Setup { settings: Settings::default(), contract: target.contract, lenses: Vec::new() }
}

#[test]
fn a_deterministic_target_does_not_differ() {
    for (target, setup) in [
        (two_phase_commit(), setup(&two_phase_commit(), &[], &["pairs@model", "waiting@impl"])),
        (leaky(false), plain(&leaky(false))),
    ] {
        let (mut one, mut other) = (target.open(&setup).unwrap(), target.open(&setup).unwrap());
        let first = check(&mut *one, &mut *other, 5, 50, 200, FaultProfile::Default).unwrap();
        let again = check(&mut *one, &mut *other, 5, 50, 200, FaultProfile::Default).unwrap();
        assert_eq!(first, again);
    }
}

#[test]
fn a_leak_is_located() {
    let target = leaky(true);
    let setup = plain(&target);
    let (mut one, mut other) = (target.open(&setup).unwrap(), target.open(&setup).unwrap());
    let difference = check(&mut *one, &mut *other, 5, 50, 200, FaultProfile::None).unwrap_err();
    assert_eq!(difference.execution, 1);
    assert!(difference.first.contains("count") && difference.second.contains("count"), "{difference:?}");
    assert_ne!(difference.first, difference.second);
}

#[test]
fn the_causal_cone_leaves_out_what_has_no_part() {
    let target = leaky(false);
    let mut run = target.open(&plain(&target)).unwrap();
    let tick = |node| Choice::Timer { node, timer: 0 };
    let deliver = |from, to| Choice::Deliver(Slot { from, to, at: 1, kind: 0 });
    let choices = vec![tick(0), tick(1), tick(1), deliver(0, 1), tick(0)];
    let schedule = Schedule { choices, tail: None };
    let replayed = replay(&mut *run, 1, &schedule, Watch::default(), true, &mut |_, _| {});
    assert_eq!(replayed.skipped, 0);
    assert_eq!(causal_cone(&replayed.trace, 4), [1, 2, 3, 4], "node 2's past and the send");
    assert_eq!(causal_cone(&replayed.trace, 5), [1, 5], "node 1 heard of nothing");
}
