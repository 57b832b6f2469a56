//! The breadth-first search under [`explore`](super::explore) and [`state_graph`](super::state_graph).

use super::{Bound, Canonical, Limits};
use crate::{Model, ModelError, Step};
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;

/// Told of each state once, in the order of the search, and of each transition after both of its ends.
pub(super) trait Visitor<M: Model> {
    /// A state not seen before; ids count from 0.
    fn state(&mut self, id: u32, state: &M::State);
    /// A transition between states that were seen.
    fn transition(&mut self, from: u32, action: &M::Action, to: u32);
}

/// How far a search came.
pub(super) struct Reached {
    pub(super) initial: u32,
    pub(super) depth: u32,
    pub(super) bound: Option<Bound>,
}

/// Where a state was first met: as the `successor`-th successor of `parent`, or among the initial states.
#[derive(Clone, Copy)]
struct Origin {
    parent: Option<std::num::NonZeroU32>,
    successor: u32,
}

/// The search and what it remembers.
pub(super) struct Search<'a, M: Model> {
    successors: Successors<'a, M>,
    /// Looked up, never iterated.
    ids: FxHashMap<M::State, u32>,
    origins: Vec<Origin>,
    next: Vec<(u32, M::State)>,
}

impl<'a, M: Model> Search<'a, M> {
    pub(super) fn new(model: &'a M, canonical: Option<Canonical<M>>) -> Self {
        let successors = Successors { model, canonical, actions: Vec::new() };
        Self { successors, ids: FxHashMap::default(), origins: Vec::new(), next: Vec::new() }
    }

    pub(super) fn states(&self) -> usize {
        self.origins.len()
    }

    /// Searches until there is nothing new or a limit is met.
    pub(super) fn run(
        &mut self,
        limits: Limits,
        visitor: &mut impl Visitor<M>,
    ) -> Result<Reached, ModelError> {
        let mut reached = Reached { initial: 0, depth: 0, bound: None };
        let Self { successors, ids, origins, next } = self;
        for (at, state) in successors.initial().into_iter().enumerate() {
            if !ids.contains_key(&state) {
                if origins.len() >= limits.stop_after_states as usize {
                    reached.bound = Some(Bound::States);
                    return Ok(reached);
                }
                let origin = Origin { parent: None, successor: at as u32 };
                visitor.state(discover(&state, origin, ids, origins, next), &state);
                reached.initial += 1;
            }
        }
        let mut level = Vec::new();
        while !next.is_empty() {
            std::mem::swap(&mut level, next);
            for (from, state) in level.drain(..) {
                let mut successor = 0;
                let flow = successors.each(&state, &mut |action, state| {
                    let origin = Origin { parent: std::num::NonZeroU32::new(from + 1), successor };
                    successor += 1;
                    let to = match ids.get(state) {
                        Some(&to) => to,
                        None if reached.depth >= limits.stop_after_depth => {
                            reached.bound = Some(Bound::Depth);
                            return ControlFlow::Continue(());
                        }
                        None if origins.len() >= limits.stop_after_states as usize => {
                            reached.bound = Some(Bound::States);
                            return ControlFlow::Break(());
                        }
                        None => {
                            let to = discover(state, origin, ids, origins, next);
                            visitor.state(to, state);
                            to
                        }
                    };
                    visitor.transition(from, action, to);
                    ControlFlow::Continue(())
                })?;
                if flow.is_break() {
                    reached.depth += u32::from(!next.is_empty());
                    return Ok(reached);
                }
            }
            reached.depth += u32::from(!next.is_empty());
        }
        Ok(reached)
    }

