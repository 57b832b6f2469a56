//! `delivery`: at each delivery, the message's kind, its relation to the receiver and what it changed.

use crate::{Key, KeyWriter, Lens};

/// The delivery that made the state. Relations are 0, 1 or 2 as [`relation`](crate::relation) gives them,
/// from the message's side, against the receiver before the delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Message kind, below 32.
    pub kind: u8,
    /// The message's term against the receiver's.
    pub term: u8,
    /// The message's sequence number against the next one expected; 1 where there are none.
    pub sequence: u8,
    /// The message's index against the receiver's log length.
    pub index: u8,
    /// Role of the receiver before and after, below 8.
    pub roles: (u8, u8),
    /// New log length against the old one.
    pub length: u8,
    /// New commit against the old one.
    pub commit: u8,
}

/// A view that knows which delivery made it.
pub trait LastDelivery {
    /// The last step's delivery, if it was one.
    fn delivered(&self) -> Option<Delivered>;
}

/// The lens `delivery`: one key for each delivery.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery;

impl<V: LastDelivery + ?Sized> Lens<V> for Delivery {
    fn keys(&self, view: &V, _touched: u64, out: &mut Vec<Key>) {
        let Some(delivered) = view.delivered() else { return };
        let mut key = KeyWriter::default();
        key.put(u64::from(delivered.kind), 5);
        for relation in [delivered.term, delivered.sequence, delivered.index] {
            key.put(u64::from(relation), 2);
        }
        key.put(u64::from(delivered.roles.0), 3).put(u64::from(delivered.roles.1), 3);
        key.put(u64::from(delivered.length), 2).put(u64::from(delivered.commit), 2);
        out.push(Key { lens: 0, facet: 0, code: key.code() });
    }
}
