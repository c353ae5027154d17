"""The ln-covered view (Algorithm 3), the links to its nodes, and bridges between components of a topic."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet

from gossamer.model.values.draw import Purpose, draw_base
from gossamer.model.values.ids import NodeId, TopicId
from gossamer.protocols.contract.actions import Action, Observe
from gossamer.protocols.contract.facts import BridgeWanted
from gossamer.protocols.contract.messages import Peer
from gossamer.protocols.contract.parts import InterestView
from gossamer.protocols.membership.interest_exchange import InterestExchange
from gossamer.protocols.neighbours import NO_VERSION
from gossamer.protocols.roots import REPEAT, Roots
from gossamer.systems.feverfew.bubbles import TopicCover
from gossamer.systems.feverfew.links import CoverLinks
from gossamer.systems.feverfew.messages import HoldOk, HoldRequest, NoLink, ReleaseNotice, RootClaims, send
from gossamer.systems.feverfew.parameters import FeverfewParameters
from gossamer.systems.feverfew.sizes import Sizes, wanted_coverage
from gossamer.systems.feverfew.views import Utility, ln_cover, random_cover, settled_cover

# Chosen: known holders of uncovered topics that a live node considers in a cycle.
KNOWN_HOLDERS = 4


class CoveredView:
    """The nodes that cover this node's topics. `nodes` has their addresses, in the order of choice."""

    __slots__ = (
        "_bridges",
        "_exchange",
        "_links",
        "_may_be_chosen",
        "_node",
        "_parameters",
        "_roots",
        "_seed",
        "_sizes",
        "_topics",
        "_view",
        "address",
        "nodes",
        "unanswered",
        "utility",
    )

    def __init__(
        self,
        parameters: FeverfewParameters,
        seed: int,
        node: NodeId,
        exchange: InterestExchange,
        view: InterestView,
        sizes: Sizes,
        topics: Mapping[TopicId, TopicCover],
        links: CoverLinks,
        roots: Roots,
        may_be_chosen: Callable[[NodeId], bool],
    ) -> None:
        self._parameters = parameters
        self._seed = seed
        self._node = node
        self._exchange = exchange
        self._view = view
        self._sizes = sizes
        self._topics = topics
        self._links = links
        self._roots = roots
        self._may_be_chosen = may_be_chosen
        self.utility = Utility(self._topics_of, parameters.utility == "jaccard")
        self.address = b""
        self.nodes: dict[NodeId, bytes] = {}
        # Nodes of the view that have not answered, and for how many turns (not for how long: this node may have been busy
        # itself); nodes of the view that are bridges.
        self.unanswered: dict[NodeId, int] = {}
        self._bridges: dict[NodeId, None] = {}

    def choose(self, others: Mapping[NodeId, bytes], now_us: int, out: list[Action]) -> None:
        """Algorithm 3, with the present view and these other nodes as candidates."""
        linked = dict.fromkeys(self._links.held_by()) if self._parameters.keep_cover else {}
        addresses = {**{node: self._links.addresses.get(node, b"") for node in linked}, **others, **self.nodes}
        candidates = [node for node in addresses if self._may_be_chosen(node)]
        needs, at_random = self._needs()
        key = draw_base(self._seed, self._node, Purpose.COVER_TIE, now_us)
        fixed = tuple(self._bridges)
        if self._parameters.keep_cover:
            chosen, missing = settled_cover(tuple(self.nodes), fixed, candidates, needs, self.utility, key, linked)
        else:
            chosen, missing = ln_cover(candidates, needs, self.utility, key, fixed)
        missing = {topic: max(0, lacking + at_random[topic]) for topic, lacking in missing.items()}
        if self._parameters.random_coverage:
            # The order of nodes never changes, so that a node keeps its random neighbours.
            key = draw_base(self._seed, self._node, Purpose.COVER_RANDOM, 0)
            chosen += random_cover(set(candidates).difference(chosen), missing, self._topics_of, key)
        for topic, lacking in missing.items():
            self._topics[topic].missing = lacking
        before, self.nodes = self.nodes, {node: addresses[node] for node in chosen}
        for node in before:
            if node not in self.nodes:
                self.unanswered.pop(node, None)
                out.append(self._links.to((node,), ReleaseNotice()))
                self._links.release(node, out)
        for node in self.nodes:
            if node not in before:
                self._ask(node, out)

    def known_holders(self, now_us: int) -> dict[NodeId, bytes]:
        """A few random nodes that are known to hold topics which still lack neighbours, with their addresses."""
        lacking = [topic for topic, cover in self._topics.items() if cover.missing > 0]
        found: dict[NodeId, bytes] = {}
        key = draw_base(self._seed, self._node, Purpose.COVER_KNOWN, now_us)
        while lacking and len(found) < KNOWN_HOLDERS:
            peer = self._view.random_cover(lacking, {self._node, *self.nodes, *found}, key)
            if peer is None:
                break
            found[peer.node] = peer.address
        return found

    def _needs(self) -> tuple[dict[TopicId, int], dict[TopicId, int]]:
        """For each topic the neighbours to choose greedily, and those to choose at random."""
        greedy, at_random = {}, {}
        for topic in self._topics:
            size = self._sizes.topic_size(topic)
            total, at_random[topic] = wanted_coverage(size, self._parameters.coverage, self._parameters.random_coverage)
            greedy[topic] = total - at_random[topic]
        return greedy, at_random

    def _topics_of(self, node: NodeId) -> AbstractSet[TopicId]:
        """The topics of a node: of a neighbour those that it has named itself, of others those that are said of it."""
        neighbour = self._links.neighbours.get(node)
        if neighbour is None:
            return self._view.topics_of(node)
        if neighbour.version == NO_VERSION:
            return neighbour.interest | self._view.topics_of(node)
        return neighbour.interest

    def _ask(self, node: NodeId, out: list[Action]) -> None:
        """Ask a node of the view for a link."""
        self.unanswered[node] = 0
        self._links.ask(node, self.nodes[node])
        request = HoldRequest(self._exchange.version, len(self._topics), self._exchange.first(), self.address)
        out.append(send(Peer(node, self.nodes[node]), request))

    def overdue(self) -> list[NodeId]:
        """Begin a turn; the nodes of the view that have not answered for too many turns."""
        for node in self.unanswered:
            self.unanswered[node] += 1
        return [node for node in self.nodes if self.unanswered.get(node, 0) >= self._parameters.answer_cycles]

    def on_hold(self, sender: NodeId, message: HoldRequest, now_us: int, out: list[Action]) -> None:
        """Another node has this node in its view, and asks for a link."""
        if not self._links.has_room_for(sender):
            out.append(send(Peer(sender, message.address), NoLink()))
            return
        self._links.held(sender, message, now_us, out)
        answer = HoldOk(self._exchange.version, len(self._topics), self._exchange.first())
        out.append(self._links.to((sender,), answer))

    def on_hold_ok(self, sender: NodeId, message: HoldOk, now_us: int, out: list[Action]) -> None:
        """A node of the view has answered."""
        if self.unanswered.pop(sender, None) is not None:
            self._links.hold(sender, message, now_us, out)
        elif sender not in self.nodes:
            # The answer came too late: the node has left the view.
            out.append(self._links.to((sender,), ReleaseNotice()))

    def forget(self, node: NodeId, out: list[Action]) -> None:
        """End the link to a node."""
        self.nodes.pop(node, None)
        self.unanswered.pop(node, None)
        self._bridges.pop(node, None)
        self._links.remove(node, out)

    def mend(self, now_us: int, out: list[Action]) -> None:
        """Exchange claims with neighbours, and bridge a topic that is disconnected (`protocols/roots.py`)."""
        for node in list(self._bridges):
            neighbour = self._links.neighbours.get(node)
            if neighbour is not None and not neighbour.shared:
                # The next cover releases the node.
                del self._bridges[node]
        if self._roots.is_moving:
            self._roots.is_moving = False
            return
        mend_us = self._parameters.mend_cycles * self._parameters.period_us
        for nodes, claims in self._roots.check((self._links,), repeat=now_us // mend_us % REPEAT == 0):
            out.append(self._links.to(nodes, RootClaims(claims)))
        key = draw_base(self._seed, self._node, Purpose.COVER_BRIDGE, now_us)
        exclude = {self._node, *self._links.neighbours, *self.nodes}
        # A node that once did not answer may be asked: after a partition, each side ignores nodes of the other.
        peer = self._roots.next_bridge(self._view, exclude, key)
        if peer is not None:
            out.append(Observe(BridgeWanted(peer.node)))
            self.nodes[peer.node] = peer.address
            self._bridges[peer.node] = None
            self._ask(peer.node, out)
