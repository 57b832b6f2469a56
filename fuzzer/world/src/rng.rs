//! The generator of everything random: seeded, integers only.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};
use serde::{Deserialize, Serialize};

/// A seeded generator (xoshiro256++, seeded through splitmix64). No floats, so that draws are the same on
/// every machine. It is never used inside an execution: there, draws are choices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// A generator for `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "a generator is not an iterator")]
    pub fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`; 0 for a bound of 0. The bias is below 2^-32.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
    }

    /// True with probability `part / whole`.
    pub fn chance(&mut self, part: u32, whole: u32) -> bool {
        self.below(whole) < part
    }

    /// A number of steps drawn from a geometric distribution with the given mean, at least 1.
    ///
    /// Drawn bit by bit with integers: each of `mean / 16 + 1` wide units goes on with the same chance.
    pub fn geometric(&mut self, mean: u32) -> u32 {
        let unit = mean / 16 + 1;
        let units = mean.div_ceil(unit).max(1);
        let mut steps = 1 + self.below(unit);
        while !self.chance(1, units) {
            steps = steps.saturating_add(unit);
        }
        steps
    }
}

/// The finalizer of splitmix64: spreads a counter or a combination of numbers over 64 bits.
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn geometric_has_about_the_asked_mean() {
        for mean in [1_u32, 20, 200, 3000] {
            let mut rng = Rng::new(7);
            let sum: u64 = (0..20_000).map(|_| u64::from(rng.geometric(mean))).sum();
            let found = sum / 20_000;
            assert!(
                found * 10 >= u64::from(mean) * 9 && found * 10 <= u64::from(mean) * 12,
                "{mean}: {found}"
            );
        }
    }
}
