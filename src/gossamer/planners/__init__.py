"""Centralised planners of topic-connected overlays; `plan.py` is the entry and combines the other modules."""
