"""A piece of work in a separate process: its result, or the reason why there is none."""

import os
import signal
from functools import partial

from gossamer.pipeline.sweep import isolated


def test_a_run_that_kills_its_process_or_never_ends_gives_a_reason():
    assert isolated(os.getcwd, 60) == (os.getcwd(), "")
    assert isolated(os.getpid, 60) == isolated(os.getpid, 60) != (os.getpid(), ""), (
        "the process is kept, so kernels are loaded once"
    )
    found, reason = isolated(partial(os._exit, 3), 60)
    assert found is None
    assert "exit code 3, 2 times" in reason
    found, reason = isolated(signal.pause, 0.2)
    assert found is None
    assert "longer than 0.2 s" in reason
    assert isolated(os.getcwd, 60) == (os.getcwd(), ""), "the next piece of work is not affected"
