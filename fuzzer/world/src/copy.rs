//! Copies that reuse memory.

/// Implements `Clone` for a struct such that `clone_from` copies field by field into the memory that is there, which a
/// derived `Clone` does not: snapshots are taken up hundreds of thousands of times in a campaign.
#[macro_export]
macro_rules! clone_in_place {
    ($name:ident $(<$parameter:ident>)? { $($field:ident),* $(,)? }) => {
        impl$(<$parameter: Clone>)? Clone for $name$(<$parameter>)? {
            fn clone(&self) -> Self {
                let Self { $($field),* } = self;
                Self { $($field: $field.clone()),* }
            }

            fn clone_from(&mut self, other: &Self) {
                let Self { $($field),* } = other;
                $(self.$field.clone_from($field);)*
            }
        }
    };
}

#[cfg(test)]
mod tests {
    struct Two {
        bytes: Vec<u8>,
        number: u32,
    }
    clone_in_place!(Two { bytes, number });

    #[test]
    fn memory_is_reused() {
        let mut to = Two { bytes: Vec::with_capacity(100), number: 1 };
        let from = Two { bytes: vec![1, 2, 3], number: 2 };
        let before = to.bytes.as_ptr();
        to.clone_from(&from);
        assert_eq!((to.bytes.as_slice(), to.number, to.bytes.as_ptr()), (&[1, 2, 3][..], 2, before));
        let made = to.clone();
        assert_eq!((made.bytes, made.number), (to.bytes, to.number));
    }
}
