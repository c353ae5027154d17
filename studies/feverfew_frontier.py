"""Measures what BubbleSample needs to cover all subscriptions: places of an agent view, cycles and bytes.

    python -m studies.feverfew_frontier            # takes about a quarter of an hour; prints a table

All nodes search from cycle 30 on, on the Douban-like workload. Each row is one run of the kernel, by the paper's rule
(`agents_meet=false`) or by ours. Bytes are those of the wire format with 64-bit ids and addresses of 16 bytes, for a node
and a cycle of BubbleSample: copies of searches, notices with the interest of the node found, and, to compare, Cyclon's
shuffles with the interests that they carry.
"""

import argparse
from statistics import mean
from typing import Any

import msgspec

from gossamer.model.arrays.interest import Interest
from gossamer.protocols.contract.messages import DIGEST_TOPICS, Digest
from gossamer.systems.feverfew.messages import Match, Search
from gossamer.systems.feverfew.parameters import FeverfewParameters
from gossamer.systems.feverfew.population import FeverfewPopulation
from gossamer.workloads.make import make_workload

FIRST, LAST = 30, 56
LARGE_ID, ADDRESS = 2**63 + 1, b"x" * 16
ENTRIES = 10


def main() -> None:
    """Print a row for each rule and each size of the agent view."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--nodes", type=int, default=10_000)
    options.add_argument("--places", type=int, nargs="+", default=[40, 100])
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    few: dict[str, Any] = {} if given.nodes == 10_000 else _scaled(given.nodes)
    interest = make_workload(kind="douban", seed=given.seed, **few).interest
    digest_bytes = mean(
        len(_encoded(Digest(1, int(size), (LARGE_ID,) * min(int(size), DIGEST_TOPICS)))) for size in interest.sizes
    )
    shuffle_bytes = 2 * ENTRIES * (digest_bytes + 9 + 17 + 2)
    print(
        "| rule | places | covered at 40, 48, 56 (%) | 99.5% in cycle | of 2 to 4 subscribers (%) | bytes of searches | of shuffles |"
    )
    print("|---|---|---|---|---|---|---|")
    for meet in (False, True):
        for places in given.places:
            row = _measure(interest, given.seed, meet, places, digest_bytes)
            rule = "ours" if meet else "the paper's"
            print(f"| {rule} | {places} | {row} | {shuffle_bytes:,.0f} |", flush=True)


def _scaled(nodes: int) -> dict[str, int]:
    share = nodes / 10_000
    return {
        "nodes": nodes,
        "topics": round(31_289 * share**0.70943),
        "total": round(486_842 * share),
        "largest": round(1_304 * share),
    }


def _measure(interest: Interest, seed: int, meet: bool, places: int, digest_bytes: float) -> str:
    population = FeverfewPopulation(FeverfewParameters(agents_meet=meet, agent_size=places), seed, interest)
    sizes = population.subs.popularity[population.subs.topics]
    shares = []
    for _ in range(LAST):
        population.cycle()
        shares.append(100 * float(population.covered().mean()))
    search_bytes = len(_encoded(Search(LARGE_ID, LARGE_ID, 12, ADDRESS)))
    match_bytes = len(_encoded(Match(LARGE_ID, LARGE_ID, ADDRESS))) + digest_bytes
    sent = population.search_copies() * search_bytes + population.messages()["Match"] * match_bytes
    each = sent / len(population.present) / (LAST - FIRST)
    reached = next((str(cycle + 1) for cycle, share in enumerate(shares) if share >= 99.5), "-")
    rare = 100 * float(population.covered()[sizes <= 4].mean())
    shown = ", ".join(f"{shares[cycle - 1]:.2f}" for cycle in (40, 48, LAST))
    return f"{shown} | {reached} | {rare:.1f} | {each:,.0f}"


def _encoded(value: object) -> bytes:
    return msgspec.msgpack.encode(value)


if __name__ == "__main__":
    main()
