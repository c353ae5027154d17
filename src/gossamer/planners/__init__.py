"""Centralised topic-connected overlays: `plan.py` puts the parts of this room together."""
