"""SpiderCast: topic-connected overlays by greedy and random coverage. Start with `machine.py`."""
