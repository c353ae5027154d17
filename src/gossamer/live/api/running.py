"""A node between its start and its stop."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from gossamer.live.api.incoming import Incoming
from gossamer.live.api.limits import Limits
from gossamer.live.api.outgoing import Outgoing
from gossamer.live.api.readiness import Readiness
from gossamer.live.api.stacks import Stack
from gossamer.live.api.topics import LiveTopics
from gossamer.live.api.validation import Validation
from gossamer.live.security.node_security import NodeSecurity
from gossamer.live.transport.driver import LiveDriver
from gossamer.live.transport.last_numbers import LastNumbers
from gossamer.live.transport.numbers import SequenceNumbers
from gossamer.live.transport.sockets import Sockets
from gossamer.model.values.ids import NodeId
from gossamer.protocols.contract.node import NodeMachine
from gossamer.systems import make_machine


@dataclass(frozen=True)
class NodeParts:
    """The parts of a node that exist before it starts."""

    stack: Stack
    limits: Limits
    security: NodeSecurity
    topics: LiveTopics
    validation: Validation
    record: Path | None


class RunningNode:
    """The machine of a started node, with its driver, its sockets and its record."""

    def __init__(self, parts: NodeParts, sockets: Sockets, address: str) -> None:
        environment = sockets.environment
        seed = int.from_bytes(environment.random_bytes(8), "big")
        machine = _make_machine(parts.stack, seed, parts.security.node)
        self.sockets = sockets
        self.overlay = machine.overlay
        self.readiness = Readiness(machine.overlay.neighbours_on)
        self.incoming = Incoming(parts.topics, self.readiness)
        self._validation = parts.validation
        self._record: BinaryIO | None = None if parts.record is None else parts.record.open("wb")
        self.driver = LiveDriver(
            machine,
            parts.security.node,
            address.encode(),
            sockets,
            self.incoming.on_fact,
            None if self._record is None else (self._record, parts.stack.header(seed)),
            self.incoming.deliver,
            parts.validation.request,
            parts.security.guard,
            parts.limits.frame_bytes if machine.takes_bursts else 0,
            environment,
            SequenceNumbers(parts.security.sequence_file),
            None if parts.security.topics_file is None else LastNumbers(parts.security.topics_file),
        )
        self.incoming.driver = self.driver
        self.outgoing = Outgoing(parts.security.node, self.driver, sockets, parts.security.signer)

    async def stop(self) -> None:
        """Leave the network: notify neighbours, close links, close the record."""
        self.driver.stop()
        self._validation.stop()
        self.readiness.stop()
        await self.sockets.closed()
        if self._record is not None:
            # If the disk is full, the driver has logged it.
            with suppress(OSError):
                self._record.close()


def _make_machine(stack: Stack, seed: int, node: NodeId) -> NodeMachine:
    return make_machine(
        stack.system,
        stack.parameters,
        seed,
        node,
        None,
        stack.dissemination,
        stack.dissemination_settings,
        {} if stack.recovers else None,
    )
