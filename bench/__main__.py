"""`python -m bench [NAME ...]`: run the named benchmarks, or all of them."""

import platform
import sys
from importlib import import_module

# Module and function of each benchmark, imported when it runs: `make bench-live` has no Spark.
BENCHMARKS = {
    "setup": ("setup", "run"),
    "cyclon": ("cyclon", "run"),
    "engine": ("engine", "run"),
    "measures": ("measures", "run"),
    "gossip": ("gossip", "run"),
    "push-pull": ("push_pull", "run"),
    "recovery": ("recovery", "run"),
    "spidercast": ("spidercast", "run"),
    "million": ("spidercast", "run_million"),
    "pipeline": ("pipeline", "run"),
    "stan": ("stan", "run"),
    "stan-large": ("stan", "run_large"),
    "omen": ("omen", "run"),
    "omen-large": ("omen", "run_large"),
    "planners": ("planners", "run"),
    "planners-large": ("planners", "run_large"),
    "planners-spark": ("planners_spark", "run"),
    "live": ("live", "run"),
    "links": ("links", "run"),
    "sizes": ("sizes", "run"),
}


def main() -> None:
    """Run the named benchmarks, or all of them."""
    names = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")
    print(f"{platform.machine()}, Python {platform.python_version()}\n")
    for name in names:
        module, function = BENCHMARKS[name]
        getattr(import_module(f"bench.{module}"), function)()


if __name__ == "__main__":
    main()
