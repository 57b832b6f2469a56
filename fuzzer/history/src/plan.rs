//! What can be known of all allowed orders before one is looked for.

/// One operation to be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item<C> {
    /// What was asked and answered.
    pub call: C,
    /// The client.
    pub process: u64,
    /// The number of the event that began it.
    pub invoked: u64,
    /// The number of the event that ended it; none where the operation need not be placed.
    pub returned: Option<u64>,
}

/// Whether an operation that can be placed is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// At once, without alternative: if any order leads on from here, one does that begins with it.
    AtOnce,
    /// It is tried, and so are the others.
    Maybe,
    /// Not here: if any order leads on from here, one does that does not begin with it.
    Never,
}

/// Whether an item that is possible in a state is placed there.
pub type Turns<'a, T> = Box<dyn Fn(usize, &T) -> Turn + 'a>;

/// What a specification knows of all allowed orders of the items; see
/// [`Specification::plan`](crate::Specification::plan). Items are meant by their positions.
pub struct Plan<'a, T> {
    /// No order is allowed.
    pub impossible: bool,
    /// The first takes effect in every allowed order, the second never before it.
    pub before: Vec<(usize, usize)>,
    /// Whether an item that is possible in a state is placed there.
    pub turn: Turns<'a, T>,
    /// A narrower plan that is tried first. An order that it leads to is allowed; that it leads to none says nothing.
    pub guess: Option<Box<Plan<'a, T>>>,
}
