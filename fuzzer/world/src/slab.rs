//! A store for messages on their way: each is moved in once and out once, and links move numbers.

/// Values by number; numbers of values that were taken are given again.
#[derive(Debug)]
pub(crate) struct Slab<M> {
    all: Vec<Option<M>>,
    free: Vec<u32>,
}
crate::clone_in_place!(Slab<M> { all, free });

const TAKEN: &str = "a number stands for a value until it is taken";

impl<M> Slab<M> {
    pub(crate) fn new() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.free.clear();
    }

    /// Keeps a value and returns its number.
    #[inline]
    pub(crate) fn insert(&mut self, value: M) -> u32 {
        if let Some(at) = self.free.pop() {
            self.all[at as usize] = Some(value);
            return at;
        }
        self.all.push(Some(value));
        self.all.len() as u32 - 1
    }

    /// The value with that number.
    ///
    /// # Panics
    /// When there is none.
    #[inline]
    pub(crate) fn get(&self, at: u32) -> &M {
        self.all[at as usize].as_ref().expect(TAKEN)
    }

    /// Takes the value with that number out.
    ///
    /// # Panics
    /// When there is none.
    #[inline]
    pub(crate) fn take(&mut self, at: u32) -> M {
        self.free.push(at);
        self.all[at as usize].take().expect(TAKEN)
    }
}

#[cfg(test)]
mod tests {
    use super::Slab;

    #[test]
    fn numbers_are_given_again() {
        let mut slab = Slab::new();
        let (one, two) = (slab.insert("one"), slab.insert("two"));
        assert_eq!((slab.get(one), slab.get(two)), (&"one", &"two"));
        assert_eq!(slab.take(one), "one");
        assert_eq!(slab.insert("three"), one);
        assert_eq!((slab.get(one), slab.get(two)), (&"three", &"two"));
    }
}
