"""`python -m gossamer.systems`: compile all kernels in advance, and delete compiled kernels of older sources.

One process compiles the shared kernels, and one the kernels of each system; as many run at once as there are cores.
"""

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from gossamer.kernels.jit import COMPILED, FOLDER_PREFIX, cache_base, source_hash
from gossamer.systems import all_disseminations, all_systems, load, module_of

SHARED = "gossamer.kernels.warm:warm_up"


def warm_ups() -> list[str]:
    """The dotted names of all functions that compile kernels; systems come first, because they take longest."""
    found = [system.warm_up for system in all_systems().values()]
    found += [dissemination.warm_up for dissemination in all_disseminations().values()]
    return [*dict.fromkeys(filter(None, found)), SHARED]


def main() -> None:
    """Compile in parallel processes, then load all kernels here, where a kernel that failed to compile raises."""
    began = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(_compile_apart, warm_ups()))
    for warm_up in warm_ups():
        load(warm_up)()
    packages = {module_of(name).partition(".")[0] or "gossamer" for name in (*all_systems(), *all_disseminations())}
    current = {f"{FOLDER_PREFIX}{source_hash(package)}" for package in packages}
    for folder in cache_base().glob(f"{FOLDER_PREFIX}*"):
        if folder.name not in current:
            shutil.rmtree(folder, ignore_errors=True)
    sys.stderr.write(f"{len(COMPILED)} kernels compiled or found compiled in {time.monotonic() - began:.1f} s\n")


def _compile_apart(warm_up: str) -> None:
    subprocess.run([sys.executable, "-m", "gossamer.systems", warm_up], check=False)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        load(sys.argv[1])()
    else:
        main()
