"""`python -m gossamer.kernels`: compile every kernel, so that no command has to; one process for each group of them."""

import subprocess
import sys
import time

from gossamer.kernels.warm import GROUPS, compile_all, compile_group

if __name__ == "__main__":
    if len(sys.argv) > 1:
        compile_group(GROUPS[sys.argv[1]])
        sys.exit()
    began = time.monotonic()
    compiling = [subprocess.Popen([sys.executable, "-m", "gossamer.kernels", group]) for group in GROUPS]
    for process in compiling:
        process.wait()
    # Whatever a group could not leave in the cache is compiled, or fails, here.
    count = compile_all()
    sys.stderr.write(f"{count} kernels compiled or found compiled in {time.monotonic() - began:.1f} s\n")
