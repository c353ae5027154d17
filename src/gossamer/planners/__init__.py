"""Centralised topic-connected overlays. Here so far: an overlay of its own for each topic, links merged."""
