"""The sizes that an interest table knows."""

from gossamer.model.values.ids import Role
from gossamer.protocols.contract.events import PeerDown, Started, Subscribe, Unsubscribe
from gossamer.protocols.contract.facts import Heard
from gossamer.protocols.contract.messages import Digest
from gossamer.protocols.membership.interest_exchange import InterestExchange, InterestFetched
from gossamer.protocols.membership.interest_table import NEWS_A_NODE, InterestTable

ME = 99


class Table:
    """A table of a node that holds topic 7, with room for `most` nodes."""

    def __init__(self, most=20):
        self.exchange = InterestExchange()
        self.table = InterestTable(ME, self.exchange, most)
        self.exchange.handle(Started(), 1, [])
        self.exchange.handle(Subscribe(7, Role.FOLLOWS), 1, [])

    def hear(self, node, *topics, version=1):
        """Membership brings news of a node."""
        self.table.learn(Heard(node, b"", Digest(version, len(topics), topics)), 1, [])

    @property
    def sizes(self):
        return self.table.topic_size(7), self.table.topic_size(8), self.table.network_size()


def test_sizes_count_the_known_nodes_and_this_one():
    table = Table()
    assert table.sizes == (1, 0, 1)
    table.hear(1, 7)
    table.hear(2, 7, 8)
    assert table.sizes == (3, 1, 3)


def test_sizes_follow_every_change_of_an_interest():
    table = Table()
    table.hear(1, 7)
    assert table.sizes == (2, 0, 2)
    table.hear(1, 8, version=2)
    assert table.sizes == (1, 1, 2)
    table.table.note(Heard(2, b"", Digest(1, 1, (7,))))
    assert table.sizes == (2, 1, 3)
    table.table.learn(InterestFetched(1, 3, (7, 8)), 1, [])
    assert table.sizes == (3, 1, 3)
    table.table.handle(PeerDown(2), 1, [])
    assert table.sizes == (2, 1, 2)
    table.exchange.handle(Unsubscribe(7), 1, [])
    assert table.sizes == (1, 1, 2)
    table.exchange.handle(Subscribe(8, Role.FOLLOWS), 1, [])
    assert table.sizes == (1, 2, 2)


def test_a_node_of_which_nothing_was_heard_for_long_does_not_count():
    table = Table()
    for node in range(1, 5):
        table.hear(node, 7)
    for _ in range(NEWS_A_NODE * 4):
        table.hear(1, 7)
        table.hear(2, 7)
    assert table.sizes == (3, 0, 3)
    table.hear(4, 7)
    assert table.sizes == (4, 0, 4), "it counts again after news of it"


def test_news_from_other_parts_do_not_keep_a_departed_node_in_the_count():
    table = Table()
    table.hear(1, 7)
    table.hear(2, 7)
    for _ in range(NEWS_A_NODE * 2 + 1):
        table.hear(1, 7)
        table.table.note(Heard(2, b"", Digest(1, 1, (7,))))
    assert table.sizes == (2, 0, 2)


def test_a_full_table_says_so():
    table = Table(most=2)
    assert not table.table.is_full
    for node in range(1, 4):
        table.hear(node, 7)
    assert table.table.is_full
    assert table.sizes == (3, 0, 3)
