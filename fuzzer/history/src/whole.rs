//! All objects as one, for orders that cannot be checked object by object.

use crate::{Misfit, Operation, Specification, Value};
use std::collections::BTreeMap;

/// The objects of a specification as one. Sequential consistency needs it: unlike linearizability it is not local,
/// each object alone may be sequentially consistent and all together not (Herlihy and Wing 1990, section 3.3).
pub(crate) struct Whole<'a, S>(pub(crate) &'a S);

impl<S: Specification> Specification for Whole<'_, S>
where
    S::State: Eq,
{
    /// The states of the objects, without those that are as at first.
    type State = BTreeMap<Option<Value>, S::State>;
    type Call = (Option<Value>, S::Call);

    fn call(&self, operation: &Operation) -> Result<Option<Self::Call>, Misfit> {
        let key = self.0.partition(operation).cloned();
        Ok(self.0.call(operation)?.map(|call| (key, call)))
    }

    fn init(&self) -> Self::State {
        BTreeMap::new()
    }

    fn step(&self, state: &Self::State, (key, call): &Self::Call) -> Option<Self::State> {
        let init = self.0.init();
        let before = state.get(key).unwrap_or(&init);
        let after = self.0.step(before, call)?;
        let mut whole = state.clone();
        if after == init {
            whole.remove(key);
        } else if after != *before {
            whole.insert(key.clone(), after);
        }
        Some(whole)
    }

    fn only_looks(&self, (_, call): &Self::Call) -> bool {
        self.0.only_looks(call)
    }

    fn allowed(&self, state: &Self::State, (key, call): &Self::Call) -> String {
        match state.get(key) {
            Some(state) => self.0.allowed(state, call),
            None => self.0.allowed(&self.0.init(), call),
        }
    }
}
