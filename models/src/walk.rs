//! Follows an implementation through a model, event by event.
//!
//! A mapping turns what an implementation did into [`Event`]s. The walk takes each through the model and
//! counts what became of it. Where an action has several outcomes it keeps all of them as candidates until
//! later events decide; the published tool takes the first and hides the rest.

use crate::{Model, Refusal, Step};

/// Candidates kept at once; beyond this the walk is out of bounds.
pub(crate) const CANDIDATES_MAX: usize = 16;

/// What an implementation did, as far as the model is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<A> {
    /// An action of the model.
    Action(A),
    /// Nothing that the model speaks of, by declaration; the text says what.
    Ignored(&'static str),
    /// A rule that the model does not have, by declaration; the text names the deviation.
    Deviation(&'static str),
    /// Nothing that the mapping knows; the text says what was seen.
    Unmapped(&'static str),
    /// Beyond the bounds of the model; the text says which.
    OutOfBounds(&'static str),
}

/// The six outcomes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The model took the action.
    Accepted,
    /// Ignored by declaration, declared deviations included.
    Ignored,
    /// The mapping did not know the event.
    Unmapped,
    /// The model refused the action: a finding unless declared.
    Refused,
    /// The model took the action in more than one way.
    Ambiguous,
    /// Beyond the model's bounds, or more than 16 candidates.
    OutOfBounds,
}

impl Outcome {
    /// All outcomes with the names used in reports.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Accepted, "accepted"),
        (Self::Ignored, "ignored"),
        (Self::Unmapped, "unmapped"),
        (Self::Refused, "refused"),
        (Self::Ambiguous, "ambiguous"),
        (Self::OutOfBounds, "out_of_bounds"),
    ];
}

/// How often each outcome occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes([u64; 6]);

impl Outcomes {
    /// How often `outcome` occurred.
    pub fn count(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize]
    }

    fn add(&mut self, outcome: Outcome) {
        self.0[outcome as usize] += 1;
    }
}

/// What the walk says of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walked {
    /// The model is in step with the implementation.
    Followed,
    /// The model has lost the implementation: resynchronise with [`Walk::resync`], or the walk has stopped.
    Lost,
    /// The model refused the action: a finding. The walk has stopped.
    Refused(Refusal),
}

/// A model and the states in which the implementation may be.
pub struct Walk<M: Model> {
    model: M,
    initial: M::State,
    candidates: Vec<M::State>,
    spare: Vec<M::State>,
    lost: bool,
    outcomes: Outcomes,
    /// For each transition that the model names, how often it was taken.
    taken: Vec<u64>,
}

/// Where a walk stands: [`Walk::position`].
pub struct Position<State> {
    candidates: Vec<State>,
    lost: bool,
}

impl<M: Model> Walk<M> {
    /// A walk that starts in the model's first initial state.
    ///
    /// # Panics
    /// When the model has no initial state: an error of the model.
    pub fn new(model: M) -> Self {
        let mut states = Vec::new();
        model.initial(&mut states);
        assert!(!states.is_empty(), "a model has at least one initial state");
        let initial = states.swap_remove(0);
        Self {
            candidates: vec![initial.clone()],
            initial,
            taken: vec![0; model.transitions().len()],
            model,
            spare: Vec::new(),
            lost: false,
            outcomes: Outcomes::default(),
        }
    }

    /// Back to the initial state; the counts stay.
    pub fn reset(&mut self) {
        self.candidates.truncate(1);
        if let Some(state) = self.candidates.first_mut() {
            state.clone_from(&self.initial);
        } else {
            self.candidates.push(self.initial.clone());
        }
        self.lost = false;
    }

    /// Where it stands, to go back there.
    pub fn position(&self) -> Position<M::State> {
        Position { candidates: self.candidates.clone(), lost: self.lost }
    }

