//! The network: a request goes out as a message, and its future waits for the message that answers it.

use crate::image::lock;
use crate::message::{Body, Origin, Wire};
use crate::types::{Types, node};
use misrule_executor::{OneshotReceiver, OneshotSender, oneshot};
use misrule_models::NodeId;
use openraft::error::{InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError};
use openraft::network::RPCOption;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use openraft::{AnyError, EmptyNode, RaftNetwork, RaftNetworkFactory};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What a node sends, and who waits for answers.
#[derive(Default)]
pub(crate) struct Post {
    origin: Origin,
    last: u64,
    outbox: Vec<(NodeId, Wire)>,
    waiting: BTreeMap<u64, OneshotSender<Body>>,
}

/// A node's post, shared by its clients and the tasks that answer.
#[derive(Clone, Default)]
pub(crate) struct SharedPost(Arc<Mutex<Post>>);

impl SharedPost {
    /// Sends a request.
    fn ask(&self, to: u64, body: Body) -> OneshotReceiver<Body> {
        let (sender, receiver) = oneshot();
        let mut post = lock(&self.0);
        post.last += 1;
        let (request, origin) = (post.last, post.origin.clone());
        post.waiting.insert(request, sender);
        post.outbox.push((node(to), Wire { request, origin, body }));
        receiver
    }

    /// Sends the answer to a request.
    pub(crate) fn answer(&self, to: NodeId, request: u64, origin: Origin, body: Body) {
        lock(&self.0).outbox.push((to, Wire { request, origin, body }));
    }

    /// Hands an answer to who waits for it; nobody does after a timeout, a restart, or a first answer.
    pub(crate) fn take_in(&self, answer: Wire) {
        let sender = {
            let mut post = lock(&self.0);
            if post.origin == answer.origin { post.waiting.remove(&answer.request) } else { None }
        };
        if let Some(sender) = sender {
            // A request whose timeout has passed is gone.
            drop(sender.send(answer.body));
        }
    }

    /// Calls `send` with all that is to be sent, in order.
    pub(crate) fn send_all(&self, mut send: impl FnMut(NodeId, Wire)) {
        let mut post = lock(&self.0);
        for (to, wire) in post.outbox.drain(..) {
            send(to, wire);
        }
        post.waiting.retain(|_, sender| !sender.is_closed());
    }
}

/// Makes clients.
pub(crate) struct Network(pub(crate) SharedPost);

/// A node's way to another one.
pub(crate) struct Client {
    post: SharedPost,
    to: u64,
}

impl RaftNetworkFactory<Types> for Network {
    type Network = Client;

    async fn new_client(&mut self, to: u64, _: &EmptyNode) -> Client {
        Client { post: self.0.clone(), to }
    }
}

/// A request that has failed.
type Failed<E = openraft::error::Infallible> = RPCError<u64, EmptyNode, RaftError<u64, E>>;

fn no_answer<E: std::error::Error>() -> Failed<E> {
    RPCError::Network(NetworkError::new(&AnyError::error("the connection was closed")))
}

impl RaftNetwork<Types> for Client {
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<Types>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, Failed> {
        match self.post.ask(self.to, Body::Append(request)).await {
            Ok(Body::Appended(response)) => Ok(response),
            _ => Err(no_answer()),
        }
    }

    async fn install_snapshot(
        &mut self,
        request: InstallSnapshotRequest<Types>,
        _: RPCOption,
    ) -> Result<InstallSnapshotResponse<u64>, Failed<InstallSnapshotError>> {
        match self.post.ask(self.to, Body::Install(request)).await {
            Ok(Body::Installed(response)) => {
                response.map_err(|refusal| RemoteError::new(self.to, RaftError::APIError(refusal)).into())
            }
            _ => Err(no_answer()),
        }
    }

    async fn vote(&mut self, request: VoteRequest<u64>, _: RPCOption) -> Result<VoteResponse<u64>, Failed> {
        match self.post.ask(self.to, Body::Vote(request)).await {
            Ok(Body::Voted(response)) => Ok(response),
            _ => Err(no_answer()),
        }
    }
}
