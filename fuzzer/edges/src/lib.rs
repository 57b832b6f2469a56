//! Code edges: which edges of the control flow a program has run.
//!
//! `fuzzer/edges/rustc` stands in for the compiler and has LLVM count them in the crates that are named to it (inline
//! 8-bit counters of [SanitizerCoverage](https://clang.llvm.org/docs/SanitizerCoverage.html)). What is compiled so calls the two
//! functions of this crate before `main`, and says where its counters lie. A program built without it has none.
//!
//! Counters belong to the process, not to a run: one campaign at a time. They are not atomic; what runs in other threads
//! meanwhile may be lost, and nothing else happens.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

static FIRST: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
static END: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// Called by instrumented code before `main`, once for each crate and with the same range: the linker puts all counters
/// of a program into one section. Those of a shared library loaded later are not counted.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_cov_8bit_counters_init(first: *mut u8, end: *mut u8) {
    if FIRST.load(Ordering::Relaxed).is_null() {
        FIRST.store(first, Ordering::Relaxed);
        END.store(end, Ordering::Relaxed);
    }
}

/// Called by instrumented code before `main`, with where each edge begins: nothing here needs that.
#[unsafe(no_mangle)]
pub extern "C" fn __sanitizer_cov_pcs_init(_first: *const usize, _end: *const usize) {}

/// How many edges are counted; 0 in a program that was built without.
pub fn count() -> usize {
    END.load(Ordering::Relaxed).addr() - FIRST.load(Ordering::Relaxed).addr()
}

/// Names the edges that have run since the last call, each once and in order, by number from 0; then none has run.
pub fn take(each: &mut dyn FnMut(usize)) {
    const WORD: usize = size_of::<u64>();
    let (first, count) = (FIRST.load(Ordering::Relaxed), count());
    let mut at = 0;
    while at < count {
        if at + WORD <= count {
            // SAFETY: `at + WORD` bytes from `first` on are counters, which live as long as the program; they have no
            // references to them, and need not be aligned for this read.
            let word = unsafe { first.add(at).cast::<u64>().read_unaligned() };
            if word == 0 {
                at += WORD;
                continue;
            }
        }
        let end = count.min(at + WORD);
        while at < end {
            // SAFETY: `at` is below the number of counters, as above.
            let ran = unsafe { first.add(at).replace(0) };
            if ran != 0 {
                each(at);
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{__sanitizer_cov_8bit_counters_init, count, take};

    /// The counters are those of the process: one test has them all.
    #[test]
    fn edges_that_ran_are_named_once() {
        assert_eq!(count(), 0, "these tests are built without");
        take(&mut |edge| panic!("edge {edge} of none"));
        let counters = Box::leak(Box::new([0_u8; 21]));
        let range = counters.as_mut_ptr_range();
        for at in [0, 7, 8, 19, 20] {
            counters[at] = 200;
        }
        __sanitizer_cov_8bit_counters_init(range.start, range.end);
        assert_eq!(count(), 21);
        let mut ran = Vec::new();
        take(&mut |edge| ran.push(edge));
        assert_eq!(ran, [0, 7, 8, 19, 20]);
        take(&mut |edge| panic!("edge {edge} has not run again"));
    }
}
