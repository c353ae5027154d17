"""`python -m bench [NAME ...]`: run the named benchmarks, or all of them. `python -m bench fleet` takes flags."""

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
    "history": ("history", "run"),
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
    "control": ("control", "run"),
    "fleet": ("fleet", "run"),
    "wire": ("wire", "run"),
    "links": ("links", "run"),
    "secured": ("secured", "run"),
    "sizes": ("sizes", "run"),
    "dashboard": ("dashboard", "run"),
    "telemetry": ("telemetry", "run"),
    "patterns": ("patterns", "run"),
}


def main() -> None:
    """Run the named benchmarks, or all of them."""
    given = sys.argv[1:]
    end = next((place for place, text in enumerate(given) if text.startswith("-")), len(given))
    names, flags = given[:end] or list(BENCHMARKS), given[end:]
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")
    if flags and names != ["fleet"]:
        sys.exit(f"only `fleet` takes flags, got {flags[0]}; try: python -m bench fleet --help")
    print(f"{platform.machine()}, Python {platform.python_version()}\n")
    for name in names:
        module, function = BENCHMARKS[name]
        getattr(import_module(f"bench.{module}"), function)(*([flags] if flags else []))


if __name__ == "__main__":
    main()
