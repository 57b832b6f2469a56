//! A random driver over the menu: about 20 % ticks, 5 % requests, deliveries, and rare crashes and isolations.

use misrule_omnipaxos::omnipaxos;
use misrule_world::{Argument, Choice, Failure, Keep, LinkOrder, Menu, Report, Rng, Run, Slot, Watch};

/// Opens the target with settings, contract words and lenses.
pub(crate) fn open(settings: &[(&str, &str)], contract: &str, lenses: &[&str]) -> Box<dyn Run> {
    let target = omnipaxos();
    target.open(&target.setup(settings, contract, lenses).expect("a valid setup")).expect("a valid setup")
}

/// What a drive did.
#[derive(Debug, Default)]
pub(crate) struct Drive {
    /// Executed steps.
    pub(crate) steps: u64,
    /// Keys that lenses made.
    pub(crate) keys: u64,
    /// The failure that ended it.
    pub(crate) failure: Option<Failure>,
}

/// Picks choices.
pub(crate) struct Picker {
    rng: Rng,
    pending: Vec<Choice>,
    isolated: Option<u8>,
}

impl Picker {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), pending: Vec::new(), isolated: None }
    }

    /// The next choice; every one is enabled.
    pub(crate) fn pick(&mut self, menu: &Menu) -> Choice {
        if let Some(choice) = self.pending.pop() {
            return choice;
        }
        let dice = self.rng.below(1000);
        let down = ((1 << menu.nodes) - 1) & !menu.up;
        if down != 0 && dice < 20 {
            return Choice::Restart { node: down.trailing_zeros() as u8 };
        }
        if dice < 22 && down == 0 {
            return Choice::Crash { node: self.rng.below(u32::from(menu.nodes)) as u8, keep: Keep::NONE };
        }
        if (22..26).contains(&dice) {
            return self.isolate_or_heal(menu);
        }
        if dice < 76 {
            return self.request(menu);
        }
        if dice < 276 || menu.waiting == 0 {
            return self.tick(menu);
        }
        self.deliver(menu)
    }

    fn some_up(&mut self, menu: &Menu) -> u8 {
        let number = self.rng.below(menu.up.count_ones());
        menu.nth_up(number).expect("most nodes are up")
    }

    fn tick(&mut self, menu: &Menu) -> Choice {
        Choice::Timer { node: self.some_up(menu), timer: 0 }
    }

    fn isolate_or_heal(&mut self, menu: &Menu) -> Choice {
        let healed = self.isolated.take();
        let node = healed.unwrap_or_else(|| {
            let node = self.rng.below(u32::from(menu.nodes)) as u8;
            self.isolated = Some(node);
            node
        });
        for other in (0..menu.nodes).filter(|other| *other != node) {
            for (from, to) in [(node, other), (other, node)] {
                let cut = Choice::Cut { from, to };
                self.pending.push(if healed.is_some() { Choice::Heal { from, to } } else { cut });
            }
        }
        self.pending.pop().expect("there are other nodes")
    }

    fn request(&mut self, menu: &Menu) -> Choice {
        let node = self.some_up(menu);
        let weights: u32 = menu.operations.iter().map(|(weight, _)| u32::from(*weight)).sum();
        let mut at = self.rng.below(weights);
        let mut operation = 0;
        while at >= u32::from(menu.operations[operation].0) {
            at -= u32::from(menu.operations[operation].0);
            operation += 1;
        }
        let argument = match menu.operations[operation].1 {
            Argument::None => 0,
            Argument::Fresh => menu.fresh,
            Argument::Below(bound) => self.rng.below(bound),
            Argument::Keyed { .. } => unreachable!("omnipaxos has no keys"),
            Argument::Peer => {
                (u32::from(node) + 1 + self.rng.below(u32::from(menu.nodes) - 1)) % u32::from(menu.nodes)
            }
        };
        Choice::Request { node, operation: operation as u8, argument, session: misrule_world::NO_SESSION }
    }

    fn deliver(&mut self, menu: &Menu) -> Choice {
        let mut number = self.rng.below(menu.waiting);
        let mut link = 0;
        while number >= u32::from(menu.deliverable[link]) {
            number -= u32::from(menu.deliverable[link]);
            link += 1;
        }
        let at = if menu.contract.order == LinkOrder::Fifo { 1 } else { number as u16 + 1 };
        let (from, to) = (link / usize::from(menu.nodes), link % usize::from(menu.nodes));
        Choice::Deliver(Slot { from: from as u8, to: to as u8, at, kind: Slot::ANY_KIND })
    }
}

/// Runs executions of `length` steps until `steps` are done or one fails.
pub(crate) fn drive(run: &mut dyn Run, seed: u64, length: u64, steps: u64, watch: Watch) -> Drive {
    let (mut done, mut report) = (Drive::default(), Report::default());
    let mut round = 0;
    while done.steps < steps {
        let mut picker = Picker::new(seed.wrapping_mul(1_000_003) + round);
        round += 1;
        run.reset(round, watch, &mut report);
        for _ in 0..length {
            if report.failure.is_some() {
                done.failure = report.failure.take();
                return done;
            }
            let choice = picker.pick(run.menu());
            run.step(choice, &mut report);
            done.steps += 1;
            done.keys += report.keys.len() as u64;
        }
    }
    done.failure = report.failure.take();
    done
}
