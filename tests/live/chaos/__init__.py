"""A network of processes under faults, with every message counted.

`python -m tests.live.chaos --seed 1 --seconds 300` runs it; `tests/live/test_chaos.py` runs three seeds. The seed decides
topics, traffic and faults (`schedule.py`). Each process writes a journal of what it published and received (`member.py`),
and a judge compares the journals after the run (`judge.py`).
"""
