//! Is the simulated disk a disk? Small designs, right and wrong ones, crash at random under every preset. Right ones
//! are clean under every honest preset; each wrong one fails under exactly the presets that permit its failure.
//!
//! The matrix is that of `notes/simulation.md`, section C3, with these differences:
//! - `data + index` is clean under `torn-prefix`: ours is a prefix over all operations, of which only the last is
//!   torn, while the note's `turmoil-compat` tears each write on its own, so that the index may overtake the data.
//!   It fails there once the order is given up (`torn-prefix,write-order=any`).
//! - `no-powersafe-overwrite` spoils bytes outside the write, as the name says; the note's left them alone. So the
//!   checked log is clean only where records have blocks of their own, and one more design shares blocks.

mod designs;

use designs::{Design, Store};
use misrule_world::{
    Choice, Contract, DiskOutcome, DiskPreset, Failure, Judge, Keep, Report, Rng, Run, Seen, Watch, World,
};
use std::fmt::Write as _;

const EXECUTIONS: u32 = 2_000;

/// Compares what starts recover with what was acknowledged.
#[derive(Default)]
struct Durability {
    asked: u32,
    acknowledged: Vec<u32>,
}

impl Judge<Store> for Durability {
    fn reset(&mut self, _seen: &Seen<'_, Store>, _report: &mut Report) {
        *self = Self::default();
    }

    fn after(&mut self, seen: &Seen<'_, Store>, report: &mut Report) {
        self.acknowledged.extend(seen.sends.iter().map(|(_, value)| *value));
        match seen.choice {
            Choice::Request { argument, .. } => self.asked = argument,
            Choice::Restart { .. } if seen.up == 1 => {
                let recovered = &seen.views[0].recovered;
                if let Some(wrong) = seen.system.wrong(recovered, self.asked, &self.acknowledged) {
                    report.failure = Some(Failure::new("durability", "values-survive", wrong));
                }
            }
            _ => {}
        }
    }
}

/// What a crash keeps of so many units.
fn keep(count: u32, rng: &mut Rng) -> Keep {
    let one = rng.below(count.max(1)) as u16;
    match rng.below(7) {
        0 => Keep::NONE,
        1 => Keep::ALL,
        2 => Keep::prefix(one),
        3 => Keep::all_but(one),
        4 => Keep::only(one),
        5 => Keep::TORN_LAST,
        _ => Keep::bits(rng.next() as u32),
    }
}

/// A choice that can apply now.
fn pick(run: &World<Store, Durability>, outcomes: &[DiskOutcome], left: u32, rng: &mut Rng) -> Choice {
    let menu = run.menu();
    let crash_point = |rng: &mut Rng| {
        let at = rng.below(9) as u16;
        Choice::CrashAt { node: 0, at, keep: keep(12, rng) }
    };
    if !menu.is_up(0) {
        return if rng.chance(1, 4) { crash_point(rng) } else { Choice::Restart { node: 0 } };
    }
    match rng.below(10) {
        _ if left == 0 => {}
        0..5 => {
            return Choice::Request {
                node: 0,
                operation: 0,
                argument: menu.fresh,
                session: misrule_world::NO_SESSION,
            };
        }
        5 | 6 => return crash_point(rng),
        7 | 8 if !outcomes.is_empty() => {
            let outcome = outcomes[rng.below(outcomes.len() as u32) as usize];
            return Choice::Disk { node: 0, outcome, at: 1 + rng.below(3) as u16 };
        }
        _ => {}
    }
    let count = u32::from(menu.unsynced[0]);
    Choice::Crash { node: 0, keep: keep(count, rng).within(count as u16) }
}

