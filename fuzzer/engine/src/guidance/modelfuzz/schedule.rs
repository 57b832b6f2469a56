//! Schedules as `ModelFuzz` has them, and its mutators.

use misrule_world::{NodeId, Rng};

/// Steps of a schedule: the published horizon.
pub(super) const HORIZON: u32 = 100;
/// Crashes in a schedule, each with a restart.
const CRASHES: u32 = 10;
/// Requests in a schedule.
const REQUESTS: u32 = 5;
/// Messages that a step delivers are fewer than this.
const MESSAGES: u32 = 5;
/// Pairs of deliveries that a mutant exchanges, and pairs of their numbers of messages.
const SWAPS: u32 = 20;
/// Pairs of crashes whose victims a mutant exchanges.
const CRASH_SWAPS: u32 = 2;
/// With fewer crashes the published mutator of crashes fails.
const CRASHES_MIN: usize = 4;

/// At most so many messages of one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) messages: u8,
}

/// A schedule: for each step a delivery, and at some steps crashes, restarts and requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) deliveries: Vec<Delivery>,
    /// Step and victim.
    pub(super) crashes: Vec<(u32, NodeId)>,
    /// Step and node.
    pub(super) restarts: Vec<(u32, NodeId)>,
    /// Step and the seed of what is asked.
    pub(super) requests: Vec<(u32, u64)>,
    /// Seed of timeouts.
    pub(super) timeouts: u64,
}

impl Schedule {
    /// Becomes a copy of another one, in the memory that it has.
    pub(super) fn copy(&mut self, other: &Self) {
        self.deliveries.clone_from(&other.deliveries);
        self.crashes.clone_from(&other.crashes);
        self.restarts.clone_from(&other.restarts);
        self.requests.clone_from(&other.requests);
        self.timeouts = other.timeouts;
    }

    /// Draws everything anew. Sender, receiver and number are uniform, so that nearly half of the steps deliver
    /// nothing: so it is published.
    pub(super) fn draw(&mut self, nodes: NodeId, crashes: bool, rng: &mut Rng) {
        let nodes = u32::from(nodes);
        let (deliveries, horizon) = (&mut self.deliveries, HORIZON as usize);
        deliveries.clear();
        deliveries.resize_with(horizon, || Delivery {
            from: rng.below(nodes) as NodeId,
            to: rng.below(nodes) as NodeId,
            messages: rng.below(MESSAGES) as u8,
        });
        self.crashes.clear();
        self.restarts.clear();
        self.requests.clear();
        for _ in 0..if crashes { CRASHES } else { 0 } {
            let (step, node) = (distinct(&self.crashes, rng), rng.below(nodes) as NodeId);
            self.crashes.push((step, node));
            self.restarts.push((step + rng.below(HORIZON - step), node));
        }
        for _ in 0..REQUESTS {
            let step = distinct(&self.requests, rng);
            self.requests.push((step, rng.next()));
        }
        self.timeouts = rng.next();
    }

    /// Applies all mutators, one after the other. As published, the exchange of deliveries is lost, since choices are
    /// looked up by step, and a mutator that fails fails the mutant: then this is false.
    pub(super) fn mutate(&mut self, as_published: bool, rng: &mut Rng) -> bool {
        let any = |rng: &mut Rng| rng.below(HORIZON) as usize;
        for _ in 0..SWAPS {
            let (a, b) = (any(rng), any(rng));
            if !as_published {
                self.deliveries.swap(a, b);
            }
        }
        for _ in 0..SWAPS {
            let (a, b) = (any(rng), any(rng));
            let number = self.deliveries[a].messages;
            self.deliveries[a].messages = std::mem::replace(&mut self.deliveries[b].messages, number);
        }
        if self.crashes.len() < CRASHES_MIN {
            return !as_published;
        }
        for _ in 0..CRASH_SWAPS {
            let (a, b) = (rng.below(CRASHES) as usize, rng.below(CRASHES) as usize);
            let victim = self.crashes[a].1;
            self.crashes[a].1 = std::mem::replace(&mut self.crashes[b].1, victim);
        }
        true
    }

    /// Loses the steps of requests, as the published code records them: on a replay all come at the first step.
    pub(super) fn forget_steps_of_requests(&mut self) {
        self.requests.iter_mut().for_each(|request| request.0 = 0);
    }
}

/// A step that is none of those taken.
fn distinct<T>(taken: &[(u32, T)], rng: &mut Rng) -> u32 {
    loop {
        let step = rng.below(HORIZON);
        if taken.iter().all(|(other, _)| *other != step) {
            return step;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HORIZON, Schedule};
    use misrule_world::Rng;

    fn drawn(crashes: bool) -> Schedule {
        let mut schedule = Schedule::default();
        schedule.draw(3, crashes, &mut Rng::new(1));
        schedule
    }

    #[test]
    fn schedules_have_the_published_sizes() {
        let schedule = drawn(true);
        let (crashes, restarts) = (&schedule.crashes, &schedule.restarts);
        assert_eq!((schedule.deliveries.len(), crashes.len(), schedule.requests.len()), (100, 10, 5));
        assert!(crashes.iter().zip(restarts).all(|(c, r)| c.0 <= r.0 && r.0 < HORIZON && c.1 == r.1));
        assert!(drawn(false).crashes.is_empty());
    }

    #[test]
    fn mutants_differ_and_keep_when_requests_come() {
        let (mut mutant, parent) = (drawn(true), drawn(true));
        assert!(mutant.mutate(false, &mut Rng::new(2)));
        assert_ne!(mutant.deliveries, parent.deliveries);
        assert_ne!(mutant.crashes, parent.crashes);
        assert_eq!((mutant.requests, mutant.restarts), (parent.requests, parent.restarts));
    }

    #[test]
    fn as_published_deliveries_stay_and_few_crashes_fail() {
        let (mut mutant, parent) = (drawn(true), drawn(true));
        assert!(mutant.mutate(true, &mut Rng::new(2)));
        let links = |s: &Schedule| s.deliveries.iter().map(|d| (d.from, d.to)).collect::<Vec<_>>();
        assert_eq!(links(&mutant), links(&parent));
        assert_ne!(mutant.deliveries, parent.deliveries);
        assert!(!drawn(false).mutate(true, &mut Rng::new(2)));
        assert!(drawn(false).mutate(false, &mut Rng::new(2)));
    }
}
