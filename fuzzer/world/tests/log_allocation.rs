//! A target that keeps a record log and no files allocates nothing for its disk once buffers have grown.

use misrule_world::{
    Argument, BootError, Choice, Context, Contract, Effect, Fields, Input, Judge, Keep, Operation, Report,
    Run, Seen, System, Vocabulary, Watch, World,
};
use std::fmt::Display;

struct Logger(Vocabulary);

/// How many records there are.
#[derive(Clone, Default)]
struct Count(u32);

impl Fields for Count {
    fn fields(&self, visit: &mut dyn FnMut(&str, &dyn Display)) {
        visit("records", &self.0);
    }
}

impl System for Logger {
    type Node = u32;
    type Message = ();
    type View = Count;

    fn vocabulary(&self) -> &Vocabulary {
        &self.0
    }

    fn boot(&self, cx: &mut Context<()>) -> Result<u32, BootError> {
        let mut records = 0;
        let read = cx.disk().read(|_| records += 1);
        read.map_err(|error| BootError(error.to_string()))?;
        Ok(records)
    }

    fn handle(&self, records: &mut u32, input: Input<()>, cx: &mut Context<()>) {
        let Input::Request { argument, .. } = input else { return };
        let done = cx.disk().append(&argument.to_le_bytes());
        *records += u32::from(done.is_ok());
        if argument % 3 == 0 && cx.disk().sync().is_err() {
            *records = 0;
        }
    }

    fn view(&self, records: &u32, out: &mut Count) {
        out.0 = *records;
    }

    fn kind(&self, _message: &()) -> u8 {
        0
    }
}

struct Unjudged;

impl Judge<Logger> for Unjudged {
    fn reset(&mut self, _seen: &Seen<'_, Logger>, _report: &mut Report) {}
    fn after(&mut self, _seen: &Seen<'_, Logger>, _report: &mut Report) {}
}

fn execution(run: &mut World<Logger, Unjudged>, report: &mut Report) {
    run.reset(0, Watch { keys: true, model: true, ..Watch::default() }, report);
    let mut step = |choice| {
        let choice = run.menu().fitted(choice);
        run.step(choice, report);
        assert!(report.effect == Effect::Applied && report.failure.is_none());
    };
    for round in 0..200 {
        step(Choice::Request { node: 0, operation: 0, argument: round, session: misrule_world::NO_SESSION });
        if round % 20 == 19 {
            let keep =
                [Keep::ALL, Keep::prefix(1), Keep::TORN_LAST, Keep::all_but(0)][round as usize / 20 % 4];
            step(Choice::Crash { node: 0, keep });
            step(Choice::Restart { node: 0 });
        }
    }
}

#[test]
fn crashes_of_logs_allocate_nothing() {
    for contract in ["immediate", "explicit-sync", "ordered", "posix-min"] {
        let put = Operation { name: "put", argument: Argument::Fresh, weight: 1 };
        let vocabulary = Vocabulary { nodes: 1, operations: vec![put], ..Vocabulary::default() };
        let contract = Contract::default().overridden(contract).expect("a contract");
        let mut run = World::new(Logger(vocabulary), Unjudged, contract);
        let mut report = Report::default();
        execution(&mut run, &mut report);
        let info = allocation_counter::measure(|| execution(&mut run, &mut report));
        assert_eq!(info.count_total, 0, "{contract}");
    }
}
