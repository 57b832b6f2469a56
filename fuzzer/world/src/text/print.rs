//! Writes schedules.

use crate::choice::{Choice, Slot};
use crate::vocabulary::{Argument, Vocabulary};
use misrule_models::NodeId;

/// One choice as a line of a schedule, without the line end.
pub fn choice_line(vocabulary: &Vocabulary, choice: Choice) -> String {
    let word = choice.kind().word();
    match choice {
        Choice::Deliver(slot) | Choice::Drop(slot) | Choice::Duplicate(slot) => {
            let at = if slot.at == Slot::FIRST_OF_KIND { String::new() } else { format!(" #{}", slot.at) };
            let kind = match slot.kind {
                Slot::ANY_KIND => String::new(),
                kind => format!(" {}", name(&vocabulary.kinds, kind)),
            };
            format!("{word} {}{at}{kind}", arrow(slot.from, slot.to))
        }
        Choice::Timer { node, timer } => format!("{word} {} {}", node + 1, name(&vocabulary.timers, timer)),
        Choice::Local { node, step } => format!("{word} {} {}", node + 1, name(&vocabulary.locals, step)),
        Choice::Request { node, operation, argument } => {
            let Some(known) = vocabulary.operations.get(usize::from(operation)) else {
                return format!("{word} {} ?{operation} {argument}", node + 1);
            };
            let argument = match known.argument {
                Argument::None => String::new(),
                Argument::Fresh | Argument::Below(_) => format!(" {argument}"),
                Argument::Peer => format!(" {}", argument + 1),
            };
            format!("{word} {} {}{argument}", node + 1, known.name)
        }
        Choice::Crash { node, keep } if keep > 0 => format!("{word} {} keep={keep}", node + 1),
        Choice::Crash { node, .. } | Choice::Restart { node } => format!("{word} {}", node + 1),
        Choice::Cut { from, to } | Choice::Heal { from, to } => format!("{word} {}", arrow(from, to)),
        Choice::Draw { node, name: draw, value } => {
            let draw = vocabulary.draws.get(usize::from(draw)).map_or("?", |draw| draw.name);
            format!("{word} {} {draw} {value}", node + 1)
        }
    }
}

fn arrow(from: NodeId, to: NodeId) -> String {
    format!("{}->{}", from + 1, to + 1)
}

fn name(names: &[&'static str], at: u8) -> String {
    names.get(usize::from(at)).map_or_else(|| format!("?{at}"), |name| (*name).to_owned())
}
