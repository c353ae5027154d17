"""Which other nodes a node knows, and what they follow."""

from gossamer.model.values.ids import NodeId
from gossamer.model.values.time import SECOND_US
from gossamer.protocols.contract.parts import InterestView, Part
from gossamer.protocols.membership.cyclon import Cyclon, CyclonParameters
from gossamer.protocols.membership.interest_exchange import InterestExchange
from gossamer.protocols.membership.interest_table import InterestTable

# Chosen: Cyclon shuffles with a first contact every 30 s, so that two halves of a network that were disconnected find
# each other again.
REJOIN_US = 30 * SECOND_US
# Chosen: 16 times the shortest period, 8 s in live nodes. News travels at the shortest period: who hears of it quickens.
SLOWEST = 16


def interest_parts(
    period_us: int, seed: int, node: NodeId, view: InterestView | None
) -> tuple[InterestExchange, tuple[Part, ...], InterestView]:
    """The parts below an overlay that looks for peers by interest, as (the node's own interest, all parts, the view to ask).

    With a `view`, which only a simulation has, it answers. Otherwise a table answers that Cyclon fills with interests, as in
    live nodes; `period_us` is the overlay's own period.
    """
    exchange = InterestExchange()
    if view is not None:
        return exchange, (exchange,), view
    # Chosen: Cyclon shuffles twice in a period, so that a newcomer soon knows peers to ask.
    membership = CyclonParameters(period_us=max(period_us // 2, 1), rejoin_us=REJOIN_US)
    cyclon = Cyclon(membership, seed, node, exchange, SLOWEST)
    table = InterestTable(node, exchange, on_news=cyclon.quicken)
    return exchange, (exchange, cyclon, table), table
