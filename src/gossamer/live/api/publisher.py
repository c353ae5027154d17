"""Publishing on a topic without following it."""

from typing import TYPE_CHECKING, Any, Self

from gossamer.live.api.held import HeldTopics
from gossamer.live.api.messages import Codec, Receipt

if TYPE_CHECKING:
    from gossamer.live.api.node import Node


class Publisher:
    """The result of `Node.publisher`: inside `async with`, the node is part of the topic's overlay."""

    def __init__(self, node: "Node", held: HeldTopics, topic: str, codec: str | Codec) -> None:
        self._node = node
        self._held = held
        self._topic = topic
        self._codec = codec

    async def __aenter__(self) -> Self:
        """Join the topic's overlay."""
        self._held.open_publisher(self._topic)
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Leave the topic's overlay."""
        self._held.close_publisher(self._topic)

    async def publish(self, payload: Any, **options: Any) -> Receipt:
        """See `Node.publish`."""
        return await self._node.publish(self._topic, payload, codec=self._codec, **options)
