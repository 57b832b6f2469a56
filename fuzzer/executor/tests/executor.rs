//! The executor's promises: the caller's choices decide everything, and decide it again in the same way.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use misrule_executor::{
    Elapsed, EventKind, Executor, Instant, POLLS_MAX, completion, oneshot, random, sleep, sleep_until, spawn,
    spawn_named, timeout,
};
use std::collections::BTreeSet;
use std::future::{Future, pending, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::{Mutex as Lock, mpsc};

/// What tasks did, in order.
#[derive(Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn text(&self) -> String {
        self.0.lock().unwrap().join(" ")
    }
}

fn yield_once() -> impl Future<Output = ()> {
    let mut yielded = false;
    poll_fn(move |cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
}

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Fires the first event of all.
fn fire_first(executor: &mut Executor) {
    let first = executor.events()[0].id;
    assert!(executor.fire(first));
}

/// Three tasks with two steps each, polled as `picks` say.
fn three_tasks(picks: &[usize]) -> String {
    let diary = Diary::default();
    let mut executor = Executor::default();
    executor.enter(|| {
        for name in ["a", "b", "c"] {
            let diary = diary.clone();
            spawn(async move {
                diary.note(format!("{name}1"));
                yield_once().await;
                diary.note(format!("{name}2"));
            });
        }
    });
    let mut picks = picks.iter().copied();
    executor.settle(|_| picks.next().unwrap_or(0)).unwrap();
    assert_eq!(executor.tasks().count(), 0);
    diary.text()
}

#[test]
fn the_order_of_tasks_is_the_callers() {
    assert_eq!(three_tasks(&[]), "a1 b1 c1 a2 b2 c2");
    assert_eq!(three_tasks(&[2, 2, 1, 1]), "c1 c2 b1 b2 a1 a2");
    assert_eq!(three_tasks(&[9, 9, 9, 9]), "c1 c2 b1 b2 a1 a2", "too large is the last");
    let mut orders = BTreeSet::new();
    for code in 0..3_usize.pow(5) {
        let picks: Vec<usize> = (0..5).map(|at| code / 3_usize.pow(at) % 3).collect();
        assert_eq!(three_tasks(&picks), three_tasks(&picks), "{picks:?}");
        orders.insert(three_tasks(&picks));
    }
    // 6! / (2! 2! 2!): each interleaving of three tasks with two steps.
    assert_eq!(orders.len(), 90);
}

#[test]
fn timers_fire_when_the_caller_says_so_and_time_never_goes_back() {
    let diary = Diary::default();
    let mut executor = Executor::default();
    executor.enter(|| {
        for duration in [30, 10, 20] {
            let diary = diary.clone();
            spawn(async move {
                sleep(ms(duration)).await;
                diary.note(format!("{duration}@{}", Instant::now().since_start().as_millis()));
            });
        }
    });
    executor.settle(|_| 0).unwrap();
    let deadlines: Vec<EventKind> = executor.events().iter().map(|event| event.kind).collect();
    let expected = [10, 20, 30].map(|at| EventKind::Timer(Instant::START + ms(at)));
    assert_eq!(deadlines, expected);
    let (early, late) = (executor.events()[0].id, executor.events()[1].id);
    assert!(executor.fire(late));
    assert_eq!(executor.now(), Instant::START + ms(20));
    assert!(executor.fire(early), "late, as timers may be");
    assert!(!executor.fire(early), "only once");
    fire_first(&mut executor);
    assert_eq!(diary.text(), "20@20 10@20 30@30");
}

#[test]
fn a_sleep_is_not_over_before_it_is_fired() {
    let mut executor = Executor::default();
    let ended = executor.enter(|| {
        spawn(async {
            sleep(ms(5)).await;
            sleep_until(Instant::START).await;
            (Instant::now() - Instant::START, Instant::START - Instant::now())
        })
    });
    executor.settle(|_| 0).unwrap();
    fire_first(&mut executor);
    assert!(!ended.is_finished(), "its deadline has passed, and it waits");
    fire_first(&mut executor);
    assert_eq!(ended.take(), Some((ms(5), Duration::ZERO)));
}

#[test]
fn a_timeout_ends_with_its_future_or_with_its_timer() {
    for (first, expected) in [("write", Ok(7)), ("timer", Err(Elapsed))] {
        let mut executor = Executor::default();
        let ended = executor.enter(|| {
            spawn(timeout(ms(1), async {
                completion("write").await;
                7
            }))
        });
        executor.settle(|_| 0).unwrap();
        let id =
            executor.find_event(|kind, _| matches!(kind, EventKind::Completion(_)) == (first == "write"));
        assert!(executor.fire(id.unwrap()));
        assert_eq!(ended.take(), Some(expected), "{first}");
        assert_eq!(executor.events(), [], "what is not awaited any more is not pending");
    }
}

/// A `select!` without `biased` between a timer and a channel, with the message sent before the timer fires and not
/// yet received: what the caller does is all that counts.
fn select_between_timer_and_channel() -> String {
    let diary = Diary::default();
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let mut executor = Executor::default();
    let told = diary.clone();
    executor.enter(|| {
        spawn(async move {
            loop {
                tokio::select! {
                    () = sleep(ms(1)) => told.note("timer"),
                    message = receiver.recv() => match message {
                        Some(message) => told.note(format!("message {message}")),
                        None => break,
                    },
                }
            }
        })
    });
    executor.settle(|_| 0).unwrap();
    for message in 0..20 {
        executor.enter(|| sender.send(message).unwrap());
        let timer = executor.events()[0].id;
        diary.note(format!("fired {}", executor.fire(timer)));
        executor.settle(|_| 0).unwrap();
        fire_first(&mut executor);
    }
    drop(sender);
    executor.settle(|_| 0).unwrap();
    assert_eq!(executor.tasks().count(), 0);
    diary.text()
}

#[test]
fn select_of_tokio_does_not_show_its_generator() {
    let first = select_between_timer_and_channel();
    assert!(first.starts_with("fired false message 0 timer fired false message 1 timer"), "{first}");
    for _ in 0..50 {
        assert_eq!(select_between_timer_and_channel(), first);
    }
}

#[test]
fn a_deadlock_names_tasks_and_what_they_wait_for() {
    let mut executor = Executor::default();
    executor.enter(|| {
        let (one, other) = (Arc::new(Lock::new(())), Arc::new(Lock::new(())));
        for (name, first, second) in [("left", one.clone(), other.clone()), ("right", other, one)] {
            spawn_named(name, async move {
                let _first = first.lock().await;
                completion("read").await;
                let _second = second.lock().await;
            });
        }
        let waiter = spawn_named("never", pending::<()>());
        spawn_named("joins", async move { waiter.await.is_ok() });
        let (sender, receiver) = oneshot::<u8>();
        spawn_named("holder", async move {
            let _sender = sender;
            receiver.await.is_ok()
        });
        spawn_named("gave-up", async {
            let (sender, receiver) = oneshot::<u8>();
            let first = timeout(ms(1), receiver).await;
            assert_eq!(first, Err(Elapsed));
            let _sender = sender;
            pending::<()>().await;
        });
        spawn_named("served", async {
            sleep(ms(100)).await;
        });
    });
    executor.settle(|_| 0).unwrap();
    let may_wait = |task: &str| task == "served";
    assert_eq!(executor.deadlock(may_wait), None, "reads can still complete");
    let gives_up = executor.find_event(|_, task| task == "gave-up").unwrap();
    assert!(executor.fire(gives_up));
    while let Some(read) = executor.find_event(|kind, _| kind == EventKind::Completion("read")) {
        assert!(executor.fire(read));
    }
    let deadlock = executor.deadlock(may_wait).unwrap();
    assert_eq!(
        deadlock.to_string(),
        "left waits for a channel or a lock; right waits for a channel or a lock; \
         never waits, and nothing can wake it; joins waits for the end of never; holder waits for a oneshot value; \
         gave-up waits, and nothing can wake it"
    );
    assert_eq!(executor.deadlock(|_| true), None, "all may wait");
    assert_eq!(executor.deadlock(|task| task != "served"), None, "a timer is pending");
}

#[test]
fn a_crash_drops_tasks_and_nothing_is_spawned_any_more() {
    struct SpawnsWhenDropped(Diary);
    impl Drop for SpawnsWhenDropped {
        fn drop(&mut self) {
            let diary = self.0.clone();
            self.0.note("dropped");
            let handle = spawn(async move { diary.note("ran") });
            self.0.note(if handle.is_finished() { "refused" } else { "accepted" });
        }
    }
    let diary = Diary::default();
    let mut executor = Executor::default();
    let held = SpawnsWhenDropped(diary.clone());
    let handle = executor.enter(|| {
        spawn(async move {
            let _held = held;
            sleep(ms(1)).await;
        })
    });
    executor.settle(|_| 0).unwrap();
    drop(executor);
    assert_eq!(diary.text(), "dropped refused");
    assert!(handle.is_finished());
    assert_eq!(handle.take(), None);

    // The handle's error, as another executor's task sees it.
    let mut executor = Executor::default();
    let told = executor.enter(|| spawn(async move { handle.await.unwrap_err().to_string() }));
    executor.settle(|_| 0).unwrap();
    assert!(told.take().unwrap().contains("has no output"));
}

#[test]
fn tasks_that_run_for_ever_are_named() {
    let mut executor = Executor::default();
    executor.enter(|| {
        spawn_named("spins", async {
            loop {
                yield_once().await;
            }
        })
    });
    let endless = executor.settle(|_| 0).unwrap_err();
    assert_eq!(endless.to_string(), format!("tasks still run after {POLLS_MAX} polls: spins"));
}

#[test]
fn a_panic_unwinds_and_the_executor_can_be_dropped() {
    let mut executor = Executor::default();
    let others = Diary::default();
    let told = others.clone();
    executor.enter(|| {
        spawn(async { panic!("planted") });
        spawn(async move { told.note("ran") });
    });
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| executor.settle(|_| 0)));
    assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"planted"));
    // The thread-local is as it was: nothing is current.
    assert!(std::panic::catch_unwind(|| spawn(async {})).is_err());
    drop(executor);
    assert_eq!(others.text(), "");
}

#[test]
fn what_escapes_the_executor_is_told_by_thread() {
    let escaped = std::thread::Builder::new().name("worker".to_owned()).spawn(|| sleep(ms(1)));
    let message = escaped.unwrap().join().unwrap_err();
    let message = message.downcast_ref::<String>().unwrap();
    assert_eq!(message, "`now` was called outside an executor, on thread `worker`");
}

#[test]
fn executors_of_several_nodes_wake_each_other() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let (mut one, mut other) = (Executor::default(), Executor::default());
    let received = other.enter(|| spawn(async move { receiver.recv().await }));
    other.settle(|_| 0).unwrap();
    one.enter(|| spawn(async move { sender.send(3).is_ok() }));
    assert!(other.is_idle());
    one.settle(|_| 0).unwrap();
    assert_eq!(other.ready(), 1, "woken while the other executor ran");
    other.settle(|_| 0).unwrap();
    assert_eq!(received.take(), Some(Some(3)));
}

#[test]
fn random_numbers_come_from_the_seed() {
    let numbers = |seed| Executor::new(seed).enter(|| [random(), random(), random()]);
    assert_eq!(numbers(0), [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    assert_eq!(numbers(7), numbers(7));
    assert_ne!(numbers(7), numbers(8));
}
