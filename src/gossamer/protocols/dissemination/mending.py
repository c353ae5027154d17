"""Mending a tree: messages that were announced and did not arrive are requested over the link that announced them."""

from collections.abc import Mapping

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import MILLISECOND_US
from gossamer.protocols.contract.actions import Action, Observe, Send, SetTimer
from gossamer.protocols.contract.facts import PeerMisbehaved
from gossamer.protocols.delivery.history import Name
from gossamer.protocols.delivery.intake import NOT_HELD
from gossamer.protocols.delivery.interests import OwnInterests
from gossamer.protocols.delivery.seen import SeenMessages
from gossamer.protocols.dissemination.branch import Branch
from gossamer.protocols.dissemination.missing import Missing, MissingSpan
from gossamer.protocols.dissemination.tree_messages import NAMED_MAX, NAMES_MAX, Announce, Graft, MissingDue

# Chosen: how long an announced message may take to arrive through the tree: several hops of a slow network.
MISSING_AFTER_US = 500 * MILLISECOND_US
# Chosen: wait up to six times as long while the supplier still sends messages: such a path is slow, not broken.
PATIENCE = 6
# Chosen: about one round trip of a slow network, before the next announcer is asked.
ASK_AGAIN_US = 300 * MILLISECOND_US
# Chosen: the shortest time between two looks at the missing messages; one timer serves all of them.
LOOK_AGAIN_US = 20 * MILLISECOND_US


class Mending:
    """Watches for announced messages that do not arrive, and makes the link that announced them eager again."""

    __slots__ = ("_branches", "_due_us", "_interests", "_timer_is_set", "missing")

    def __init__(self, interests: OwnInterests, seen: SeenMessages, branches: Mapping[TopicId, Branch]) -> None:
        self._interests = interests
        self._branches = branches
        self._timer_is_set = False
        self._due_us = 0
        self.missing = Missing(seen.not_seen, PATIENCE)

    def on_announce(self, sender: NodeId, message: Announce, now_us: int, out: list[Action]) -> None:
        """Wait for the messages that a neighbour announced and that this node has not seen."""
        is_wrong = False
        count = 0
        due_us = now_us + MISSING_AFTER_US
        for named in message.names:
            count += named.count
            if named.topic not in self._interests.roles or count > NAMED_MAX:
                is_wrong = True
                continue
            self.missing.announced(sender, named.topic, named.publisher, named.sequence, named.count, now_us, due_us)
        self._set_timer(now_us, out)
        if is_wrong:
            out.append(Observe(PeerMisbehaved(sender, NOT_HELD)))

    def on_missing_due(self, now_us: int, out: list[Action]) -> None:
        """Request what has not arrived in time, from one announcer of each span."""
        self._timer_is_set = False
        if now_us - self._due_us > ASK_AGAIN_US:
            # This process did not run for a while, so what has arrived waits to be read.
            for span, _ in self.missing.due(now_us):
                span.due_us = now_us + MISSING_AFTER_US
            self._set_timer(now_us, out)
            return
        wanted: dict[tuple[NodeId, TopicId], list[Name]] = {}
        for span, numbers in self.missing.due(now_us):
            if not span.announcers or span.topic not in self._interests.roles:
                self.missing.drop(span)
            elif self._is_only_slow(span, now_us):
                # The same message from another neighbour would arrive out of order.
                span.patience -= 1
                span.due_us = now_us + MISSING_AFTER_US
            else:
                node = span.announcers.pop(0)
                span.due_us = now_us + ASK_AGAIN_US
                wanted.setdefault((node, span.topic), []).extend((span.publisher, number) for number in numbers)
        for (node, topic), names in wanted.items():
            if topic in self._branches:
                self._branches[topic].use_as_supplier(node)
            for place in range(0, len(names), NAMES_MAX):
                out.append(Send((node,), Graft(topic, tuple(names[place : place + NAMES_MAX]))))
        self._set_timer(now_us, out)

    def _is_only_slow(self, span: MissingSpan, now_us: int) -> bool:
        """Whether the supplier still sends messages of the topic, so that the missing ones may yet arrive from it."""
        branch = self._branches.get(span.topic)
        return branch is not None and span.patience > 0 and now_us - branch.heard_us < MISSING_AFTER_US

    def _set_timer(self, now_us: int, out: list[Action]) -> None:
        soonest_us = None if self._timer_is_set else self.missing.soonest_us
        if soonest_us is not None:
            self._timer_is_set = True
            self._due_us = max(soonest_us, now_us + LOOK_AGAIN_US)
            out.append(SetTimer(self._due_us, MissingDue()))
