"""Choosing the neighbours that announce messages to this node: few of them, together for all topics.

A node needs one teller for each topic, among the neighbours that it pruned, and if possible one that is not behind its own
supplier: such a neighbour has a message also when the supplier fails. Each teller sends its announcements of all topics in one frame, so few
tellers cost few frames. A branch takes the first neighbour that it prunes; some time later the tellers of all topics are
chosen again by a greedy cover.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from gossamer.model.values.ids import NodeId, TopicId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.actions import Action, Send, SetTimer
from gossamer.protocols.contract.parts import TopicNeighbours
from gossamer.protocols.dissemination.branch import Branch
from gossamer.protocols.dissemination.tree_messages import Prune, TellersDue

# Chosen: tellers are chosen again two seconds after one was chosen; a tree has formed by then.
CHOOSE_AGAIN_US = 2 * SECOND_US
# Chosen: tellers that are replaced at a time, so that a node with many topics does not send thousands of messages at once.
MOVES_MAX = 256


class Tellers:
    """The tellers of all branches."""

    __slots__ = ("_branches", "_overlay", "_timer_is_set")

    def __init__(self, overlay: TopicNeighbours, branches: Mapping[TopicId, Branch]) -> None:
        self._overlay = overlay
        self._branches = branches
        self._timer_is_set = False

    def prune(self, topic: TopicId, branch: Branch, node: NodeId, now_us: int, out: list[Action]) -> None:
        """Prune a neighbour, which becomes the teller if there is none.

        While every pruned neighbour may be behind the supplier, all of them announce: one may have another path.
        """
        if branch.teller is None or branch.independent((branch.teller, node)) == [node]:
            branch.teller = node
            self._set_timer(now_us, out)
        out.append(Send((node,), Prune(topic, node == branch.teller or not branch.has_independent)))

    def keep(self, topic: TopicId, branch: Branch, now_us: int, out: list[Action]) -> None:
        """Choose a teller for a branch that has lost its teller, if it pruned any other neighbour."""
        if branch.teller is None and branch.pruned:
            node = next(iter(self._may_tell(topic, branch)), None)
            if node is not None:
                branch.teller = node
                out.append(Send((node,), Prune(topic, True)))
                self._set_timer(now_us, out)

    def _may_tell(self, topic: TopicId, branch: Branch) -> Sequence[NodeId]:
        neighbours = self._overlay.neighbours_on(topic)
        return branch.independent([node for node in branch.pruned if node in neighbours])

    def on_due(self, now_us: int, out: list[Action]) -> None:
        """Choose the tellers of all topics again, and tell those that are replaced and those that are new."""
        self._timer_is_set = False
        moves = 0
        for topic, teller in self._cover().items():
            branch = self._branches[topic]
            if teller != branch.teller and moves < MOVES_MAX:
                moves += 1
                if branch.teller is not None:
                    out.append(Send((branch.teller,), Prune(topic, False)))
                branch.teller = teller
                out.append(Send((teller,), Prune(topic, True)))
        if moves == MOVES_MAX:
            self._set_timer(now_us, out)

    def _cover(self) -> dict[TopicId, NodeId]:
        """A teller for each topic that may have one: the neighbour that can serve most topics, then the next one.

        Topics with which a neighbour supplies this node count too, because announcements travel with messages. Among equals the
        one that announces more topics already is taken, then the lowest id.
        """
        topics_of: dict[NodeId, set[TopicId]] = {}
        for topic, branch in self._branches.items():
            for node in self._may_tell(topic, branch):
                topics_of.setdefault(node, set()).add(topic)
        supplied = Counter(branch.supplier for branch in self._branches.values())
        kept = {
            node: sum(self._branches[topic].teller == node for topic in topics) for node, topics in topics_of.items()
        }
        chosen: dict[TopicId, NodeId] = {}
        while topics_of:
            best = max(topics_of, key=lambda node: (len(topics_of[node]) + supplied[node], kept[node], -node))
            served = topics_of.pop(best)
            if not served:
                break
            chosen |= dict.fromkeys(sorted(served), best)
            for topics in topics_of.values():
                topics.difference_update(served)
        return dict(sorted(chosen.items()))

    def _set_timer(self, now_us: int, out: list[Action]) -> None:
        if not self._timer_is_set:
            self._timer_is_set = True
            out.append(SetTimer(now_us + CHOOSE_AGAIN_US, TellersDue()))
