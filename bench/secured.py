"""What security costs at full speed: plain, TLS, access rules and signatures, side by side.

The four runs of a repetition follow each other, so that other work on the machine slows all of them; medians of the
repetitions are shown. CPU time changes less than the rate if the machine is busy.
"""

from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from bench.contenders import TOPIC
from bench.live import measure
from bench.report import show
from gossamer.live.security.authority import issue, make_authority

COUNTS = {1: 200_000, 10: 50_000}
SIZE = 100
REPEATS = 5
RULES = f"""
[[allow]]
names = ["publisher"]
publish = ["{TOPIC}"]
subscribe = ["{TOPIC}"]

[[allow]]
names = ["subscriber-*"]
subscribe = ["{TOPIC}"]
"""


def run() -> None:
    """Measure 1 to 1 and 1 to 10."""
    with TemporaryDirectory() as folder:
        ways = _ways(Path(folder))
        rows = []
        for subscribers, count in COUNTS.items():
            found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
            for _ in range(REPEATS):
                for way, security in ways.items():
                    results = measure("gossamer", subscribers, SIZE, count, 0, security=security)
                    found[way].append(_figures(results, count))
            rows += _rows(subscribers, found)
    show(
        f"Security at full speed: {SIZE} bytes, loopback, medians of {REPEATS} alternated repetitions",
        ["1 to", "what", "messages/s", "of plain", "CPU us/message, all", "plain's CPU, share"],
        rows,
        "Wanted of TLS + rules + strict signatures: at least half of plain. 0 messages/s: messages were missing.",
    )


def _ways(folder: Path) -> dict[str, dict[str, Any]]:
    make_authority(folder / "authority")
    for name in ("publisher", *(f"subscriber-{number}" for number in range(max(COUNTS)))):
        issue(folder / "authority", name, folder / name)
    (folder / "rules.toml").write_text(RULES)
    tls = {"folder": str(folder)}
    rules = {**tls, "rules": str(folder / "rules.toml")}
    return {
        "plain": {},
        "TLS": tls,
        "TLS + rules": rules,
        "TLS + rules + strict signatures": {**rules, "signatures": "strict"},
    }


def _figures(results: dict[str, Any] | None, count: int) -> tuple[float, float]:
    """Messages a second at the slowest subscriber, 0 if any is missing; CPU us of all processes for each message."""
    if results is None:
        return 0.0, 0.0
    found = results["subscribers"]
    cpu = results["publisher"]["cpu_seconds"] + sum(each["cpu_seconds"] for each in found)
    rate = 0.0 if any(each["missing"] for each in found) else (count - 1) / max(each["seconds"] for each in found)
    return rate, cpu / count * 1e6


def _rows(subscribers: int, found: dict[str, list[tuple[float, float]]]) -> list[list[str]]:
    rows = []
    plain = [median(column) for column in zip(*found["plain"], strict=True)]
    for way, figures in found.items():
        rate, cpu = (median(column) for column in zip(*figures, strict=True))
        shares = [f"{rate / plain[0]:.0%}", f"{plain[1] / cpu:.0%}"] if plain[0] and cpu else ["", ""]
        rows.append([str(subscribers), way, f"{rate:,.0f}", shares[0], f"{cpu:,.1f}", shares[1]])
    return rows
