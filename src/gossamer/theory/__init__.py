"""Closed forms: answers without simulating. Nothing has landed here yet."""