    /// The actions of a shortest path to a state.
    ///
    /// The recorded ancestry is walked over representatives. Their actions need not fit together, since each
    /// representative has its own naming of the nodes; so a second walk takes, from the true state, the first
    /// action that leads to the next representative.
    pub(super) fn path_to(&mut self, id: u32) -> Result<Vec<M::Action>, ModelError> {
        let mut origins = Vec::new();
        let mut at = id;
        let start = loop {
            let origin = self.origins[at as usize];
            match origin.parent {
                None => break origin.successor as usize,
                Some(parent) => at = parent.get() - 1,
            }
            origins.push(origin.successor);
        };
        let mut representative = self.successors.initial().swap_remove(start);
        let mut truth = self.successors.initial_uncanonical().swap_remove(start);
        let mut path = Vec::with_capacity(origins.len());
        for successor in origins.into_iter().rev() {
            let mut left = successor;
            let mut target = None;
            let _ = self.successors.each(&representative, &mut |_, state| {
                if left == 0 {
                    target = Some(state.clone());
                    return ControlFlow::Break(());
                }
                left -= 1;
                ControlFlow::Continue(())
            })?;
            representative = target.ok_or(ModelError::PathLost)?;
            let step = self.successors.step_towards(&truth, &representative)?;
            let (action, state) = step.ok_or(ModelError::PathLost)?;
            path.push(action);
            truth = state;
        }
        Ok(path)
    }
}

/// Gives a new state the next id and puts it into the next level.
fn discover<S: Clone + Eq + std::hash::Hash>(
    state: &S,
    origin: Origin,
    ids: &mut FxHashMap<S, u32>,
    origins: &mut Vec<Origin>,
    next: &mut Vec<(u32, S)>,
) -> u32 {
    let id = origins.len() as u32;
    ids.insert(state.clone(), id);
    origins.push(origin);
    next.push((id, state.clone()));
    id
}

/// An action and the state it led to.
type Taken<M> = (<M as Model>::Action, <M as Model>::State);

/// Makes the successors of states.
struct Successors<'a, M: Model> {
    model: &'a M,
    canonical: Option<Canonical<M>>,
    actions: Vec<M::Action>,
}

impl<M: Model> Successors<'_, M> {
    fn canonicalise(&self, state: &mut M::State) {
        if let Some(canonical) = self.canonical {
            canonical(self.model, state);
        }
    }

    fn initial_uncanonical(&self) -> Vec<M::State> {
        let mut states = Vec::new();
        self.model.initial(&mut states);
        states
    }

    fn initial(&self) -> Vec<M::State> {
        let mut states = self.initial_uncanonical();
        for state in &mut states {
            self.canonicalise(state);
        }
        states
    }

    /// Calls `visit` with each enabled action and the representative of each state it leads to.
    fn each(
        &mut self,
        state: &M::State,
        visit: &mut impl FnMut(&M::Action, &M::State) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ModelError> {
        self.each_uncanonical(state, &mut |this, action, mut next| {
            this.canonicalise(&mut next);
            visit(action, &next)
        })
    }

    /// The first action from `state` that leads to a state represented by `target`, and that state.
    fn step_towards(&mut self, state: &M::State, target: &M::State) -> Result<Option<Taken<M>>, ModelError> {
        let mut found = None;
        let _ = self.each_uncanonical(state, &mut |this, action, next| {
            let mut representative = next.clone();
            this.canonicalise(&mut representative);
            if representative == *target {
                found = Some((action.clone(), next));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    fn each_uncanonical(
        &mut self,
        state: &M::State,
        visit: &mut impl FnMut(&Self, &M::Action, M::State) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ModelError> {
        let mut actions = std::mem::take(&mut self.actions);
        actions.clear();
        self.model.enabled(state, &mut actions);
        for action in &actions {
            let mut next = state.clone();
            let flow = match self.model.step(&mut next, action) {
                Step::Taken => visit(self, action, next),
                Step::Branches(states) => states.into_iter().try_for_each(|next| visit(self, action, next)),
                Step::Refused(refusal) => {
                    return Err(ModelError::EnabledRefused { action: format!("{action:?}"), refusal });
                }
            };
            if flow.is_break() {
                self.actions = actions;
                return Ok(flow);
            }
        }
        self.actions = actions;
        Ok(ControlFlow::Continue(()))
    }
}
