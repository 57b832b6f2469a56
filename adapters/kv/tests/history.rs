//! A history of 1,000 operations by 50 clients, as the service itself answered them, is decided.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod campaigns;

use campaigns::setup;
use misrule_engine::replay;
use misrule_history::specifications::Named;
use misrule_history::{History, Limits, Order, Verdict, print, read};
use misrule_kv::kv;
use misrule_world::{ClientEvent, FaultProfile, Schedule, Tail, Watch, histories};

/// What 50 clients saw of the service until they had asked a thousand times; the service itself judges nothing.
fn seen(seed: u64, faults: FaultProfile) -> History {
    let given = [("sessions", "50"), ("keys", "5"), ("history", "off")];
    let mut run = kv().open(&setup(&given, "posix-min", &[])).unwrap();
    let tail = Tail { seed, steps: 40_000, faults };
    let schedule = Schedule { choices: Vec::new(), tail: Some(tail) };
    let (mut events, mut asked) = (Vec::new(), 0);
    let replayed = replay(run.as_mut(), seed, &schedule, Watch::default(), false, &mut |_, step| {
        for event in &step.told.clients {
            asked += usize::from(matches!(event, ClientEvent::Asked { .. }));
            if asked <= 1_000 {
                events.push(*event);
            }
        }
    });
    assert_eq!(replayed.failure, None);
    let history = histories::history(run.about().vocabulary, &events).unwrap();
    assert_eq!(history.operations().len(), 1_000);
    let clients = history.operations().iter().map(|operation| operation.process % 50);
    assert_eq!(clients.collect::<std::collections::BTreeSet<_>>().len(), 50);
    history
}

/// The verdict within the steps that `misrule history` takes by default; ten seconds are many more.
fn verdict(history: &History) -> Verdict {
    let limits = Limits { stop_after_steps: 20_000_000, expired: &mut || false };
    let again = read(&print(history)).unwrap();
    Named::KeyValue.check(&again, Order::RealTime, limits).unwrap().verdict
}

/// The history with the last read of some value answered with one that nobody put.
fn broken(history: &History) -> History {
    let text = print(history);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let answers = |line: &String| {
        let is_read = line.contains("\"get\"") && line.contains("\"ok\"");
        is_read && line.contains("\"value\":") && !line.contains("null")
    };
    let at = lines.iter().rposition(answers).unwrap();
    let line = &mut lines[at];
    line.truncate(line.find("\"value\":").unwrap());
    line.push_str("\"value\":4095}");
    read(&lines.join("\n")).unwrap()
}

#[test]
fn what_fifty_clients_saw_is_decided() {
    for (seed, faults) in [(1, FaultProfile::None), (2, FaultProfile::Light), (3, FaultProfile::Default)] {
        let history = seen(seed, faults);
        assert_eq!(verdict(&history), Verdict::Pass, "{faults:?}");
        assert_eq!(verdict(&broken(&history)), Verdict::Fail, "{faults:?}");
    }
}
