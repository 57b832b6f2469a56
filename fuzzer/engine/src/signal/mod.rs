//! Signals besides lenses: keys made of what steps did, not of the state after them.
//!
//! A signal is asked for by name where lenses are, and its keys are entered into the archive as theirs are: it wraps the
//! world, and adds one key to each step report that has keys.

mod edges;
mod event;
mod happens_before;
mod trace;

use edges::Edges;
use happens_before::HappensBefore;
use misrule_world::{
    About, Choice, CrashStates, Effect, Failure, Key, Menu, NodeId, Recovery, Report, Run, Setup, SetupError,
    Standing, Target, Watch,
};
use trace::Trace;

/// The signals that exist, with one sentence each. Any target has them.
pub const SIGNALS: [(&str, &str); 3] = [
    (EDGES, "the code edges that a step ran; for a program built to count them (docs/guidance.md)"),
    (
        "happens-before",
        "an event, the one before it at its node, the one that sent its message, and the one before that",
    ),
    ("trace", "the last three events of the execution, in order"),
];

const EDGES: &str = "edges";

/// Makes a code of what a step did.
trait Signal {
    /// A new execution; the report is that of the start.
    fn start(&mut self, nodes: NodeId, report: &Report);

    /// After each executed step: its code.
    fn step(&mut self, report: &Report) -> u64;
}

/// Opens a target whose setup may name signals among its lenses. They come after all lenses of the target.
///
/// # Errors
/// Settings that do not go together, a lens that the target does not have, or `edges` in a program that does not count
/// them.
pub fn open(target: &Target, setup: &Setup) -> Result<Box<dyn Run>, SetupError> {
    let signal = |name: &String| named(name);
    let lenses = setup.lenses.iter().rposition(|name| signal(name).is_none()).map_or(0, |last| last + 1);
    if lenses == setup.lenses.len() {
        return target.open(setup);
    }
    if setup.lenses[lenses..].iter().any(|name| name == EDGES) && misrule_edges::count() == 0 {
        let how = "MISRULE_EDGES=CRATES RUSTC_WRAPPER=$PWD/fuzzer/edges/rustc cargo build --release --target-dir target/edges";
        return Err(SetupError(format!("this program counts no code edges; one that does: {how}")));
    }
    let signals = setup.lenses.iter().enumerate().skip(lenses);
    let signals = signals.filter_map(|(at, name)| Some((at as u8, named(name)?))).collect();
    let setup = Setup { lenses: setup.lenses[..lenses].to_vec(), ..setup.clone() };
    Ok(Box::new(Signalled { run: target.open(&setup)?, signals, on: false }))
}

fn named(name: &str) -> Option<Box<dyn Signal>> {
    match name {
        EDGES => Some(Box::new(Edges)),
        "happens-before" => Some(Box::new(HappensBefore::default())),
        "trace" => Some(Box::new(Trace::default())),
        _ => None,
    }
}

/// A world with signals.
struct Signalled {
    run: Box<dyn Run>,
    /// Each with its position among the lenses.
    signals: Vec<(u8, Box<dyn Signal>)>,
    /// Whether keys are asked for. In a recovery there are none.
    on: bool,
}

impl Run for Signalled {
    fn reset(&mut self, seed: u64, watch: Watch, report: &mut Report) {
        self.run.reset(seed, watch, report);
        self.on = watch.keys;
        let nodes = self.run.menu().nodes;
        for (_, signal) in &mut self.signals {
            signal.start(nodes, report);
        }
    }

    fn menu(&self) -> &Menu {
        self.run.menu()
    }

    fn step(&mut self, choice: Choice, report: &mut Report) {
        self.run.step(choice, report);
        if !self.on || report.effect != Effect::Applied {
            return;
        }
        for (lens, signal) in &mut self.signals {
            let code = signal.step(report);
            report.keys.push(Key { lens: *lens, facet: 0, code });
        }
    }

    fn crash_states(&self, node: NodeId, limit: usize) -> CrashStates {
        self.run.crash_states(node, limit)
    }

    fn recovery(&self) -> Option<Recovery> {
        self.run.recovery()
    }

    fn recover(&mut self, core: u32, report: &mut Report) {
        self.on = false;
        self.run.recover(core, report);
    }

    fn standing(&self) -> Result<Standing, Failure> {
        self.run.standing()
    }

    fn stall(&self) -> String {
        self.run.stall()
    }

    fn take_armed(&mut self) -> u32 {
        self.run.take_armed()
    }

    fn about(&self) -> About<'_> {
        self.run.about()
    }
}