    /// Back to where it stood; the counts stay.
    pub fn go_to(&mut self, position: &Position<M::State>) {
        self.candidates.clone_from(&position.candidates);
        self.lost = position.lost;
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// The state of the model, or `None` while it is lost or several states are possible.
    pub fn state(&self) -> Option<&M::State> {
        match (self.lost, self.candidates.as_slice()) {
            (false, [state]) => Some(state),
            _ => None,
        }
    }

    /// Every state in which the implementation may be; empty while the walk is lost.
    pub fn candidates(&self) -> &[M::State] {
        if self.lost { &[] } else { &self.candidates }
    }

    /// Whether the walk has lost the implementation.
    pub fn lost(&self) -> bool {
        self.lost
    }

    /// The counts of outcomes since the walk was made.
    pub fn outcomes(&self) -> &Outcomes {
        &self.outcomes
    }

    /// The transitions that the model names, and how often each was taken since the walk was made.
    pub fn taken(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.model.transitions().iter().copied().zip(self.taken.iter().copied())
    }

    /// Takes one event through the model. While the walk is lost, events are not counted.
    pub fn follow(&mut self, event: &Event<M::Action>) -> Walked {
        if self.lost {
            return Walked::Lost;
        }
        let outcome = match event {
            Event::Action(action) => match self.take(action) {
                Ok(outcome) => {
                    if let Some(count) = self.taken.get_mut(self.model.transition(action)) {
                        *count += 1;
                    }
                    outcome
                }
                Err(refusal) => {
                    self.outcomes.add(Outcome::Refused);
                    self.lost = true;
                    return Walked::Refused(refusal);
                }
            },
            Event::Ignored(_) => Outcome::Ignored,
            Event::Deviation(_) => {
                self.lost = true;
                Outcome::Ignored
            }
            Event::Unmapped(_) => {
                self.lost = true;
                Outcome::Unmapped
            }
            Event::OutOfBounds(_) => Outcome::OutOfBounds,
        };
        self.outcomes.add(outcome);
        self.lost |= outcome == Outcome::OutOfBounds;
        if self.lost { Walked::Lost } else { Walked::Followed }
    }

    /// Puts the model into a state projected from the implementation and goes on from there.
    pub fn resync(&mut self, project: impl FnOnce(&mut M::State)) {
        self.candidates.truncate(1);
        if self.candidates.is_empty() {
            self.candidates.push(self.initial.clone());
        }
        if let Some(state) = self.candidates.first_mut() {
            project(state);
        }
        self.lost = false;
    }

    /// Drops the candidates that do not satisfy `keep`; returns false, and keeps them, when none does.
    pub fn narrow(&mut self, mut keep: impl FnMut(&M::State) -> bool) -> bool {
        if self.lost {
            return true;
        }
        if !self.candidates.iter().any(&mut keep) {
            return false;
        }
        if self.candidates.len() > 1 {
            self.candidates.retain(keep);
        }
        true
    }

    fn take(&mut self, action: &M::Action) -> Result<Outcome, Refusal> {
        if let [state] = self.candidates.as_mut_slice() {
            return match self.model.step(state, action) {
                Step::Taken => Ok(Outcome::Accepted),
                Step::Refused(refusal) => Err(refusal),
                Step::Branches(states) => {
                    self.candidates = states;
                    Ok(self.settle())
                }
            };
        }
        self.spare.clear();
        let mut refusal = Refusal("no candidate state is left");
        for mut state in self.candidates.drain(..) {
            match self.model.step(&mut state, action) {
                Step::Taken => self.spare.push(state),
                Step::Branches(states) => self.spare.extend(states),
                Step::Refused(why) => refusal = why,
            }
        }
        std::mem::swap(&mut self.candidates, &mut self.spare);
        if self.candidates.is_empty() { Err(refusal) } else { Ok(self.settle()) }
    }

    /// Removes equal candidates and says how many are left.
    fn settle(&mut self) -> Outcome {
        let mut at = 0;
        while at < self.candidates.len() {
            let state = self.candidates.swap_remove(at);
            if self.candidates[..at].contains(&state) {
                continue;
            }
            self.candidates.push(state);
            let last = self.candidates.len() - 1;
            self.candidates.swap(at, last);
            at += 1;
        }
        match self.candidates.len() {
            1 => Outcome::Accepted,
            n if n <= CANDIDATES_MAX => Outcome::Ambiguous,
            _ => Outcome::OutOfBounds,
        }
    }
}

#[cfg(test)]
mod tests;
