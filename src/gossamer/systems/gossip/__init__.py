"""Gossip on unstructured overlays."""
