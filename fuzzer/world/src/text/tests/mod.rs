//! Tests of the schedule text.

mod damage;
mod errors;
mod round_trip;

use crate::vocabulary::{Argument, DrawName, KeyedValues, Operation, Vocabulary};

/// A vocabulary with one of everything.
fn vocabulary() -> Vocabulary {
    let operation = |name, argument| Operation { name, argument, weight: 1 };
    Vocabulary {
        nodes: 3,
        kinds: vec!["HeartbeatRequest", "Prepare", "Promise", "Accept", "AcceptSync"],
        timers: vec!["tick", "election"],
        locals: vec!["flush"],
        operations: vec![
            operation("append", Argument::Fresh),
            operation("read", Argument::None),
            operation("weigh", Argument::Below(5)),
            operation("transfer", Argument::Peer),
            operation("get", Argument::Keyed { keys: 3, values: KeyedValues::None }),
            operation("put", Argument::Keyed { keys: 3, values: KeyedValues::Fresh }),
            operation("cas", Argument::Keyed { keys: 3, values: KeyedValues::FromTo }),
        ],
        sessions: 4,
        draws: vec![DrawName { name: "backoff", below: 4 }, DrawName { name: "broken", below: 0 }],
        ..Vocabulary::default()
    }
}

const HEADER: &str = "misrule schedule 1\ntarget omnipaxos 0.2.4\nset nodes=3\nset trim=off\n\
    contract reorder,explicit-sync,capacity=48\nseed 0\n\
    expect fail decided-logs-agree 8d1f00aa8d1f00aa\ntrace 3f2a00aa3f2a00aa\n";

/// Canonical text with every kind of line.
const SAMPLE: &str = "misrule schedule 1
target omnipaxos 0.2.4
set nodes=3
set trim=off
contract reorder,explicit-sync,capacity=48
seed 0
expect fail decided-logs-agree 8d1f00aa8d1f00aa
trace 3f2a00aa3f2a00aa

# a comment line, kept
timer 1 tick
deliver 1->2 #1 HeartbeatRequest
deliver 1->2 AcceptSync
deliver 1->2 #2
drop 1->2 #1 Prepare
duplicate 1->2 #1 Promise # behind a choice

request 1 append 7
request 2 read
request 2 weigh 4
# between
#
request 3 transfer 1
request 1 get k0 session=2
request 1 put k2=17 session=1
request 2 cas k2=0->4095 session=4
request 2 cas k1=3->1
request 2 read session=3
retry 3 session=2
abandon session=2
crash 2 keep=1
crash 1
crash 3 keep=[0,2-4,7]
crash 3 keep=all at=2
crash 3 at=0
crash 3 keep=all-but-40
restart 2
cut 1->2
heal 1->2
clog 3->1
unclog 3->1
draw 2 backoff 3
disk 2 sync-fails
disk 2 write-error at=3
local 1 flush
tail seed=7 steps=300 faults=default # the rest
# after the tail
";
