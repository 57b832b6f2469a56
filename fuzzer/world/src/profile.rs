//! Fault profiles: which faults are drawn, and how often.

use crate::choice::ChoiceKind;
use crate::rng::Rng;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a profile weighs: the faults that are drawn, and what ends them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FaultKind {
    /// A message is lost.
    Drop,
    /// A message is duplicated.
    Duplicate,
    /// A node stops, now or in its next call.
    Crash,
    /// A stopped node starts.
    Restart,
    /// All links of a node are cut.
    Isolate,
    /// A link is cut.
    Cut,
    /// A link heals, or all of them.
    Heal,
    /// A link is clogged.
    Clog,
    /// A clog is undone, or all of them.
    Unclog,
    /// A set of links is clogged one by one and restored in another order.
    Swizzle,
    /// A link is slow for the whole execution: its messages are drawn 16 times less often. The weight is the part in
    /// 10,000 of links that are slow.
    Slow,
    /// A disk operation ends badly.
    Disk,
}

impl FaultKind {
    /// How many kinds there are.
    pub const COUNT: usize = 12;

    /// All kinds with their names and their weights in the default profile, parts in 10,000: a stopped node restarts
    /// and a cut or clogged link comes back after some dozen steps.
    pub const ALL: [(Self, &'static str, u16); Self::COUNT] = [
        (Self::Drop, "drop", 200),
        (Self::Duplicate, "duplicate", 100),
        (Self::Crash, "crash", 20),
        (Self::Restart, "restart", 300),
        (Self::Isolate, "isolate", 20),
        (Self::Cut, "cut", 20),
        (Self::Heal, "heal", 150),
        (Self::Clog, "clog", 10),
        (Self::Unclog, "unclog", 150),
        (Self::Swizzle, "swizzle", 5),
        (Self::Slow, "slow", 0),
        (Self::Disk, "disk", 100),
    ];

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| *known == name).map(|(kind, ..)| *kind)
    }

    /// The choice that it is drawn as; none for slow links, which are a property of the drawing.
    pub fn choice(self) -> Option<ChoiceKind> {
        Some(match self {
            Self::Drop => ChoiceKind::Drop,
            Self::Duplicate => ChoiceKind::Duplicate,
            Self::Crash => ChoiceKind::Crash,
            Self::Restart => ChoiceKind::Restart,
            Self::Isolate | Self::Cut => ChoiceKind::Cut,
            Self::Heal => ChoiceKind::Heal,
            Self::Clog | Self::Swizzle => ChoiceKind::Clog,
            Self::Unclog => ChoiceKind::Unclog,
            Self::Disk => ChoiceKind::Disk,
            Self::Slow => return None,
        })
    }

    /// Whether it ends a fault, so that no built-in profile changes its weight.
    fn is_repair(self) -> bool {
        matches!(self, Self::Restart | Self::Heal | Self::Unclog)
    }
}

/// The weights of all kinds of faults, beside those of messages (7,000), timers (2,000) and requests (500).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FaultWeights([u16; FaultKind::COUNT]);

/// The weights of the default profile.
const DEFAULT: FaultWeights = {
    let mut weights = [0; FaultKind::COUNT];
    let mut at = 0;
    while at < FaultKind::COUNT {
        weights[at] = FaultKind::ALL[at].2;
        at += 1;
    }
    FaultWeights(weights)
};

/// What the weight of slow links varies around in a swarm.
const SLOW_IN_SWARM: u16 = 1_000;

impl FaultWeights {
    /// The largest weight.
    pub const MAX: u16 = 10_000;

    /// The weight of a kind, at most [`FaultWeights::MAX`].
    pub fn of(&self, kind: FaultKind) -> u32 {
        u32::from(self.0[kind as usize])
    }

    /// The same weights but for one kind.
    #[must_use]
    pub fn with(mut self, kind: FaultKind, weight: u16) -> Self {
        self.0[kind as usize] = weight.min(Self::MAX);
        self
    }

    /// The default with every fault scaled.
    fn scaled(part: u16, whole: u16) -> Self {
        FaultKind::ALL
            .iter()
            .filter(|(kind, ..)| !kind.is_repair())
            .fold(DEFAULT, |weights, (kind, _, weight)| weights.with(*kind, weight * part / whole))
    }

    /// Weights of one execution of a swarm: each fault is off with probability 1/2, the others have an eighth to
    /// eight times their weight of the default. After Groce et al., "Swarm Testing" (2012), section 2.
    fn swarm(rng: &mut Rng) -> Self {
        let mut weights = DEFAULT;
        for (kind, _, weight) in FaultKind::ALL.iter().filter(|(kind, ..)| !kind.is_repair()) {
            let weight = if *kind == FaultKind::Slow { SLOW_IN_SWARM } else { *weight };
            let (off, shift) = (rng.chance(1, 2), rng.below(7));
            let drawn = if off { 0 } else { ((u32::from(weight) << shift) >> 3).max(1) };
            weights = weights.with(*kind, drawn as u16);
        }
        weights
    }
}

