//! Every mutator changes what is executed.

mod common;

use common::{setup, two_phase_commit};
use misrule_engine::{
    Drawer, Execution, MUTATORS, Material, Misfit, Mode, TailChooser, Unwatched, execute, execute_explicit,
};
use misrule_world::{Choice, FaultProfile, Report, Rng, Run, Schedule, Tail, Watch};

const MODE: Mode = Mode {
    seed: 1,
    watch: Watch { keys: false, model: false, conformance: false, trace: false },
    misfit: Misfit::Repair,
};

/// Executes `choices` and a tail of 20 drawn steps, as a campaign does with a mutant.
fn executed(run: &mut dyn Run, choices: &[Choice], tail: u32) -> Vec<Choice> {
    let tail = Schedule {
        choices: Vec::new(),
        tail: Some(Tail { seed: 9, steps: tail, faults: FaultProfile::Default }),
    };
    let mut chooser = TailChooser::of(&tail).expect("the schedule has a tail");
    let mut execution = Execution::default();
    execute(run, MODE, choices, Some(&mut chooser), &mut Unwatched, &mut Report::default(), &mut execution);
    execution.choices
}

fn random_schedule(run: &mut dyn Run, seed: u64) -> Vec<Choice> {
    let mut rng = Rng::new(seed);
    let mut drawer = Drawer::new(FaultProfile::Default);
    let mut report = Report::default();
    run.reset(1, Watch::default(), &mut report);
    drawer.reset(run.menu(), &mut rng);
    let mut choices = Vec::new();
    while choices.len() < 150 {
        let choice = drawer.pick(run.menu(), &mut rng).expect("something can happen");
        run.step(choice, &mut report);
        choices.push(report.choice);
    }
    choices
}

#[test]
fn every_mutator_changes_most_executions() {
    let target = two_phase_commit();
    let setup = setup(&target, &[], &[]);
    let mut run = target.open(&setup).unwrap();
    let contract = run.menu().contract;
    for (name, mutate) in MUTATORS {
        let mut changed = 0;
        for seed in 0..100 {
            let original = random_schedule(&mut *run, seed);
            let other = random_schedule(&mut *run, seed + 1_000);
            let cells = [10, 60, 120];
            let menu = run.menu();
            let material = Material {
                nodes: menu.nodes,
                sessions: menu.sessions,
                contract,
                cells: &cells,
                other: (&other, &cells),
            };
            let mut mutant = original.clone();
            if !mutate(&mut mutant, &material, &mut Rng::new(seed)) {
                continue;
            }
            let mut execution = Execution::default();
            execute_explicit(&mut *run, MODE, &original, &mut execution);
            let before = execution.choices.clone();
            changed += u32::from(executed(&mut *run, &mutant, 20) != before);
        }
        assert!(changed >= 90, "{name} changed {changed} of 100 executions");
    }
}
