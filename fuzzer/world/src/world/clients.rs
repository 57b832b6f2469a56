//! What the world does for clients: calls on their way to a node, answers on their way back.

use super::World;
use crate::choice::Choice;
use crate::clients::{ClientEvent, NO_SESSION};
use crate::judge::Judge;
use crate::report::Report;
use crate::system::{Input, System};
use misrule_models::NodeId;

impl<S: System, J: Judge<S>> World<S, J> {
    /// Executes a choice of a client that can apply.
    pub(super) fn client(&mut self, choice: Choice, report: &mut Report) -> Option<NodeId> {
        match choice {
            Choice::Request { node, operation, argument, session } => {
                self.menu.note_argument(operation, argument);
                let mut call = None;
                if session != NO_SESSION {
                    call = self.clients.ask(&mut self.menu, session, operation, argument);
                    if let Some(call) = call {
                        self.clients.events.push(ClientEvent::Asked { call, node, operation, argument });
                        self.tell_call(|| format!("{call} asked"));
                    }
                }
                self.give(node, Input::Request { operation, argument, call }, report);
                Some(node)
            }
            Choice::Retry { node, session } => {
                let open = self.clients.retry(session)?;
                let call = open.call;
                self.clients.events.push(ClientEvent::Retried { call, node });
                self.tell_call(|| format!("{call} asked again"));
                let (operation, argument) = (open.operation, open.argument);
                self.give(node, Input::Request { operation, argument, call: Some(call) }, report);
                Some(node)
            }
            Choice::Abandon { session } => {
                let call = self.clients.abandon(&mut self.menu, session)?;
                self.tell_call(|| format!("{call} abandoned"));
                None
            }
            _ => None,
        }
    }

    /// Takes what the node answered during its call to the clients.
    pub(super) fn take_answers(&mut self) {
        for at in 0..self.cx.answers.len() {
            let (call, answer) = self.cx.answers[at];
            let open = self.clients.answer(&mut self.menu, call, answer);
            let ignored = if open { "" } else { " (ignored: not open)" };
            self.tell_call(|| format!("{call} answered {answer}{ignored}"));
        }
        self.cx.answers.clear();
    }

    fn tell_call(&mut self, line: impl FnOnce() -> String) {
        if self.watch.trace {
            self.recorder.effect(line());
        }
    }
}
