"""`python -m tests.live.chaos --seed 1 --seconds 300`: run, judge, and exit with code 1 if a promise was broken."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.live.chaos.fleet import Fleet
from tests.live.chaos.judge import Judge, Verdict


def run(folder: Path, seed: int, seconds: float) -> Verdict:
    """Run the network in a new folder and judge it."""
    asyncio.run(Fleet(folder, seed, seconds).run())
    return Judge(folder).judge()


def command(seed: int, seconds: float) -> str:
    """The command that repeats a run."""
    return f"python -m tests.live.chaos --seed {seed} --seconds {seconds:g}"


def report(verdict: Verdict, most: int = 40) -> str:
    """The summary, and the first lines of each kind of failure."""
    lines = [verdict.summary(), f"counted: {dict(sorted(verdict.counts.items()))}"]
    for kind in ("missing", "twice", "out_of_order", "died"):
        found = getattr(verdict, kind)
        lines += [f"{kind}: {line}" for line in found[:most]]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.live.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--folder", type=Path, help="keep the journals here; it must not exist")
    parser.add_argument("--judge", type=Path, help="judge the journals of an earlier run")
    given = parser.parse_args()
    if given.judge is not None:
        verdict = Judge(given.judge).judge()
    else:
        folder = given.folder or Path(tempfile.mkdtemp(prefix="chaos-"))
        folder.mkdir(parents=True, exist_ok=given.folder is None)
        verdict = run(folder, given.seed, given.seconds)
        sys.stderr.write(f"journals in {folder}\n")
    sys.stdout.write(report(verdict) + "\n")
    if not verdict.is_clean:
        sys.stdout.write(f"repeat: {command(given.seed, given.seconds)}\n")
    return 0 if verdict.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
