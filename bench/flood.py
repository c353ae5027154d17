"""A flood machine, kept here only to load the event engine: every node follows one topic."""

from collections.abc import Sequence

from gossamer.protocols.contract.actions import Action, Deliver, Send
from gossamer.protocols.contract.events import Event, MessageReceived, Publish
from gossamer.protocols.contract.messages import Data


class FloodMachine:
    """Delivers new messages, and relays them to every neighbour except the sender."""

    __slots__ = ("_neighbours", "_node", "_seen", "_sequence")

    def __init__(self, node: int, neighbours: tuple[int, ...]) -> None:
        self._node = node
        self._neighbours = neighbours
        self._seen: set[tuple[int, int]] = set()
        self._sequence = 0

    def handle(self, event: Event, now_us: int) -> Sequence[Action]:
        """The machine contract."""
        if type(event) is MessageReceived:
            data: Data = event.message
            name = (data.publisher, data.sequence)
            if name in self._seen:
                return ()
            self._seen.add(name)
            sender = event.sender
            hops = data.hops + 1
            onward = Data(data.topic, data.publisher, data.sequence, hops, data.published_us, data.payload)
            return (
                Deliver(data.topic, data.payload, data.publisher, data.sequence, hops, data.published_us),
                Send(tuple([node for node in self._neighbours if node != sender]), onward),
            )
        if type(event) is Publish:
            self._sequence += 1
            self._seen.add((self._node, self._sequence))
            data = Data(event.topic, self._node, self._sequence, 0, now_us, event.payload)
            return (Send(self._neighbours, data),)
        return ()