/// How many of so many random executions lose or invent a value.
fn failures(design: Design, contract: &str, executions: u32) -> u32 {
    let block = if contract.contains("block=") { "" } else { ",block=64" };
    let Ok(contract) = Contract::default().overridden(&format!("{contract}{block}")) else {
        panic!("not a contract: {contract}")
    };
    let outcomes: Vec<DiskOutcome> = DiskOutcome::ALL
        .iter()
        .map(|(outcome, _)| *outcome)
        .filter(|outcome| contract.disk.allows(*outcome))
        .collect();
    let mut run = World::new(Store::new(design), Durability::default(), contract);
    let (mut report, mut rng, mut failed) = (Report::default(), Rng::new(4), 0);
    let watch = Watch { model: true, ..Watch::default() };
    for _ in 0..executions {
        run.reset(0, watch, &mut report);
        assert_eq!(report.failure, None);
        let mut left: u32 = 16;
        let mut started = false;
        // The last step is a start.
        while report.failure.is_none() && !(left == 0 && started) {
            let choice = pick(&run, &outcomes, left, &mut rng);
            run.step(choice, &mut report);
            left = left.saturating_sub(1);
            started = matches!(choice, Choice::Restart { .. }) && run.menu().is_up(0);
        }
        failed += u32::from(report.failure.take().is_some_and(|failure| {
            assert_eq!(failure.oracle, "durability", "{}", failure.message);
            true
        }));
    }
    failed
}

/// The presets that permit a design's failure.
fn permits(design: Design, preset: DiskPreset) -> bool {
    use DiskPreset as P;
    let blocks_in_any_order =
        matches!(preset, P::PosixMin | P::NoPowersafeOverwrite | P::FsyncKeeps | P::Fsyncgate | P::LyingDisk);
    match design {
        Design::NoSync | Design::Rename => preset != P::Immediate,
        Design::LogPlain => blocks_in_any_order,
        Design::DataIndex => preset == P::ReorderWrites || blocks_in_any_order,
        Design::LogShared => matches!(preset, P::NoPowersafeOverwrite | P::LyingDisk),
        Design::RetrySync => matches!(preset, P::Fsyncgate | P::LyingDisk),
        Design::LogChecked | Design::RenameDirSync | Design::StopSync => preset == P::LyingDisk,
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the matrix is for people")]
fn designs_fail_where_the_contract_permits_it() {
    let mut matrix = format!("{:<20}", "");
    for (_, word) in DiskPreset::ALL {
        let _ = write!(matrix, " {:>13}", word.chars().take(13).collect::<String>());
    }
    let mut wrong = Vec::new();
    for (design, name) in Design::ALL {
        let _ = write!(matrix, "\n{name:<20}");
        for (preset, word) in DiskPreset::ALL {
            let failed = failures(design, word, EXECUTIONS);
            if (failed > 0) != permits(design, preset) {
                wrong.push(format!("{name} under {word}: {failed} of {EXECUTIONS}"));
            }
            let percent = f64::from(failed) * 100.0 / f64::from(EXECUTIONS);
            let _ = if failed == 0 {
                write!(matrix, " {:>13}", "-")
            } else {
                write!(matrix, " {percent:>12.1}%")
            };
        }
    }
    eprintln!("{matrix}");
    assert!(wrong.is_empty(), "{matrix}\n{wrong:#?}");
}

#[test]
fn single_fields_decide() {
    // Bytes outside a write are what sharing blocks risks.
    assert_eq!(failures(Design::LogShared, "no-powersafe-overwrite,collateral=none", EXECUTIONS), 0);
    // Larger blocks are shared by records that have small ones to themselves.
    assert!(failures(Design::LogChecked, "no-powersafe-overwrite,block=512", EXECUTIONS) > 0);
    // A record in one block cannot be torn.
    assert_eq!(failures(Design::LogPlain, "torn-prefix,write-order=any", EXECUTIONS), 0);
    assert!(failures(Design::DataIndex, "torn-prefix,write-order=any", EXECUTIONS) > 0);
    assert_eq!(failures(Design::DataIndex, "posix-min,write-order=total", EXECUTIONS), 0);
    // Names in a journal are still lost without a sync; with the file they cannot be: it is synced before.
    assert!(failures(Design::Rename, "posix-min,names=journalled", EXECUTIONS) > 0);
    assert!(failures(Design::Rename, "explicit-sync,names=with-file", EXECUTIONS) > 0);
}
