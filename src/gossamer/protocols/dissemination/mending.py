"""Mending a tree: messages that were announced and did not arrive are requested over the link that announced them."""

from collections.abc import Mapping, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import MILLISECOND_US, SECOND_US
from gossamer.protocols.contract.actions import Action, Send, SetTimer
from gossamer.protocols.delivery.announcements import MessageRun
from gossamer.protocols.delivery.history import Name
from gossamer.protocols.delivery.interests import OwnInterests
from gossamer.protocols.delivery.seen import SeenMessages
from gossamer.protocols.dissemination.branch import Branch
from gossamer.protocols.dissemination.missing import Missing, MissingSpan
from gossamer.protocols.dissemination.tellers import Tellers
from gossamer.protocols.dissemination.tree_messages import NAMES_MAX, Graft, MissingDue

# Chosen: how long a message may take to arrive through the tree since its announcer had it: several hops of a slow network. Wait
# at least some of it, because the announcement may have overtaken the message.
MISSING_AFTER_US = 350 * MILLISECOND_US
MISSING_AFTER_LEAST_US = 200 * MILLISECOND_US
# Chosen: wait up to six times as long while the supplier still sends messages: such a path is slow, not broken.
PATIENCE = 6
# Chosen: about one round trip of a slow network, before the next announcer is asked.
ASK_AGAIN_US = 300 * MILLISECOND_US
# Chosen: the shortest time between two times at which a supplier that announced missing messages is given up. A supplier may
# announce messages that it does not have; each time all pruned neighbours send again.
LOSE_AGAIN_US = 5 * SECOND_US
# Chosen: the shortest time between two looks at the missing messages; one timer serves all of them.
LOOK_AGAIN_US = 20 * MILLISECOND_US


class Mending:
    """Watches for announced messages that do not arrive, and makes the link that announced them eager again."""

    __slots__ = ("_branches", "_due_us", "_interests", "_tellers", "_timer_is_set", "missing")

    def __init__(
        self, interests: OwnInterests, seen: SeenMessages, branches: Mapping[TopicId, Branch], tellers: Tellers
    ) -> None:
        self._interests = interests
        self._tellers = tellers
        self._branches = branches
        self._timer_is_set = False
        self._due_us = 0
        self.missing = Missing(seen.not_seen, PATIENCE)

    def on_announced(self, sender: NodeId, runs: Sequence[MessageRun], now_us: int, out: list[Action]) -> None:
        """Wait for the messages that a neighbour announced and that this node has not seen."""
        for run in runs:
            wait_us = max(MISSING_AFTER_US - run.age_ms * MILLISECOND_US, MISSING_AFTER_LEAST_US)
            first = run.last - run.count + 1
            self.missing.announced(sender, run.topic, run.publisher, first, run.count, now_us, now_us + wait_us)
        self._set_timer(now_us, out)

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
            branch = self._branches.get(topic)
            if branch is not None and node == branch.supplier:
                # It says that it sent the message. It may be stuck: let all other neighbours send too.
                if now_us - branch.stuck_us >= LOSE_AGAIN_US:
                    branch.stuck_us = now_us
                    out += [Send((other,), Graft(topic, ())) for other in branch.lose_supplier()]
            elif branch is not None and (branch.supplier is None or node in branch.pruned):
                branch.use_as_supplier(node)
                self._tellers.keep(topic, branch, now_us, out)
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
