"""The overlay part: parameters, the message, the timer, the machine."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct

from gossamer import plugin

HUB = plugin.third_party_purpose("star-per-topic/hub")
# Chosen: a bound on what peers can make a node keep.
SPOKES_MAX = 4_096


class StarParameters(Struct, frozen=True, kw_only=True):
    """How often a node looks for a lower hub, and how it learns the interests of others."""

    period_us: Annotated[
        int, Meta(ge=1, description="Chosen: 1 s. The period between two searches for a lower hub")
    ] = 1_000_000
    membership: Annotated[
        Literal["oracle", "cyclon"], Meta(description="Chosen: oracle (simulation). cyclon: as live nodes learn them")
    ] = "oracle"


class Attach(plugin.WireMessage, frozen=True, array_like=True, gc=False, tag="star_attach"):
    """The sender's topics whose hub the receiver is; none: there is no link between the two any more."""

    topics: Annotated[tuple[int, ...], Meta(max_length=10_000)]
    address: plugin.Address = b""


class TurnDue(plugin.Timer, frozen=True, array_like=True, gc=False, tag="star_turn"):
    """Look for lower hubs, and tell hubs that this node is there."""


class Star:
    """One node's hubs, and its spokes: the nodes whose hub it is."""

    MESSAGES: ClassVar[tuple[type[plugin.WireMessage], ...]] = (Attach,)
    TIMERS: ClassVar[tuple[type[plugin.Timer], ...]] = (TurnDue,)

    def __init__(self, parameters: StarParameters, view: plugin.InterestView, seed: int, node: int) -> None:
        self._parameters, self._view, self._seed, self._node, self._address = parameters, view, seed, node, b""
        # The hub of each own topic: this node itself if it knows no lower holder.
        self.hubs: dict[int, int] = {}
        # Topics by neighbour: those that this node told its hubs, and those that spokes told this node.
        self._told: dict[int, tuple[int, ...]] = {}
        self._spokes: dict[int, tuple[int, ...]] = {}
        self._addresses: dict[int, bytes] = {}
        self._neighbours: dict[int, None] = {}
        self._on: dict[int, tuple[int, ...]] = {}

    def neighbours_on(self, topic: int) -> tuple[int, ...]:
        """The neighbours that hold a topic; the same tuple until it changes."""
        if topic not in self._on and topic in self.hubs:
            known = (self._told | self._spokes).items()
            self._on[topic] = tuple(sorted(node for node, topics in known if topic in topics))
        return self._on.get(topic, ())

    def handle(self, event: plugin.Event, now_us: int, out: list[plugin.Action]) -> Any:
        """The part contract."""
        match event:
            case plugin.Started():
                self._address = event.address
                out.append(plugin.SetTimer(now_us + self._parameters.period_us, TurnDue()))
            case plugin.Subscribe():
                self.hubs[event.topic] = self._node
            case plugin.Unsubscribe():
                self.hubs.pop(event.topic, None)
            case plugin.MessageReceived():
                return self._on_attach(event.sender, event.message, out)
            case plugin.PeerDown():
                return self._forget(event.node, out)
            case plugin.TimerFired():
                return self._on_turn(now_us, out)
            case plugin.Stopping() if self._neighbours:
                out.append(self._send(tuple(self._neighbours), Attach(())))
        return plugin.NOTHING

    def learn(self, fact: plugin.Fact, now_us: int, out: list[plugin.Action]) -> Any:
        """The parts below are asked through the view."""
        return plugin.NOTHING

    def _on_turn(self, now_us: int, out: list[plugin.Action]) -> Any:
        wanted: dict[int, tuple[int, ...]] = {}
        for topic in sorted(self.hubs):
            key = plugin.draw_base(self._seed, self._node, HUB, topic)
            lower = self._view.holder_below(topic, self.hubs[topic], (self._node,), key)
            if lower is not None:
                self.hubs[topic], self._addresses[lower.node] = lower.node, lower.address
            if self.hubs[topic] != self._node:
                wanted[self.hubs[topic]] = (*wanted.get(self.hubs[topic], ()), topic)
        for hub in sorted({*wanted, *self._told}):
            out.append(self._send((hub,), Attach(wanted.get(hub, ()), self._address)))
        self._told = wanted
        out.append(plugin.SetTimer(now_us + self._parameters.period_us, TurnDue()))
        return self._changed(out)

    def _on_attach(self, sender: int, message: Attach, out: list[plugin.Action]) -> Any:
        if not message.topics:
            return self._forget(sender, out)
        if sender not in self._spokes and len(self._spokes) >= SPOKES_MAX:
            out.append(plugin.Observe(plugin.PeerMisbehaved(sender, "attached to a hub that has no room")))
            return plugin.NOTHING
        self._spokes[sender], self._addresses[sender] = message.topics, message.address
        return self._changed(out)

    def _forget(self, node: int, out: list[plugin.Action]) -> Any:
        self._spokes.pop(node, None)
        self._told.pop(node, None)
        self.hubs |= {topic: self._node for topic, hub in self.hubs.items() if hub == node}
        return self._changed(out)

    def _changed(self, out: list[plugin.Action]) -> Any:
        """Report the neighbours gained and lost, and keep connections to the current ones."""
        before, self._neighbours = self._neighbours, dict.fromkeys((*self._told, *self._spokes))
        self._on.clear()
        gone = [node for node in before if node not in self._neighbours]
        new = [node for node in self._neighbours if node not in before]
        out += [plugin.Disconnect(node) for node in gone]
        out += [plugin.Connect(plugin.Peer(node, self._addresses.get(node, b""))) for node in new]
        self._addresses = {node: address for node, address in self._addresses.items() if node not in gone}
        facts = (*map(plugin.NeighbourDown, gone), *map(plugin.NeighbourUp, new))
        out.extend(map(plugin.Observe, facts))
        return facts

    def _send(self, to: tuple[int, ...], message: Attach) -> plugin.Send:
        return plugin.Send(to, message, tuple(self._addresses.get(node, b"") for node in to))
