"""The security of one node: its identity, TLS, signatures and access rules.

The modules for keys, signatures and rules are imported only by nodes that use them.
"""

import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from gossamer.live.api.options import FilePath, Security
from gossamer.live.api.topics import LiveTopics
from gossamer.live.security import SIGNATURE_MODES
from gossamer.live.transport.interface import Items
from gossamer.live.transport.sockets import Sockets
from gossamer.live.transport.tls import Tls
from gossamer.model.values.errors import InputError, PeerError
from gossamer.model.values.ids import NodeId, TopicId, identity
from gossamer.model.values.shown import Shown
from gossamer.protocols.contract.actions import Deliver, Validate
from gossamer.protocols.contract.messages import Burst, Data, data_in, proved


class NodeSecurity:
    """Identity, TLS, signatures and access rules of one node; the driver's guard if there is anything to check."""

    def __init__(
        self,
        options: Security,
        identity_file: FilePath | None,
        topics: LiveTopics,
        random_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        keys, signatures, rules = options.keys, options.signatures, options.rules
        if signatures not in SIGNATURE_MODES:
            raise InputError(f"`signatures` must be one of {', '.join(SIGNATURE_MODES)}, got {signatures!r}")
        if rules is not None and keys is None:
            raise InputError(
                "`rules` refer to the names in certificates and need `keys`; make them with `gossamer keys issue`"
            )
        self.signatures = signatures
        self.tls: Tls | None = None
        # The modules `signing` and `signed_bursts`, and the node's signer and policy, if messages are signed.
        self._signer: Any = None
        self._signing: Any = None
        self._bursts: Any = None
        self._proofs: Any = None
        self._policy: Any = None
        self._certificate: bytes | None = None
        self._sockets: Sockets | None = None
        # The name in this node's certificate; empty without keys.
        self.name = ""
        # Where the last sequence number, and that on each topic, are kept over restarts, if the identity is kept.
        self.sequence_file: Path | None = None
        self.topics_file: Path | None = None
        private_key: Any = None
        certificate: bytes | None = None
        authorities: tuple[Any, ...] = ()
        if keys is not None:
            from gossamer.live.security.certificates import peer_of
            from gossamer.live.security.keys import Keys
            from gossamer.live.security.tls_errors import why_refused

            loaded = Keys.load(Path(keys))
            self.node: NodeId = loaded.node
            self.name = loaded.name
            self.sequence_file = Path(keys) / "node.sequence"
            self.topics_file = Path(keys) / "node.topics"
            self.tls = Tls(loaded.server_context(), loaded.client_context(), peer_of, why_refused)
            private_key, certificate, authorities = loaded.private_key, loaded.certificate_der, loaded.authorities
        elif identity_file is not None:
            from gossamer.live.security.keys import identity_file as read_identity

            self.node, private_key = read_identity(Path(identity_file))
            name = Path(identity_file).name
            self.sequence_file = Path(identity_file).with_name(f"{name}.sequence")
            self.topics_file = Path(identity_file).with_name(f"{name}.topics")
        elif signatures != "off":
            raise InputError(
                "`signatures` need a key: set `keys` (`gossamer keys issue` makes them) or `identity_file`"
            )
        else:
            # Nothing proves an identity here, so a random id serves until the node stops.
            self.node = identity(random_bytes(32))
        # Only for topics with a secret.
        self.cipher: Any = None
        if options.secrets:
            from gossamer.live.security.payloads import PayloadCipher

            self.cipher = PayloadCipher(topics.secret_of, random_bytes)
        # Lasts as long as the identity.
        lasting = random_bytes(32) if private_key is None else sha256(private_key.private_bytes_raw()).digest()
        self._numbers = Shown(lasting)
        if signatures != "off":
            self._sign_with(private_key, certificate, authorities)
        # The rules of the file, and their application to the messages of links.
        self._allowed: Any = None
        self._rules: Any = None
        self._rules_file, self._topics = rules, topics
        if rules is not None:
            self.reload_rules()

    def number_base(self, topic: TopicId) -> int:
        """By how much the numbers of this node's messages on a topic are higher than the clock, if topics are apart."""
        return self._numbers.first_number(topic)

    @property
    def names(self) -> tuple[str, ...]:
        """What a greeting says about security: in a network either all nodes sign, and can check bursts, or none does."""
        return () if self.signatures == "off" else ("signed-bursts",)

    @property
    def guard(self) -> "NodeSecurity | None":
        """The guard for the driver; None if there are neither rules nor signatures to check."""
        return self if self._rules is not None or self._policy is not None else None

    @property
    def unseal(self) -> Callable[[Deliver | Validate], bytes] | None:
        """A function from a delivery, or a request to validate, to its content; None if payloads are the content.

        The function raises a ValueError if the payload is not encrypted as its topic demands.
        """
        return None if self._policy is None and self.cipher is None else self._content

    def reload_rules(self) -> None:
        """Read the file of access rules again. Cached answers belong to the rules, and go with them."""
        if self._rules_file is None:
            raise InputError("this node has no file of access rules; give `rules` when it starts")
        from gossamer.live.security.access import AccessRules, Guard

        self._allowed = AccessRules.load(Path(self._rules_file))
        self._rules = Guard(self._allowed, self._topics.name_of)

    # What this node itself may do.

    @property
    def checks_publications(self) -> bool:
        """Whether `why_not_publish` can ever answer a reason."""
        return self._allowed is not None or self._certificate is not None

    def why_not_publish(self, topic_name: str) -> str | None:
        """Why this node may not publish on a topic, or None: other nodes would refuse its messages."""
        if self._allowed is not None and not self._allowed.may_publish(self.name, topic_name):
            return f"the access rules do not allow {self.name} to publish on {topic_name!r}"
        if self._certificate is not None:
            try:
                self._policy.certified(self._certificate)
            except PeerError as error:
                return f"this node cannot sign messages: {error}"
        return None

    def why_not_subscribe(self, topic_name: str) -> str | None:
        """Why this node may not subscribe to a topic, or None: other nodes would send it nothing."""
        if self._allowed is not None and not self._allowed.may_subscribe(self.name, topic_name):
            return f"the access rules do not allow {self.name} to subscribe to {topic_name!r}"
        return None

    @property
    def may_follow_all(self) -> bool:
        """Whether a rule allows this node to subscribe to every topic; without rules nothing does."""
        return self._allowed is not None and bool(self._allowed.may_follow_all(self.name))

    # What other nodes may do.

    @property
    def has_rules(self) -> bool:
        """Whether there are access rules."""
        return self._allowed is not None

    def may_be_told(self, link_name: str, topic_name: str) -> bool:
        """Whether the node at the other end of a link may learn that a topic exists: it may subscribe to it."""
        return self._allowed is None or bool(self._allowed.may_subscribe(link_name, topic_name))

    def may_tell(self, link_name: str, topic_name: str) -> bool:
        """Whether the node at the other end of a link may name a topic on which it publishes."""
        return self._allowed is None or bool(self._allowed.may_publish(link_name, topic_name))

    def attach(self, sockets: Sockets) -> None:
        """Use the names of these links in access rules for outgoing messages."""
        self._sockets = sockets

    def admit(self, link_name: str, sender: NodeId, message: Any) -> tuple[Any, str | None]:
        """See `transport/interface.py`. A message is refused if it carries a refused one."""
        reason: str | None = None
        if isinstance(message, Burst):
            message, reason = self._admit_burst(link_name, sender, message)
        else:
            reasons = (self._why_refused(link_name, sender, data) for data in data_in(message))
            reason = next(filter(None, reasons), None)
        if reason is not None:
            self._log_refused(link_name or f"{sender:016x}", reason)
            return None, reason
        return message, None

    def lets_out(self, node: NodeId, message: Any) -> bool:
        """See `transport/interface.py`. All messages of a burst have one topic."""
        if self._rules is None or self._sockets is None:
            return True
        link = self._sockets.link(node)
        name = "" if link is None else link.name
        carried = (message,) if isinstance(message, Burst) else data_in(message)
        return all(self._rules.outgoing(name, data) for data in carried)

    def pack(self, message: Any) -> Any:
        """See `transport/interface.py`."""
        return message if self._bursts is None else self._bursts.pack(message)

    # This node's own messages.

    def seal(self, topics: Sequence[TopicId], sequence: int, content: bytes, published_us: int) -> bytes:
        """See `transport/interface.py`."""
        return content if self._signer is None else self._signer.seal(topics, sequence, content, published_us)

    def seal_burst(self, topic: TopicId, first: int, items: Items) -> Items:
        """See `transport/interface.py`."""
        if self._signer is None:
            return items
        burst = self._bursts.seal_burst(self._signer, topic, first, items, self._proofs)
        return proved(burst.items, burst)

    @property
    def proof_bytes(self) -> int:
        """What the signature of a burst adds to its frame."""
        return 0 if self._signer is None else self._bursts.proof_bytes(self._signer)

    def _sign_with(self, private_key: Any, certificate: bytes | None, authorities: tuple[Any, ...]) -> None:
        from gossamer.live.security import signed_bursts, signing

        self._signer = signing.Signer(private_key, certificate)
        self._signing, self._bursts, self._proofs = signing, signed_bursts, signed_bursts.KeptProofs()
        self._policy = signing.SignaturePolicy(self.signatures, authorities)
        self._certificate = certificate

    def _log_refused(self, peer: str, reason: str) -> None:
        if self._sockets is not None:
            facts = {"peer": peer, "reason": reason}
            self._sockets.log.add("message refused", f"message from {peer} refused: {reason}", facts)

    def _admit_burst(self, link_name: str, sender: NodeId, burst: Burst) -> tuple[Any, str | None]:
        """As `admit`. A burst with one signature, or without signatures, is checked as a whole."""
        if self._policy is None:
            return burst, self._why_forbidden(link_name, sender, burst, None)
        if self._bursts.is_complete(burst):
            opened, head, reason = self._bursts.open_burst(self._policy, burst, self._proofs)
            return opened, reason or self._why_forbidden(link_name, sender, burst, head)
        reasons = (self._why_refused(link_name, sender, data) for data in burst.messages)
        return burst, next(filter(None, reasons), None)

    def _why_refused(self, link_name: str, sender: NodeId, data: Data) -> str | None:
        if self._policy is None:
            return self._why_forbidden(link_name, sender, data, None)
        signed = (data.publisher, data.topics, data.sequence)
        reason: str | None = self._signing.unseal(self._policy, *signed, data.payload, data.published_us)[1]
        return reason or self._why_forbidden(link_name, sender, data, data.payload)

    def _why_forbidden(self, link_name: str, sender: NodeId, data: Data | Burst, envelope: bytes | None) -> str | None:
        """Why the access rules refuse a message or a burst; `envelope` names the publisher if messages are signed."""
        if self._rules is None:
            return None
        publisher_name = None if envelope is None else self._signing.publisher_name(self._policy, envelope)
        reason: str | None = self._rules.incoming(link_name, sender, data, publisher_name)
        return reason

    def _content(self, action: Deliver | Validate) -> bytes:
        content = action.payload
        if self._policy is not None:
            # Most messages at a high rate are of signed bursts; a call for each would take as long as all the rest here.
            content = content[1:] if content[0] == 0 else self._signing.content_of(content)
        if self.cipher is not None:
            content = self.cipher.decrypt(action.topic, action.publisher, action.sequence, content)
        return content
