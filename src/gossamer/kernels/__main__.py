"""`python -m gossamer.kernels`: compile every kernel, so that no command has to."""

import sys
import time

from gossamer.kernels.warm import compile_all

if __name__ == "__main__":
    began = time.monotonic()
    count = compile_all()
    sys.stderr.write(f"{count} kernels compiled or found compiled in {time.monotonic() - began:.1f} s\n")
