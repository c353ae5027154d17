"""Controls of a network that this process started: nodes come, stop and are killed; the network is cut in two and heals."""

import random
from collections.abc import Sequence
from itertools import count

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer.live.fleet.member import MemberCommand, MemberSettings
from gossamer.live.fleet.network import Fleet, MemberProcess
from gossamer.model.values.errors import GossamerError, InputError
from gossamer.model.values.ids import NodeId

# Chosen: more processes than one machine is likely to run well.
NODES_MAX = 200


class ControlOrder(Struct, frozen=True, forbid_unknown_fields=True):
    """What the page asks for. `node` is the name of a node in the page."""

    action: str
    node: str = ""
    topic: str = ""
    topics: tuple[str, ...] = ()
    text: str = ""
    share: float = 0.2


class FleetControls:
    """Carries out orders on the members of a fleet. Each answer is a sentence about what was done."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._random = random.Random()
        self._indices = count(len(fleet.members))
        self.is_cut = False
        # How many orders were carried out.
        self.done = 0

    def addresses(self) -> list[str]:
        """Where the living members serve their status."""
        return [member.hello.metrics for member in self._fleet.alive if member.hello is not None]

    def names(self) -> dict[NodeId, str]:
        """The name of every member's node."""
        return {int(member.hello.node, 16): _name(member) for member in self._fleet.members if member.hello is not None}

    async def perform(self, content: bytes) -> str:
        """Carry out an order; an InputError says what is wrong with it."""
        try:
            order = msgspec.json.decode(content, type=ControlOrder)
        except ValueError as error:
            raise InputError(f"this order cannot be read: {error}") from None
        perform = {
            "add": self._add,
            "stop": self._stop,
            "kill": self._kill,
            "cut": self._cut,
            "heal": self._heal,
            "publish": self._publish,
            "follow": self._follow,
        }.get(order.action)
        if perform is None:
            raise InputError(f"there is no control {order.action!r}")
        sentence = await perform(order)
        self.done += 1
        return sentence

    async def _add(self, order: ControlOrder) -> str:
        living = self._living()
        if self.is_cut:
            raise InputError("heal the network before you add a node")
        if len(living) >= NODES_MAX:
            raise InputError(f"this machine runs at most {NODES_MAX} nodes here")
        like = self._random.choice(living).settings
        settings: MemberSettings = replace(like, index=next(self._indices))
        member = await self._fleet.add(settings)
        if order.topics:
            await self._tell(member, MemberCommand("follow", topics=order.topics))
        await self._tell(member, MemberCommand("publish"))
        return f"node {_name(member)} joins the network"

    async def _stop(self, order: ControlOrder) -> str:
        member = self._find(order.node)
        self._fleet.stop(member.settings.index)
        return f"node {_name(member)} leaves the network"

    async def _kill(self, order: ControlOrder) -> str:
        if order.node:
            victims = [self._find(order.node)]
        else:
            if not 0 < order.share < 1:
                raise InputError(f"the share of nodes to kill must lie between 0 and 1, got {order.share:g}")
            living = self._living()
            victims = self._random.sample(living, min(max(1, round(len(living) * order.share)), len(living) - 1))
        self._fleet.kill(member.settings.index for member in victims)
        return f"killed {len(victims)}: " + ", ".join(map(_name, victims))

    async def _cut(self, order: ControlOrder) -> str:
        if self.is_cut:
            raise InputError("the network is cut already; heal it first")
        living = self._living()
        self._random.shuffle(living)
        halves = living[: len(living) // 2], living[len(living) // 2 :]
        for mine, theirs in (halves, halves[::-1]):
            nodes = tuple(member.hello.node for member in theirs if member.hello is not None)
            for member in mine:
                await self._tell(member, MemberCommand("refuse", nodes=nodes))
        self.is_cut = True
        return f"cut off {len(halves[0])} nodes from the other {len(halves[1])}"

    async def _heal(self, order: ControlOrder) -> str:
        if not self.is_cut:
            raise InputError("the network is not cut")
        for member in self._living():
            await self._tell(member, MemberCommand("refuse"))
        self.is_cut = False
        return "the halves may connect again; they find each other within half a minute"

    async def _publish(self, order: ControlOrder) -> str:
        member = self._find(order.node)
        if not order.topic:
            raise InputError("choose a topic to publish on")
        await self._tell(member, MemberCommand("say", topics=(order.topic,), payload=order.text))
        return f"node {_name(member)} published on {order.topic}"

    async def _follow(self, order: ControlOrder) -> str:
        member = self._find(order.node)
        await self._tell(member, MemberCommand("follow", topics=order.topics))
        return f"node {_name(member)} follows {_listed(order.topics)}"

    async def _tell(self, member: MemberProcess, command: MemberCommand) -> None:
        complaint = await member.ask(command, str | None)  # type: ignore[arg-type]
        if complaint is not None:
            raise GossamerError(complaint)

    def _living(self) -> list[MemberProcess]:
        living = self._fleet.alive
        if len(living) < 2:
            raise InputError("fewer than two nodes are left; start the dashboard again")
        return living

    def _find(self, name: str) -> MemberProcess:
        for member in self._fleet.alive:
            if _name(member) == name:
                return member
        raise InputError(f"there is no node {name!r}; choose one" if name else "choose a node")


def _name(member: MemberProcess) -> str:
    return f"n{member.settings.index}"


def _listed(topics: Sequence[str]) -> str:
    return ", ".join(topics) if topics else "nothing"
