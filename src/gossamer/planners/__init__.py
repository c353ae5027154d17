"""Centralised topic-connected overlays. Nothing has landed here yet."""
