"""Who a node is and what it lets through: keys, signatures and access rules, joined for one node.

The libraries behind them are loaded only where a node uses them.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gossamer.live.transport.sockets import Sockets, Tls
from gossamer.model.values.errors import InputError
from gossamer.model.values.ids import NodeId, TopicId, identity
from gossamer.protocols.contract.actions import Deliver
from gossamer.protocols.contract.messages import Data, data_in

POLICIES = ("off", "accept", "strict")


class Security:
    """Identity, TLS, signatures and rules of one node."""

    def __init__(
        self,
        keys: str | os.PathLike[str] | None,
        identity_file: str | os.PathLike[str] | None,
        signatures: str,
        rules: str | os.PathLike[str] | None,
        topic_name: Callable[[TopicId], str | None],
    ) -> None:
        if signatures not in POLICIES:
            raise InputError(f"signatures must be one of {', '.join(POLICIES)}, got {signatures!r}")
        if rules is not None and keys is None:
            raise InputError("access rules name certificates: give keys too (`gossamer keys issue`)")
        self.signatures = signatures
        self.tls: Tls | None = None
        self.signer: Any = None
        # The module and what it asks of messages, where messages are signed.
        self._signing: Any = None
        self._policy: Any = None
        self._sockets: Sockets | None = None
        private_key: Any = None
        certificate: bytes | None = None
        if keys is not None:
            from gossamer.live.security.keys import Keys, peer_of, why_refused

            loaded = Keys.load(Path(keys))
            self.node: NodeId = loaded.node
            self.tls = Tls(loaded.server_context(), loaded.client_context(), peer_of, why_refused)
            private_key, certificate = loaded.private_key, loaded.certificate_der
        elif identity_file is not None:
            from gossamer.live.security.keys import identity_file as read_identity

            self.node, private_key = read_identity(Path(identity_file))
        elif signatures != "off":
            raise InputError("signatures need a key: give keys (`gossamer keys issue`) or an identity_file")
        else:
            # Nobody proves an identity here; a random one will do for this life.
            self.node = identity(os.urandom(32))
        if signatures != "off":
            from gossamer.live.security import signing

            self.signer = signing.Signer(private_key, certificate)
            self._signing = signing
            self._policy = signing.Policy(signatures, () if keys is None else loaded.authorities)
        self._rules: Any = None
        if rules is not None:
            from gossamer.live.security.access import Guard, Rules

            self._rules = Guard(Rules.load(Path(rules)), topic_name)

    @property
    def names(self) -> tuple[str, ...]:
        """What the greeting says of it: all nodes of a network sign, or none does."""
        return () if self.signatures == "off" else ("signed",)

    @property
    def guard(self) -> "Security | None":
        """Itself, where anything has to be looked at."""
        return self if self._rules is not None or self._policy is not None else None

    @property
    def unseal(self) -> Callable[[Deliver], bytes] | None:
        """How a reader gets at the content of a payload; None where payloads are content."""
        return None if self._policy is None else self._content

    def attach(self, sockets: Sockets) -> None:
        """The links whose names the rules are about."""
        self._sockets = sockets

    def admits(self, link_name: str, sender: NodeId, message: Any) -> str | None:
        """See `driver.Guard`."""
        for data in data_in(message):
            reason = self._admits_data(link_name, sender, data)
            if reason is not None:
                return reason
        return None

    def lets_out(self, node: NodeId, message: Any) -> bool:
        """See `driver.Guard`."""
        if self._rules is None or self._sockets is None:
            return True
        link = self._sockets.link(node)
        name = "" if link is None else link.name
        return all(self._rules.outgoing(name, data) for data in data_in(message))

    def _admits_data(self, link_name: str, sender: NodeId, data: Data) -> str | None:
        name: str | None = None
        if self._policy is not None:
            named = (data.publisher, data.topics, data.sequence)
            _, reason = self._signing.unseal(self._policy, *named, data.payload, data.published_us)
            if reason is not None:
                return str(reason)
            name = self._signing.publisher_name(self._policy, data.payload)
        if self._rules is not None:
            refused = self._rules.incoming(link_name, sender, data, name)
            return None if refused is None else str(refused)
        return None

    def _content(self, action: Deliver) -> bytes:
        content: bytes = self._signing.content_of(action.payload)
        return content
