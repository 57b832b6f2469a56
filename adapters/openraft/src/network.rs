//! The network: a request goes out as a message, and its future waits for the message that answers it.

use crate::image::{SharedImage, lock};
use crate::message::{Asked, Body, Origin, Wire};
use crate::types::{LogId, Types, node};
use misrule_executor::{OneshotReceiver, OneshotSender, oneshot};
use misrule_models::NodeId;
use openraft::error::{InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError};
use openraft::network::RPCOption;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use openraft::{AnyError, CommittedLeaderId, EmptyNode, RaftNetwork, RaftNetworkFactory};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What a node sends, and who waits for answers.
pub(crate) struct Post {
    /// Its journal is told what is sent.
    image: SharedImage,
    origin: Origin,
    last: u64,
    outbox: Vec<(NodeId, Wire)>,
    waiting: BTreeMap<u64, OneshotSender<Body>>,
}

/// A node's post, shared by its clients and the tasks that answer.
#[derive(Clone)]
pub(crate) struct SharedPost(Arc<Mutex<Post>>);

impl Post {
    fn send(&mut self, to: NodeId, wire: Wire) {
        lock(&self.image).journal.send();
        self.outbox.push((to, wire));
    }
}

impl SharedPost {
    /// The post of the node that keeps this.
    pub(crate) fn new(image: SharedImage) -> Self {
        let (outbox, waiting) = (Vec::new(), BTreeMap::new());
        Self(Arc::new(Mutex::new(Post { image, origin: Origin::default(), last: 0, outbox, waiting })))
    }

    /// Sends a request of a client that was made with these members.
    fn ask(&self, to: u64, members: Option<LogId>, body: Body) -> OneshotReceiver<Body> {
        let (sender, receiver) = oneshot();
        let mut post = lock(&self.0);
        post.last += 1;
        let (request, origin) = (post.last, post.origin.clone());
        post.waiting.insert(request, sender);
        let asked = Asked { members, ..body.asks() };
        post.send(node(to), Wire { request, origin, asked, body });
        receiver
    }

    /// Sends the answer to a request.
    pub(crate) fn answer(&self, to: NodeId, answer: Wire) {
        lock(&self.0).send(to, answer);
    }

    /// Hands an answer to who waits for it; nobody does after a timeout, a restart, or a first answer. Returns whether
    /// somebody did.
    pub(crate) fn take_in(&self, answer: Wire) -> bool {
        let sender = {
            let mut post = lock(&self.0);
            if post.origin == answer.origin { post.waiting.remove(&answer.request) } else { None }
        };
        // A request whose timeout has passed is gone.
        sender.is_some_and(|sender| sender.send(answer.body).is_ok())
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
pub(crate) struct Network {
    pub(crate) post: SharedPost,
    /// Whether nothing is sent that [is stale](is_stale).
    pub(crate) drops_stale: bool,
}

/// A node's way to another one.
pub(crate) struct Client {
    post: SharedPost,
    to: u64,
    /// The entry with the membership that it was made for: the library drops answers to what it asked before.
    members: Option<LogId>,
    drops_stale: bool,
}

impl RaftNetworkFactory<Types> for Network {
    type Network = Client;

    async fn new_client(&mut self, to: u64, _: &EmptyNode) -> Client {
        let members = lock(&lock(&self.post.0).image).members.id;
        Client { post: self.post.clone(), to, members, drops_stale: self.drops_stale }
    }
}

/// A request that has failed.
type Failed<E = openraft::error::Infallible> = RPCError<u64, EmptyNode, RaftError<u64, E>>;

fn no_answer<E: std::error::Error>() -> Failed<E> {
    RPCError::Network(NetworkError::new(&AnyError::error("the connection was closed")))
}

/// Whether a leader sends entries that it cannot have had when it led: a replication task goes on when its node leads no
/// more, and reads from the log what a later leader has put there.
fn is_stale(request: &AppendEntriesRequest<Types>) -> bool {
    let prev = request.prev_log_id.iter().map(|id| id.leader_id);
    let leaders = || prev.clone().chain(request.entries.iter().map(|entry| entry.log_id.leader_id));
    let vote = request.vote.leader_id;
    let last = CommittedLeaderId::new(vote.term, vote.node_id);
    leaders().zip(leaders().skip(1).chain([last])).any(|(one, next)| one > next)
}

impl RaftNetwork<Types> for Client {
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<Types>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, Failed> {
        if self.drops_stale && is_stale(&request) {
            return Err(no_answer());
        }
        match self.post.ask(self.to, self.members, Body::Append(request)).await {
            Ok(Body::Appended(response)) => Ok(response),
            _ => Err(no_answer()),
        }
    }

    async fn install_snapshot(
        &mut self,
        request: InstallSnapshotRequest<Types>,
        _: RPCOption,
    ) -> Result<InstallSnapshotResponse<u64>, Failed<InstallSnapshotError>> {
        match self.post.ask(self.to, self.members, Body::Install(request)).await {
            Ok(Body::Installed(response)) => {
                response.map_err(|refusal| RemoteError::new(self.to, RaftError::APIError(refusal)).into())
            }
            _ => Err(no_answer()),
        }
    }

    async fn vote(&mut self, request: VoteRequest<u64>, _: RPCOption) -> Result<VoteResponse<u64>, Failed> {
        match self.post.ask(self.to, self.members, Body::Vote(request)).await {
            Ok(Body::Voted(response)) => Ok(response),
            _ => Err(no_answer()),
        }
    }
}
