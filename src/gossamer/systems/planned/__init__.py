"""Overlays that are planned centrally."""