impl Default for FaultWeights {
    /// Those of the default profile.
    fn default() -> Self {
        DEFAULT
    }
}

/// Which faults are drawn, and how often. Text form: a name, or what differs from the default: `drop=0,crash=80`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FaultProfile {
    /// No faults: messages, timers, local steps and requests only.
    None,
    /// A tenth of the faults of the default.
    Light,
    /// Sensible for most targets.
    #[default]
    Default,
    /// Four times the faults of the default.
    Heavy,
    /// In each execution some kinds of faults are off, and the others have very different weights.
    Swarm,
    /// Weights of one's own, other than the default's.
    Custom(FaultWeights),
}

impl FaultProfile {
    /// The built-in profiles with their names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::None, "none"),
        (Self::Light, "light"),
        (Self::Default, "default"),
        (Self::Heavy, "heavy"),
        (Self::Swarm, "swarm"),
    ];

    /// The built-in profile of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(profile, _)| *profile)
    }

    /// The profile of these weights.
    pub fn of(weights: FaultWeights) -> Self {
        if weights == DEFAULT { Self::Default } else { Self::Custom(weights) }
    }

    /// The weights of an execution; `rng` is its own, and only a swarm draws from it.
    pub fn weights(self, rng: &mut Rng) -> FaultWeights {
        match self {
            Self::None => FaultWeights::scaled(0, 1),
            Self::Light => FaultWeights::scaled(1, 10),
            Self::Default => DEFAULT,
            Self::Heavy => FaultWeights::scaled(4, 1),
            Self::Swarm => FaultWeights::swarm(rng),
            Self::Custom(weights) => weights,
        }
    }
}

impl fmt::Display for FaultProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Custom(weights) = self else {
            let name = Self::ALL.iter().find(|(known, _)| known == self).map_or("default", |(_, name)| name);
            return f.write_str(name);
        };
        let mut between = "";
        for (kind, name, default) in FaultKind::ALL {
            if weights.of(kind) != u32::from(default) {
                write!(f, "{between}{name}={}", weights.of(kind))?;
                between = ",";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{FaultKind, FaultProfile, FaultWeights};
    use crate::rng::Rng;

    #[test]
    fn built_in_profiles_scale_faults_and_leave_repairs() {
        let mut rng = Rng::new(1);
        for (profile, drop, swizzle) in [
            (FaultProfile::None, 0, 0),
            (FaultProfile::Light, 20, 0),
            (FaultProfile::Default, 200, 5),
            (FaultProfile::Heavy, 800, 20),
        ] {
            let weights = profile.weights(&mut rng);
            assert_eq!((weights.of(FaultKind::Drop), weights.of(FaultKind::Swizzle)), (drop, swizzle));
            assert_eq!((weights.of(FaultKind::Heal), weights.of(FaultKind::Slow)), (150, 0), "{profile}");
        }
        assert_eq!(rng, Rng::new(1), "nothing was drawn");
    }

    #[test]
    fn a_swarm_turns_half_of_the_faults_off_and_spreads_the_rest() {
        let mut rng = Rng::new(1);
        let mut seen = vec![Vec::new(); FaultKind::COUNT];
        for _ in 0..2_000 {
            let weights = FaultProfile::Swarm.weights(&mut rng);
            for (kind, ..) in FaultKind::ALL {
                seen[kind as usize].push(weights.of(kind));
            }
        }
        for (kind, name, default) in FaultKind::ALL {
            let values = &mut seen[kind as usize];
            let off = values.iter().filter(|weight| **weight == 0).count();
            values.sort_unstable();
            values.dedup();
            if kind.is_repair() {
                assert_eq!(values[..], [u32::from(default)], "{name}");
            } else {
                assert!((900..1_100).contains(&off), "{name} is off in {off} of 2,000");
                assert!(
                    values.len() >= 6 && values[values.len() - 1] >= 16 * values[1],
                    "{name}: {values:?}"
                );
            }
        }
    }

    #[test]
    fn profiles_are_named_by_what_differs() {
        let weights = FaultWeights::default();
        assert_eq!(FaultProfile::of(weights).to_string(), "default");
        let own = FaultProfile::of(weights.with(FaultKind::Disk, 60_000).with(FaultKind::Drop, 0));
        assert_eq!(own.to_string(), "drop=0,disk=10000");
        assert_eq!(FaultProfile::Swarm.to_string(), "swarm");
    }
}
